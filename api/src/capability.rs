//! What an agent can be asked (§3.3.4): the one place that compares an operation with the agent's capabilities.

use engine::Agent;
use engine::Extended;
use wire::{AgentCapabilities, Error};

/// What the agent declares.
pub(crate) fn of(agent: &Agent) -> AgentCapabilities {
    AgentCapabilities {
        streaming: Some(agent.streaming),
        push_notifications: Some(agent.push_notifications),
        extensions: agent.extensions(),
        extended_agent_card: Some(agent.card.extended != Extended::Undeclared),
    }
}

/// Refuse an operation that the agent does not declare. What an inline push config asks for is the engine's to check.
///
/// # Errors
/// `UnsupportedOperation`, or `PushNotificationNotSupported` for the four operations on push configs.
pub(crate) fn check(agent: &Agent, operation: &str) -> Result<(), Error> {
    let declared = of(agent);
    let refuse = |capability: &str| {
        let message =
            format!("agent `{}` does not support {operation}: its card does not declare {capability}", agent.name);
        Err(Error::unsupported_operation(message).with("capability", capability))
    };
    match operation {
        "SendStreamingMessage" | "SubscribeToTask" if declared.streaming != Some(true) => refuse("streaming"),
        "GetExtendedAgentCard" if declared.extended_agent_card != Some(true) => refuse("extendedAgentCard"),
        "CreateTaskPushNotificationConfig"
        | "GetTaskPushNotificationConfig"
        | "ListTaskPushNotificationConfigs"
        | "DeleteTaskPushNotificationConfig"
            if declared.push_notifications != Some(true) =>
        {
            Err(Error::push_notification_not_supported())
        }
        _ => Ok(()),
    }
}
