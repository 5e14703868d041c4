//! Parts of messages as 0.3 clients send them: those of either dialect, told apart by what is there.

use super::word::{VALUE, WRAPPED};
use crate::Violation;
use crate::json::{Bytes, Struct};
use crate::message::{self, Content};
use crate::proto::message;
use crate::validate::Path;
use serde_json::Value;

message! {
    /// A piece of content, in either dialect.
    pub struct Part {
        /// `text`, `file` or `data`; without it the one member that is there tells.
        kind: String as "kind";
        /// Text.
        text: Option<String> as "text";
        /// A file.
        file: Option<File> as "file";
        /// An object; in the proto's dialect one that holds it under `data`.
        data: Option<Struct> as "data";
        /// Free-form data.
        metadata: Option<Struct> as "metadata";
    }

    /// A file, in either dialect.
    pub struct File {
        /// Content.
        bytes: Option<Bytes> as "bytes";
        /// A reference.
        uri: Option<String> as "uri";
        /// Content, as the proto calls it.
        file_with_bytes: Option<Bytes> as "fileWithBytes";
        /// A reference, as the proto calls it.
        file_with_uri: Option<String> as "fileWithUri";
        /// A name.
        name: String as "name";
        /// The media type.
        mime_type: String as "mimeType";
    }
}

/// Which member of a part is its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Text,
    File,
    Data,
}

impl Part {
    /// The content's member, or what is wrong and with which member (none: the part itself).
    fn member(&self) -> Result<Member, (Option<&'static str>, &'static str)> {
        let named = match self.kind.as_str() {
            "" => None,
            "text" => Some(Member::Text),
            "file" => Some(Member::File),
            "data" => Some(Member::Data),
            _ => return Err((Some("kind"), "must be text, file or data")),
        };
        let given = match (&self.text, &self.file, &self.data) {
            (Some(_), None, None) => Some(Member::Text),
            (None, Some(_), None) => Some(Member::File),
            (None, None, Some(_)) => Some(Member::Data),
            (None, None, None) => None,
            _ => return Err((None, "exactly one of text, file, data must be set")),
        };
        match (named, given) {
            (None, None) => Err((None, "exactly one of text, file, data must be set")),
            (Some(named), Some(given)) if named != given => Err((Some("kind"), "must name the member that is set")),
            (Some(Member::Text), None) => Err((Some("text"), "is required")),
            (Some(Member::File), None) => Err((Some("file"), "is required")),
            (Some(Member::Data), None) => Err((Some("data"), "is required")),
            (_, Some(given)) => Ok(given),
        }
    }
}

impl File {
    /// How many of the members that hold the file are there.
    fn contents(&self) -> usize {
        let bytes = [&self.bytes, &self.file_with_bytes].into_iter().flatten().count();
        bytes + [&self.uri, &self.file_with_uri].into_iter().flatten().count()
    }
}

/// Checks what stands in each part.
pub(crate) fn check_parts(parts: &[Part], at: &Path<'_>, out: &mut Vec<Violation>) {
    for (index, part) in parts.iter().enumerate() {
        let here = at.index(index);
        match (part.member(), &part.file) {
            (Ok(Member::File), Some(file)) if file.contents() != 1 => {
                out.push(
                    here.field("file").violation("exactly one of bytes, uri, fileWithBytes, fileWithUri must be set"),
                );
            }
            (Ok(_), _) => {}
            (Err((Some(field), description)), _) => out.push(here.field(field).violation(description)),
            (Err((None, description)), _) => out.push(here.violation(description)),
        }
    }
}

impl From<Part> for message::Part {
    fn from(part: Part) -> Self {
        let member = part.member().ok();
        let Part { kind, text, file, data, mut metadata } = part;
        let (mut filename, mut media_type) = Default::default();
        let content = match member {
            None => None,
            Some(Member::Text) => text.map(Content::Text),
            Some(Member::File) => file.and_then(|file| {
                (filename, media_type) = (file.name, file.mime_type);
                let bytes = file.bytes.or(file.file_with_bytes).map(|bytes| Content::Raw(bytes.0));
                bytes.or(file.uri.or(file.file_with_uri).map(Content::Url))
            }),
            Some(Member::Data) => data.map(|data| {
                let data = if kind.is_empty() { inner(data) } else { data };
                Content::Data(unwrapped(data, &mut metadata))
            }),
        };
        message::Part { content, metadata, filename, media_type }
    }
}

/// The object of a data part of the proto's dialect. Without its `kind`, one of JSON-RPC's that happens to hold
/// nothing but an object called `data` looks the same, and is taken for it.
fn inner(mut data: Struct) -> Struct {
    match data.get_mut("data").map(Value::take) {
        Some(Value::Object(inner)) if data.len() == 1 => inner,
        Some(other) => {
            data.insert("data".to_owned(), other);
            data
        }
        None => data,
    }
}

/// The value that was no object, if the part's metadata say so.
fn unwrapped(mut data: Struct, metadata: &mut Option<Struct>) -> Value {
    let marked = metadata.as_ref().is_some_and(|metadata| metadata.get(WRAPPED) == Some(&Value::Bool(true)));
    match data.remove(VALUE) {
        Some(value) if marked && data.is_empty() => {
            if let Some(map) = metadata {
                map.remove(WRAPPED);
            }
            metadata.take_if(|metadata| metadata.is_empty());
            value
        }
        Some(value) => {
            data.insert(VALUE.to_owned(), value);
            Value::Object(data)
        }
        None => Value::Object(data),
    }
}
