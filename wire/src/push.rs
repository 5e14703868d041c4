//! Push notification configs (A2A §4.3) and the requests about them (§3.1.7-3.1.10).

use crate::proto::message;
use crate::rules;

message! {
    /// Where and how a task's events are pushed. Request, answer and list element in one.
    pub struct TaskPushNotificationConfig {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// The config's id; the server makes one when the client does not.
        id: String as "id" = 2, rules::id;
        /// The task; empty inside a send request.
        task_id: String as "taskId" = 3, rules::id;
        /// The webhook.
        url: String as "url" = 4 [required], rules::header_text;
        /// A secret for the receiver to check.
        token: String as "token" = 5, rules::token;
        /// How the server authenticates to the webhook.
        authentication: Option<AuthenticationInfo> as "authentication" = 6;
    }

    /// How the server authenticates to a webhook.
    pub struct AuthenticationInfo {
        /// One IANA HTTP authentication scheme, e.g. `Bearer`.
        scheme: String as "scheme" = 1 [required], rules::scheme;
        /// What follows the scheme in `Authorization`.
        credentials: String as "credentials" = 2, rules::credentials;
    }

    /// Asks for one config.
    pub struct GetTaskPushNotificationConfigRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// The task.
        task_id: String as "taskId" = 2 [required], rules::id;
        /// The config.
        id: String as "id" = 3 [required], rules::id;
    }

    /// Deletes one config.
    pub struct DeleteTaskPushNotificationConfigRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 1;
        /// The task.
        task_id: String as "taskId" = 2 [required], rules::id;
        /// The config.
        id: String as "id" = 3 [required], rules::id;
    }

    /// Asks for a task's configs.
    pub struct ListTaskPushNotificationConfigsRequest {
        /// The tenant; empty for none.
        tenant: String as "tenant" = 4;
        /// The task.
        task_id: String as "taskId" = 1 [required], rules::id;
        /// How many at most; 0 is unset.
        page_size: i32 as "pageSize" = 2, rules::page_size_or_zero;
        /// Where the last page ended.
        page_token: String as "pageToken" = 3;
    }

    /// A task's configs.
    pub struct ListTaskPushNotificationConfigsResponse {
        /// The configs; printed even when there are none.
        configs: Vec<TaskPushNotificationConfig> as "configs" = 1 [emitted];
        /// Where the next page begins; empty on the last.
        next_page_token: String as "nextPageToken" = 2 [emitted];
    }
}
