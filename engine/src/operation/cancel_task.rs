//! CancelTask (§3.1.5). One transaction sets Canceled and ends the lease; then the worker is told. The client never waits for a worker.

use wire::{CancelTaskRequest, Error, Move, Task};

use super::task_id;
use crate::change::{Change, state_of};
use crate::store::Write;
use crate::view::{Shown, whole};
use crate::{Caller, Engine, database, store};

impl Engine {
    /// Cancel the task and answer it as it is then.
    ///
    /// # Errors
    /// `InvalidParams`; `TaskNotFound`; `TaskNotCancelable` when the task is finished or its present stage may not be canceled.
    pub async fn cancel_task(&self, caller: &Caller, request: CancelTaskRequest) -> Result<Task, Error> {
        wire::validate(&request)?;
        let id = task_id(&request.id)?;
        let mut attempts = self.attempts("canceling a task", Some(id));
        loop {
            let attempt = attempts.next().await?;
            let db = self.store().read();
            let read = store::task::read_for_write(db, &caller.tenant, &caller.agent.name, id)
                .await
                .map_err(database("reading a task to cancel"))?
                .ok_or_else(|| Error::task_not_found(&request.id))?;
            if read.work.is_some() && !(caller.agent.cancelable && read.task.cancelable) {
                return Err(Error::task_not_cancelable(&request.id, state_of(&read.task)));
            }
            let mut change = Change::begin(read, &caller.agent, self.clock().now());
            let message = self.platform_says("The task was canceled by the client.");
            change.make(Move::Cancel, Some(message), request.metadata.clone())?;
            let hints = change.hints();
            let mut write = Write::new();
            change.write_into(&mut write);
            if attempt.write(write).await? {
                self.bus().send(hints);
                return whole(&self.read_whole(caller, id, Shown::ALL).await?);
            }
        }
    }
}
