//! Protobuf to ProtoJSON and back, for every message, by its descriptor.

use std::io;

use hyper::body::Bytes;
use prost::Message;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde::Serialize;
use serde_json::ser::Formatter;
use wire::{Error, Violation};

/// Above this a double no longer holds every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Decode a request.
///
/// # Errors
/// `ParseError` when the bytes are not such a message.
pub(crate) fn decode(kind: MessageDescriptor, bytes: Bytes) -> Result<DynamicMessage, Error> {
    let wrong = |error: prost::DecodeError| {
        let message = format!("the message is not valid protobuf: {error}");
        Error::parse_error(error).doing(message)
    };
    DynamicMessage::decode(kind, bytes).map_err(wrong)
}

/// Print a request as ProtoJSON.
///
/// # Errors
/// `InvalidParams` for what protobuf can say and ProtoJSON cannot: a timestamp out of its range, a number that is none.
pub(crate) fn print(message: &DynamicMessage) -> Result<Vec<u8>, Error> {
    let mut text = Vec::with_capacity(256);
    let mut printer = serde_json::Serializer::with_formatter(&mut text, Plain);
    let printed = message.serialize_with_options(&mut printer, &SerializeOptions::new());
    printed.map(|()| text).map_err(|error| Error::invalid_all(vec![Violation::new(place(message), error.to_string())]))
}

/// Where a message cannot be printed. Looked for only once it is known that it cannot.
fn place(message: &DynamicMessage) -> String {
    let mut track = serde_path_to_error::Track::new();
    let mut printer = serde_json::Serializer::new(io::sink());
    let tracked = serde_path_to_error::Serializer::new(&mut printer, &mut track);
    let _failed_before = message.serialize_with_options(tracked, &SerializeOptions::new());
    let path = track.path().to_string();
    if path == "." { String::new() } else { path }
}

/// Encode an answer.
///
/// # Errors
/// `Internal` when the value is not such a message, which no answer of ours is.
pub(crate) fn encode(kind: MessageDescriptor, value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let value = serde_json::to_value(value).map_err(Error::internal)?;
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let message = DynamicMessage::deserialize_with_options(kind, value, &options).map_err(Error::internal)?;
    Ok(message.encode_to_vec())
}

/// Encode an answer that is JSON already.
///
/// # Errors
/// As [`encode`].
pub(crate) fn encode_text(kind: MessageDescriptor, text: &str) -> Result<Vec<u8>, Error> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(Error::internal)?;
    encode(kind, &value)
}

/// Prints whole numbers without a fraction. Every number of a `google.protobuf.Value` is a double; `1` sent over gRPC shall be the `1`
/// that it is in the other bindings.
struct Plain;

impl Formatter for Plain {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value.fract() == 0.0 && value.abs() <= EXACT && !(value == 0.0 && value.is_sign_negative()) {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within what an i64 holds")]
            return write!(writer, "{}", value as i64);
        }
        serde_json::ser::CompactFormatter.write_f64(writer, value)
    }
}
