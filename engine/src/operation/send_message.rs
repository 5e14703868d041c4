//! SendMessage (§3.1.1): a new task or a message more for one, idempotent where the client asks for it, answered at once or when the
//! agent has answered.

use std::time::Duration;

use entity::{send_key, task, waiting_message};
use uuid::Uuid;
use wire::{
    Error, Message, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, Task,
    TaskPushNotificationConfig, TaskState, TaskStatus, Tenant, Violation,
};

use super::attempt::Attempt;
use super::direct::{Inline, Place, Waiting};
use super::key::Key;
use super::new_task::First;
use super::task_id;
use crate::change::{Change, state_of, timestamp, to_text};
use crate::scheduling::Schedule;
use crate::store::Write;
use crate::store::task::TaskAndWork;
use crate::view::{Shown, whole};
use crate::watch::Watcher;
use crate::{Caller, Engine, Hint, database, store};

/// A task and which of its messages a send was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) task: Uuid,
    pub(super) seq: i32,
}

impl Sent {
    /// Whether the task's state is one that this message, or one after it, has caused: finished, or interrupted by a lease that was
    /// handed the message.
    pub(super) fn is_answered_by(self, task: &task::Model) -> bool {
        let state = state_of(task);
        state.is_terminal() || (state.is_interrupted() && task.answered_seq >= self.seq)
    }
}

/// A send that led to a task.
#[derive(Debug)]
pub(super) struct SentTask {
    pub(super) sent: Sent,
    /// The task as it was created, if that was just now: what has happened to it since the watcher is yet to tell.
    pub(super) made: Option<Box<Task>>,
    /// Whether the message waited for a direct answer first: none of the task's events has been told.
    pub(super) opened: bool,
    pub(super) watcher: Watcher,
}

/// What a send led to.
#[derive(Debug)]
pub(super) enum Settled {
    Task(SentTask),
    Message(Box<Message>),
}

/// What a send stored, or found its key to stand for.
enum Stored<'a> {
    Task(SentTask),
    Message(Box<Message>),
    Waiting(Box<Waiting<'a>>),
}

/// The same, as an attempt yields it.
pub(super) enum Tried {
    Task(Sent, Option<Box<Task>>),
    Message(Box<Message>),
    Waiting(Box<waiting_message::Model>),
}

impl Engine {
    /// Send `request` under `key`, if the client gave an `Idempotency-Key`.
    ///
    /// # Errors
    /// Whatever the request, the task or a bound refuses, in the order of `check_send`, `find_key` and `check_resumable`; `Unavailable`
    /// when this replica shuts down while the answer is awaited (the task lives on; the same key finds it).
    pub async fn send_message(
        &self,
        caller: &Caller,
        key: Option<String>,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let configuration = request.configuration.clone().unwrap_or_default();
        let shown = Shown { history: configuration.history_length, artifacts: true };
        let at_once = configuration.return_immediately;
        let SentTask { sent, made, watcher, .. } = match self.settle(caller, key, &request, at_once).await? {
            Settled::Message(message) => return Ok(SendMessageResponse::Message(*message)),
            Settled::Task(task) => task,
        };
        let task = match made {
            Some(task) if at_once => trimmed(*task, shown),
            None if at_once => whole(&self.read_whole(caller, sent.task, shown).await?)?,
            made => self.wait_for_answer(caller, sent, watcher, made.is_some(), shown).await?,
        };
        Ok(SendMessageResponse::Task(task))
    }

    /// What every send begins with: check, store, and watch the task from before it was written, so that no answer falls between. A
    /// message that may be answered directly has been, or has become a task, once this yields; `at_once` does not wait for that.
    pub(super) async fn settle(
        &self,
        caller: &Caller,
        key: Option<String>,
        request: &SendMessageRequest,
        at_once: bool,
    ) -> Result<Settled, Error> {
        self.check_send(caller, request)?;
        if let Some(config) = inline(request) {
            self.check_can_seal(config).await?;
        }
        let key = key.map(|text| Key::of(text, request)).transpose()?;
        loop {
            let waiting = match self.store_message(caller, key.as_ref(), request, at_once).await? {
                Stored::Task(task) => return Ok(Settled::Task(task)),
                Stored::Message(message) => return Ok(Settled::Message(message)),
                Stored::Waiting(waiting) => waiting,
            };
            if let Some(settled) = waiting.settle(at_once).await? {
                return Ok(settled);
            }
        }
    }

