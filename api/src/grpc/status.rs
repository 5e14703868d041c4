//! Errors as gRPC says them: a status, and `google.rpc.Status` with the same details as in every binding (§10.6).

use prost::Message;
use prost_reflect::prost_types::{Any, Duration};
use tonic::{Code, Status};
use tonic_types::pb;
use wire::{Error, Kind};

use crate::log;

/// The metadata that says where a stream is to go on; what a broken stream's client sends back.
pub(crate) const LAST_EVENT: &str = "last-event-id";

/// All of it travels in trailers, which clients take 8 KiB of: so long may a message be, in bytes,
const MESSAGE: usize = 768;
/// a value in the metadata of an `ErrorInfo`,
const VALUE: usize = 256;
/// and all violations together. What is left out, the client hears of once the rest is right.
const VIOLATIONS: usize = 2_560;

/// The status of an error. Tells the log what clients do not hear.
pub(crate) fn of(error: &Error) -> Status {
    log::failure(error);
    let code = Code::from_i32(error.kind.grpc().number());
    let message = short(error.public_message(), MESSAGE);
    let info = pb::ErrorInfo {
        reason: error.kind.reason().to_owned(),
        domain: error.kind.domain().to_owned(),
        metadata: error.metadata.iter().map(|(key, value)| (key.clone(), short(value, VALUE))).collect(),
    };
    let mut details = vec![any("ErrorInfo", &info)];
    if !error.violations.is_empty() {
        details.push(any("BadRequest", &bad_request(error)));
    }
    if error.kind == Kind::Unavailable {
        details.push(any("RetryInfo", &pb::RetryInfo { retry_delay: Some(Duration { seconds: 1, nanos: 0 }) }));
    }
    let status = pb::Status { code: code as i32, message: message.clone(), details };
    Status::with_details(code, message, status.encode_to_vec().into())
}

/// The status of a stream that ends early, and after which event to go on.
pub(crate) fn of_stream(error: &Error, last: i64) -> Status {
    let mut status = of(error);
    status.metadata_mut().insert(LAST_EVENT, last.into());
    status
}

fn any(name: &str, detail: &impl Message) -> Any {
    Any { type_url: format!("type.googleapis.com/google.rpc.{name}"), value: detail.encode_to_vec() }
}

fn bad_request(error: &Error) -> pb::BadRequest {
    let mut room = VIOLATIONS;
    let mut field_violations = Vec::new();
    for violation in &error.violations {
        let told = pb::bad_request::FieldViolation {
            field: short(&violation.field, VALUE),
            description: short(&violation.description, VALUE),
            reason: violation.reason.clone().unwrap_or_default(),
            localized_message: None,
        };
        let Some(left) = room.checked_sub(told.encoded_len()) else { break };
        room = left;
        field_violations.push(told);
    }
    pb::BadRequest { field_violations }
}

/// The text, or as much of it as fits.
fn short(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most - '…'.len_utf8()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Violation;

    #[test]
    fn what_is_too_long_for_trailers_is_cut() {
        let violations = (0..500).map(|n| Violation::new(format!("message.parts[{n}]"), "ä".repeat(n))).collect();
        let error = Error::invalid_all(violations).with("mediaType", "é".repeat(9_000)).doing("ö".repeat(9_000));
        let status = of(&error);
        assert!(status.message().len() <= MESSAGE && status.message().ends_with('…'));
        assert!(status.details().len() < 4_096, "{}", status.details().len());
        let told = pb::Status::decode(status.details()).unwrap();
        let told = pb::BadRequest::decode(told.details[1].value.as_slice()).unwrap();
        assert_eq!(told.field_violations[0].field, "message.parts[0]");
        assert!(told.field_violations.len() > 10);
    }

    #[test]
    fn codes_are_those_of_the_table() {
        for kind in Kind::ALL {
            assert_eq!(of(&Error::new(*kind, "m")).code() as i32, kind.grpc().number(), "{kind:?}");
        }
    }
}
