//! `taskyard openapi`: the documents in `openapi/` are checked in, written by the code and compared with it.

use crate::Failure;
use api::{Document, documents};
use std::path::{Path, PathBuf};

/// What to do with the documents.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Compare instead of writing: exit code 1 when a document differs.
    #[arg(long)]
    pub check: bool,
    /// The folder they are in.
    #[arg(long, value_name = "DIR", default_value = "openapi")]
    pub dir: PathBuf,
}

/// Writes or compares the documents.
///
/// # Errors
/// A file could not be written or read, or differs.
pub fn run(options: &Options) -> Result<(), Failure> {
    let documents = documents();
    if options.check { compare(&options.dir, &documents) } else { write(&options.dir, &documents) }
}

fn write(dir: &Path, documents: &[Document]) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|error| format!("creating `{}`: {error}", dir.display()))?;
    for document in documents {
        let path = dir.join(document.name);
        std::fs::write(&path, &document.text).map_err(|error| format!("writing `{}`: {error}", path.display()))?;
    }
    Ok(())
}

fn compare(dir: &Path, documents: &[Document]) -> Result<(), Failure> {
    let different: Vec<String> = documents.iter().filter_map(|document| difference(dir, document)).collect();
    if different.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nwrite the documents anew with `cargo run -- openapi`", different.join("\n")).into())
}

/// Where a file and its document part, if they do.
fn difference(dir: &Path, document: &Document) -> Option<String> {
    let path = dir.join(document.name);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) if text == document.text => return None,
        Ok(text) => text,
        Err(error) => return Some(format!("reading `{}`: {error}", path.display())),
    };
    let line = text.lines().zip(document.text.lines()).take_while(|(there, here)| there == here).count();
    let of = |text: &str| text.lines().nth(line).unwrap_or("(the end)").trim().to_owned();
    Some(format!(
        "{}:{}: the file says `{}` and the code says `{}`",
        path.display(),
        line + 1,
        of(&text),
        of(&document.text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_differs_is_named_with_its_line() {
        let dir = std::env::temp_dir().join(format!("taskyard-openapi-{}", std::process::id()));
        let document = |text: &str| [Document { name: "a.json", text: text.into() }];
        write(&dir, &document("{\n  1\n}\n")).unwrap();
        assert!(compare(&dir, &document("{\n  1\n}\n")).is_ok());
        let failure = compare(&dir, &document("{\n  2\n}\n")).unwrap_err().to_string();
        assert!(failure.contains("a.json:2: the file says `1` and the code says `2`"), "{failure}");
        assert!(compare(&dir, &[Document { name: "b.json", text: String::new() }]).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
