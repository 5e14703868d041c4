//! SendStreamingMessage (§3.1.2): a send whose answer is the task and then everything that happens to it, or one message.

use uuid::Uuid;
use wire::{Error, SendMessageRequest, StreamResponse, Task};

use super::send_message::{SentTask, Settled, trimmed};
use super::subscribe_to_task::check_streaming;
use crate::change::{from_text, to_text};
use crate::stream::{Ends, EventStream, Item};
use crate::view::{Shown, whole};
use crate::{Caller, Engine, database, store};

impl Engine {
    /// Send `request` and follow the task until it is finished or asks for input. With the `key` of an earlier call, `last` is the number
    /// of the last event the client has, and the stream goes on after it; without a key it means nothing, since this is another send. A
    /// direct answer has no number: the same key gives it again.
    ///
    /// # Errors
    /// As [`Engine::send_message`]; `UnsupportedOperation` when the agent does not stream.
    pub async fn send_streaming_message(
        &self,
        caller: &Caller,
        key: Option<String>,
        request: SendMessageRequest,
        last: Option<i64>,
    ) -> Result<EventStream, Error> {
        check_streaming(caller)?;
        let history = request.configuration.as_ref().and_then(|configuration| configuration.history_length);
        let shown = Shown { history, artifacts: true };
        let resumable = key.is_some();
        // Whether to return immediately is no question of a stream's (§3.2.2).
        let SentTask { sent, made, opened, .. } = match self.settle(caller, key, &request, false).await? {
            Settled::Message(message) => {
                return Ok(EventStream::lone(self, to_text(&StreamResponse::Message(*message))?));
            }
            Settled::Task(task) => task,
        };
        let attached = self.attach(sent.task);
        let made = match made {
            Some(task) => Some(*task),
            None if opened && last.is_none() => self.first_event(sent.task).await?,
            None => None,
        };
        if let Some(task) = made {
            // As it was created; what has happened since follows.
            let first = Item::snapshot(1, to_text(&StreamResponse::Task(trimmed(task, shown)))?);
            return Ok(attached.begin_with(self, first, Ends::InputRequired, false));
        }
        let read = self.read_whole(caller, sent.task, shown).await?;
        let answered = sent.is_answered_by(&read.task);
        match last.filter(|_| resumable) {
            Some(last) if last < read.task.generation => {
                return self.resume_after(caller, attached, sent.task, last, Ends::InputRequired).await;
            }
            // A client that has everything wants no second snapshot, only what follows.
            Some(last) if last == read.task.generation && !answered => {
                return attached.after(self, last, Ends::InputRequired).await;
            }
            _ => {}
        }
        let body = to_text(&StreamResponse::Task(whole(&read)?))?;
        let first = Item::snapshot(read.task.generation, body);
        Ok(attached.begin_with(self, first, Ends::InputRequired, answered))
    }

    /// A task as it was created, while that is kept.
    async fn first_event(&self, task: Uuid) -> Result<Option<Task>, Error> {
        let first =
            store::event::at(self.store().read(), task, &[1]).await.map_err(database("reading a task's events"))?;
        match first.first().map(|event| from_text(&event.body)).transpose()? {
            Some(StreamResponse::Task(task)) => Ok(Some(task)),
            _ => Ok(None),
        }
    }
}
