//! CancelTask (§3.1.5). One transaction sets Canceled and ends the lease; then the worker is told. The client never waits for a worker.

use wire::{CancelTaskRequest, Error, Message, Move, Part, Role, Task};

use super::{TRIES, task_id};
use crate::change::Change;
use crate::store::{Write, WriteError};
use crate::view::{Shown, whole};
use crate::{Caller, Engine, database, store, unwritten};

impl Engine {
    /// Cancel the task and answer it as it is then.
    ///
    /// # Errors
    /// `InvalidParams`; `TaskNotFound`; `TaskNotCancelable` when the task is finished or its present stage may not be canceled.
    pub async fn cancel_task(&self, caller: &Caller, request: CancelTaskRequest) -> Result<Task, Error> {
        wire::validate(&request)?;
        let id = task_id(&request.id)?;
        for _ in 0..TRIES {
            let db = self.store().read();
            let read = store::task::read_for_write(db, &caller.tenant, &caller.agent.name, id)
                .await
                .map_err(database("reading a task to cancel"))?
                .ok_or_else(|| Error::task_not_found(&request.id))?;
            if read.work.is_some() && !(caller.agent.cancelable && read.task.cancelable) {
                return Err(Error::task_not_cancelable(&request.id, crate::change::state_of(&read.task)));
            }
            let lanes = self.lanes_of(&read.task).await?;
            let mut change = Change::begin(read, &caller.agent, lanes, self.clock().now());
            let message = Message {
                message_id: self.ids().next().to_string(),
                role: Role::Agent,
                parts: vec![Part::text("The task was canceled by the client.")],
                ..Message::default()
            };
            change.make(Move::Cancel, Some(message), request.metadata.clone())?;
            let hints = change.hints();
            let mut write = Write::new();
            change.write_into(&mut write);
            match self.store().write(write).await {
                Ok(()) => {
                    self.bus().send(hints);
                    return whole(&self.read_whole(caller, id, Shown::ALL).await?);
                }
                Err(WriteError::Lost) => {}
                Err(error) => return Err(unwritten("canceling a task")(error)),
            }
        }
        Err(unwritten("canceling a task")(WriteError::Lost))
    }
}
