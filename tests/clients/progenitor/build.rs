//! Makes a client of each document.
//!
//! progenitor knows one media type of a request and one shape of what is no success. Where a document has more, it is given what it
//! knows: requests in plain JSON, and no `304 Not Modified`, which nobody is answered who did not ask for it.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use progenitor::{GenerationSettings, Generator, InterfaceStyle};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../../openapi");
    for name in ["a2a", "worker"] {
        let file = folder.join(name).with_extension("json");
        println!("cargo::rerun-if-changed={}", file.display());
        let text = fs::read_to_string(&file).map_err(|error| format!("reading {}: {error}", file.display()))?;
        let mut document: Value = serde_json::from_str(&text)?;
        reduce(&mut document);
        let mut settings = GenerationSettings::default();
        settings.with_interface(InterfaceStyle::Builder);
        let tokens = Generator::new(&settings).generate_tokens(&serde_json::from_value(document)?)?;
        let code = prettyplease::unparse(&syn::parse2(tokens)?);
        fs::write(Path::new(&env::var("OUT_DIR")?).join(name).with_extension("rs"), code)?;
    }
    Ok(())
}

fn reduce(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in paths.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        if let Some(Value::Object(content)) = operation.pointer_mut("/requestBody/content") {
            content.retain(|media, _| media == "application/json");
        }
        if let Some(Value::Object(responses)) = operation.get_mut("responses") {
            responses.remove("304");
        }
    }
}
