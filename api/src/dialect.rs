//! How requests and answers are said in JSON, by whoever is told them by name.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;
use wire::{Error, Kind, Version, v03};

use crate::operation::{Ask, Operation, Said};
use crate::rest::Page;

/// Both dialects of 0.3 have the same functions over different types.
macro_rules! read_v03 {
    ($dialect:ident, $operation:expr, $json:expr) => {
        match $operation {
            Operation::SendMessage => v03::$dialect::send_request($json).map(Ask::SendMessage),
            Operation::SendStreamingMessage => v03::$dialect::send_request($json).map(Ask::SendStreamingMessage),
            Operation::GetTask => v03::$dialect::get_task_request($json).map(Ask::GetTask),
            // Nobody asks for it: no table of 0.3 has it.
            Operation::ListTasks => Err(Error::method_not_found($operation.name())),
            Operation::CancelTask => v03::$dialect::cancel_task_request($json).map(Ask::CancelTask),
            Operation::SubscribeToTask => v03::$dialect::subscribe_request($json).map(Ask::SubscribeToTask),
            Operation::CreateTaskPushNotificationConfig => {
                v03::$dialect::create_push_config_request($json).map(Ask::CreatePushConfig)
            }
            Operation::GetTaskPushNotificationConfig => {
                v03::$dialect::get_push_config_request($json).map(Ask::GetPushConfig)
            }
            Operation::ListTaskPushNotificationConfigs => {
                v03::$dialect::list_push_configs_request($json).map(Ask::ListPushConfigs)
            }
            // It says nothing that matters in 0.3 but a tenant, which 1.0 says alike.
            Operation::GetExtendedAgentCard => wire::parse($json).map(Ask::GetExtendedAgentCard),
            Operation::DeleteTaskPushNotificationConfig => {
                v03::$dialect::delete_push_config_request($json).map(Ask::DeletePushConfig)
            }
        }
    };
}

/// As [`read_v03`], for answers.
macro_rules! say_v03 {
    ($dialect:ident, $said:expr, $serializer:expr, { deleted: $deleted:expr, card: $card:expr $(,)? }) => {
        match $said {
            Said::Sent(sent) => v03::$dialect::send_response(sent).serialize($serializer),
            Said::Events(_) | Said::Tasks(_) => Err(no_answer()),
            Said::Task(task) => v03::$dialect::task(task).serialize($serializer),
            Said::PushConfig(config) => v03::$dialect::push_config(config).serialize($serializer),
            Said::PushConfigs(configs) => v03::$dialect::push_configs(configs).serialize($serializer),
            Said::Deleted => $deleted,
            Said::Card(card) => {
                let card: Result<Value, Error> = $card(card);
                card.map_err(serde::ser::Error::custom)?.serialize($serializer)
            }
        }
    };
}

/// A way of saying the same in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// ProtoJSON of 1.0.
    V1,
    /// What 0.3 says over JSON-RPC: objects with a `kind`.
    Rpc03,
    /// What 0.3 says over HTTP+JSON and, as ProtoJSON, over gRPC.
    Proto03,
}

impl Dialect {
    /// The version that it belongs to.
    pub(crate) const fn version(self) -> Version {
        match self {
            Dialect::V1 => Version::V1,
            Dialect::Rpc03 | Dialect::Proto03 => Version::V03,
        }
    }

    /// The code of an error in JSON-RPC. 0.3 ends at -32007; what it does not know is internal to it, and `data` still says what it is.
    pub(crate) const fn code(self, kind: Kind) -> i32 {
        match (self.version(), kind) {
            (Version::V03, Kind::ExtensionSupportRequired | Kind::VersionNotSupported) => Kind::Internal.jsonrpc(),
            _ => kind.jsonrpc(),
        }
    }

    /// Read a request.
    ///
    /// # Errors
    /// `ParseError`, or `InvalidParams` that names the field as the client wrote it.
    pub(crate) fn read(self, operation: Operation, json: &[u8]) -> Result<Ask, Error> {
        match self {
            Dialect::V1 => read_v1(operation, json),
            Dialect::Rpc03 => read_v03!(rpc, operation, json),
            Dialect::Proto03 => read_v03!(proto, operation, json),
        }
    }

    /// Say an item of a stream, which is kept as 1.0 says it.
    pub(crate) fn item(self, body: &str) -> Result<Cow<'_, str>, Error> {
        match self {
            Dialect::V1 => Ok(Cow::Borrowed(body)),
            Dialect::Rpc03 => printed(&v03::rpc::stream_response(&wire::parse(body.as_bytes())?)),
            Dialect::Proto03 => printed(&v03::proto::stream_response(&wire::parse(body.as_bytes())?)),
        }
    }
}

fn read_v1(operation: Operation, json: &[u8]) -> Result<Ask, Error> {
    fn as_is<T: DeserializeOwned>(json: &[u8], ask: fn(T) -> Ask) -> Result<Ask, Error> {
        wire::parse(json).map(ask)
    }
    match operation {
        Operation::SendMessage => as_is(json, Ask::SendMessage),
        Operation::SendStreamingMessage => as_is(json, Ask::SendStreamingMessage),
        Operation::GetTask => as_is(json, Ask::GetTask),
        Operation::ListTasks => as_is(json, Ask::ListTasks),
        Operation::CancelTask => as_is(json, Ask::CancelTask),
        Operation::SubscribeToTask => as_is(json, Ask::SubscribeToTask),
        Operation::CreateTaskPushNotificationConfig => as_is(json, Ask::CreatePushConfig),
        Operation::GetTaskPushNotificationConfig => as_is(json, Ask::GetPushConfig),
        Operation::ListTaskPushNotificationConfigs => as_is(json, Ask::ListPushConfigs),
        Operation::GetExtendedAgentCard => as_is(json, Ask::GetExtendedAgentCard),
        Operation::DeleteTaskPushNotificationConfig => as_is(json, Ask::DeletePushConfig),
    }
}

/// An answer in a dialect.
pub(crate) struct Spoken<'a>(pub(crate) Dialect, pub(crate) &'a Said);

impl Serialize for Spoken<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Dialect::V1 => say_v1(self.1, serializer),
            Dialect::Rpc03 => say_v03!(rpc, self.1, serializer, {
                deleted: serializer.serialize_unit(),
                card: v03::card,
            }),
            Dialect::Proto03 => say_v03!(proto, self.1, serializer, {
                deleted: serializer.collect_map::<&str, (), _>([]),
                card: v03::proto::card,
            }),
        }
    }
}

fn say_v1<S: Serializer>(said: &Said, serializer: S) -> Result<S::Ok, S::Error> {
    match said {
        Said::Sent(sent) => sent.serialize(serializer),
        Said::Events(_) => Err(no_answer()),
        Said::Task(task) => task.serialize(serializer),
        Said::Tasks(tasks) => Page(tasks).serialize(serializer),
        Said::PushConfig(config) => config.serialize(serializer),
        Said::PushConfigs(configs) => configs.serialize(serializer),
        Said::Deleted => serializer.collect_map::<&str, (), _>([]),
        Said::Card(card) => card.serialize(serializer),
    }
}

fn printed(item: &impl Serialize) -> Result<Cow<'static, str>, Error> {
    serde_json::to_string(item).map(Cow::Owned).map_err(Error::internal)
}

/// Streams are said item by item, and 0.3 lists no tasks.
fn no_answer<E: serde::ser::Error>() -> E {
    E::custom("this is no single answer of this dialect")
}
