//! The protocol's words: A2A 1.0.1's types, the table of errors, the table of moves.
//!
//! No IO and no async. One family of types serves every binding: serde prints and reads ProtoJSON, poem-openapi
//! documents it, [`validate`] checks what types cannot say. Types are declared close to the proto (see
//! `proto.rs`), and a test holds the declarations against the proto's descriptor set.

pub mod card;
pub mod description;
pub mod error;
pub mod event;
pub mod lifecycle;
pub mod message;
pub mod push;
pub mod request;
pub mod response;
pub mod rules;
pub mod security;
pub mod task;
pub mod tenant;
pub mod timestamp;
pub mod v03;
pub mod worker;

mod catalog;
mod client;
mod json;
mod parse;
mod proto;
mod validate;
mod version;

pub use card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
};
pub use catalog::{MESSAGES, register_schemas};
pub use client::{Limits, validate_send};
pub use error::{Error, Grpc, Kind, Violation};
pub use event::{StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
pub use json::Struct;
pub use lifecycle::{MOVES, Move};
pub use message::{Artifact, Content, Message, Part, Role};
pub use parse::parse;
pub use push::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig,
};
pub use request::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
    SendMessageRequest, SubscribeToTaskRequest,
};
pub use response::{ListTasksResponse, SendMessageResponse};
pub use security::{
    APIKeySecurityScheme, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow,
    HTTPAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows,
    OpenIdConnectSecurityScheme, PasswordOAuthFlow, SecurityRequirement, SecurityScheme, StringList,
};
pub use task::{Task, TaskState, TaskStatus};
pub use tenant::{AgentName, Tenant};
pub use timestamp::Timestamp;
pub use validate::{Path, Validate, validate};
pub use version::Version;
