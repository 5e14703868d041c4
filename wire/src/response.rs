//! What clients are answered (A2A §3.2). Bare tasks, configs and cards stand in their own modules.

use crate::message::Message;
use crate::proto::{message, union};
use crate::task::Task;

union! {
    /// The answer to a send: a task, or a message where the agent needed none.
    pub enum SendMessageResponse: payload {
        /// The task as it stands.
        Task(Task) as "task" / task = 1;
        /// An answer without a task.
        Message(Message) as "message" / message = 2;
    }
}

message! {
    /// A page of tasks. All four members are always printed.
    pub struct ListTasksResponse {
        /// The tasks.
        tasks: Vec<Task> as "tasks" = 1 [present];
        /// Where the next page begins; empty on the last.
        next_page_token: String as "nextPageToken" = 2 [present];
        /// The page size that was applied.
        page_size: i32 as "pageSize" = 3 [present];
        /// How many tasks match, on all pages.
        total_size: i32 as "totalSize" = 4 [present];
    }
}
