//! GetTask (§3.1.3).

use wire::{Error, GetTaskRequest, Task};

use super::task_id;
use crate::view::Shown;
use crate::{Caller, Engine, database, store};

impl Engine {
    /// The task with its state, artifacts and newest `historyLength` messages.
    ///
    /// # Errors
    /// `InvalidParams`; `TaskNotFound`, also for another tenant's or another agent's task.
    pub async fn get_task(&self, caller: &Caller, request: GetTaskRequest) -> Result<Task, Error> {
        wire::validate(&request)?;
        let id = task_id(&request.id)?;
        let task = store::task::read(self.store().read(), &caller.tenant, &caller.agent.name, id)
            .await
            .map_err(database("reading a task"))?
            .ok_or_else(|| Error::task_not_found(&request.id))?;
        self.view(&task, Shown { history: request.history_length, artifacts: true }).await
    }
}
