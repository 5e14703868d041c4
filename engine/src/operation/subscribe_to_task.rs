//! SubscribeToTask (§3.1.6).

use uuid::Uuid;
use wire::{Error, StreamResponse, SubscribeToTaskRequest};

use super::task_id;
use crate::change::{state_of, to_text};
use crate::stream::{Attached, Ends, EventStream, Item};
use crate::view::{Shown, whole};
use crate::{Caller, Engine, database, store};

impl Engine {
    /// Follow a task until it is finished: first the task as it stands, then every later event. After `last` (the number of the last
    /// event the client has) it is the events since instead, also of a task that is finished by now.
    ///
    /// # Errors
    /// `InvalidParams`; `TaskNotFound`; `UnsupportedOperation` when the agent does not stream, or the task is finished and nothing is left
    /// to resume.
    pub async fn subscribe_to_task(
        &self,
        caller: &Caller,
        request: SubscribeToTaskRequest,
        last: Option<i64>,
    ) -> Result<EventStream, Error> {
        check_streaming(caller)?;
        wire::validate(&request)?;
        let id = task_id(&request.id)?;
        let attached = self.attach(id);
        let read = self.read_whole(caller, id, Shown::ALL).await?;
        let state = state_of(&read.task);
        match last.filter(|last| *last < read.task.generation) {
            Some(last) => self.resume_after(caller, attached, id, last, Ends::Finished).await,
            None if state.is_terminal() => Err(Error::unsupported_operation(format!(
                "task `{id}` is {}: nothing more happens to it; ask for it with GetTask",
                state.name()
            ))
            .with("taskId", id)
            .with("state", state.name())),
            // A client that has everything wants no second snapshot, only what follows.
            None if last == Some(read.task.generation) => {
                attached.after(self, read.task.generation, Ends::Finished).await
            }
            None => {
                let body = to_text(&StreamResponse::Task(whole(&read)?))?;
                let first = Item::snapshot(read.task.generation, body);
                Ok(attached.begin_with(self, first, Ends::Finished, false))
            }
        }
    }

    /// Go on after number `last`; where the events since are no longer kept, begin again with the task as it stands.
    pub(super) async fn resume_after(
        &self,
        caller: &Caller,
        attached: Attached,
        id: Uuid,
        last: i64,
        ends: Ends,
    ) -> Result<EventStream, Error> {
        let next = store::event::after(self.store().read(), id, last.max(0), 1)
            .await
            .map_err(database("reading a task's events"))?;
        if next.first().is_some_and(|event| event.generation == last.max(0) + 1) {
            return attached.after(self, last.max(0), ends).await;
        }
        let read = self.read_whole(caller, id, Shown::ALL).await?;
        let finished = state_of(&read.task).is_terminal();
        let body = to_text(&StreamResponse::Task(whole(&read)?))?;
        Ok(attached.begin_with(self, Item::snapshot(read.task.generation, body), ends, finished))
    }
}

/// Refuse what the agent's card does not declare (§3.3.4).
pub(super) fn check_streaming(caller: &Caller) -> Result<(), Error> {
    match caller.agent.streaming {
        true => Ok(()),
        false => Err(Error::unsupported_operation(format!("agent `{}` does not stream", caller.agent.name))),
    }
}
