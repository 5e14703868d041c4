//! What 0.3 is asked: declared as 1.0 is, under 0.3's names, and with both dialects in one.
//!
//! Where the dialects name one thing differently there is a member for each, and one of them is given. What a
//! declaration cannot say is a check after the comma, so that whatever is wrong with a request is found at once.

use super::names;
use super::part::{Part, check_parts};
use super::word;
use crate::error::{Error, Violation};
use crate::json::Struct;
use crate::message;
use crate::proto::message;
use crate::push::{AuthenticationInfo, TaskPushNotificationConfig};
use crate::request::{SendMessageConfiguration, SendMessageRequest};
use crate::rules::{self, told};
use crate::validate::{Path, Validate, settle};
use serde::de::DeserializeOwned;

told! {
    check_message {}
    check_kind_of_message {}
    check_parts {}
    check_authentication {}
    check_schemes {}
}

message! {
    /// A send.
    pub struct SendParams {
        /// The tenant.
        tenant: String as "tenant";
        /// The message.
        message: Option<Message> as "message", check_message;
        /// The message as the proto calls it.
        request: Option<Message> as "request", check_message;
        /// Options.
        configuration: Option<Configuration> as "configuration";
        /// Free-form data.
        metadata: Option<Struct> as "metadata";
    }

    /// Names a task.
    pub struct TaskParams {
        /// The tenant; empty for none.
        tenant: String as "tenant";
        /// The task.
        id: String as "id" [required], rules::id;
        /// How many messages of history; 0 is unset.
        history_length: Option<i32> as "historyLength", rules::length;
        /// Free-form data.
        metadata: Option<Struct> as "metadata";
    }

    /// Names a config of a task.
    pub struct ConfigParams {
        /// The tenant; empty for none.
        tenant: String as "tenant";
        /// The task.
        id: String as "id" [required], rules::id;
        /// The config.
        push_notification_config_id: String as "pushNotificationConfigId", rules::id;
    }

    /// Sets a config.
    pub struct SetConfigParams {
        /// The tenant; empty for none.
        tenant: String as "tenant";
        /// The task.
        task_id: String as "taskId" [required], rules::id;
        /// The config.
        push_notification_config: Option<PushConfig> as "pushNotificationConfig" [required];
    }

    /// Options of a send.
    pub struct Configuration {
        /// Media types.
        accepted_output_modes: Vec<String> as "acceptedOutputModes";
        /// A webhook, in JSON-RPC's dialect.
        push_notification_config: Option<PushConfig> as "pushNotificationConfig";
        /// A webhook, in the proto's dialect.
        push_notification: Option<PushConfig> as "pushNotification";
        /// How many messages; 0 is unset.
        history_length: Option<i32> as "historyLength", rules::length;
        /// Whether to wait; absent is yes, in the proto's dialect no.
        blocking: Option<bool> as "blocking";
    }

    /// A message.
    pub struct Message {
        /// `message`, or absent.
        kind: String as "kind", check_kind_of_message;
        /// The id.
        message_id: String as "messageId" [required], rules::id;
        /// The conversation.
        context_id: String as "contextId", rules::id;
        /// The task.
        task_id: String as "taskId", rules::id;
        /// A role's name in either dialect.
        role: String as "role" [required], word::check_role;
        /// The content in JSON-RPC's dialect.
        parts: Vec<Part> as "parts", check_parts;
        /// The content in the proto's dialect.
        content: Vec<Part> as "content", check_parts;
        /// Free-form data.
        metadata: Option<Struct> as "metadata";
        /// URIs of extensions.
        extensions: Vec<String> as "extensions";
        /// Other tasks.
        reference_task_ids: Vec<String> as "referenceTaskIds", rules::ids;
    }

    /// A webhook.
    pub struct PushConfig {
        /// The id.
        id: String as "id", rules::id;
        /// The webhook.
        url: String as "url" [required], rules::header_text;
        /// A secret.
        token: String as "token", rules::token;
        /// How to authenticate.
        authentication: Option<Authentication> as "authentication", check_authentication;
    }

    /// How to authenticate to a webhook.
    pub struct Authentication {
        /// Schemes, of which the first is used.
        schemes: Vec<String> as "schemes", check_schemes;
        /// Credentials.
        credentials: String as "credentials", rules::credentials;
    }

    /// Names a task, in the proto's dialect.
    pub struct NamedTask {
        /// The tenant.
        tenant: String as "tenant";
        /// `tasks/{id}`.
        name: String as "name" [required], names::check_task;
        /// How many messages of history; 0 is unset.
        history_length: Option<i32> as "historyLength", rules::length;
        /// Free-form data.
        metadata: Option<Struct> as "metadata";
    }

    /// Names a config, in the proto's dialect.
    pub struct NamedConfig {
        /// The tenant.
        tenant: String as "tenant";
        /// `tasks/{id}/pushNotificationConfigs/{id}`.
        name: String as "name" [required], names::check_config;
    }

    /// Names a task whose configs are asked for, in the proto's dialect.
    pub struct ConfigsOf {
        /// The tenant.
        tenant: String as "tenant";
        /// `tasks/{id}`.
        parent: String as "parent" [required], names::check_parent;
        /// How many at most; 0 is unset.
        page_size: i32 as "pageSize", rules::page_size_or_zero;
        /// Where the last page ended.
        page_token: String as "pageToken";
    }

    /// Creates a config, in the proto's dialect: the request, or what it holds.
    pub struct CreateConfig {
        /// The tenant.
        tenant: String as "tenant";
        /// `tasks/{id}`; HTTP+JSON says it in the path.
        parent: String as "parent", names::check_parent;
        /// The config's id.
        config_id: String as "configId", rules::id;
        /// The config.
        config: Option<NestedConfig> as "config";
        /// The config, where the body is what the request's `config` is.
        push_notification_config: Option<PushConfig> as "pushNotificationConfig";
    }

    /// A config in its place. The place is said elsewhere, too, and not read: the Python SDK names configs that have no
    /// id yet `None` there.
    pub struct NestedConfig {
        /// The config.
        push_notification_config: Option<PushConfig> as "pushNotificationConfig" [required];
    }
}

