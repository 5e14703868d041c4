//! Answers of HTTP+JSON and of the worker surface: serde prints them, the document names their type.

use std::marker::PhantomData;

use poem::http::{HeaderMap, header};
use poem::{IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::Type;
use serde::Serialize;
use wire::Error;

use crate::failure::Failure;

/// A2A's own media type (§11.1).
pub(crate) const A2A_JSON: &str = "application/a2a+json";
/// The media type of everything else.
pub(crate) const JSON: &str = "application/json";

/// How an answer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/a2a+json`.
    A2a,
    /// `application/json`.
    Json,
}

impl Media {
    /// What a client of A2A takes: plain JSON only when that is all it accepts.
    pub(crate) fn of(headers: &HeaderMap) -> Media {
        let mut plain = false;
        for accept in headers.get_all(header::ACCEPT) {
            for range in accept.to_str().unwrap_or_default().split(',') {
                let range = range.split(';').next().unwrap_or_default().trim();
                match range {
                    "" => {}
                    _ if range.eq_ignore_ascii_case(JSON) => plain = true,
                    _ if range.eq_ignore_ascii_case(A2A_JSON) || range.ends_with("/*") => return Media::A2a,
                    _ => {}
                }
            }
        }
        if plain { Media::Json } else { Media::A2a }
    }

    /// The media type.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Media::A2a => A2A_JSON,
            Media::Json => JSON,
        }
    }
}

/// A printed answer that the document calls a `T`.
pub(crate) struct Answer<T>(Vec<u8>, PhantomData<fn() -> T>);

/// What every operation comes to.
pub(crate) type Reply<T> = Result<Answer<T>, Failure>;

/// Print an answer.
///
/// # Errors
/// `Internal` when the value does not print, which no value of ours does.
pub(crate) fn answer<T>(value: &impl Serialize) -> Reply<T> {
    let mut bytes = Vec::with_capacity(512);
    serde_json::to_writer(&mut bytes, value).map_err(Error::internal)?;
    Ok(Answer(bytes, PhantomData))
}

/// What documents call it, as `google.protobuf` does.
const EMPTY: &str = "Empty";

/// An answer that says nothing: `{}`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Empty;

/// Answer `{}`.
pub(crate) fn nothing() -> Result<Empty, Failure> {
    Ok(Empty)
}

impl IntoResponse for Empty {
    fn into_response(self) -> Response {
        Response::builder().content_type(A2A_JSON).body("{}")
    }
}

impl ApiResponse for Empty {
    fn meta() -> MetaResponses {
        ok(MetaMediaType { content_type: A2A_JSON, schema: MetaSchemaRef::Reference(EMPTY.to_owned()) })
    }
    fn register(registry: &mut Registry) {
        let schema = MetaSchema { description: Some("Nothing: `{}`."), ..MetaSchema::new("object") };
        registry.schemas.insert(EMPTY.to_owned(), schema);
    }
}

impl<T: Send> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        Response::builder().content_type(A2A_JSON).body(self.0)
    }
}

impl<T: Type> ApiResponse for Answer<T> {
    fn meta() -> MetaResponses {
        ok(MetaMediaType { content_type: A2A_JSON, schema: T::schema_ref() })
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
}

fn ok(content: MetaMediaType) -> MetaResponses {
    let response = MetaResponse {
        description: "OK",
        status: Some(200),
        status_range: None,
        content: vec![content],
        headers: vec![],
    };
    MetaResponses { responses: vec![response] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_json_is_for_those_who_take_nothing_else() {
        let of = |accept: &str| Media::of(&HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]));
        assert_eq!(of("application/json"), Media::Json);
        assert_eq!(of("Application/JSON; q=0.5"), Media::Json);
        assert_eq!(of("text/event-stream, application/json"), Media::Json);
        for both in
            ["application/json, application/a2a+json", "application/json, */*", "*/*", "application/*", "text/html"]
        {
            assert_eq!(of(both), Media::A2a, "{both}");
        }
        assert_eq!(Media::of(&HeaderMap::new()), Media::A2a);
    }
}
