//! The surface workers pull from: sessions, leases, moves and the agent's two views, under `/worker/v1`.

use std::sync::Arc;

use engine::operation::{AllPushConfigs, AllTasks};
use poem_openapi::OpenApi;
use poem_openapi::param::Header;
use wire::worker::{
    Applied, ApplyRequest, ArtifactUpdate, EPOCH_HEADER, HeartbeatRequest, HeartbeatResponse,
    ListAllPushNotificationConfigsResponse, ListAllTasksResponse, MoveRequest, PollRequest, PollResponse,
    ReleaseRequest, Replied, ReplyRequest, StatusChange, Update,
};
use wire::{Error, TaskState, Tenant};

use crate::answer::{Empty, Media, Reply, answer as reply, nothing};
use crate::app::Shared;
use crate::body::{Body, MaybeBody};
use crate::call::{Call, Key, Path};
use crate::failure::{self, Failure};
use crate::hold::{Hold, read_epoch};
use crate::log::Served;
use crate::query::Asked;
use crate::verbs::{Found, Handler, Table};
use crate::{rest, route};

mod session;
pub(crate) use session::Sessions;

/// Where the surface stands.
pub(crate) const PREFIX: &str = "/worker/v1";

/// The operations, as the document has them.
pub(crate) struct Workers;

#[OpenApi]
impl Workers {
    /// Wait for work: leases as soon as there are some, or none when the wait is over.
    #[oai(path = "/leases/@poll", method = "post", operation_id = "PollLeases")]
    async fn poll(&self, call: &Call, body: Body<PollRequest>) -> Reply<PollResponse> {
        reply(&call.engine.poll(&call.worker, body.0).await?)
    }

    /// Keep leases alive, and hear of cancels and new messages.
    #[oai(path = "/leases/@heartbeat", method = "post", operation_id = "HeartbeatLeases")]
    async fn heartbeat(&self, call: &Call, body: Body<HeartbeatRequest>) -> Reply<HeartbeatResponse> {
        reply(&call.engine.heartbeat(&call.worker, body.0).await?)
    }

    /// Give a lease back: the task is ready for another worker, or fails when `retryable` is false.
    #[oai(path = "/leases/:lease/@release", method = "post", operation_id = "ReleaseLease")]
    async fn release(
        &self,
        call: &Call,
        /** The lease. */
        lease: Path,
        /// The lease's epoch.
        #[oai(name = "Taskyard-Epoch")]
        epoch: Header<Option<String>>,
        /// Makes the call safe to repeat for 24 hours: the same key, epoch and body are answered as the first time.
        #[oai(name = "Idempotency-Key")]
        key: Key,
        body: MaybeBody<ReleaseRequest>,
    ) -> Result<Empty, Failure> {
        let epoch = epoch.0.ok_or_else(|| Error::invalid(EPOCH_HEADER, "is required"))?;
        call.engine.release(&call.worker, &lease.0, read_epoch(&epoch)?, key.0, body.0).await?;
        nothing()
    }

    /// Move a task to working.
    #[oai(path = "/tasks/:id/@work", method = "post", operation_id = "StartWorking")]
    async fn work(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: MaybeBody<MoveRequest>,
    ) -> Reply<Applied> {
        make(call, id, hold, body.0, "work", Update::Work).await
    }

    /// Ask the client for input.
    #[oai(path = "/tasks/:id/@require_input", method = "post", operation_id = "RequireInput")]
    async fn require_input(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: MaybeBody<MoveRequest>,
    ) -> Reply<Applied> {
        make(call, id, hold, body.0, "requireInput", Update::RequireInput).await
    }

    /// Ask the client for an authorization.
    #[oai(path = "/tasks/:id/@require_auth", method = "post", operation_id = "RequireAuth")]
    async fn require_auth(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: MaybeBody<MoveRequest>,
    ) -> Reply<Applied> {
        make(call, id, hold, body.0, "requireAuth", Update::RequireAuth).await
    }

    /// Finish a task.
    #[oai(path = "/tasks/:id/@complete", method = "post", operation_id = "CompleteTask")]
    async fn complete(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: MaybeBody<MoveRequest>,
    ) -> Reply<Applied> {
        make(call, id, hold, body.0, "complete", Update::Complete).await
    }

    /// Finish a task with an error.
    #[oai(path = "/tasks/:id/@fail", method = "post", operation_id = "FailTask")]
    async fn fail(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: MaybeBody<MoveRequest>,
    ) -> Reply<Applied> {
        make(call, id, hold, body.0, "fail", Update::Fail).await
    }

    /// Decline a task.
    #[oai(path = "/tasks/:id/@reject", method = "post", operation_id = "RejectTask")]
    async fn reject(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: MaybeBody<MoveRequest>,
    ) -> Reply<Applied> {
        make(call, id, hold, body.0, "reject", Update::Reject).await
    }

    /// Add an artifact to a task, replace one, or append to one.
    #[oai(path = "/tasks/:id/@update_artifact", method = "post", operation_id = "UpdateArtifact")]
    async fn update_artifact(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: Body<ArtifactUpdate>,
    ) -> Reply<Applied> {
        wire::validate(&body.0)?;
        one(call, id, hold, "artifact", Update::Artifact(body.0), None).await
    }

    /// Answer the client with a message. Where the lease is `direct` the message is all of the answer and there is no task; where there
    /// is a task, it is completed with the message as its status message.
    #[oai(path = "/tasks/:id/@reply", method = "post", operation_id = "ReplyToMessage")]
    async fn answer_with(
        &self,
        call: &Call,
        /** The task, or the one there would be. */
        id: Path,
        hold: Hold,
        body: Body<ReplyRequest>,
    ) -> Reply<Replied> {
        reply(&call.engine.reply(&call.worker, &id.0, hold.lease, hold.key, body.0).await?)
    }

