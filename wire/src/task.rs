//! Tasks and their states (A2A §4.1.1-4.1.3). What may follow what stands in [`crate::lifecycle`].

use crate::json::Struct;
use crate::message::{Artifact, Message};
use crate::proto::{enumeration, message};
use crate::rules;
use crate::timestamp::Timestamp;

enumeration! {
    /// Where a task stands in its life.
    pub enum TaskState {
        /// Unknown; never valid in a task, no filter in a list request.
        Unspecified = 0 "TASK_STATE_UNSPECIFIED";
        /// Accepted, nobody works on it yet.
        Submitted = 1 "TASK_STATE_SUBMITTED";
        /// A worker is at it.
        Working = 2 "TASK_STATE_WORKING";
        /// Finished successfully; terminal.
        Completed = 3 "TASK_STATE_COMPLETED";
        /// Finished with an error; terminal.
        Failed = 4 "TASK_STATE_FAILED";
        /// Canceled before it was finished; terminal.
        Canceled = 5 "TASK_STATE_CANCELED";
        /// Waiting for the client's input; interrupted.
        InputRequired = 6 "TASK_STATE_INPUT_REQUIRED";
        /// Declined by the agent; terminal.
        Rejected = 7 "TASK_STATE_REJECTED";
        /// Waiting for an authorization; interrupted.
        AuthRequired = 8 "TASK_STATE_AUTH_REQUIRED";
    }
}

message! {
    /// A unit of work that an agent does for a client.
    pub struct Task {
        /// Made by the server, unique.
        id: String as "id" = 1 [required], rules::id;
        /// The conversation the task belongs to.
        context_id: String as "contextId" = 2, rules::id;
        /// The current status.
        status: TaskStatus as "status" = 3 [required];
        /// What was produced so far.
        artifacts: Vec<Artifact> as "artifacts" = 4;
        /// The messages, oldest first.
        history: Vec<Message> as "history" = 5;
        /// Free-form data.
        metadata: Option<Struct> as "metadata" = 6;
    }

    /// A task's state, since when, and what the agent says about it.
    pub struct TaskStatus {
        /// The state.
        state: TaskState as "state" = 1 [required];
        /// The agent's explanation.
        message: Option<Message> as "message" = 2;
        /// When the status was recorded.
        timestamp: Option<Timestamp> as "timestamp" = 3;
    }
}