/// Reads a request and checks it: what its declaration asks, and `check`.
pub(crate) fn read<T: DeserializeOwned + Validate>(
    bytes: &[u8],
    check: fn(&T, &mut Vec<Violation>),
) -> Result<T, Error> {
    let request: T = crate::parse(bytes)?;
    let mut violations = Vec::new();
    request.check(&Path::ROOT, &mut violations);
    check(&request, &mut violations);
    settle(violations)?;
    Ok(request)
}

fn check_kind_of_message(kind: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    if !matches!(kind, "" | "message") {
        out.push(at.violation("must be message"));
    }
}

fn check_message(message: &Option<Message>, at: &Path<'_>, out: &mut Vec<Violation>) {
    let Some(message) = message else { return };
    match (message.parts.is_empty(), message.content.is_empty()) {
        (true, true) => out.push(at.field("parts").violation("is required")),
        (false, false) => out.push(at.field("content").violation("must not stand beside `parts`")),
        _ => {}
    }
}

/// Checks that a config is given once.
pub(crate) fn check_create(request: &CreateConfig, out: &mut Vec<Violation>) {
    match (&request.config, &request.push_notification_config) {
        (None, None) => out.push(Path::ROOT.field("config").violation("is required")),
        (Some(_), Some(_)) => {
            out.push(Path::ROOT.field("pushNotificationConfig").violation("must not stand beside `config`"));
        }
        _ => {}
    }
}

