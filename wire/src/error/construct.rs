//! How errors are made: one constructor a kind, so that the same failure reads the same everywhere and
//! carries the metadata a program needs.

use super::{Error, Kind, Violation};
use crate::lifecycle::Move;
use crate::task::TaskState;
use std::collections::BTreeMap;

type Source = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// An error of a kind, with nothing but a message.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), violations: Vec::new(), metadata: BTreeMap::new(), source: None }
    }

    /// Adds a fact to the metadata; the key in camelCase.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl ToString) -> Self {
        self.metadata.insert(key.into(), value.to_string());
        self
    }

    /// Attaches the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says what was being done, in place of the message so far.
    #[must_use]
    pub fn doing(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// No such task for this caller.
    pub fn task_not_found(id: &str) -> Self {
        Error::new(Kind::TaskNotFound, format!("task `{id}` not found")).with("taskId", id)
    }

    /// A push notification config that does not exist, which the protocol calls a task not found.
    pub fn push_config_not_found(task: &str, id: &str) -> Self {
        Error::new(Kind::TaskNotFound, format!("push notification config `{id}` of task `{task}` not found"))
            .with("taskId", task)
            .with("configId", id)
    }

    /// The task is terminal.
    pub fn task_not_cancelable(id: &str, state: TaskState) -> Self {
        Error::new(Kind::TaskNotCancelable, format!("task `{id}` cannot be canceled: it is {state}"))
            .with("taskId", id)
            .with("state", state)
    }

    /// The agent does not do push notifications.
    pub fn push_notification_not_supported() -> Self {
        Error::new(Kind::PushNotificationNotSupported, "this agent does not support push notifications")
    }

    /// The operation is not possible; the message says why.
    pub fn unsupported_operation(message: impl Into<String>) -> Self {
        Error::new(Kind::UnsupportedOperation, message)
    }

    /// A media type that is not taken.
    pub fn content_type_not_supported(media_type: &str) -> Self {
        Error::new(Kind::ContentTypeNotSupported, format!("content type `{media_type}` is not supported"))
            .with("contentType", media_type)
    }

    /// The agent's answer is not A2A; the message says in what.
    pub fn invalid_agent_response(message: impl Into<String>) -> Self {
        Error::new(Kind::InvalidAgentResponse, message)
    }

    /// The agent has no extended card.
    pub fn extended_agent_card_not_configured() -> Self {
        Error::new(Kind::ExtendedAgentCardNotConfigured, "this agent has no extended agent card")
    }

    /// The client must declare the extension `uri`.
    pub fn extension_support_required(uri: &str) -> Self {
        Error::new(Kind::ExtensionSupportRequired, format!("this agent requires the extension `{uri}`"))
            .with("extension", uri)
    }

    /// The version asked for is not served; `supported` are those that are, e.g. `1.0`.
    pub fn version_not_supported(version: &str, supported: &str) -> Self {
        Error::new(
            Kind::VersionNotSupported,
            format!("A2A version `{version}` is not supported here, supported is {supported}"),
        )
        .with("supportedVersions", supported)
    }

    /// No version is named, which means 0.3 (§3.6.2), and that is not what stands here.
    pub fn version_unsaid(here: &str, supported: &str) -> Self {
        Error::new(
            Kind::VersionNotSupported,
            format!(
                "the request names no A2A-Version, which means 0.3, and this is {here}: send `A2A-Version: {here}`; supported is {supported}"
            ),
        )
        .with("supportedVersions", supported)
    }

    /// One field is wrong.
    pub fn invalid(field: impl Into<String>, description: impl Into<String>) -> Self {
        Error::invalid_all(vec![Violation::new(field, description)])
    }

    /// Fields are wrong.
    pub fn invalid_all(violations: Vec<Violation>) -> Self {
        let message = match violations.as_slice() {
            [] => "invalid parameters".to_owned(),
            [one] => describe(one),
            [first, rest @ ..] => format!("{} (and {} more)", describe(first), rest.len()),
        };
        Error { violations, ..Error::new(Kind::InvalidParams, message) }
    }

    /// JSON, but not a request; the message says in what.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Error::new(Kind::InvalidRequest, message)
    }

    /// Not JSON.
    pub fn parse_error(source: impl Into<Source>) -> Self {
        let source = source.into();
        Error::new(Kind::ParseError, format!("the body is not JSON: {source}")).caused_by(source)
    }

    /// No such method or path.
    pub fn method_not_found(name: &str) -> Self {
        Error::new(Kind::MethodNotFound, format!("`{name}` does not exist"))
    }

    /// The path exists, but not for this HTTP method.
    pub fn method_not_allowed(method: &str, path: &str) -> Self {
        Error::new(Kind::MethodNotAllowed, format!("`{path}` does not take {method}"))
    }

    /// A quota or a rate is used up: which `limit`, and what it allows.
    pub fn resource_exhausted(limit: &str, message: impl Into<String>) -> Self {
        Error::new(Kind::ResourceExhausted, message).with("limit", limit)
    }

    /// The body is longer than `limit` bytes.
    pub fn payload_too_large(limit: usize) -> Self {
        Error::new(Kind::PayloadTooLarge, format!("the request body is longer than {limit} bytes"))
            .with("limitBytes", limit)
    }

    /// No credential, or none that we know; the message must not say which.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Error::new(Kind::Unauthenticated, message)
    }

    /// The credential does not cover this.
    pub fn permission_denied(message: impl Into<String>) -> Self {
        Error::new(Kind::PermissionDenied, message)
    }

    /// Our fault. Clients read `internal error`; say for the log what was being done with [`Error::doing`].
    pub fn internal(source: impl Into<Source>) -> Self {
        let source = source.into();
        Error::new(Kind::Internal, format!("internal error: {source}")).caused_by(source)
    }

    /// Not now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::new(Kind::Unavailable, message)
    }

    /// The task's state does not permit the move.
    pub fn state_conflict(id: &str, state: TaskState, attempted: Move) -> Self {
        Error::new(Kind::TaskStateConflict, format!("task `{id}` cannot move to {}: it is {state}", attempted.target()))
            .with("taskId", id)
            .with("state", state)
    }

    /// The task's state does not permit an update that is not a move; `update` names it.
    pub fn update_conflict(id: &str, state: TaskState, update: &str) -> Self {
        Error::new(Kind::TaskStateConflict, format!("task `{id}` cannot take {update}: it is {state}"))
            .with("taskId", id)
            .with("state", state)
    }

    /// The lease named is not the task's current one; `reason` is a word such as `expired`.
    pub fn lease_lost(id: &str, state: TaskState, reason: &str) -> Self {
        Error::new(Kind::LeaseLost, format!("the lease on task `{id}` is lost: {reason}"))
            .with("taskId", id)
            .with("state", state)
            .with("reason", reason)
    }

    /// The task is held by a lease and the request names none.
    pub fn lease_required(id: &str) -> Self {
        Error::new(Kind::LeaseRequired, format!("task `{id}` is held: name its lease in `Taskyard-Lease`"))
            .with("taskId", id)
    }

    /// No such lease.
    pub fn lease_not_found(lease: &str) -> Self {
        Error::new(Kind::LeaseNotFound, format!("lease `{lease}` not found")).with("lease", lease)
    }

    /// No such session.
    pub fn session_not_found(session: &str) -> Self {
        Error::new(Kind::SessionNotFound, format!("session `{session}` not found")).with("session", session)
    }
}

fn describe(violation: &Violation) -> String {
    match violation.field.as_str() {
        "" => violation.description.clone(),
        field => format!("`{field}`: {}", violation.description),
    }
}
