//! Which method means which operation, in which dialect: the names are disjoint, so that one endpoint serves both versions.

use wire::{Error, Version};

use crate::dialect::Dialect;
use crate::operation::Operation;

/// As much of an unknown name is said back, in characters.
const SHOWN: usize = 64;

/// What 0.3 calls the operations that it has.
const V03: &[(&str, Operation)] = &[
    ("message/send", Operation::SendMessage),
    ("message/stream", Operation::SendStreamingMessage),
    ("tasks/get", Operation::GetTask),
    ("tasks/cancel", Operation::CancelTask),
    ("tasks/resubscribe", Operation::SubscribeToTask),
    ("tasks/pushNotificationConfig/set", Operation::CreateTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/get", Operation::GetTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/list", Operation::ListTaskPushNotificationConfigs),
    ("tasks/pushNotificationConfig/delete", Operation::DeleteTaskPushNotificationConfig),
    ("agent/getAuthenticatedExtendedCard", Operation::GetExtendedAgentCard),
];

/// A known method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) operation: Operation,
    pub(super) dialect: Dialect,
}

impl Method {
    /// The method of that name.
    pub(super) fn named(name: &str, served: &[Version]) -> Option<Method> {
        let old = || V03.iter().find(|(known, _)| *known == name && served.contains(&Version::V03));
        if let Some((_, operation)) = old() {
            return Some(Method { operation: *operation, dialect: Dialect::Rpc03 });
        }
        let operation = Operation::ALL.iter().copied().find(|operation| operation.name() == name)?;
        Some(Method { operation, dialect: Dialect::V1 })
    }

    /// Whether its errors too are told in a stream, as the SDKs of 0.3 do and expect.
    pub(super) fn streams_errors(self) -> bool {
        self.dialect == Dialect::Rpc03 && self.operation.streams()
    }
}

/// There is no method of that name; these are those of the version that the request speaks.
pub(super) fn unknown(name: &str, version: Version) -> Error {
    let names: Vec<&str> = match version {
        Version::V03 => V03.iter().map(|(name, _)| *name).collect(),
        Version::V1 => Operation::ALL.iter().map(|operation| operation.name()).collect(),
    };
    let names = names.join(", ");
    let shown: String = name.chars().take(SHOWN).collect();
    Error::method_not_found(&shown).doing(format!("there is no method `{shown}`; there are: {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_operation_of_one_version() {
        for operation in Operation::ALL {
            let known = Method { operation: *operation, dialect: Dialect::V1 };
            for served in [Version::ALL, &[Version::V1]] {
                assert_eq!(Method::named(operation.name(), served), Some(known));
            }
        }
        for (name, operation) in V03 {
            let known = Method { operation: *operation, dialect: Dialect::Rpc03 };
            assert_eq!(Method::named(name, Version::ALL), Some(known));
            assert_eq!(Method::named(name, &[Version::V1]), None, "{name}");
        }
        assert_eq!(V03.len(), Operation::ALL.len() - 1, "0.3 lists no tasks");
        for name in ["tasks/list", "message/sendSubscribe", "/", "GetTask/", "getTask", ""] {
            assert_eq!(Method::named(name, Version::ALL), None, "{name}");
        }
    }
}
