//! What clients ask (A2A §3.1, §3.2). Requests about push configs stand in [`crate::push`].

use crate::json::Struct;
use crate::message::Message;
use crate::proto::message;
use crate::push::TaskPushNotificationConfig;
use crate::rules;
use crate::task::TaskState;
use crate::timestamp::Timestamp;

message! {
    /// Sends a message to an agent.
    pub struct SendMessageRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// The client's message.
        message: Option<Message> as "message" = 2 [required];
        /// Options.
        configuration: Option<SendMessageConfiguration> as "configuration" = 3;
        /// Free-form data about the request.
        metadata: Option<Struct> as "metadata" = 4;
    }

    /// Options of a send.
    pub struct SendMessageConfiguration {
        /// Media types the client can take back.
        accepted_output_modes: Vec<String> as "acceptedOutputModes" = 1;
        /// Registers a webhook together with the send.
        task_push_notification_config: Option<TaskPushNotificationConfig> as "taskPushNotificationConfig" = 2;
        /// How many messages of history the answer carries at most; unset is the server's default.
        history_length: Option<i32> as "historyLength" = 3, rules::length;
        /// Whether to answer as soon as the task exists, instead of when it ends or waits for the client.
        return_immediately: bool as "returnImmediately" = 4;
    }

    /// Asks for a task.
    pub struct GetTaskRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// The task.
        id: String as "id" = 2 [required], rules::id;
        /// How many messages of history at most; unset is all.
        history_length: Option<i32> as "historyLength" = 3, rules::length;
    }

    /// Asks for tasks, newest status first.
    pub struct ListTasksRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// Only tasks of this conversation; empty is any.
        context_id: String as "contextId" = 2, rules::id;
        /// Only tasks in this state; unspecified is any.
        status: TaskState as "status" = 3;
        /// How many at most, 1 to 100; unset is 50.
        page_size: Option<i32> as "pageSize" = 4, rules::page_size;
        /// Where the last page ended.
        page_token: String as "pageToken" = 5;
        /// How many messages of history each task carries at most; unset is none.
        history_length: Option<i32> as "historyLength" = 6, rules::length;
        /// Only tasks whose status was recorded then or later.
        status_timestamp_after: Option<Timestamp> as "statusTimestampAfter" = 7;
        /// Whether tasks carry their artifacts; unset is no.
        include_artifacts: Option<bool> as "includeArtifacts" = 8;
    }

    /// Cancels a task.
    pub struct CancelTaskRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// The task.
        id: String as "id" = 2 [required], rules::id;
        /// Free-form data for the agent.
        metadata: Option<Struct> as "metadata" = 3;
    }

    /// Subscribes to a task's events.
    pub struct SubscribeToTaskRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// The task.
        id: String as "id" = 2 [required], rules::id;
    }

    /// Asks for the card that authenticated clients see.
    pub struct GetExtendedAgentCardRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
    }
}
