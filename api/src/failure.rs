//! Refusals of HTTP+JSON and of the worker surface: `google.rpc.Status` under `error` (§11.6).

use poem::Response;
use poem::http::{StatusCode, header};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type as _;
use poem_openapi::{ApiResponse, Object};
use wire::{Error, Kind};

use crate::answer::{A2A_JSON, Media};
use crate::log;

/// An operation's error on its way out.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl poem::error::ResponseError for Failure {
    fn status(&self) -> StatusCode {
        status(self.0.kind)
    }
    fn as_response(&self) -> Response {
        response(&self.0, Media::A2a)
    }
}

/// The HTTP status of a kind.
pub(crate) fn status(kind: Kind) -> StatusCode {
    StatusCode::from_u16(kind.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The answer to a request that failed. Tells the log what clients do not hear.
pub(crate) fn response(error: &Error, media: Media) -> Response {
    log::failure(error);
    let builder = Response::builder().status(status(error.kind)).content_type(media.name());
    retry(builder, error.kind).body(error.status_body().to_string())
}

/// Says when to try again what is temporary.
pub(crate) fn retry(builder: poem::ResponseBuilder, kind: Kind) -> poem::ResponseBuilder {
    if kind == Kind::Unavailable { builder.header(header::RETRY_AFTER, "1") } else { builder }
}

/// What a handler or poem itself failed with.
pub(crate) fn of_poem(error: poem::Error) -> Error {
    let error = match error.downcast::<Failure>() {
        Ok(Failure(error)) => return error,
        Err(error) => error,
    };
    let text = error.to_string();
    if let Some(param) = error.downcast_ref::<poem_openapi::error::ParseParamError>() {
        return Error::invalid(param.name, param.reason.clone());
    }
    match error.status().as_u16() {
        404 => Error::new(Kind::MethodNotFound, text),
        405 => Error::new(Kind::MethodNotAllowed, text),
        400..500 => Error::new(Kind::InvalidRequest, text),
        _ => Error::internal(text),
    }
}

/// A refusal.
#[derive(Object)]
#[oai(rename = "ErrorResponse")]
struct ErrorBody {
    /// What went wrong: `google.rpc.Status` in JSON.
    error: Status,
}

/// `google.rpc.Status` in JSON.
#[derive(Object)]
#[oai(rename = "Status")]
struct Status {
    /// The HTTP status.
    code: i32,
    /// The name of the gRPC status, such as `INVALID_ARGUMENT`.
    status: String,
    /// What went wrong, for people.
    message: String,
    /// A `google.rpc.ErrorInfo` whose `reason` tells programs what went wrong, and a `google.rpc.BadRequest` when fields are wrong.
    details: Vec<Detail>,
}

/// An object with an `@type`: `google.rpc.ErrorInfo` (reason, domain, metadata) or `google.rpc.BadRequest` (fieldViolations).
#[derive(Object)]
#[oai(rename = "StatusDetail", skip_serializing_if_is_none)]
struct Detail {
    /// The type's URL.
    #[oai(rename = "@type")]
    kind: String,
    /// ErrorInfo: what went wrong, for programs, such as `TASK_NOT_FOUND`.
    reason: Option<String>,
    /// ErrorInfo: who defined the reason.
    domain: Option<String>,
    /// ErrorInfo: facts, such as `taskId`.
    metadata: Option<std::collections::BTreeMap<String, String>>,
    /// BadRequest: every field that is wrong.
    #[oai(rename = "fieldViolations")]
    field_violations: Option<Vec<FieldViolation>>,
}

/// A field that is wrong.
#[derive(Object)]
#[oai(rename = "FieldViolation", skip_serializing_if_is_none)]
struct FieldViolation {
    /// The path of the field, such as `message.parts[0].raw`, or the name of a header or parameter.
    field: String,
    /// What is wrong.
    description: String,
    /// What is wrong, for programs, where there is a word for it.
    reason: Option<String>,
}

/// The statuses of what the client can put right, and what documents say of them.
pub(crate) const CLIENTS: &str = "4XX";
pub(crate) const REFUSED: &str =
    "What is wrong with the request. `error.details` always holds a `google.rpc.ErrorInfo`.";
/// The statuses of what only we can.
pub(crate) const OURS: &str = "5XX";
pub(crate) const FAILED: &str = "The fault is ours. `error.details` always holds a `google.rpc.ErrorInfo`.";

impl ApiResponse for Failure {
    fn meta() -> MetaResponses {
        // By ranges: what reads the document takes a `default` for the answer to a success as well.
        let range = |range: &str, description| MetaResponse {
            description,
            status: None,
            status_range: Some(range.to_owned()),
            content: vec![MetaMediaType { content_type: A2A_JSON, schema: ErrorBody::schema_ref() }],
            headers: vec![],
        };
        MetaResponses { responses: vec![range(CLIENTS, REFUSED), range(OURS, FAILED)] }
    }

    fn register(registry: &mut Registry) {
        ErrorBody::register(registry);
    }
}
