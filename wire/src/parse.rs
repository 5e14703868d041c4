//! From bytes to a type, with errors that name the field.

use crate::error::{Error, Violation};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Reads a value from JSON.
///
/// Nesting deeper than 128 levels is refused by the parser itself.
///
/// # Errors
/// `ParseError` for what is not JSON; `InvalidParams` for JSON that is not a `T`, with the path of the field as
/// the sender spelled it, e.g. `message.parts[0].raw`.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        match cause.classify() {
            Category::Data => {
                let field = if path == "." { String::new() } else { path };
                Error::invalid_all(vec![Violation::new(field, without_position(&cause))])
            }
            Category::Io | Category::Syntax | Category::Eof => Error::parse_error(cause),
        }
    })?;
    deserializer.end().map_err(Error::parse_error)?;
    Ok(value)
}

/// The message without serde_json's ` at line 1 column 2`: the path says it better.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map_or_else(|| text.clone(), str::to_owned)
}
