//! Short forms of what agents mostly speak: plain text.

use wire::{Artifact, Content, Message, Part, Role};

/// A message of one text, as a status message of the agent's; the platform fills in the ids.
pub fn message(words: impl Into<String>) -> Message {
    Message { role: Role::Agent, parts: vec![Part::text(words)], ..Message::default() }
}

/// An artifact of one text under the author's id, which names it within its task.
pub fn artifact(id: impl Into<String>, words: impl Into<String>) -> Artifact {
    Artifact { artifact_id: id.into(), parts: vec![Part::text(words)], ..Artifact::default() }
}

/// The text parts of `parts`, joined by line breaks; parts of other kinds are left out.
pub fn text_of(parts: &[Part]) -> String {
    let mut joined = String::new();
    let mut first = true;
    for part in parts {
        if let Some(Content::Text(text)) = &part.content {
            if !first {
                joined.push('\n');
            }
            joined.push_str(text);
            first = false;
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_parts_are_read_and_empty_ones_keep_their_line() {
        let url = Part::new(Content::Url("file:a".to_owned()));
        let parts = [Part::text("a"), url, Part::text(""), Part::text("b")];
        assert_eq!(text_of(&parts), "a\n\nb");
        assert_eq!(text_of(&[]), "");
    }
}
