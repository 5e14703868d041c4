//! HTTP+JSON (§11), on the paths of the protocol's own table, each with and without `/{tenant}`.

use std::sync::Arc;

use engine::Caller;
use engine::operation::ListedTasks;
use poem::http::{HeaderValue, header};
use poem::{Endpoint, Request, Response};
use poem_openapi::OpenApi;
use wire::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, Error, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
    SendMessageResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig, Version,
};

use crate::answer::{A2A_JSON, Empty, Media, Reply, answer as reply, nothing};
use crate::app::Shared;
use crate::body::{Body, MaybeBody};
use crate::call::{Call, Key, LastEvent, Path};
use crate::dialect::Dialect;
use crate::failure::{self, Failure};
use crate::log::Served;
use crate::query::Query;
use crate::route::{self, Base};
use crate::sse::{Shape, Stream};
use crate::verbs::{Found, Handler, Table};
use crate::{capability, card, service, trace};

mod page;
pub(crate) mod v03;
pub(crate) use page::Page;

/// The operations, as the document has them.
pub(crate) struct Rest;

#[OpenApi]
impl Rest {
    /// Send a message to the agent: a new task, or one message more for a task that is not finished.
    ///
    /// Answers when the task is finished or waits for the client, or at once with `configuration.returnImmediately`. An agent that answers
    /// directly may answer with a message instead, and then there is no task.
    #[oai(path = "/message/@send", method = "post", operation_id = "SendMessage")]
    async fn send_message(
        &self,
        call: &Call,
        /// Makes the send idempotent for 24 hours: the same key and body find the same task again.
        #[oai(name = "Idempotency-Key")]
        key: Key,
        body: Body<SendMessageRequest>,
    ) -> Reply<SendMessageResponse> {
        let caller = call.caller(&body.0.tenant)?;
        reply(&call.engine.send_message(&caller, key.0, body.0).await?)
    }

    /// Send a message to the agent and follow the task: first the task, then everything that happens to it, until it is finished or
    /// waits for the client's input.
    ///
    /// The `id` of an event is its number, by which the stream can be resumed on any replica. An agent that answers directly may answer
    /// with one message instead, which has no `id`, and then there is no task.
    #[oai(path = "/message/@stream", method = "post", operation_id = "SendStreamingMessage")]
    async fn send_streaming_message(
        &self,
        call: &Call,
        /// Makes the send idempotent for 24 hours, and its stream resumable: the same key and body find the same task again.
        #[oai(name = "Idempotency-Key")]
        key: Key,
        /// The `id` of the last event that the client has of this send. Counts only together with an `Idempotency-Key`.
        #[oai(name = "Last-Event-ID")]
        last: LastEvent,
        body: Body<SendMessageRequest>,
    ) -> Result<Stream, Failure> {
        let caller = call.caller(&body.0.tenant)?;
        let events = call.engine.send_streaming_message(&caller, key.0, body.0, last.0).await?;
        Ok(Stream::of(events, Shape::bare(Dialect::V1), call.keep_alive))
    }

    /// Read a task: its state, its artifacts and its newest messages.
    #[oai(path = "/tasks/:id", method = "get", operation_id = "GetTask")]
    async fn get_task(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        query: Query<GetTaskRequest>,
    ) -> Reply<Task> {
        let request = GetTaskRequest { id: id.0, ..query.0 };
        let caller = call.caller(&request.tenant)?;
        reply(&call.engine.get_task(&caller, request).await?)
    }

    /// List tasks, newest status first.
    #[oai(path = "/tasks", method = "get", operation_id = "ListTasks")]
    async fn list_tasks(&self, call: &Call, query: Query<ListTasksRequest>) -> Reply<ListTasksResponse> {
        let caller = call.caller(&query.0.tenant)?;
        let listed: ListedTasks = call.engine.list_tasks(&caller, query.0).await?;
        reply(&Page(&listed))
    }

    /// Cancel a task that is not finished.
    #[oai(path = "/tasks/:id/@cancel", method = "post", operation_id = "CancelTask")]
    async fn cancel_task(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        body: MaybeBody<CancelTaskRequest>,
    ) -> Reply<Task> {
        let request = CancelTaskRequest { id: one("id", id.0, &body.0.id)?, ..body.0 };
        let caller = call.caller(&request.tenant)?;
        reply(&call.engine.cancel_task(&caller, request).await?)
    }

