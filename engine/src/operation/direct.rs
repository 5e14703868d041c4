//! A send that waits for a direct answer: a message and no task (§3.1.1).
//!
//! What is sent stands in `waiting_message` meanwhile and is no task: no read and no list shows it, and it takes nothing of the tenant's
//! allowance. It lives as long as somebody waits for it. A sender that goes away takes its row along; one that came with an
//! `Idempotency-Key` may come back, on any replica, and has [`GRACE`] for that. A replica that dies leaves rows that nobody moves on, and
//! a sweep of the others removes them. Nothing that was acknowledged is lost by that: a send that waits was not answered yet.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entity::waiting_message;
use tokio::time::Instant;
use uuid::Uuid;
use wire::{Error, Kind, Message, TaskPushNotificationConfig, Tenant};

use super::key::Key;
use super::new_task::First;
use super::send_message::{Sent, SentTask, Settled};
use crate::change::{from_text, to_text};
use crate::store::{Write, WriteError};
use crate::watch::Watcher;
use crate::{Caller, Engine, database, store, unwritten};

/// How long a row outlives the last sign of somebody who waits for it, in milliseconds.
pub(crate) const GRACE: i64 = 15_000;

/// The messages somebody in this process waits for, and how many do.
#[derive(Debug, Default)]
pub(crate) struct Senders {
    waiting: Mutex<HashMap<Uuid, usize>>,
}

impl Senders {
    fn open(&self) -> MutexGuard<'_, HashMap<Uuid, usize>> {
        // A panic cannot leave the map half written.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them.
    pub(crate) fn waiting(&self) -> Vec<Uuid> {
        self.open().keys().copied().collect()
    }
}

/// The config that came with a message, as it is sealed: it becomes the task's.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Inline {
    /// What its maker speaks.
    pub(super) version: String,
    pub(super) config: TaskPushNotificationConfig,
}

/// One sender's place. Dropped before its end, it removes the row: how a client that goes away is noticed.
#[derive(Debug)]
pub(super) struct Place {
    engine: Engine,
    tenant: Tenant,
    id: Uuid,
    /// The client may come back.
    keyed: bool,
    left: bool,
}

impl Place {
    /// Taken before the row is written, so that it cannot be left behind.
    pub(super) fn take(engine: &Engine, tenant: &Tenant, id: Uuid, keyed: bool) -> Place {
        *engine.inner.senders.open().entry(id).or_insert(0) += 1;
        Place { engine: engine.clone(), tenant: tenant.clone(), id, keyed, left: false }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.engine.inner.senders.open();
        if let Some(count) = waiting.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.id);
            }
        }
        drop(waiting);
        if !self.left && !self.keyed {
            let (engine, tenant, id) = (self.engine.clone(), self.tenant.clone(), self.id);
            tokio::spawn(async move { engine.remove_waiting(&tenant, id).await });
        }
    }
}

/// A message that was stored, and its sender.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    pub(super) engine: &'a Engine,
    pub(super) caller: &'a Caller,
    pub(super) key: Option<&'a Key>,
    pub(super) row: waiting_message::Model,
    pub(super) watcher: Watcher,
    pub(super) place: Place,
    /// Whether it was stored just now, by this sender: nothing has happened that the watcher has not heard.
    pub(super) fresh: bool,
}

/// What became of a message.
enum Look {
    Waits,
    Answered(Message),
    Task,
    /// It was taken away from under its sender, who was thought to be gone.
    Gone,
}

impl Waiting<'_> {
    /// Wait for the answer, or for the task the message becomes; with `at_once` it becomes one now. Nothing when the message is gone: it
    /// is to be sent anew.
    ///
    /// # Errors
    /// `ResourceExhausted` when it should become a task and the tenant holds its maximum; `Unavailable` when this replica shuts down.
    pub(super) async fn settle(mut self, at_once: bool) -> Result<Option<Settled>, Error> {
        let left = self.row.limit_at - self.engine.clock().now();
        let limit = Instant::now() + Duration::from_millis(left.max(0) as u64);
        if !self.fresh {
            match self.look().await? {
                Look::Waits => {}
                look => return self.end(look).await,
            }
        }
        loop {
            if at_once || self.row.limit_at <= self.engine.clock().now() {
                return self.become_task().await;
            }
            let closing = tokio::select! {
                _ = self.watcher.next() => false,
                () = tokio::time::sleep_until(limit) => return self.become_task().await,
                () = self.engine.closed() => true,
            };
            match self.look().await? {
                Look::Waits if closing => {
                    self.leave().await;
                    return Err(Error::unavailable(
                        "this replica is shutting down and the message is not answered yet: send it again, with the same \
                         Idempotency-Key if there is one",
                    ));
                }
                Look::Waits => {}
                look => return self.end(look).await,
            }
        }
    }

    /// Make a task of the message.
    async fn become_task(mut self) -> Result<Option<Settled>, Error> {
        let mut attempts = self.engine.attempts("making a task of a waiting message", None);
        loop {
            let attempt = attempts.next().await?;
            match self.engine.open(&self.row, attempt).await {
                Ok(Some(_)) => return self.end(Look::Task).await,
                Ok(None) => {}
                Err(error) => {
                    if error.kind == Kind::ResourceExhausted {
                        // The client is told, so there is nothing to come back for.
                        self.place.keyed = false;
                        self.leave().await;
                    }
                    return Err(error);
                }
            }
            match self.look().await? {
                Look::Waits => {}
                look => return self.end(look).await,
            }
        }
    }

    async fn end(mut self, look: Look) -> Result<Option<Settled>, Error> {
        match look {
            Look::Answered(message) => {
                // The key keeps the answer, if there is one.
                self.place.keyed = false;
                self.leave().await;
                Ok(Some(Settled::Message(Box::new(message))))
            }
            Look::Task => {
                self.place.left = true;
                let sent = Sent { task: self.row.id, seq: 1 };
                Ok(Some(Settled::Task(SentTask { sent, made: None, opened: true, watcher: self.watcher })))
            }
            Look::Waits | Look::Gone => Ok(None),
        }
    }

    /// How the message stands. The row, then the key that another sender may have left the answer with, then the task: each is there
    /// before the one before it is gone.
    async fn look(&mut self) -> Result<Look, Error> {
        let doing = "looking for a direct answer";
        let db = self.engine.store().read();
        let (tenant, agent) = (&self.caller.tenant, &self.caller.agent.name);
        let row = store::waiting::read(db, tenant, self.row.id).await.map_err(database(doing))?;
        if let Some(row) = row {
            return match &row.answer {
                Some(answer) => Ok(Look::Answered(from_text(answer)?)),
                None => {
                    self.row = row;
                    Ok(Look::Waits)
                }
            };
        }
        if let Some(key) = self.key {
            let known = store::send_key::read(db, tenant, agent, &key.text).await.map_err(database(doing))?;
            let answer = known.filter(|known| known.task_id == self.row.id).and_then(|known| known.message);
            if let Some(answer) = answer {
                return Ok(Look::Answered(from_text(&answer)?));
            }
        }
        let task = store::task::read_for_write(db, tenant, agent, self.row.id).await.map_err(database(doing))?;
        Ok(if task.is_some() { Look::Task } else { Look::Gone })
    }

    /// Take the row away, unless the client may come back for it.
    async fn leave(&mut self) {
        if !self.place.keyed {
            self.engine.remove_waiting(&self.caller.tenant, self.row.id).await;
        }
        // Only now: a client that goes away meanwhile ends this here, and the place sees to the rest.
        self.place.left = true;
    }
}

