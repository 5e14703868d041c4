//! SendMessage (§3.1.1): a new task or a message more for one, idempotent where the client asks for it, answered at once or when the
//! agent has answered.

use entity::{push_lane, send_key, task, task_event, task_message, work};
use uuid::Uuid;
use wire::{
    Error, Message, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse, Task, TaskState,
    TaskStatus, Violation,
};

use super::attempt::Attempt;
use super::key::Key;
use super::task_id;
use crate::change::{Change, delivery, state_of, timestamp, to_text};
use crate::store::Write;
use crate::store::task::TaskAndWork;
use crate::view::{Shown, whole};
use crate::watch::Watcher;
use crate::{Caller, Engine, Hint, database, store, unwritten};

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
        let (sent, made, watcher) = self.store_message(caller, key, &request).await?;
        let task = match made {
            Some(task) if configuration.return_immediately => trimmed(*task, shown),
            None if configuration.return_immediately => whole(&self.read_whole(caller, sent.task, shown).await?)?,
            made => self.wait_for_answer(caller, sent, watcher, made.is_some(), shown).await?,
        };
        Ok(SendMessageResponse::Task(task))
    }

    /// What every send begins with: check, store, and watch the task from before it was written, so that no answer falls between. A
    /// task that was made just now is answered as it was written.
    pub(super) async fn store_message(
        &self,
        caller: &Caller,
        key: Option<String>,
        request: &SendMessageRequest,
    ) -> Result<(Sent, Option<Box<Task>>, Watcher), Error> {
        self.check_send(caller, request)?;
        let key = key.map(|text| Key::of(text, request)).transpose()?;
        let new = self.ids().next();
        let watcher = self.bus().hub().watch.begin(new);
        // A continued task has a turn to take; a new one races for nothing but its key and its place in the allowance.
        let continued = request.message.as_ref().and_then(|message| Uuid::try_parse(&message.task_id).ok());
        let mut attempts = self.attempts("storing a message", continued);
        let (sent, made) = loop {
            let attempt = attempts.next().await?;
            if let Some(stored) = self.try_send(caller, key.as_ref(), request, new, attempt).await? {
                break stored;
            }
        };
        let watcher = if sent.task == new { watcher } else { self.bus().hub().watch.begin(sent.task) };
        Ok((sent, made, watcher))
    }

    /// What can be said without reading anything.
    fn check_send(&self, caller: &Caller, request: &SendMessageRequest) -> Result<(), Error> {
        let inline = request.configuration.as_ref().and_then(|c| c.task_push_notification_config.as_ref());
        if inline.is_some() && !caller.agent.push_notifications {
            return Err(Error::push_notification_not_supported());
        }
        wire::validate_send(request, &wire::Limits { parts: caller.agent.limits.parts })?;
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

    async fn try_send(
        &self,
        caller: &Caller,
        key: Option<&Key>,
        request: &SendMessageRequest,
        new: Uuid,
        attempt: Attempt<'_>,
    ) -> Result<Option<(Sent, Option<Box<Task>>)>, Error> {
        let now = self.clock().now();
        if let Some(key) = key
            && let Some(sent) = self.find_key(caller, key, now).await?
        {
            return Ok(Some((sent, None)));
        }
        let mut write = Write::new();
        let message = request.message.clone().unwrap_or_default();
        let configuration = request.configuration.clone().unwrap_or_default();
        let (sent, hints, made) = if message.task_id.is_empty() {
            // The allowance last: whatever else is wrong with the message is wrong also once the tenant has room again.
            let (task, hints) = self.create(caller, request, message, &configuration, new, now, &mut write)?;
            self.take_allowance(caller, attempt.is_first(), now, &mut write).await?;
            (Sent { task: new, seq: 1 }, hints, Some(task))
        } else {
            let (sent, hints) = self.resume(caller, message, &configuration, now, &mut write).await?;
            (sent, hints, None)
        };
        if let Some(key) = key {
            write.insert(send_key::ActiveModel::from(send_key::Model {
                tenant: caller.tenant.as_str().to_owned(),
                agent: caller.agent.name.clone(),
                key: key.text.clone(),
                body_hash: key.hash.clone(),
                task_id: sent.task,
                seq: sent.seq,
                created_at: now,
            }));
        }
        Ok(attempt.write(write).await?.then(|| {
            self.bus().send(hints);
            (sent, made.map(Box::new))
        }))
    }

    /// What the key stands for, if it is known. One that has expired is forgotten first: a row cannot be deleted and inserted anew in
    /// one statement.
    async fn find_key(&self, caller: &Caller, key: &Key, now: i64) -> Result<Option<Sent>, Error> {
        let db = self.store().read();
        let known = store::send_key::read(db, &caller.tenant, &caller.agent.name, &key.text)
            .await
            .map_err(database("looking up an idempotency key"))?;
        let Some(known) = known else { return Ok(None) };
        let oldest = now - self.settings().key_lifetime.as_millis() as i64;
        if known.created_at < oldest {
            let mut forget = Write::new();
            forget.delete(store::send_key::delete_expired(&known, oldest));
            self.store().write(forget).await.map_err(unwritten("forgetting an idempotency key"))?;
            return Ok(None);
        }
        if known.body_hash != key.hash {
            let violation =
                Violation::new("Idempotency-Key", "was used with another request").reason("IDEMPOTENCY_KEY_REUSED");
            return Err(Error::invalid_all(vec![violation]));
        }
        Ok(Some(Sent { task: known.task_id, seq: known.seq }))
    }

    #[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename them")]
    fn create(
        &self,
        caller: &Caller,
        request: &SendMessageRequest,
        mut message: Message,
        configuration: &SendMessageConfiguration,
        new: Uuid,
        now: i64,
        write: &mut Write,
    ) -> Result<(Task, Vec<Hint>), Error> {
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
        let task = Task {
            id: new.to_string(),
            context_id: message.context_id.clone(),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: timestamp(now) },
            history: vec![message.clone()],
            metadata: request.metadata.clone(),
            ..Task::default()
        };
        let tenant = caller.tenant.as_str().to_owned();
        let inline = configuration.task_push_notification_config.as_ref();
        let mut hints = vec![Hint::Work { agent: caller.agent.name.clone() }];
        if let Some(config) = inline {
            let row = self.new_push_config(caller, new, config, now)?;
            let mut lane = new_lane(&row);
            lane.tail = 1;
            lane.due_at = Some(now);
            write.insert(entity::push_delivery::ActiveModel::from(delivery(&lane, 1, 1, None, now)));
            write.insert(push_lane::ActiveModel::from(lane));
            write.insert(entity::push_config::ActiveModel::from(row));
            hints.push(Hint::Delivery);
        }
        let body = to_text(&message)?;
        write.insert(task::ActiveModel::from(task::Model {
            id: new,
            tenant: tenant.clone(),
            agent: caller.agent.name.clone(),
            context_id: message.context_id.clone(),
            state: TaskState::Submitted as i16,
            status_message: None,
            status_kept: true,
            status_at: now,
            metadata: request.metadata.as_ref().map(to_text).transpose()?,
            generation: 1,
            history_count: 1,
            history_bytes: body.len() as i64,
            client_seq: 1,
            answered_seq: 0,
            artifact_count: 0,
            artifact_bytes: 0,
            config_count: i32::from(inline.is_some()),
            cancelable: true,
            output_modes: output_modes(configuration)?,
            created_at: now,
        }));
        write.insert(work::ActiveModel::from(work::Model {
            task_id: new,
            tenant,
            agent: caller.agent.name.clone(),
            due_at: Some(now),
            lease_id: None,
            epoch: 0,
            worker: None,
            deliveries: 0,
            seen_seq: 0,
            revision: 1,
        }));
        write.insert(task_message::ActiveModel::from(task_message::Model { task_id: new, seq: 1, client: true, body }));
        let body = to_text(&StreamResponse::Task(task.clone()))?;
        write.insert(task_event::ActiveModel::from(task_event::Model { task_id: new, generation: 1, at: now, body }));
        Ok((task, hints))
    }

    /// One task of the tenant's allowance, as a guard of the write: from the next shard at first, from one that has some once that
    /// failed.
    async fn take_allowance(&self, caller: &Caller, first: bool, now: i64, write: &mut Write) -> Result<(), Error> {
        let allowances = &self.inner.allowances;
        let shard = match allowances.guess(&caller.tenant).filter(|_| first) {
            Some(shard) => shard,
            None => self.find_allowance(caller, now).await?,
        };
        write.must_update(store::allowance::take(&caller.tenant, shard));
        Ok(())
    }

    async fn find_allowance(&self, caller: &Caller, now: i64) -> Result<i16, Error> {
        let limit = self.settings().tasks_per_tenant;
        self.inner.allowances.find(self.store(), &caller.tenant, limit, now).await
    }

    async fn resume(
        &self,
        caller: &Caller,
        mut message: Message,
        configuration: &SendMessageConfiguration,
        now: i64,
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
        let seq = change.client_message(&message, output_modes(configuration)?)?;
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

/// The lane of a config that was just made: nothing to deliver yet.
pub(super) fn new_lane(config: &entity::push_config::Model) -> push_lane::Model {
    push_lane::Model {
        id: config.id,
        tenant: config.tenant.clone(),
        task_id: config.task_id,
        head: 1,
        tail: 0,
        due_at: None,
        holder: None,
        fence: 0,
        attempts: 0,
        closed: false,
    }
}

pub(super) fn trimmed(mut task: Task, shown: Shown) -> Task {
    if let Some(limit) = shown.history {
        let surplus = task.history.len().saturating_sub(limit.max(0) as usize);
        task.history.drain(..surplus);
    }
    task
}
