//! Every way an operation can fail, and what each binding calls it (A2A §5.4).
//!
//! One table. A binding asks it for a JSON-RPC code, a gRPC status or an HTTP status and never
//! decides one itself, so that the same failure is the same failure everywhere.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

mod construct;

/// The domain of reasons that A2A or its SDKs define.
pub const A2A_DOMAIN: &str = "a2a-protocol.org";
/// The domain of our own reasons.
pub const OWN_DOMAIN: &str = "taskyard.dev";

macro_rules! errors {
    ($($(#[$doc:meta])* $kind:ident = $reason:literal, $jsonrpc:literal, $grpc:ident, $http:literal, $domain:ident;)*) => {
        /// What went wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Kind { $($(#[$doc])* $kind),* }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];
            /// `google.rpc.ErrorInfo.reason`.
            pub const fn reason(self) -> &'static str { match self { $(Kind::$kind => $reason),* } }
            /// `error.code` of a JSON-RPC response.
            pub const fn jsonrpc(self) -> i32 { match self { $(Kind::$kind => $jsonrpc),* } }
            /// The gRPC status code.
            pub const fn grpc(self) -> Grpc { match self { $(Kind::$kind => Grpc::$grpc),* } }
            /// The HTTP status.
            pub const fn http(self) -> u16 { match self { $(Kind::$kind => $http),* } }
            /// `google.rpc.ErrorInfo.domain`.
            pub const fn domain(self) -> &'static str { match self { $(Kind::$kind => $domain),* } }
        }
    };
}

errors! {
    /// The task does not exist, or not for this caller.
    TaskNotFound                   = "TASK_NOT_FOUND",                     -32001, NotFound,           404, A2A_DOMAIN;
    /// The task is in a terminal state.
    TaskNotCancelable              = "TASK_NOT_CANCELABLE",                -32002, FailedPrecondition, 400, A2A_DOMAIN;
    /// The agent does not do push notifications.
    PushNotificationNotSupported   = "PUSH_NOTIFICATION_NOT_SUPPORTED",    -32003, FailedPrecondition, 400, A2A_DOMAIN;
    /// The operation is not possible for this agent or in this state.
    UnsupportedOperation           = "UNSUPPORTED_OPERATION",              -32004, FailedPrecondition, 400, A2A_DOMAIN;
    /// A media type the agent or the binding does not take.
    ContentTypeNotSupported        = "CONTENT_TYPE_NOT_SUPPORTED",         -32005, InvalidArgument,    400, A2A_DOMAIN;
    /// The agent answered with something that is not A2A.
    InvalidAgentResponse           = "INVALID_AGENT_RESPONSE",             -32006, Internal,           500, A2A_DOMAIN;
    /// The agent has no extended card.
    ExtendedAgentCardNotConfigured = "EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, FailedPrecondition, 400, A2A_DOMAIN;
    /// The client did not declare an extension that the agent requires.
    ExtensionSupportRequired       = "EXTENSION_SUPPORT_REQUIRED",         -32008, FailedPrecondition, 400, A2A_DOMAIN;
    /// The requested protocol version is not served here.
    VersionNotSupported            = "VERSION_NOT_SUPPORTED",              -32009, FailedPrecondition, 400, A2A_DOMAIN;
    /// A field of the request is missing or wrong.
    InvalidParams                  = "INVALID_PARAMS",                     -32602, InvalidArgument,    400, A2A_DOMAIN;
    /// JSON, but not a request.
    InvalidRequest                 = "INVALID_REQUEST",                    -32600, InvalidArgument,    400, A2A_DOMAIN;
    /// Not JSON.
    ParseError                     = "PARSE_ERROR",                        -32700, InvalidArgument,    400, A2A_DOMAIN;
    /// No such method or path.
    MethodNotFound                 = "METHOD_NOT_FOUND",                   -32601, Unimplemented,      404, A2A_DOMAIN;
    /// The path exists, but not for this HTTP method.
    MethodNotAllowed               = "METHOD_NOT_ALLOWED",                 -32601, Unimplemented,      405, OWN_DOMAIN;
    /// A quota or a rate is used up.
    ResourceExhausted              = "RESOURCE_EXHAUSTED",                 -32000, ResourceExhausted,  429, OWN_DOMAIN;
    /// The request body is too long.
    PayloadTooLarge                = "PAYLOAD_TOO_LARGE",                  -32600, ResourceExhausted,  413, OWN_DOMAIN;
    /// No credential, or none that we know.
    Unauthenticated                = "UNAUTHENTICATED",                    -32600, Unauthenticated,    401, OWN_DOMAIN;
    /// The credential does not cover this.
    PermissionDenied               = "PERMISSION_DENIED",                  -32600, PermissionDenied,   403, OWN_DOMAIN;
    /// Our fault.
    Internal                       = "INTERNAL_ERROR",                     -32603, Internal,           500, A2A_DOMAIN;
    /// Not now; try again.
    Unavailable                    = "UNAVAILABLE",                        -32603, Unavailable,        503, OWN_DOMAIN;
    /// Worker surface: the task's state does not permit the move.
    TaskStateConflict              = "TASK_STATE_CONFLICT",                -32000, FailedPrecondition, 409, OWN_DOMAIN;
    /// Worker surface: the lease named is not the task's current one.
    LeaseLost                      = "LEASE_LOST",                         -32000, FailedPrecondition, 409, OWN_DOMAIN;
    /// Worker surface: the task is held and the request names no lease.
    LeaseRequired                  = "LEASE_REQUIRED",                     -32000, FailedPrecondition, 428, OWN_DOMAIN;
    /// Worker surface: no such lease.
    LeaseNotFound                  = "LEASE_NOT_FOUND",                    -32000, NotFound,           404, OWN_DOMAIN;
    /// Worker surface: no such session.
    SessionNotFound                = "SESSION_NOT_FOUND",                  -32000, NotFound,           404, OWN_DOMAIN;
}

macro_rules! grpc {
    ($($code:ident = $number:literal $name:literal),* $(,)?) => {
        /// The gRPC status codes in use; numbers and names are those of `google.rpc.Code`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Grpc {
            $(#[doc = concat!("`", $name, "`")] $code = $number),*
        }

        impl Grpc {
            /// The upper-case name, as in `error.status` of the REST binding.
            pub const fn name(self) -> &'static str { match self { $(Grpc::$code => $name),* } }
            /// The number on the gRPC wire.
            pub const fn number(self) -> i32 { self as i32 }
        }
    };
}

grpc! {
    InvalidArgument = 3 "INVALID_ARGUMENT",
    NotFound = 5 "NOT_FOUND",
    PermissionDenied = 7 "PERMISSION_DENIED",
    ResourceExhausted = 8 "RESOURCE_EXHAUSTED",
    FailedPrecondition = 9 "FAILED_PRECONDITION",
    Unimplemented = 12 "UNIMPLEMENTED",
    Internal = 13 "INTERNAL",
    Unavailable = 14 "UNAVAILABLE",
    Unauthenticated = 16 "UNAUTHENTICATED",
}

/// One field that is wrong: an entry of `google.rpc.BadRequest.fieldViolations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path in its JSON spelling, e.g. `message.parts[0].raw`; a header or query name as it stands.
    pub field: String,
    /// What is wrong, for a person.
    pub description: String,
    /// What is wrong, for a program, where there is a word for it.
    pub reason: Option<String>,
}

