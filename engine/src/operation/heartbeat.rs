//! A worker says which leases it still works on, and hears what it should know: cancel, new messages, a lease that was lost.

use std::collections::HashMap;

use entity::{task, waiting_message, work};
use sea_orm::{ConnectionTrait, DbErr};
use uuid::Uuid;
use wire::worker::{HeartbeatRequest, HeartbeatResponse, HeldLease, LeaseStatus};
use wire::{Error, TaskState};

use super::lease::LeaseName;
use crate::change::{from_text, state_of};
use crate::store::Write;
use crate::{Engine, Worker, database, store, unwritten};

/// A lease of the request and what it stands on.
struct Beat {
    held: HeldLease,
    name: Option<LeaseName>,
}

/// What leases are on.
#[derive(Default)]
struct Held {
    works: HashMap<Uuid, work::Model>,
    tasks: HashMap<Uuid, task::Model>,
    messages: HashMap<Uuid, waiting_message::Model>,
}

impl Held {
    async fn read_tasks<C: ConnectionTrait>(&mut self, db: &C, worker: &Worker, ids: &[Uuid]) -> Result<(), DbErr> {
        // The tasks after the work rows: what a row says was seen is never more than the task holds.
        let works = store::work::read_many(db, ids).await?;
        self.works.extend(works.into_iter().map(|row| (row.task_id, row)));
        let tasks = store::task::of_worker(db, worker.agents.as_deref(), ids).await?;
        self.tasks.extend(tasks.into_iter().map(|row| (row.id, row)));
        Ok(())
    }

    /// Those of `ids` that neither a task nor a message has.
    fn missing(&self, ids: &[Uuid]) -> Vec<Uuid> {
        let known = |id: &Uuid| self.tasks.contains_key(id) || self.messages.contains_key(id);
        ids.iter().copied().filter(|id| !known(id)).collect()
    }
}

impl Engine {
    /// Renew every lease that is still current; one that expired and that nobody claimed is current. Answers in the request's order.
    ///
    /// # Errors
    /// `InvalidParams`.
    pub async fn heartbeat(&self, worker: &Worker, request: HeartbeatRequest) -> Result<HeartbeatResponse, Error> {
        wire::validate(&request)?;
        let doing = "renewing leases";
        let beats: Vec<Beat> =
            request.leases.into_iter().map(|held| Beat { name: held.lease.parse().ok(), held }).collect();
        let ids: Vec<Uuid> = beats.iter().filter_map(|beat| beat.name.map(|name| name.task)).collect();
        let held = self.held(worker, &ids).await.map_err(database(doing))?;
        let now = self.clock().now();
        let mut write = Write::new();
        let mut leases = Vec::with_capacity(beats.len());
        for beat in beats {
            if let Some(message) = beat.name.and_then(|name| held.messages.get(&name.task)) {
                leases.push(self.beat_message(beat, message, now, &mut write));
                continue;
            }
            let task = beat.name.and_then(|name| held.tasks.get(&name.task));
            let work = beat.name.and_then(|name| held.works.get(&name.task));
            let status = self.beat(beat, task, work, now, &mut write).await?;
            leases.push(status);
        }
        self.store().write(write).await.map_err(unwritten(doing))?;
        Ok(HeartbeatResponse { leases })
    }

    async fn held(&self, worker: &Worker, ids: &[Uuid]) -> Result<Held, DbErr> {
        let db = self.store().read();
        let mut held = Held::default();
        held.read_tasks(db, worker, ids).await?;
        let missing = held.missing(ids);
        let messages = store::waiting::of_worker(db, worker.agents.as_deref(), &missing).await?;
        held.messages.extend(messages.into_iter().map(|row| (row.id, row)));
        let missing = held.missing(&missing);
        if !missing.is_empty() {
            // A message that was no task when tasks were read, and no message any more when those were.
            held.read_tasks(db, worker, &missing).await?;
        }
        Ok(held)
    }

    /// The lease of a message that waits for a direct answer.
    fn beat_message(
        &self,
        Beat { held, name }: Beat,
        message: &waiting_message::Model,
        now: i64,
        write: &mut Write,
    ) -> LeaseStatus {
        let mut status = LeaseStatus { lease: held.lease, state: TaskState::Submitted, ..LeaseStatus::default() };
        match name.filter(|name| message.lease_id == Some(name.lease) && message.epoch == held.epoch) {
            None => status.reason = if message.lease_id.is_some() { "claimed" } else { "ended" }.into(),
            Some(name) => {
                let lease = self.agent_of(&message.agent).lease;
                status.held = true;
                status.drain = *self.inner.closing.borrow();
                status.seconds_left = lease.as_secs_f64();
                let until = now + lease.as_millis() as i64;
                write.update(store::waiting::renew(message.id, name.lease, held.epoch, until));
            }
        }
        status
    }

    async fn beat(
        &self,
        Beat { held, name }: Beat,
        task: Option<&task::Model>,
        work: Option<&work::Model>,
        now: i64,
        write: &mut Write,
    ) -> Result<LeaseStatus, Error> {
        let mut status = LeaseStatus { lease: held.lease, ..LeaseStatus::default() };
        let (Some(name), Some(task)) = (name, task) else {
            status.reason = "unknown".into();
            return Ok(status);
        };
        status.state = state_of(task);
        let current = work.filter(|work| work.lease_id == Some(name.lease) && work.epoch == held.epoch);
        let Some(current) = current else {
            status.cancel = status.state == TaskState::Canceled;
            status.reason = match (work, status.state.is_terminal()) {
                (_, true) => "finished",
                (Some(work), false) if work.lease_id.is_some() => "claimed",
                _ => "ended",
            }
            .into();
            return Ok(status);
        };
        status.held = true;
        status.drain = *self.inner.closing.borrow();
        let lease = self.agent_of(&task.agent).lease;
        status.seconds_left = lease.as_secs_f64();
        let mut seen = None;
        if task.client_seq > current.seen_seq {
            let fresh = store::message::from_client_after(self.store().read(), task.id, current.seen_seq)
                .await
                .map_err(database("reading a task's new messages"))?;
            for row in &fresh {
                status.messages.push(from_text(&row.body)?);
                seen = Some(row.seq);
            }
        }
        write.update(store::work::renew(task.id, name.lease, held.epoch, now + lease.as_millis() as i64, seen));
        Ok(status)
    }
}