    /// Several updates of one task in one transaction: all of them or none.
    #[oai(path = "/tasks/:id/@apply", method = "post", operation_id = "ApplyUpdates")]
    async fn apply(
        &self,
        call: &Call,
        /** The task. */
        id: Path,
        hold: Hold,
        body: Body<ApplyRequest>,
    ) -> Reply<Applied> {
        reply(&call.engine.apply(&call.worker, &id.0, hold.lease, hold.key, body.0).await?)
    }

    /// Every task of the worker's agents, in the order of creation.
    #[expect(clippy::too_many_arguments, reason = "one a query parameter")]
    #[oai(path = "/allTasks", method = "get", operation_id = "AllTasks")]
    async fn all_tasks(
        &self,
        call: &Call,
        /** Only of this agent. */
        agent: Asked<String>,
        /** Only of this tenant; empty for those of no tenant. */
        tenant: Asked<String>,
        /** Only in this state, by its name, such as `TASK_STATE_WORKING`. */
        state: Asked<String>,
        /** Only of this context. */
        #[oai(name = "contextId")]
        context_id: Asked<String>,
        /** 1 to 100; 50 when left out. */
        #[oai(name = "pageSize")]
        page_size: Asked<i32>,
        /** Where the last page ended. */
        #[oai(name = "pageToken")]
        page_token: Asked<String>,
    ) -> Reply<ListAllTasksResponse> {
        let request = AllTasks {
            agent: agent.0,
            tenant: tenant.0,
            state: state.0.map(|name| read_state(&name)).transpose()?.unwrap_or_default(),
            context_id: context_id.0,
            page_size: page_size.0,
            page_token: page_token.0,
        };
        reply(&call.engine.all_tasks(&call.worker, request).await?)
    }

    /// Every push notification config of the worker's agents' tasks, in the order of creation, without secrets.
    #[oai(path = "/allPushNotificationConfigs", method = "get", operation_id = "PushNotificationConfigs")]
    async fn all_push_configs(
        &self,
        call: &Call,
        /** Only of this task. */
        #[oai(name = "taskId")]
        task_id: Asked<String>,
        /** 1 to 100; 50 when left out. */
        #[oai(name = "pageSize")]
        page_size: Asked<i32>,
        /** Where the last page ended. */
        #[oai(name = "pageToken")]
        page_token: Asked<String>,
    ) -> Reply<ListAllPushNotificationConfigsResponse> {
        let request = AllPushConfigs { task_id: task_id.0, page_size: page_size.0, page_token: page_token.0 };
        reply(&call.engine.all_push_configs(&call.worker, request).await?)
    }
}

/// A move is a batch of one.
async fn make(
    call: &Call,
    id: Path,
    hold: Hold,
    request: MoveRequest,
    member: &str,
    update: fn(StatusChange) -> Update,
) -> Reply<Applied> {
    wire::validate(&request)?;
    let MoveRequest { status_message, metadata, cancelable } = request;
    let update = update(StatusChange { status_message, metadata });
    one(call, id, hold, member, update, cancelable).await
}

/// Apply one update. What the batch calls `updates[0].{member}` is the request's own body here.
async fn one(
    call: &Call,
    id: Path,
    hold: Hold,
    member: &str,
    update: Update,
    cancelable: Option<bool>,
) -> Reply<Applied> {
    let request = ApplyRequest { updates: vec![update], cancelable };
    let applied =
        call.engine.apply(&call.worker, &id.0, hold.lease, hold.key, request).await.map_err(|mut error| {
            let inside = format!("updates[0].{member}.");
            for violation in &mut error.violations {
                if let Some(field) = violation.field.strip_prefix(&inside) {
                    violation.field = field.to_owned();
                }
            }
            if error.violations.is_empty() { error } else { Error::invalid_all(error.violations) }
        })?;
    reply(&applied)
}

fn read_state(name: &str) -> Result<TaskState, Error> {
    TaskState::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = TaskState::ALL.iter().map(|state| state.name()).collect();
        Error::invalid("state", format!("`{name}` is not a state; there are: {}", names.join(", ")))
    })
}

/// The paths and what they lead to.
pub(crate) fn table() -> Table<Handler> {
    Table::of((Workers, Sessions))
}

/// Answer a request of the worker surface; `path` is what follows the prefix.
pub(crate) async fn answer(shared: &Arc<Shared>, request: poem::Request, path: &str) -> Served {
    let (operation, values) = match shared.worker.find(request.method(), path) {
        Found::Operation(operation, values) => (operation, values),
        Found::OtherMethods(allow) => return Served::of("-", rest::not_allowed(&request, &allow, Media::Json)),
        Found::Nothing => {
            let error = Error::method_not_found(request.uri().path());
            return Served::of("-", failure::response(&error, Media::Json));
        }
    };
    let params: Result<Vec<String>, Error> =
        values.iter().map(|value| Ok(route::decode("path", value)?.into_owned())).collect();
    let response = match params {
        Ok(params) => {
            let call = Call {
                engine: shared.engine.clone(),
                caller: None,
                worker: Default::default(),
                body_bytes: shared.options.body_bytes,
                keep_alive: shared.options.keep_alive,
                shared: None,
                params,
            };
            rest::run(&operation.to, request, call, Media::Json).await
        }
        Err(error) => failure::response(&error, Media::Json),
    };
    Served::of(operation.id, response).for_tenant(Tenant::none())
}
