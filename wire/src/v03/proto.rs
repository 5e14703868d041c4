//! The dialect of the proto `a2a.v1`: HTTP+JSON under `/v1`, and as ProtoJSON also gRPC.
//!
//! Requests are the proto's request messages, with resource names; HTTP+JSON needs few of them, because its paths and
//! queries say the rest. Answers hold no member that the proto does not have: clients that parse by descriptor refuse
//! the others.

use super::answer::{ArtifactUpdate, Dialect, Message, PushConfig, StatusUpdate, Task};
use super::card::of_proto;
use super::names;
use super::request::{ConfigsOf, CreateConfig, NamedConfig, NamedTask, check_create, check_send, length, read};
use crate::card::AgentCard;
use crate::error::Error;
use crate::event::StreamResponse;
use crate::push::{
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig,
};
use crate::request::{CancelTaskRequest, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest};
use crate::response::SendMessageResponse;
use serde::Serialize;
use serde_json::Value;

/// `SendMessageRequest`, for both sends.
///
/// # Errors
/// `ParseError` for what is not JSON, `InvalidParams` with every violation, under 0.3's names.
pub fn send_request(bytes: &[u8]) -> Result<SendMessageRequest, Error> {
    read(bytes, check_send).map(SendMessageRequest::from)
}

/// `GetTaskRequest`.
///
/// # Errors
/// As of [`send_request`].
pub fn get_task_request(bytes: &[u8]) -> Result<GetTaskRequest, Error> {
    let (id, request) = named_task(bytes)?;
    Ok(GetTaskRequest { tenant: request.tenant, id, history_length: length(request.history_length) })
}

/// `CancelTaskRequest`.
///
/// # Errors
/// As of [`send_request`].
pub fn cancel_task_request(bytes: &[u8]) -> Result<CancelTaskRequest, Error> {
    let (id, request) = named_task(bytes)?;
    Ok(CancelTaskRequest { tenant: request.tenant, id, metadata: request.metadata })
}

/// `TaskSubscriptionRequest`.
///
/// # Errors
/// As of [`send_request`].
pub fn subscribe_request(bytes: &[u8]) -> Result<SubscribeToTaskRequest, Error> {
    let (id, request) = named_task(bytes)?;
    Ok(SubscribeToTaskRequest { tenant: request.tenant, id })
}

fn named_task(bytes: &[u8]) -> Result<(String, NamedTask), Error> {
    let request: NamedTask = read(bytes, |_, _| {})?;
    Ok((names::task(&request.name).unwrap_or_default().to_owned(), request))
}

/// `CreateTaskPushNotificationConfigRequest`; as a body of HTTP+JSON also its `config` alone. `task_id` is empty when
/// there is no `parent`, as there need be none beside a path.
///
/// # Errors
/// As of [`send_request`].
pub fn create_push_config_request(bytes: &[u8]) -> Result<TaskPushNotificationConfig, Error> {
    read::<CreateConfig>(bytes, check_create).map(TaskPushNotificationConfig::from)
}

/// `GetTaskPushNotificationConfigRequest`.
///
/// # Errors
/// As of [`send_request`].
pub fn get_push_config_request(bytes: &[u8]) -> Result<GetTaskPushNotificationConfigRequest, Error> {
    let (tenant, task_id, id) = named_config(bytes)?;
    Ok(GetTaskPushNotificationConfigRequest { tenant, task_id, id })
}

/// `DeleteTaskPushNotificationConfigRequest`.
///
/// # Errors
/// As of [`send_request`].
pub fn delete_push_config_request(bytes: &[u8]) -> Result<DeleteTaskPushNotificationConfigRequest, Error> {
    let (tenant, task_id, id) = named_config(bytes)?;
    Ok(DeleteTaskPushNotificationConfigRequest { tenant, task_id, id })
}

fn named_config(bytes: &[u8]) -> Result<(String, String, String), Error> {
    let request: NamedConfig = read(bytes, |_, _| {})?;
    let (task, id) = names::config(&request.name).unwrap_or_default();
    Ok((request.tenant, task.to_owned(), id.to_owned()))
}

/// `ListTaskPushNotificationConfigRequest`.
///
/// # Errors
/// As of [`send_request`].
pub fn list_push_configs_request(bytes: &[u8]) -> Result<ListTaskPushNotificationConfigsRequest, Error> {
    let ConfigsOf { tenant, parent, page_size, page_token } = read(bytes, |_, _| {})?;
    let task_id = names::task_of_parent(&parent).unwrap_or_default().to_owned();
    Ok(ListTaskPushNotificationConfigsRequest { tenant, task_id, page_size, page_token })
}

/// `Task`.
pub fn task(task: &crate::Task) -> impl Serialize + '_ {
    Task::of(task, Dialect::Proto)
}

/// `Message`.
pub fn message(message: &crate::Message) -> impl Serialize + '_ {
    Message::of(message, Dialect::Proto)
}

/// An object in the wrapper that tells it apart.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Wrapped<'a> {
    Task(Task<'a>),
    Message(Message<'a>),
    StatusUpdate(StatusUpdate<'a>),
    ArtifactUpdate(ArtifactUpdate<'a>),
}

/// `SendMessageResponse`.
pub fn send_response(response: &SendMessageResponse) -> impl Serialize + '_ {
    match response {
        SendMessageResponse::Task(task) => Wrapped::Task(Task::of(task, Dialect::Proto)),
        SendMessageResponse::Message(message) => Wrapped::Message(Message::of(message, Dialect::Proto)),
    }
}

/// `StreamResponse`.
pub fn stream_response(response: &StreamResponse) -> impl Serialize + '_ {
    match response {
        StreamResponse::Task(task) => Wrapped::Task(Task::of(task, Dialect::Proto)),
        StreamResponse::Message(message) => Wrapped::Message(Message::of(message, Dialect::Proto)),
        StreamResponse::StatusUpdate(event) => Wrapped::StatusUpdate(StatusUpdate::of(event, Dialect::Proto)),
        StreamResponse::ArtifactUpdate(event) => Wrapped::ArtifactUpdate(ArtifactUpdate::of(event, Dialect::Proto)),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedPushConfig<'a> {
    name: String,
    push_notification_config: PushConfig<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for NamedPushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        let name = names::of_config(&config.task_id, &config.id);
        NamedPushConfig { name, push_notification_config: config.into() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushConfigs<'a> {
    configs: Vec<NamedPushConfig<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    next_page_token: &'a str,
}

/// `TaskPushNotificationConfig`.
pub fn push_config(config: &TaskPushNotificationConfig) -> impl Serialize + '_ {
    NamedPushConfig::from(config)
}

/// `ListTaskPushNotificationConfigResponse`.
pub fn push_configs(page: &ListTaskPushNotificationConfigsResponse) -> impl Serialize + '_ {
    PushConfigs {
        configs: page.configs.iter().map(NamedPushConfig::from).collect(),
        next_page_token: &page.next_page_token,
    }
}

/// `AgentCard`. Without an interface of 0.3 it has no `url`.
///
/// # Errors
/// `Internal`, when a card cannot be printed.
pub fn card(card: &AgentCard) -> Result<Value, Error> {
    of_proto(card)
}