    async fn store_message<'a>(
        &'a self,
        caller: &'a Caller,
        key: Option<&'a Key>,
        request: &SendMessageRequest,
        at_once: bool,
    ) -> Result<Stored<'a>, Error> {
        let new = self.ids().next();
        let watch = &self.bus().hub().watch;
        let watcher = watch.begin(new);
        // A continued task has a turn to take; a new one races for nothing but its key and its place in the allowance.
        let continued = request.message.as_ref().and_then(|message| Uuid::try_parse(&message.task_id).ok());
        let is_new = request.message.as_ref().is_none_or(|message| message.task_id.is_empty());
        // Nobody waits for a direct answer to what no worker may have yet.
        let delayed = schedule(caller, request, self.clock().now())?.not_before.is_some();
        let direct = caller.agent.direct.filter(|_| is_new && !at_once && !delayed);
        let place = direct.map(|_| Place::take(self, &caller.tenant, new, key.is_some()));
        let mut attempts = self.attempts("storing a message", continued);
        let tried = loop {
            let attempt = attempts.next().await?;
            if let Some(tried) = self.try_send(caller, key, request, new, direct, attempt).await? {
                break tried;
            }
        };
        let of = |task: Uuid| if task == new { watcher } else { watch.begin(task) };
        Ok(match tried {
            Tried::Task(sent, made) => Stored::Task(SentTask { sent, made, opened: false, watcher: of(sent.task) }),
            Tried::Message(message) => Stored::Message(message),
            Tried::Waiting(row) => {
                let fresh = row.id == new;
                let place = match place.filter(|_| fresh) {
                    Some(place) => place,
                    // Only a key leads to a message that was there before.
                    None => Place::take(self, &caller.tenant, row.id, true),
                };
                let watcher = of(row.id);
                Stored::Waiting(Box::new(Waiting { engine: self, caller, key, row: *row, watcher, place, fresh }))
            }
        })
    }

    /// What can be said without reading anything.
    fn check_send(&self, caller: &Caller, request: &SendMessageRequest) -> Result<(), Error> {
        let inline = inline(request);
        if inline.is_some() && !caller.agent.push_notifications {
            return Err(Error::push_notification_not_supported());
        }
        wire::validate_send(request, &wire::Limits { parts: caller.agent.limits.parts })?;
        schedule(caller, request, self.clock().now())?;
        if let Some(config) = inline {
            self.check_webhook("configuration.taskPushNotificationConfig.url", &config.url)?;
            if !config.task_id.is_empty() {
                let named = request.message.as_ref().map(|message| message.task_id.as_str()).unwrap_or_default();
                if named != config.task_id {
                    return Err(Error::invalid(
                        "configuration.taskPushNotificationConfig.taskId",
                        "must be left out: the config is bound to the task of this message",
                    ));
                }
            }
        }
        Ok(())
    }

    /// One attempt at storing it; nothing when another write came first. With `direct` the message waits so long for a direct answer.
    async fn try_send(
        &self,
        caller: &Caller,
        key: Option<&Key>,
        request: &SendMessageRequest,
        new: Uuid,
        direct: Option<Duration>,
        attempt: Attempt<'_>,
    ) -> Result<Option<Tried>, Error> {
        let now = self.clock().now();
        if let Some(key) = key
            && let Some(known) = self.find_key(caller, key, now).await?
        {
            return Ok(Some(known));
        }
        let mut write = Write::new();
        let schedule = schedule(caller, request, now)?;
        let message = request.message.clone().unwrap_or_default();
        let configuration = request.configuration.clone().unwrap_or_default();
        let config = configuration.task_push_notification_config.as_ref();
        // What the key stands for: the task and the message's number in it.
        let (stands_for, tried, hints) = if !message.task_id.is_empty() {
            let (sent, hints) = self.resume(caller, message, &configuration, (schedule, now), &mut write).await?;
            (sent, Tried::Task(sent, None), hints)
        } else {
            let (first, message) = self.first(caller, request, message, schedule, new)?;
            if let Some(limit) = direct {
                let inline =
                    config.map(|config| Inline { version: caller.version.as_str().to_owned(), config: config.clone() });
                let row = self.waiting_row(first, key, inline, limit, now)?;
                write.insert(waiting_message::ActiveModel::from(row.clone()));
                let hints = vec![Hint::Work { agent: caller.agent.name.clone() }];
                (Sent { task: new, seq: 0 }, Tried::Waiting(Box::new(row)), hints)
            } else {
                let mut task = first.begin(now);
                if let Some(config) = config {
                    task.hook(self.new_push_config(caller, new, config, now)?);
                }
                let view = Task {
                    id: new.to_string(),
                    context_id: message.context_id.clone(),
                    status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: timestamp(now) },
                    history: vec![message],
                    metadata: request.metadata.clone(),
                    ..Task::default()
                };
                let hints = task.write_into(&view, &mut write)?;
                // The allowance last: whatever else is wrong with the message is wrong also once the tenant has room again.
                self.take_allowance(&caller.tenant, attempt.is_first(), now, &mut write).await?;
                let sent = Sent { task: new, seq: 1 };
                (sent, Tried::Task(sent, Some(Box::new(view))), hints)
            }
        };
        if let Some(key) = key {
            write.insert(send_key::ActiveModel::from(send_key::Model {
                tenant: caller.tenant.as_str().to_owned(),
                agent: caller.agent.name.clone(),
                key: key.text.clone(),
                body_hash: key.hash.clone(),
                task_id: stands_for.task,
                seq: stands_for.seq,
                message: None,
                created_at: now,
            }));
        }
        Ok(attempt.write(write).await?.then(|| {
            self.bus().send(hints);
            tried
        }))
    }

    /// What a new task is made of, and its first message as everybody sees it.
    fn first(
        &self,
        caller: &Caller,
        request: &SendMessageRequest,
        mut message: Message,
        schedule: Schedule,
        new: Uuid,
    ) -> Result<(First, Message), Error> {
        if message.context_id.is_empty() {
            message.context_id = self.ids().next().to_string();
        } else if !caller.agent.client_contexts {
            return Err(Error::invalid_all(vec![
                Violation::new("message.contextId", "must be left out: this agent chooses context ids itself")
                    .reason("CONTEXT_NOT_ACCEPTED"),
            ]));
        }
        check_media_types(caller, &message)?;
        message.task_id = new.to_string();
        let first = First {
            id: new,
            tenant: caller.tenant.as_str().to_owned(),
            agent: caller.agent.name.clone(),
            context_id: message.context_id.clone(),
            body: to_text(&message)?,
            metadata: request.metadata.as_ref().map(to_text).transpose()?,
            output_modes: request.configuration.as_ref().map(output_modes).transpose()?.flatten(),
            trace: caller.trace.clone(),
            priority: schedule.priority.unwrap_or_default(),
            not_before: schedule.not_before,
            series: caller.agent.serial_contexts,
        };
        Ok((first, message))
    }

    /// One task of the tenant's allowance, as a guard of the write: from the next shard at first, from one that has some once that
    /// failed.
    pub(super) async fn take_allowance(
        &self,
        tenant: &Tenant,
        first: bool,
        now: i64,
        write: &mut Write,
    ) -> Result<(), Error> {
        let allowances = &self.inner.allowances;
        let shard = match allowances.guess(tenant).filter(|_| first) {
            Some(shard) => shard,
            None => allowances.find(self.store(), tenant, self.settings().tasks_per_tenant, now).await?,
        };
        write.must(store::allowance::take(tenant, shard));
        Ok(())
    }

    async fn resume(
        &self,
        caller: &Caller,
        mut message: Message,
        configuration: &SendMessageConfiguration,
        (schedule, now): (Schedule, i64),
        write: &mut Write,
    ) -> Result<(Sent, Vec<Hint>), Error> {
        let id = task_id(&message.task_id)?;
        let db = self.store().read();
        let read = store::task::read_for_write(db, &caller.tenant, &caller.agent.name, id)
            .await
            .map_err(database("reading a task to continue"))?
            .ok_or_else(|| Error::task_not_found(&message.task_id))?;
        check_resumable(caller, &read, &message)?;
        message.context_id = read.task.context_id.clone();
        let mut read = read;
        let mut hints = Vec::new();
        if let Some(config) = &configuration.task_push_notification_config {
            let put = self.put_push_config(caller, &mut read, config, now, write).await?;
            hints.extend(put.hints);
        }
        let mut change = Change::begin(read, &caller.agent, now);
        let modes = output_modes(configuration)?;
        let seq = change.client_message(&message, modes, caller.trace.as_deref(), schedule)?;
        hints.extend(change.hints());
        change.write_into(write);
        Ok((Sent { task: id, seq }, hints))
    }

    /// Wait until the task is finished, or interrupted by a lease that was handed the message. There is no longest wait.
    async fn wait_for_answer(
        &self,
        caller: &Caller,
        sent: Sent,
        mut watcher: Watcher,
        is_new: bool,
        shown: Shown,
    ) -> Result<Task, Error> {
        let mut look = !is_new;
        loop {
            if look {
                let read = self.read_whole(caller, sent.task, shown).await?;
                if sent.is_answered_by(&read.task) {
                    return whole(&read);
                }
            }
            tokio::select! {
                news = watcher.next() => {
                    let state = TaskState::from_number(i64::from(news.state)).unwrap_or_default();
                    look = state.is_terminal() || state.is_interrupted();
                }
                () = self.closed() => {
                    return Err(Error::unavailable(
                        "this replica is shutting down; the task goes on: ask for it, or send again with the same Idempotency-Key",
                    )
                    .with("taskId", sent.task));
                }
            }
        }
    }
}