impl Violation {
    /// A violation without a reason.
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Violation { field: field.into(), description: description.into(), reason: None }
    }

    /// Gives the violation a reason, e.g. `IDEMPOTENCY_KEY_REUSED`.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The one error that crosses the engine's boundary.
#[derive(Debug)]
pub struct Error {
    /// What went wrong.
    pub kind: Kind,
    /// What was being done with which value, for a person. A client does not see it when the kind is
    /// [`Kind::Internal`].
    pub message: String,
    /// The fields that are wrong; empty for most kinds.
    pub violations: Vec<Violation>,
    /// `google.rpc.ErrorInfo.metadata`: facts for a program, keys in camelCase.
    pub metadata: BTreeMap<String, String>,
    /// The cause, for the log.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// What a client may read: the message, or the words `internal error` when the fault is ours.
    pub fn public_message(&self) -> &str {
        match self.kind {
            Kind::Internal => "internal error",
            _ => &self.message,
        }
    }

    /// The details every binding sends: `ErrorInfo` always, `BadRequest` when fields are wrong, each as an
    /// object with `@type` (JSON-RPC `error.data`, REST `error.details`).
    pub fn details(&self) -> Vec<Value> {
        let mut info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.kind.reason(),
            "domain": self.kind.domain(),
        });
        if !self.metadata.is_empty() {
            info["metadata"] = json!(self.metadata);
        }
        let mut details = vec![info];
        if !self.violations.is_empty() {
            let violations: Vec<Value> = self.violations.iter().map(Violation::to_value).collect();
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": violations,
            }));
        }
        details
    }

    /// The body of an HTTP error answer, A2A §11.6: `google.rpc.Status` in JSON under `error`, its `code`
    /// being the HTTP status.
    pub fn status_body(&self) -> Value {
        json!({"error": {
            "code": self.kind.http(),
            "status": self.kind.grpc().name(),
            "message": self.public_message(),
            "details": self.details(),
        }})
    }
}

impl Violation {
    fn to_value(&self) -> Value {
        let mut value = json!({"field": self.field, "description": self.description});
        if let Some(reason) = &self.reason {
            value["reason"] = json!(reason);
        }
        value
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
