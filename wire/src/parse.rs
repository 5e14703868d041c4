//! From bytes to a type, with errors that name the field.
//!
//! Tracking the path costs an allocation a key, so it is done only for a text that was refused already: good
//! requests are read once and plainly, bad ones twice.

use crate::error::{Error, Violation};
use serde::de::DeserializeOwned;
use serde_json::Deserializer;
use serde_json::error::Category;

/// How serde's own refusals begin. Each quotes what was sent, and then says what was expected.
const QUOTING: [&str; 5] =
    ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant ", "unknown field "];
/// What stands before the expectation.
const EXPECTED: &str = ", expected ";

/// Reads a value from JSON.
///
/// Nesting deeper than 128 levels is refused by the parser itself.
///
/// # Errors
/// `ParseError` for what is not JSON; `InvalidParams` for JSON that is not a `T`, with the path of the field as
/// the sender spelled it, e.g. `message.parts[0].raw`. It says what was expected, and repeats no value: what was
/// sent may be a secret that stands in the wrong place.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|error| match error.classify() {
        Category::Data => Error::invalid_all(vec![Violation::new(path::<T>(json), description(&error))]),
        Category::Io | Category::Syntax | Category::Eof => Error::parse_error(error),
    })
}

/// Where in the text a `T` cannot be read; empty for the text itself.
fn path<T: DeserializeOwned>(json: &[u8]) -> String {
    let found = serde_path_to_error::deserialize::<_, T>(&mut Deserializer::from_slice(json));
    let path = found.err().map(|error| error.path().to_string());
    path.filter(|path| path != ".").unwrap_or_default()
}

/// What was expected, without what was sent.
fn description(error: &serde_json::Error) -> String {
    let text = without_position(error);
    if !QUOTING.iter().any(|beginning| text.starts_with(beginning)) {
        return text;
    }
    // The last one, because a value may hold the same words.
    match text.rsplit_once(EXPECTED) {
        Some((_, expected)) => format!("must be {expected}"),
        None => "is not what is expected".to_owned(),
    }
}

/// The message without serde_json's ` at line 1 column 2`: the path says it better.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map_or_else(|| text.clone(), str::to_owned)
}