fn check_resumable(caller: &Caller, read: &TaskAndWork, message: &Message) -> Result<(), Error> {
    let state = state_of(&read.task);
    if state.is_terminal() {
        return Err(Error::unsupported_operation(format!(
            "task `{}` is {}: a finished task takes no more messages; start a new one in its context",
            message.task_id,
            state.name()
        ))
        .with("taskId", &message.task_id)
        .with("state", state.name()));
    }
    if !message.context_id.is_empty() && message.context_id != read.task.context_id {
        return Err(Error::invalid_all(vec![
            Violation::new("message.contextId", "differs from the context of the task that message.taskId names")
                .reason("CONTEXT_MISMATCH"),
        ]));
    }
    check_media_types(caller, message)?;
    let limit = caller.agent.limits.history_bytes;
    if read.task.history_bytes >= limit {
        return Err(Error::resource_exhausted(
            "history_bytes",
            format!("the task's history holds its maximum of {limit} bytes"),
        ));
    }
    let limit = caller.agent.limits.history;
    if read.task.history_count >= limit {
        return Err(Error::resource_exhausted(
            "history",
            format!("the task's history holds its maximum of {limit} messages"),
        ));
    }
    Ok(())
}

/// When the message is due and how urgent it is.
fn schedule(caller: &Caller, request: &SendMessageRequest, now: i64) -> Result<Schedule, Error> {
    request
        .message
        .as_ref()
        .map_or_else(|| Ok(Schedule::default()), |message| Schedule::of(&caller.agent, message, now))
}

/// The push config that comes with a message.
fn inline(request: &SendMessageRequest) -> Option<&TaskPushNotificationConfig> {
    request.configuration.as_ref()?.task_push_notification_config.as_ref()
}

fn check_media_types(caller: &Caller, message: &Message) -> Result<(), Error> {
    match message.parts.iter().find(|part| !caller.agent.accepts(&part.media_type)) {
        Some(part) => Err(Error::content_type_not_supported(&part.media_type)),
        None => Ok(()),
    }
}

fn output_modes(configuration: &SendMessageConfiguration) -> Result<Option<String>, Error> {
    match configuration.accepted_output_modes.as_slice() {
        [] => Ok(None),
        modes => to_text(&modes).map(Some),
    }
}

pub(super) fn trimmed(mut task: Task, shown: Shown) -> Task {
    if let Some(limit) = shown.history {
        let surplus = task.history.len().saturating_sub(limit.max(0) as usize);
        task.history.drain(..surplus);
    }
    task
}
