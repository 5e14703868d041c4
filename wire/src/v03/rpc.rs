//! The dialect of JSON-RPC: `kind` members, bare results, lower-case enums.
//!
//! Requests are the `params` of a method, answers its `result`.

use super::answer::{ArtifactUpdate, Dialect, Message, PushConfig, StatusUpdate, Task};
use super::request::{ConfigParams, SetConfigParams, TaskParams, check_send, length, read};
use crate::error::Error;
use crate::event::StreamResponse;
use crate::push::{
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig,
};
use crate::request::{CancelTaskRequest, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest};
use crate::response::SendMessageResponse;
use serde::Serialize;

/// The params of `message/send` and `message/stream`.
///
/// # Errors
/// `ParseError` for what is not JSON, `InvalidParams` with every violation, under 0.3's names.
pub fn send_request(bytes: &[u8]) -> Result<SendMessageRequest, Error> {
    read(bytes, check_send).map(SendMessageRequest::from)
}

/// The params of `tasks/get`.
///
/// # Errors
/// As of [`send_request`].
pub fn get_task_request(bytes: &[u8]) -> Result<GetTaskRequest, Error> {
    let TaskParams { tenant, id, history_length, .. } = read(bytes, |_, _| {})?;
    Ok(GetTaskRequest { tenant, id, history_length: length(history_length) })
}

/// The params of `tasks/cancel`.
///
/// # Errors
/// As of [`send_request`].
pub fn cancel_task_request(bytes: &[u8]) -> Result<CancelTaskRequest, Error> {
    let TaskParams { tenant, id, metadata, .. } = read(bytes, |_, _| {})?;
    Ok(CancelTaskRequest { tenant, id, metadata })
}

/// The params of `tasks/resubscribe`.
///
/// # Errors
/// As of [`send_request`].
pub fn subscribe_request(bytes: &[u8]) -> Result<SubscribeToTaskRequest, Error> {
    let TaskParams { tenant, id, .. } = read(bytes, |_, _| {})?;
    Ok(SubscribeToTaskRequest { tenant, id })
}

/// The params of `tasks/pushNotificationConfig/set`.
///
/// # Errors
/// As of [`send_request`].
pub fn create_push_config_request(bytes: &[u8]) -> Result<TaskPushNotificationConfig, Error> {
    let SetConfigParams { tenant, task_id, push_notification_config } = read(bytes, |_, _| {})?;
    let config = push_notification_config.map(TaskPushNotificationConfig::from).unwrap_or_default();
    Ok(TaskPushNotificationConfig { tenant, task_id, ..config })
}

/// The params of `tasks/pushNotificationConfig/get`. `id` is empty when the client leaves the config open, as 0.3
/// lets it: any one of the task's is right.
///
/// # Errors
/// As of [`send_request`].
pub fn get_push_config_request(bytes: &[u8]) -> Result<GetTaskPushNotificationConfigRequest, Error> {
    let ConfigParams { tenant, id: task_id, push_notification_config_id: id } = read(bytes, |_, _| {})?;
    Ok(GetTaskPushNotificationConfigRequest { tenant, task_id, id })
}

/// The params of `tasks/pushNotificationConfig/list`: 0.3 knows no pages, and is answered with all of them.
///
/// # Errors
/// As of [`send_request`].
pub fn list_push_configs_request(bytes: &[u8]) -> Result<ListTaskPushNotificationConfigsRequest, Error> {
    let TaskParams { tenant, id: task_id, .. } = read(bytes, |_, _| {})?;
    Ok(ListTaskPushNotificationConfigsRequest { tenant, task_id, ..Default::default() })
}

/// The params of `tasks/pushNotificationConfig/delete`.
///
/// # Errors
/// As of [`send_request`].
pub fn delete_push_config_request(bytes: &[u8]) -> Result<DeleteTaskPushNotificationConfigRequest, Error> {
    let ConfigParams { tenant, id: task_id, push_notification_config_id: id } = read(bytes, |_, _| {})?;
    if id.is_empty() {
        return Err(Error::invalid("pushNotificationConfigId", "is required"));
    }
    Ok(DeleteTaskPushNotificationConfigRequest { tenant, task_id, id })
}

/// A task as a result.
pub fn task(task: &crate::Task) -> impl Serialize + '_ {
    Task::of(task, Dialect::Rpc)
}

/// A message as a result.
pub fn message(message: &crate::Message) -> impl Serialize + '_ {
    Message::of(message, Dialect::Rpc)
}

/// An object that its `kind` tells apart.
#[derive(Serialize)]
#[serde(untagged)]
enum Object<'a> {
    Task(Task<'a>),
    Message(Message<'a>),
    StatusUpdate(StatusUpdate<'a>),
    ArtifactUpdate(ArtifactUpdate<'a>),
}

/// The result of `message/send`: the bare task or message.
pub fn send_response(response: &SendMessageResponse) -> impl Serialize + '_ {
    match response {
        SendMessageResponse::Task(task) => Object::Task(Task::of(task, Dialect::Rpc)),
        SendMessageResponse::Message(message) => Object::Message(Message::of(message, Dialect::Rpc)),
    }
}

/// The result that one item of a stream is: the bare object.
pub fn stream_response(response: &StreamResponse) -> impl Serialize + '_ {
    match response {
        StreamResponse::Task(task) => Object::Task(Task::of(task, Dialect::Rpc)),
        StreamResponse::Message(message) => Object::Message(Message::of(message, Dialect::Rpc)),
        StreamResponse::StatusUpdate(event) => Object::StatusUpdate(StatusUpdate::of(event, Dialect::Rpc)),
        StreamResponse::ArtifactUpdate(event) => Object::ArtifactUpdate(ArtifactUpdate::of(event, Dialect::Rpc)),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPushConfig<'a> {
    task_id: &'a str,
    push_notification_config: PushConfig<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for TaskPushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        TaskPushConfig { task_id: &config.task_id, push_notification_config: config.into() }
    }
}

/// A push config as a result.
pub fn push_config(config: &TaskPushNotificationConfig) -> impl Serialize + '_ {
    TaskPushConfig::from(config)
}

/// The result of `tasks/pushNotificationConfig/list`: a bare list.
pub fn push_configs(page: &ListTaskPushNotificationConfigsResponse) -> impl Serialize + '_ {
    page.configs.iter().map(TaskPushConfig::from).collect::<Vec<_>>()
}