    /// Follow a task until it is finished: first the task as it stands, then everything that happens to it.
    ///
    /// The `id` of an event is its number, by which the stream can be resumed on any replica. Resuming works also when the task is
    /// finished by now; subscribing to a finished task does not. When events since the last one are no longer kept, the stream begins
    /// again with the task.
    #[oai(path = "/tasks/:id/@subscribe", method = "get", operation_id = "SubscribeToTask")]
    async fn subscribe_to_task(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        /// The `id` of the last event that the client has: the stream goes on after it.
        #[oai(name = "Last-Event-ID")]
        last: LastEvent,
        query: Query<SubscribeToTaskRequest>,
    ) -> Result<Stream, Failure> {
        subscribe(call, id.0, last, query.0).await
    }

    /// Follow a task until it is finished, as with GET; in JSON-RPC both are `SubscribeToTask`. A body is not read.
    #[oai(path = "/tasks/:id/@subscribe", method = "post", operation_id = "SubscribeToTaskByPost")]
    async fn subscribe_to_task_by_post(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        /// The `id` of the last event that the client has: the stream goes on after it.
        #[oai(name = "Last-Event-ID")]
        last: LastEvent,
        query: Query<SubscribeToTaskRequest>,
    ) -> Result<Stream, Failure> {
        subscribe(call, id.0, last, query.0).await
    }

    /// Register a webhook on a task, or replace the one of the same id.
    ///
    /// Only this answer carries `token` and `authentication.credentials`.
    #[oai(
        path = "/tasks/:task_id/pushNotificationConfigs",
        method = "post",
        operation_id = "CreateTaskPushNotificationConfig"
    )]
    async fn create_push_config(
        &self,
        call: &Call,
        /** The task. */
        task_id: Path,
        body: Body<TaskPushNotificationConfig>,
    ) -> Reply<TaskPushNotificationConfig> {
        let request = TaskPushNotificationConfig { task_id: one("taskId", task_id.0, &body.0.task_id)?, ..body.0 };
        let caller = call.caller(&request.tenant)?;
        reply(&call.engine.create_push_config(&caller, request).await?)
    }

    /// List the webhooks of a task, without their secrets.
    #[oai(
        path = "/tasks/:task_id/pushNotificationConfigs",
        method = "get",
        operation_id = "ListTaskPushNotificationConfigs"
    )]
    async fn list_push_configs(
        &self,
        call: &Call,
        /** The task. */
        task_id: Path,
        query: Query<ListTaskPushNotificationConfigsRequest>,
    ) -> Reply<ListTaskPushNotificationConfigsResponse> {
        let request = ListTaskPushNotificationConfigsRequest { task_id: task_id.0, ..query.0 };
        let caller = call.caller(&request.tenant)?;
        reply(&call.engine.list_push_configs(&caller, request).await?)
    }

    /// Read a webhook of a task, without its secrets.
    #[oai(
        path = "/tasks/:task_id/pushNotificationConfigs/:id",
        method = "get",
        operation_id = "GetTaskPushNotificationConfig"
    )]
    async fn get_push_config(
        &self,
        call: &Call,
        /** The task. */
        task_id: Path,
        /** The config. */
        id: Path,
        query: Query<GetTaskPushNotificationConfigRequest>,
    ) -> Reply<TaskPushNotificationConfig> {
        let request = GetTaskPushNotificationConfigRequest { task_id: task_id.0, id: id.0, ..query.0 };
        let caller = call.caller(&request.tenant)?;
        reply(&call.engine.get_push_config(&caller, request).await?)
    }

    /// Remove a webhook from a task. Removing what is not there succeeds.
    #[oai(
        path = "/tasks/:task_id/pushNotificationConfigs/:id",
        method = "delete",
        operation_id = "DeleteTaskPushNotificationConfig"
    )]
    async fn delete_push_config(
        &self,
        call: &Call,
        /** The task. */
        task_id: Path,
        /** The config. */
        id: Path,
        query: Query<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Empty, Failure> {
        let request = DeleteTaskPushNotificationConfigRequest { task_id: task_id.0, id: id.0, ..query.0 };
        let caller = call.caller(&request.tenant)?;
        call.engine.delete_push_config(&caller, request).await?;
        nothing()
    }

    /// Read what the agent's card says to clients that have shown who they are.
    #[oai(path = "/extendedAgentCard", method = "get", operation_id = "GetExtendedAgentCard")]
    async fn get_extended_agent_card(
        &self,
        call: &Call,
        request: &Request,
        query: Query<GetExtendedAgentCardRequest>,
    ) -> Result<card::Extended, Failure> {
        let caller = call.caller(&query.0.tenant)?;
        Ok(card::Extended(card::extended(call.shared()?, &caller, Some(request))?))
    }
}

