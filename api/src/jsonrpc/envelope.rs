//! The envelope of a request, read without touching the parameters in it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use wire::Error;

/// What a request has to be.
const SHAPE: &str =
    "the body must be one JSON-RPC request: an object with `jsonrpc`, `id`, `method` and `params`, none of them twice";

/// What is around a call.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    /// The id as it stands in the text, once it is known to be one.
    pub(crate) id: Option<&'a str>,
    pub(crate) call: Result<Call<'a>, Error>,
}

/// A method and its parameters.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
}

/// Parameters that nobody has read yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Params<'a>(Option<&'a str>);

impl<'a> Params<'a> {
    /// The text of an object; missing parameters and null are an empty one.
    ///
    /// # Errors
    /// `InvalidParams` when they are anything else.
    pub(crate) fn text(self) -> Result<&'a str, Error> {
        match self.0 {
            None | Some("null") => Ok("{}"),
            Some(text) if text.starts_with('{') => Ok(text),
            Some(_) => Err(Error::invalid("params", "must be an object")),
        }
    }
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

/// Tells null from absent.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Envelope<'a> {
    /// Read a request's body.
    pub(crate) fn read(body: &'a [u8]) -> Envelope<'a> {
        let refused = |error| Envelope { id: None, call: Err(error) };
        match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
            // A struct would also be read from a list.
            Some(b'[') => return refused(of_list(body)),
            Some(_) => {}
            None => return refused(Error::parse_error("it is empty")),
        }
        let members: Members<'_> = match serde_json::from_slice(body) {
            Ok(members) => members,
            // Its own words quote what was sent.
            Err(error) if error.classify() == Category::Data => return refused(Error::invalid_request(SHAPE)),
            Err(error) => return refused(Error::parse_error(error)),
        };
        let id = match members.id.map(RawValue::get) {
            None => return refused(Error::invalid_request("`id` is missing: notifications are not served")),
            Some(id) if is_id(id) => id,
            Some(_) => return refused(Error::invalid_request("`id` must be a string, an integer or null")),
        };
        Envelope { id: Some(id), call: members.call() }
    }
}

impl<'a> Members<'a> {
    fn call(&self) -> Result<Call<'a>, Error> {
        if self.jsonrpc.and_then(text).as_deref() != Some("2.0") {
            return Err(Error::invalid_request("`jsonrpc` must be \"2.0\""));
        }
        let method = self.method.and_then(text).ok_or_else(|| Error::invalid_request("`method` must be a string"))?;
        Ok(Call { method, params: Params(self.params.map(RawValue::get)) })
    }
}

fn of_list(body: &[u8]) -> Error {
    match serde_json::from_slice::<serde::de::IgnoredAny>(body) {
        Ok(_) => Error::invalid_request("batches are not served: send one request object"),
        Err(error) => Error::parse_error(error),
    }
}

fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let quoted = value.get();
    // The common case: a string without escapes.
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str::<String>(quoted).ok().map(Cow::Owned),
    }
}

fn is_id(raw: &str) -> bool {
    match raw.as_bytes().first() {
        Some(b'"') => true,
        Some(b'-' | b'0'..=b'9') => !raw.contains(['.', 'e', 'E']),
        _ => raw == "null",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Kind;

    fn read(body: &str) -> (Option<&str>, Option<Kind>) {
        let envelope = Envelope::read(body.as_bytes());
        (envelope.id, envelope.call.err().map(|error| error.kind))
    }

    #[test]
    fn envelopes_are_told_apart() {
        let good = [
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#,
            r#" {"method":"GetTask","params":null,"id":1,"jsonrpc":"2.0","more":[1]} "#,
        ];
        for body in good {
            assert_eq!(read(body), (Some("1"), None), "{body}");
        }
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":"a\"b","method":"m"}"#), (Some(r#""a\"b""#), None));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#), (Some("null"), None));
        assert_eq!(read(r#"{"jsonrpc":"1.0","id":-7,"method":"m"}"#), (Some("-7"), Some(Kind::InvalidRequest)));
        assert_eq!(read(r#"{"id":"x","method":"m"}"#), (Some(r#""x""#), Some(Kind::InvalidRequest)));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":7}"#), (Some("1"), Some(Kind::InvalidRequest)));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1}"#), (Some("1"), Some(Kind::InvalidRequest)));
        for id in ["true", "{}", "[]", "1.5", "1e3", "1.0"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            assert_eq!(read(&body), (None, Some(Kind::InvalidRequest)), "{id}");
        }
        let requests =
            [r#"{"jsonrpc":"2.0","method":"m"}"#, "[]", r#"[{"jsonrpc":"2.0"}]"#, "7", "\"x\"", "null", "true"];
        for body in requests.into_iter().chain([r#"{"id":1,"id":2}"#]) {
            assert_eq!(read(body), (None, Some(Kind::InvalidRequest)), "{body}");
        }
        let refused = Envelope::read(br#""a secret""#).call.unwrap_err();
        assert!(!refused.to_string().contains("secret"), "{refused}");
        for body in ["", "  ", "{", "[1,", r#"{"id":1}x"#, "nope", r#"{"id":1,}"#] {
            assert_eq!(read(body), (None, Some(Kind::ParseError)), "{body}");
        }
    }
}
