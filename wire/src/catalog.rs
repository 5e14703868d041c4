//! The messages and enums of `a2a.proto`, for whoever wants all of them: documents and tests.

use crate::description::{Described, MessageDescription};
use crate::*;
use poem_openapi::registry::Registry;
use poem_openapi::types::Type;

macro_rules! catalog {
    ($($Name:ident)*) => {
        /// Every message of the proto.
        pub const MESSAGES: &[MessageDescription] = &[$(<$Name as Described>::DESCRIPTION),*];

        /// Puts the schema of every message into a document's registry.
        pub fn register_schemas(registry: &mut Registry) {
            $(<$Name as Type>::register(registry);)*
        }
    };
}

catalog! {
    SendMessageConfiguration Task TaskStatus Part Message Artifact TaskStatusUpdateEvent TaskArtifactUpdateEvent
    AuthenticationInfo AgentInterface AgentCard AgentProvider AgentCapabilities AgentExtension AgentSkill
    AgentCardSignature TaskPushNotificationConfig StringList SecurityRequirement SecurityScheme
    APIKeySecurityScheme HTTPAuthSecurityScheme OAuth2SecurityScheme OpenIdConnectSecurityScheme
    MutualTlsSecurityScheme OAuthFlows AuthorizationCodeOAuthFlow ClientCredentialsOAuthFlow ImplicitOAuthFlow
    PasswordOAuthFlow DeviceCodeOAuthFlow SendMessageRequest GetTaskRequest ListTasksRequest ListTasksResponse
    CancelTaskRequest GetTaskPushNotificationConfigRequest DeleteTaskPushNotificationConfigRequest
    SubscribeToTaskRequest ListTaskPushNotificationConfigsRequest GetExtendedAgentCardRequest SendMessageResponse
    StreamResponse ListTaskPushNotificationConfigsResponse
}
