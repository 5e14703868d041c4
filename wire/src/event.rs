//! What streams and webhooks carry (A2A §4.2).

use crate::json::Struct;
use crate::message::{Artifact, Message};
use crate::proto::{message, union};
use crate::rules;
use crate::task::{Task, TaskStatus};

message! {
    /// A task's status changed, or the same status was told anew with another message.
    pub struct TaskStatusUpdateEvent {
        /// The task.
        task_id: String as "taskId" = 1 [required], rules::id;
        /// The task's conversation.
        context_id: String as "contextId" = 2 [required], rules::id;
        /// The whole new status.
        status: TaskStatus as "status" = 3 [required];
        /// Free-form data about the event.
        metadata: Option<Struct> as "metadata" = 4;
    }

    /// A task produced an artifact, or the next chunk of one.
    pub struct TaskArtifactUpdateEvent {
        /// The task.
        task_id: String as "taskId" = 1 [required], rules::id;
        /// The task's conversation.
        context_id: String as "contextId" = 2 [required], rules::id;
        /// The artifact or the chunk.
        artifact: Artifact as "artifact" = 3 [required];
        /// Whether the parts extend the artifact of the same id; else it is added or replaced.
        append: bool as "append" = 4;
        /// Whether this is the last chunk of the artifact.
        last_chunk: bool as "lastChunk" = 5;
        /// Free-form data about the event.
        metadata: Option<Struct> as "metadata" = 6;
    }
}

union! {
    /// One item of a stream, and the body of a webhook call: exactly one of the members.
    pub enum StreamResponse: payload {
        /// The task as it stands.
        Task(Task) as "task" / task = 1;
        /// An answer without a task.
        Message(Message) as "message" / message = 2;
        /// The task's status changed.
        StatusUpdate(TaskStatusUpdateEvent) as "statusUpdate" / status_update = 3;
        /// The task produced something.
        ArtifactUpdate(TaskArtifactUpdateEvent) as "artifactUpdate" / artifact_update = 4;
    }
}
