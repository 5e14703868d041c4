//! Agent cards (A2A §4.4): who an agent is and how to reach it.

use crate::json::Struct;
use crate::proto::message;
use crate::security::{SecurityRequirement, SecurityScheme};
use std::collections::BTreeMap;

message! {
    /// What an agent tells about itself.
    pub struct AgentCard {
        /// A name for people.
        name: String as "name" = 1 [required];
        /// What the agent does.
        description: String as "description" = 2 [required];
        /// How to reach it, the preferred way first.
        supported_interfaces: Vec<AgentInterface> as "supportedInterfaces" = 3 [required];
        /// Who offers the agent.
        provider: Option<AgentProvider> as "provider" = 4;
        /// The agent's own version.
        version: String as "version" = 5 [required];
        /// Where its documentation is.
        documentation_url: Option<String> as "documentationUrl" = 6;
        /// What it can do beyond the plain operations.
        capabilities: AgentCapabilities as "capabilities" = 7 [required];
        /// Ways to authenticate, by name.
        security_schemes: BTreeMap<String, SecurityScheme> as "securitySchemes" = 8;
        /// Which of them are needed: any one entry suffices.
        security_requirements: Vec<SecurityRequirement> as "securityRequirements" = 9;
        /// Media types it takes; a skill may say otherwise.
        default_input_modes: Vec<String> as "defaultInputModes" = 10 [required];
        /// Media types it produces; a skill may say otherwise.
        default_output_modes: Vec<String> as "defaultOutputModes" = 11 [required];
        /// What it can be asked for.
        skills: Vec<AgentSkill> as "skills" = 12 [required];
        /// Signatures over the rest of the card.
        signatures: Vec<AgentCardSignature> as "signatures" = 13;
        /// An icon.
        icon_url: Option<String> as "iconUrl" = 14;
    }

    /// One way to reach an agent.
    pub struct AgentInterface {
        /// The absolute URL.
        url: String as "url" = 1 [required];
        /// `JSONRPC`, `GRPC`, `HTTP+JSON`, or the URI of a custom binding.
        protocol_binding: String as "protocolBinding" = 2 [required];
        /// What a client must send as `tenant`; empty for none.
        tenant: String as "tenant" = 3;
        /// The protocol version as `Major.Minor`.
        protocol_version: String as "protocolVersion" = 4 [required];
    }

    /// Who offers an agent.
    pub struct AgentProvider {
        /// The provider's site.
        url: String as "url" = 1 [required];
        /// The provider's name.
        organization: String as "organization" = 2 [required];
    }

    /// What an agent can do beyond the plain operations; absent is no.
    pub struct AgentCapabilities {
        /// Streams.
        streaming: Option<bool> as "streaming" = 1;
        /// Push notifications.
        push_notifications: Option<bool> as "pushNotifications" = 2;
        /// Extensions.
        extensions: Vec<AgentExtension> as "extensions" = 3;
        /// An extended card for authenticated clients.
        extended_agent_card: Option<bool> as "extendedAgentCard" = 4;
    }

    /// An extension an agent knows.
    pub struct AgentExtension {
        /// The extension's URI, version included.
        uri: String as "uri" = 1;
        /// How the agent uses it.
        description: String as "description" = 2;
        /// Whether clients must declare it.
        required: bool as "required" = 3;
        /// The extension's own parameters.
        params: Option<Struct> as "params" = 4;
    }

    /// Something an agent can be asked for.
    pub struct AgentSkill {
        /// Unique within the card.
        id: String as "id" = 1 [required];
        /// A name for people.
        name: String as "name" = 2 [required];
        /// What it does.
        description: String as "description" = 3 [required];
        /// Keywords, at least one.
        tags: Vec<String> as "tags" = 4 [required];
        /// Sample prompts.
        examples: Vec<String> as "examples" = 5;
        /// Media types it takes, instead of the card's.
        input_modes: Vec<String> as "inputModes" = 6;
        /// Media types it produces, instead of the card's.
        output_modes: Vec<String> as "outputModes" = 7;
        /// What it needs beyond the card's requirements.
        security_requirements: Vec<SecurityRequirement> as "securityRequirements" = 8;
    }

    /// A JWS signature over a card.
    pub struct AgentCardSignature {
        /// The protected header, base64url.
        protected: String as "protected" = 1 [required];
        /// The signature, base64url.
        signature: String as "signature" = 2 [required];
        /// The unprotected header.
        header: Option<Struct> as "header" = 3;
    }
}
