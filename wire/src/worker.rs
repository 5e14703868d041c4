//! The bodies of the worker surface (`/worker/v1`): what workers and the platform say to each other.
//!
//! They follow the protocol's JSON rules but stand in no proto, so their fields have no numbers. A lease is
//! named by its id and an epoch; a request proves it with the headers [`LEASE_HEADER`] and [`EPOCH_HEADER`].

use crate::json::Struct;
use crate::message::{Artifact, Message};
use crate::proto::message;
use crate::rules;
use crate::task::{Task, TaskState};
use crate::timestamp::Timestamp;

mod update;
pub use update::{UPDATES, Update};

/// Names the lease under which a task is changed.
pub const LEASE_HEADER: &str = "Taskyard-Lease";
/// Names the lease's epoch.
pub const EPOCH_HEADER: &str = "Taskyard-Epoch";
/// How many leases one heartbeat may name.
pub const HEARTBEAT_MAX: usize = 1_000;
/// How many leases one poll may ask for.
pub const POLL_MAX: i32 = 100;

message! {
    /// A worker introduces itself: `POST /sessions`.
    pub struct SessionRequest {
        /// A name for people, e.g. a host.
        worker: String as "worker", rules::id;
        /// The agents it works for.
        agents: Vec<String> as "agents" [required], rules::names;
    }

    /// The session and the times to keep.
    pub struct SessionResponse {
        /// The session's id.
        session: String as "session" [required];
        /// How often to send a heartbeat, in seconds.
        heartbeat_seconds: f64 as "heartbeatSeconds" [present];
        /// How long a lease lives without one, in seconds.
        lease_seconds: f64 as "leaseSeconds" [present];
        /// How long a poll waits at most, in seconds.
        poll_seconds: f64 as "pollSeconds" [present];
        /// How many leases a poll may ask for.
        max_leases: i32 as "maxLeases" [present];
    }

    /// Asks for work: `POST /leases:poll`.
    pub struct PollRequest {
        /// The session, if there is one.
        session: String as "session", rules::id;
        /// The agents to work for.
        agents: Vec<String> as "agents" [required], rules::names;
        /// How many leases at most, 1 to 100; unset is 1.
        max: Option<i32> as "max", update::poll_max;
        /// How long to wait for work, in seconds; unset is as long as the platform permits.
        wait_seconds: Option<f64> as "waitSeconds", update::seconds;
        /// Whether to move leased tasks to working in the same step.
        start: bool as "start";
    }

    /// The work, possibly none.
    pub struct PollResponse {
        /// The leases.
        leases: Vec<Lease> as "leases" [present];
        /// Whether the platform asks the worker to take no more: the session is drained.
        drain: bool as "drain";
    }

    /// A task held for one worker until the lease expires.
    pub struct Lease {
        /// The lease's id.
        lease: String as "lease" [required];
        /// The lease's epoch; grows with every lease of the task.
        epoch: i64 as "epoch" [present];
        /// How often the task was handed out since it last made progress, from 1.
        attempt: i32 as "attempt" [present];
        /// How long the lease lives, in seconds.
        seconds_left: f64 as "secondsLeft" [present];
        /// The agent to act as.
        agent: String as "agent" [required];
        /// The tenant; absent for none.
        tenant: String as "tenant";
        /// The task with history and artifacts.
        task: Task as "task" [required];
        /// Client messages that no lease was handed before, oldest first.
        messages: Vec<Message> as "messages" [present];
        /// How many messages of the task this lease was handed; the history beyond is unseen.
        history_cursor: i64 as "historyCursor" [present];
        /// Media types the client can take back; empty is any.
        accepted_output_modes: Vec<String> as "acceptedOutputModes" [present];
        /// Whether there is no task yet: `reply` answers the client with a message alone, and the first move, progress or artifact makes
        /// the task. A worker that knows nothing of this works all the same.
        direct: bool as "direct";
        /// Artifacts of earlier leases whose last chunk is not there yet: this lease may go on with them, or start one anew by sending it
        /// without `append`.
        unfinished_artifacts: Vec<UnfinishedArtifact> as "unfinishedArtifacts";
        /// The trace the task belongs to: that of the request that made it ready.
        trace_context: Option<TraceContext> as "traceContext";
        /// What the operator configured of the agent.
        agent_settings: Option<AgentSettings> as "agentSettings";
    }

    /// An artifact without its last chunk.
    pub struct UnfinishedArtifact {
        /// The artifact's id.
        artifact_id: String as "artifactId" [required];
        /// How many chunks there are.
        chunks: i32 as "chunks" [present];
        /// How many bytes they have, as stored.
        bytes: i64 as "bytes" [present];
    }

    /// A W3C trace context, as its headers have it.
    pub struct TraceContext {
        /// The header `traceparent`.
        traceparent: String as "traceparent" [required];
        /// The header `tracestate`; may be absent.
        tracestate: String as "tracestate";
    }

    /// An agent as its workers need to know it.
    pub struct AgentSettings {
        /// How long a lease lives without a heartbeat, in seconds.
        lease_seconds: f64 as "leaseSeconds" [present];
        /// After so many deliveries without progress the platform fails the task.
        max_deliveries: i32 as "maxDeliveries" [present];
        /// Whether clients may cancel.
        cancelable: bool as "cancelable" [present];
        /// Parts of one message or artifact update at most.
        max_parts: i32 as "maxParts" [present];
        /// Artifacts of one task at most.
        max_artifacts: i32 as "maxArtifacts" [present];
        /// Bytes of all artifacts of one task at most.
        max_artifact_bytes: i64 as "maxArtifactBytes" [present];
        /// Whatever else the operator wrote for the workers of this agent.
        settings: Option<Struct> as "settings";
    }

    /// Asks that a session gets no more work: `POST /sessions/{session}:drain`.
    pub struct DrainRequest {
        /// Whether what the session holds is released now, for others to claim.
        release: bool as "release";
    }

    /// What draining a session led to.
    pub struct DrainResponse {
        /// How many leases were released.
        released: i32 as "released" [present];
    }

    /// A nudge on the control stream: `GET /sessions/{session}/control`. It says nothing a heartbeat does not say, only earlier.
    pub struct ControlEvent {
        /// `cancel`: the client canceled the task. `message`: the client wrote; a heartbeat brings it. `lost`: the lease has ended
        /// otherwise. `drain`: finish and take no more.
        kind: String as "kind" [required];
        /// The lease; absent for `drain`.
        lease: String as "lease";
        /// The task; absent for `drain`.
        task_id: String as "taskId";
        /// The task's state; absent where there is none to tell.
        state: TaskState as "state";
    }

    /// The queue of one agent, as an autoscaler wants it.
    pub struct QueueStats {
        /// The agent.
        agent: String as "agent" [required];
        /// Tasks whose time has come, also where a running limit or a task before them holds them back.
        ready: i64 as "ready" [present];
        /// Tasks that wait for their time.
        delayed: i64 as "delayed" [present];
        /// Tasks held by workers.
        in_flight: i64 as "inFlight" [present];
        /// Tasks that wait for their client.
        waiting: i64 as "waiting" [present];
        /// How long the oldest of the ready ones has been ready, in seconds.
        oldest_seconds: f64 as "oldestSeconds" [present];
        /// Workers of the agent that were heard of in the last minute and do not drain.
        workers: i64 as "workers" [present];
    }

    /// Every queue: `GET /queues`.
    pub struct ListQueuesResponse {
        /// One entry an agent, by name.
        queues: Vec<QueueStats> as "queues" [present];
    }

    /// A lease as its holder names it.
    pub struct HeldLease {
        /// The lease's id.
        lease: String as "lease" [required], rules::id;
        /// The lease's epoch.
        epoch: i64 as "epoch" [present];
    }

    /// Keeps leases alive: `POST /leases:heartbeat`.
    pub struct HeartbeatRequest {
        /// The session, if there is one.
        session: String as "session", rules::id;
        /// The leases, at most 1,000.
        leases: Vec<HeldLease> as "leases" [present], update::held;
    }

    /// What became of the leases, in the order of the request.
    pub struct HeartbeatResponse {
        /// One entry a lease.
        leases: Vec<LeaseStatus> as "leases" [present];
    }

    /// What became of a lease.
    pub struct LeaseStatus {
        /// The lease's id.
        lease: String as "lease" [required];
        /// Whether it is still held.
        held: bool as "held" [present];
        /// How long it lives, in seconds; 0 when it is not held.
        seconds_left: f64 as "secondsLeft" [present];
        /// Why it is not held, as a word, e.g. `expired`.
        reason: String as "reason";
        /// The task's state.
        state: TaskState as "state";
        /// Whether the client canceled the task.
        cancel: bool as "cancel" [present];
        /// Client messages that came since.
        messages: Vec<Message> as "messages" [present];
        /// Whether the platform asks to finish and take no more.
        drain: bool as "drain" [present];
    }

    /// Gives a lease back: `POST /leases/{lease}:release`.
    pub struct ReleaseRequest {
        /// How long nobody shall get the task, in seconds; unset is not at all.
        delay_seconds: Option<f64> as "delaySeconds", update::seconds;
        /// Why, for people.
        reason: String as "reason";
        /// Whether another try may help; unset is yes.
        retryable: Option<bool> as "retryable";
        /// Whether this try failed, so that it counts among the agent's deliveries at most; else the task is given back as if it had not
        /// been handed out.
        failed: bool as "failed";
    }

    /// Makes a move: `POST /tasks/{id}:work`, `:require_input`, `:require_auth`, `:complete`, `:fail`, `:reject`.
    pub struct MoveRequest {
        /// What the agent says; role, messageId, contextId and taskId may be left out.
        status_message: Option<Message> as "statusMessage" [draft], update::status_message;
        /// Free-form data about the event.
        metadata: Option<Struct> as "metadata";
        /// Whether a client may cancel the task from now on; unset leaves it.
        cancelable: Option<bool> as "cancelable";
    }

    /// Answers the client with a message: `POST /tasks/{id}:reply`.
    pub struct ReplyRequest {
        /// What the agent says; role, messageId and contextId may be left out, and taskId has to be.
        message: Option<Message> as "message" [draft], update::reply;
    }

    /// What a reply led to.
    pub struct Replied {
        /// Whether the message is all of the answer, and there is no task.
        direct: bool as "direct" [present];
        /// What became of the task, where there is one: completed, with the message as its status message.
        applied: Option<Applied> as "applied";
    }

    /// Adds to a task's artifacts: `POST /tasks/{id}:update_artifact`.
    pub struct ArtifactUpdate {
        /// The artifact or the next chunk of it.
        artifact: Artifact as "artifact" [required];
        /// Whether the parts extend the artifact of the same id; else it is added or replaced.
        append: bool as "append";
        /// Whether this is the last chunk of the artifact.
        last_chunk: bool as "lastChunk";
        /// Free-form data about the event.
        metadata: Option<Struct> as "metadata";
    }

    /// Several updates in one transaction: `POST /tasks/{id}:apply`.
    pub struct ApplyRequest {
        /// 1 to 100 updates, in order; a move other than `work` comes last.
        updates: Vec<Update> as "updates" [required], update::updates;
        /// Whether a client may cancel the task from now on; unset leaves it.
        cancelable: Option<bool> as "cancelable";
    }

    /// A move within [`ApplyRequest`].
    pub struct StatusChange {
        /// What the agent says; role, messageId, contextId and taskId may be left out.
        status_message: Option<Message> as "statusMessage" [draft], update::status_message;
        /// Free-form data about the event.
        metadata: Option<Struct> as "metadata";
    }

    /// A word of progress within [`ApplyRequest`].
    pub struct Progress {
        /// What the agent says; role, messageId, contextId and taskId may be left out.
        status_message: Option<Message> as "statusMessage" [draft], update::progress_message;
        /// Free-form data about the event.
        metadata: Option<Struct> as "metadata";
    }

    /// What a change led to.
    pub struct Applied {
        /// The task.
        task_id: String as "taskId" [required];
        /// Its state now.
        state: TaskState as "state" [required];
        /// Its event counter now; grows by one with every event.
        generation: i64 as "generation" [present];
        /// When the status was recorded.
        status_timestamp: Option<Timestamp> as "statusTimestamp" [required];
        /// Whether the lease is still held.
        lease_held: bool as "leaseHeld" [present];
        /// How long it lives, in seconds; absent when it is not held.
        seconds_left: Option<f64> as "secondsLeft";
    }

    /// A task with every column the model has: an element of `GET /allTasks`.
    pub struct TaskRecord {
        /// The task's id.
        id: String as "id" [required];
        /// The tenant; absent for none.
        tenant: String as "tenant";
        /// The agent.
        agent: String as "agent" [required];
        /// The conversation.
        context_id: String as "contextId" [required];
        /// The state.
        state: TaskState as "state" [required];
        /// What the agent says about it.
        status_message: Option<Message> as "statusMessage";
        /// When the status was recorded.
        status_timestamp: Option<Timestamp> as "statusTimestamp" [required];
        /// Free-form data.
        metadata: Option<Struct> as "metadata";
        /// The messages, oldest first.
        history: Vec<Message> as "history" [present];
        /// What was produced.
        artifacts: Vec<Artifact> as "artifacts" [present];
        /// The event counter.
        generation: i64 as "generation" [present];
        /// When the task was created.
        created_at: Option<Timestamp> as "createdAt" [required];
    }

    /// A page of `GET /allTasks`.
    pub struct ListAllTasksResponse {
        /// The tasks.
        tasks: Vec<TaskRecord> as "tasks" [present];
        /// Where the next page begins; empty on the last.
        next_page_token: String as "nextPageToken" [present];
    }

    /// A push notification config without its secrets: an element of `GET /allPushNotificationConfigs`.
    pub struct PushConfigRecord {
        /// The row's key, by which pages go on.
        row: String as "row" [required];
        /// The config's id.
        id: String as "id" [required];
        /// The task.
        task_id: String as "taskId" [required];
        /// The tenant; absent for none.
        tenant: String as "tenant";
        /// The webhook.
        url: String as "url" [required];
        /// When it was created.
        created_at: Option<Timestamp> as "createdAt" [required];
        /// How the platform authenticates, without the credentials.
        authentication: Option<AuthenticationScheme> as "authentication";
    }

    /// An authentication without its credentials.
    pub struct AuthenticationScheme {
        /// The HTTP authentication scheme.
        scheme: String as "scheme" [required];
    }

    /// A page of `GET /allPushNotificationConfigs`.
    pub struct ListAllPushNotificationConfigsResponse {
        /// The configs.
        configs: Vec<PushConfigRecord> as "configs" [present];
        /// Where the next page begins; empty on the last.
        next_page_token: String as "nextPageToken" [present];
    }
}
