//! What 0.3 is answered with: views of 1.0's types that print themselves in either dialect.
//!
//! The dialects differ in names and in `kind`, and hardly in structure, so that one set of views serves both: what a
//! dialect does not have is `None` or empty, and is not printed.

use super::word::{self, VALUE, WRAPPED};
use crate::event::{TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
use crate::json::{Base64, Struct};
use crate::message::{self, Content};
use crate::push::{AuthenticationInfo, TaskPushNotificationConfig};
use crate::task;
use crate::timestamp::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Which words are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// That of JSON-RPC: `kind` members, lower-case enums.
    Rpc,
    /// That of `a2a.v1`: wrappers, `content`, the proto's enums.
    Proto,
}

impl Dialect {
    fn kind(self, kind: &'static str) -> Option<&'static str> {
        (self == Dialect::Rpc).then_some(kind)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    id: &'a str,
    context_id: &'a str,
    status: Status<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<Artifact<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

impl<'a> Task<'a> {
    pub(crate) fn of(task: &'a task::Task, dialect: Dialect) -> Self {
        Task {
            kind: dialect.kind("task"),
            id: &task.id,
            context_id: &task.context_id,
            status: Status::of(&task.status, dialect),
            artifacts: task.artifacts.iter().map(|artifact| Artifact::of(artifact, dialect)).collect(),
            history: task.history.iter().map(|message| Message::of(message, dialect)).collect(),
            metadata: task.metadata.as_ref(),
        }
    }
}

#[derive(Serialize)]
struct Status<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

impl<'a> Status<'a> {
    fn of(status: &'a task::TaskStatus, dialect: Dialect) -> Self {
        Status {
            state: word::state(status.state, dialect),
            message: status.message.as_ref().map(|message| Message::of(message, dialect)),
            timestamp: status.timestamp,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    message_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    context_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    task_id: &'a str,
    role: &'static str,
    #[serde(flatten)]
    parts: Parts<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reference_task_ids: &'a [String],
}

/// A message's parts under the dialect's name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Parts<'a> {
    Parts(Vec<Part<'a>>),
    Content(Vec<Part<'a>>),
}

impl<'a> Message<'a> {
    pub(crate) fn of(message: &'a message::Message, dialect: Dialect) -> Self {
        let parts = Part::all(&message.parts, dialect);
        let (parts, reference_task_ids) = match dialect {
            Dialect::Rpc => (Parts::Parts(parts), message.reference_task_ids.as_slice()),
            Dialect::Proto => (Parts::Content(parts), Default::default()),
        };
        Message {
            kind: dialect.kind("message"),
            message_id: &message.message_id,
            context_id: &message.context_id,
            task_id: &message.task_id,
            role: word::role(message.role, dialect),
            parts,
            metadata: message.metadata.as_ref(),
            extensions: &message.extensions,
            reference_task_ids,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact<'a> {
    artifact_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parts: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [String],
}

impl<'a> Artifact<'a> {
    fn of(artifact: &'a message::Artifact, dialect: Dialect) -> Self {
        Artifact {
            artifact_id: &artifact.artifact_id,
            name: &artifact.name,
            description: &artifact.description,
            parts: Part::all(&artifact.parts, dialect),
            metadata: artifact.metadata.as_ref(),
            extensions: &artifact.extensions,
        }
    }
}

struct Part<'a> {
    part: &'a message::Part,
    dialect: Dialect,
}

impl<'a> Part<'a> {
    fn all(parts: &'a [message::Part], dialect: Dialect) -> Vec<Self> {
        parts.iter().map(|part| Part { part, dialect }).collect()
    }

    fn file(&self, member: FileMember<'a>) -> File<'a> {
        File { member, mime_type: &self.part.media_type, name: &self.part.filename }
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut metadata = self.part.metadata.as_ref().map(Cow::Borrowed);
        let kind = match &self.part.content {
            None | Some(Content::Text(_)) => "text",
            Some(Content::Raw(_) | Content::Url(_)) => "file",
            Some(Content::Data(_)) => "data",
        };
        if self.dialect == Dialect::Rpc {
            map.serialize_entry("kind", kind)?;
        }
        match (&self.part.content, self.dialect) {
            // A part without content is refused wherever it comes from.
            (None, _) => map.serialize_entry(kind, "")?,
            (Some(Content::Text(text)), _) => map.serialize_entry(kind, text)?,
            (Some(Content::Raw(bytes)), Dialect::Rpc) => {
                map.serialize_entry(kind, &self.file(FileMember::Bytes(Base64(bytes))))?;
            }
            (Some(Content::Raw(bytes)), Dialect::Proto) => {
                map.serialize_entry(kind, &self.file(FileMember::FileWithBytes(Base64(bytes))))?;
            }
            (Some(Content::Url(uri)), Dialect::Rpc) => map.serialize_entry(kind, &self.file(FileMember::Uri(uri)))?,
            (Some(Content::Url(uri)), Dialect::Proto) => {
                map.serialize_entry(kind, &self.file(FileMember::FileWithUri(uri)))?;
            }
            (Some(Content::Data(data)), dialect) => {
                let mut data = Cow::Borrowed(data);
                if !data.is_object() {
                    data = Cow::Owned(json!({ VALUE: data }));
                    metadata.get_or_insert_default().to_mut().insert(WRAPPED.to_owned(), Value::Bool(true));
                }
                match dialect {
                    Dialect::Rpc => map.serialize_entry(kind, &data)?,
                    Dialect::Proto => map.serialize_entry(kind, &DataPart { data: &data })?,
                }
            }
        }
        if let Some(metadata) = metadata {
            map.serialize_entry("metadata", &*metadata)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct DataPart<'a> {
    data: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(flatten)]
    member: FileMember<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    mime_type: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum FileMember<'a> {
    Bytes(Base64<'a>),
    Uri(&'a str),
    FileWithBytes(Base64<'a>),
    FileWithUri(&'a str),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusUpdate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a str,
    context_id: &'a str,
    status: Status<'a>,
    /// Whether nothing follows. 1.0 says it by closing the stream.
    r#final: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

impl<'a> StatusUpdate<'a> {
    pub(crate) fn of(event: &'a TaskStatusUpdateEvent, dialect: Dialect) -> Self {
        StatusUpdate {
            kind: dialect.kind("status-update"),
            task_id: &event.task_id,
            context_id: &event.context_id,
            status: Status::of(&event.status, dialect),
            r#final: event.status.state.is_terminal(),
            metadata: event.metadata.as_ref(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactUpdate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a str,
    context_id: &'a str,
    artifact: Artifact<'a>,
    append: bool,
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

impl<'a> ArtifactUpdate<'a> {
    pub(crate) fn of(event: &'a TaskArtifactUpdateEvent, dialect: Dialect) -> Self {
        ArtifactUpdate {
            kind: dialect.kind("artifact-update"),
            task_id: &event.task_id,
            context_id: &event.context_id,
            artifact: Artifact::of(&event.artifact, dialect),
            append: event.append,
            last_chunk: event.last_chunk,
            metadata: event.metadata.as_ref(),
        }
    }
}

/// A push config without its place, which the dialects name differently.
#[derive(Serialize)]
pub(crate) struct PushConfig<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    token: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication<'a>>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for PushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        PushConfig {
            id: &config.id,
            url: &config.url,
            token: &config.token,
            authentication: config.authentication.as_ref().map(Authentication::from),
        }
    }
}

#[derive(Serialize)]
struct Authentication<'a> {
    schemes: [&'a str; 1],
    #[serde(skip_serializing_if = "str::is_empty")]
    credentials: &'a str,
}

impl<'a> From<&'a AuthenticationInfo> for Authentication<'a> {
    fn from(info: &'a AuthenticationInfo) -> Self {
        Authentication { schemes: [&info.scheme], credentials: &info.credentials }
    }
}