impl Engine {
    /// The row of a message that waits for a direct answer for `limit` at most.
    pub(super) fn waiting_row(
        &self,
        first: First,
        key: Option<&Key>,
        inline: Option<Inline>,
        limit: Duration,
        now: i64,
    ) -> Result<waiting_message::Model, Error> {
        let seal = |inline| self.secrets().seal(first.id, &to_text(&inline)?).map_err(Error::internal);
        Ok(waiting_message::Model {
            push_config: inline.map(seal).transpose()?,
            id: first.id,
            tenant: first.tenant,
            agent: first.agent,
            context_id: first.context_id,
            body: first.body,
            metadata: first.metadata,
            output_modes: first.output_modes,
            key: key.map(|key| key.text.clone()),
            due_at: Some(now),
            lease_id: None,
            epoch: 0,
            worker: None,
            deliveries: 0,
            limit_at: now + limit.as_millis() as i64,
            until: now + GRACE,
            answer: None,
            created_at: now,
            trace: first.trace,
            priority: first.priority,
        })
    }

    /// Remove a message that nobody waits for, and its key unless that holds the answer. What does not succeed the sweep does.
    async fn remove_waiting(&self, tenant: &Tenant, id: Uuid) {
        let removed = async {
            let row = store::waiting::read(self.store().read(), tenant, id).await?;
            let Some(row) = row else { return Ok(()) };
            let mut write = Write::new();
            write.must_delete(store::waiting::delete(id));
            forget_key(&row, &mut write);
            self.store().write(write).await
        };
        match removed.await {
            Ok(()) | Err(WriteError::Lost) => {}
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, message.id = %id, "removing a message nobody waits for");
            }
        }
    }

    /// What a sweep does for messages that wait: move on those somebody here waits for, look for answers no hint told of, and remove those
    /// whose senders are gone with their replica.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn look_after_waiting(&self, batch: usize) -> Result<(), Error> {
        let doing = "looking after messages that wait for an answer";
        let now = self.clock().now();
        for ids in self.inner.senders.waiting().chunks(batch) {
            let standing = store::waiting::standing(self.store().read(), ids).await.map_err(database(doing))?;
            let unanswered = standing.iter().filter(|(_, _, answered)| !answered);
            let unanswered: HashMap<Uuid, i64> = unanswered.map(|(id, until, _)| (*id, *until)).collect();
            for id in ids.iter().filter(|id| !unanswered.contains_key(id)) {
                self.bus().hub().watch.wake(*id);
            }
            let ending = unanswered.into_iter().filter(|(_, until)| *until < now + GRACE * 2 / 3);
            let ending: Vec<Uuid> = ending.map(|(id, _)| id).collect();
            if !ending.is_empty() {
                let mut write = Write::new();
                write.update(store::waiting::wait_until(&ending, now + GRACE));
                self.store().write(write).await.map_err(unwritten(doing))?;
            }
        }
        let forsaken =
            store::waiting::forsaken(self.store().read(), now, batch as u64).await.map_err(database(doing))?;
        for row in forsaken {
            let mut write = Write::new();
            write.must_delete(store::waiting::delete_forsaken(&row));
            forget_key(&row, &mut write);
            match self.store().write(write).await {
                // Lost: another replica was first, or its sender has come back.
                Ok(()) | Err(WriteError::Lost) => {}
                Err(error) => return Err(unwritten(doing)(error)),
            }
        }
        Ok(())
    }
}

/// The key of a message that is removed stands for its answer or for nothing.
fn forget_key(row: &waiting_message::Model, write: &mut Write) {
    if let Some(key) = &row.key {
        write.delete(store::send_key::delete_unanswered(&row.tenant, &row.agent, key, row.id));
    }
}
