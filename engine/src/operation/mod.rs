//! What can be asked of the platform, one file an operation. Clients' operations take a [`Caller`](crate::Caller), workers' a
//! [`Worker`](crate::Worker).

use uuid::Uuid;
use wire::Error;

mod all_push_configs;
mod all_tasks;
mod apply;
mod attempt;
mod cancel_task;
mod claim;
mod control;
mod direct;
mod drain;
mod get_extended_agent_card;
mod get_task;
mod heartbeat;
mod key;
pub mod lease;
mod list_tasks;
mod new_task;
mod open;
mod pick;
mod poll;
mod push_config;
mod queues;
mod release;
mod reply;
mod room;
mod send_message;
mod send_streaming_message;
mod session;
mod subscribe_to_task;
mod undelivered;
mod update_key;

pub use all_push_configs::AllPushConfigs;
pub use all_tasks::AllTasks;
pub use control::ControlStream;
pub(crate) use direct::Senders;
pub use list_tasks::ListedTasks;
pub use undelivered::{Resent, Undelivered, UndeliveredFilter, UndeliveredPlace};

/// A task id as the client wrote it. What is no id of ours is the id of no task.
pub(crate) fn task_id(text: &str) -> Result<Uuid, Error> {
    Uuid::try_parse(text).map_err(|_| Error::task_not_found(text))
}