/// Follow a task, however it was asked for: GET in the proto, POST in the prose.
async fn subscribe(call: &Call, id: String, last: LastEvent, query: SubscribeToTaskRequest) -> Result<Stream, Failure> {
    let request = SubscribeToTaskRequest { id, ..query };
    let caller = call.caller(&request.tenant)?;
    let events = call.engine.subscribe_to_task(&caller, request, last.0).await?;
    Ok(Stream::of(events, Shape::bare(Dialect::V1), call.keep_alive))
}

/// The paths and what they lead to.
pub(crate) fn table() -> Table<Handler> {
    Table::of(Rest)
}

/// The value of a path, which the body may repeat but not contradict.
fn one(field: &str, path: String, body: &str) -> Result<String, Error> {
    if body.is_empty() || body == path {
        return Ok(path);
    }
    Err(Error::invalid(field, format!("is `{body}`, but the path says `{path}`")))
}

/// Answer a request of HTTP+JSON.
pub(crate) async fn answer(shared: &Arc<Shared>, request: Request, base: &Base<'_>) -> Served {
    let media = Media::of(request.headers());
    let (prefix, path) = split_tenant(&shared.rest, base.rest);
    let (operation, values) = match shared.rest.find(request.method(), path) {
        Found::Operation(operation, values) => (operation, values),
        Found::OtherMethods(allow) => return Served::of("-", not_allowed(&request, &allow, media)),
        Found::Nothing => {
            let error = Error::method_not_found(request.uri().path());
            return Served::of("-", failure::response(&error, media));
        }
    };
    let caller = match base.caller(shared, prefix) {
        Ok(caller) => Caller { trace: trace::of(request.headers()), ..caller },
        Err(error) => return Served::of(operation.id, failure::response(&error, media)),
    };
    let tenant = caller.tenant.clone();
    let activated = match service::check(
        &caller.agent,
        request.headers(),
        request.uri().query(),
        &[Version::V1],
        shared.served(),
    ) {
        Ok(activated) => activated,
        Err(error) => return Served::of(operation.id, failure::response(&error, media)).for_tenant(tenant),
    };
    let checked = capability::check(&caller.agent, operation.id)
        .and_then(|()| values.iter().map(|value| Ok(route::decode("path", value)?.into_owned())).collect());
    let mut response = match checked {
        Ok(params) => {
            let call = Call {
                engine: shared.engine.clone(),
                caller: Some(caller),
                worker: Default::default(),
                body_bytes: shared.options.body_bytes,
                keep_alive: shared.options.keep_alive,
                shared: Some(shared.clone()),
                params,
            };
            run(&operation.to, request, call, media).await
        }
        Err(error) => failure::response(&error, media),
    };
    activated.mark(&mut response);
    Served::of(operation.id, response).for_tenant(tenant)
}

/// Run a handler. Whatever it or poem refuses leaves in our shape and in the media type asked for.
pub(crate) async fn run(
    endpoint: &impl Endpoint<Output = Response>,
    mut request: Request,
    call: Call,
    media: Media,
) -> Response {
    request.extensions_mut().insert(call);
    match endpoint.call(request).await {
        Ok(mut response) => {
            if media == Media::Json && response.content_type() == Some(A2A_JSON) {
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(Media::Json.name()));
            }
            response
        }
        Err(error) => failure::response(&failure::of_poem(error), media),
    }
}

/// The path exists, the method does not.
pub(crate) fn not_allowed(request: &Request, allow: &str, media: Media) -> Response {
    let error = Error::method_not_allowed(request.method().as_str(), request.uri().path());
    let mut response = failure::response(&error, media);
    if let Ok(allow) = HeaderValue::from_str(allow) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Take `/{tenant}` off a path that does not begin with a word of the protocol's.
fn split_tenant<'p>(table: &Table<Handler>, path: &'p str) -> (Option<&'p str>, &'p str) {
    let Some(after) = path.strip_prefix('/') else { return (None, path) };
    let Some(end) = after.find('/') else { return (None, path) };
    let (first, rest) = after.split_at(end);
    if first.is_empty() || table.begins_with(first) || wire::tenant::RESERVED.contains(&first) {
        return (None, path);
    }
    (Some(first), rest)
}