/// Checks that there is one message and one webhook at most.
pub(crate) fn check_send(params: &SendParams, out: &mut Vec<Violation>) {
    let message = Path::ROOT.field("message");
    match (&params.message, &params.request) {
        (None, None) => out.push(message.violation("is required")),
        (Some(_), Some(_)) => out.push(Path::ROOT.field("request").violation("must not stand beside `message`")),
        _ => {}
    }
    if let Some(Configuration { push_notification_config: Some(_), push_notification: Some(_), .. }) =
        &params.configuration
    {
        let at = Path::ROOT.field("configuration");
        out.push(at.field("pushNotification").violation("must not stand beside `pushNotificationConfig`"));
    }
}

fn check_authentication(info: &Option<Authentication>, at: &Path<'_>, out: &mut Vec<Violation>) {
    if let Some(info) = info
        && info.schemes.is_empty()
        && !info.credentials.is_empty()
    {
        out.push(at.field("schemes").violation("is required"));
    }
}

/// The first is the one that counts.
fn check_schemes(schemes: &[String], at: &Path<'_>, out: &mut Vec<Violation>) {
    if let Some(scheme) = schemes.first() {
        let here = at.index(0);
        if scheme.is_empty() {
            out.push(here.violation("must not be empty"));
        }
        rules::scheme(scheme, &here, out);
    }
}

impl From<SendParams> for SendMessageRequest {
    fn from(params: SendParams) -> Self {
        let message = params.message.or(params.request);
        // The proto does not print `false`: whoever sends options without it and speaks that dialect asks not to wait.
        let waits = message.as_ref().is_none_or(|message| message.content.is_empty());
        SendMessageRequest {
            tenant: params.tenant,
            message: message.map(message::Message::from),
            configuration: params.configuration.map(|configuration| configuration.translated(waits)),
            metadata: params.metadata,
        }
    }
}

impl Configuration {
    /// The options of 1.0; `waits` is what is meant by saying nothing of it.
    fn translated(self, waits: bool) -> SendMessageConfiguration {
        let config = self.push_notification_config.or(self.push_notification);
        SendMessageConfiguration {
            accepted_output_modes: self.accepted_output_modes,
            task_push_notification_config: config.map(TaskPushNotificationConfig::from),
            history_length: length(self.history_length),
            return_immediately: !self.blocking.unwrap_or(waits),
        }
    }
}

/// A `historyLength` of 0 is no bound in 0.3.
pub(crate) fn length(length: Option<i32>) -> Option<i32> {
    length.filter(|length| *length != 0)
}

impl From<Message> for message::Message {
    fn from(message: Message) -> Self {
        let parts = if message.parts.is_empty() { message.content } else { message.parts };
        message::Message {
            message_id: message.message_id,
            context_id: message.context_id,
            task_id: message.task_id,
            role: word::role_of(&message.role).unwrap_or_default(),
            parts: parts.into_iter().map(message::Part::from).collect(),
            metadata: message.metadata,
            extensions: message.extensions,
            reference_task_ids: message.reference_task_ids,
        }
    }
}

impl From<CreateConfig> for TaskPushNotificationConfig {
    fn from(request: CreateConfig) -> Self {
        let nested = request.config.and_then(|config| config.push_notification_config);
        let config = nested.or(request.push_notification_config).map(TaskPushNotificationConfig::from);
        let mut config = config.unwrap_or_default();
        if config.id.is_empty() {
            config.id = request.config_id;
        }
        let task_id = names::task_of_parent(&request.parent).unwrap_or_default().to_owned();
        TaskPushNotificationConfig { tenant: request.tenant, task_id, ..config }
    }
}

impl From<PushConfig> for TaskPushNotificationConfig {
    fn from(config: PushConfig) -> Self {
        TaskPushNotificationConfig {
            tenant: String::new(),
            id: config.id,
            task_id: String::new(),
            url: config.url,
            token: config.token,
            authentication: config.authentication.and_then(|info| {
                let scheme = info.schemes.into_iter().next()?;
                Some(AuthenticationInfo { scheme, credentials: info.credentials })
            }),
        }
    }
}
