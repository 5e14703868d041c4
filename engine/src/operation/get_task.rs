//! GetTask (§3.1.3).

use wire::{Error, GetTaskRequest, Task};

use super::task_id;
use crate::view::{Shown, whole};
use crate::{Caller, Engine};

impl Engine {
    /// The task with its state, artifacts and newest `historyLength` messages.
    ///
    /// # Errors
    /// `InvalidParams`; `TaskNotFound`, also for another tenant's or another agent's task.
    pub async fn get_task(&self, caller: &Caller, request: GetTaskRequest) -> Result<Task, Error> {
        wire::validate(&request)?;
        let id = task_id(&request.id)?;
        let shown = Shown { history: request.history_length, artifacts: true };
        whole(&self.read_whole(caller, id, shown).await?)
    }
}
