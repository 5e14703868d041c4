//! A worker says which leases it still works on, and hears what it should know: cancel, new messages, a lease that was lost.
//!
//! However many leases there are, they are read together and renewed together.

use std::collections::HashMap;

use entity::{task, task_message, waiting_message, work};
use sea_orm::{ConnectionTrait, DbErr};
use uuid::Uuid;
use wire::worker::{HeartbeatRequest, HeartbeatResponse, HeldLease, LeaseStatus};
use wire::{Error, TaskState};

use super::lease::LeaseName;
use crate::change::{from_text, state_of};
use crate::store::Write;
use crate::store::lease::Renewals;
use crate::view::by_task;
use crate::{Engine, Worker, database, store};

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
    /// What clients wrote to tasks whose leases were not handed it.
    unseen: HashMap<Uuid, Vec<task_message::Model>>,
}

impl Held {
    async fn read_tasks<C: ConnectionTrait>(&mut self, db: &C, worker: &Worker, ids: &[Uuid]) -> Result<(), DbErr> {
        // The tasks after the work rows: what a row says was seen is never more than the task holds.
        let works = store::lease::works(db, ids).await?;
        self.works.extend(works.into_iter().map(|row| (row.task_id, row)));
        let tasks = store::task::of_worker(db, worker.agents.as_deref(), ids).await?;
        self.tasks.extend(tasks.into_iter().map(|row| (row.id, row)));
        Ok(())
    }

    async fn read_unseen<C: ConnectionTrait>(&mut self, db: &C, beats: &[Beat]) -> Result<(), DbErr> {
        let mut seen: Vec<(Uuid, i32)> = beats
            .iter()
            .filter_map(|beat| {
                let (task, work) = self.current(beat)?;
                (task.client_seq > work.seen_seq).then_some((task.id, work.seen_seq))
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        self.unseen = by_task(store::message::from_clients_after(db, &seen).await?, |row| row.task_id);
        Ok(())
    }

    /// Those of `ids` that neither a task nor a message has.
    fn missing(&self, ids: &[Uuid]) -> Vec<Uuid> {
        let known = |id: &Uuid| self.tasks.contains_key(id) || self.messages.contains_key(id);
        ids.iter().copied().filter(|id| !known(id)).collect()
    }

    /// The task and the work row of a lease that is still the task's.
    fn current(&self, beat: &Beat) -> Option<(&task::Model, &work::Model)> {
        let name = beat.name?;
        let work = self.works.get(&name.task)?;
        let current = work.lease_id == Some(name.lease) && work.epoch == beat.held.epoch;
        current.then_some((self.tasks.get(&name.task)?, work))
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
        let present = self.present(worker, &request.session, None).await?;
        let drain = present.is_some_and(|present| present.is_draining());
        let beats: Vec<Beat> =
            request.leases.into_iter().map(|held| Beat { name: held.lease.parse().ok(), held }).collect();
        let mut ids: Vec<Uuid> = beats.iter().filter_map(|beat| beat.name.map(|name| name.task)).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut attempts = self.attempts(doing, None);
        loop {
            let attempt = attempts.next().await?;
            let held = self.held(worker, &ids, &beats).await.map_err(database(doing))?;
            let now = self.clock().now();
            let mut renewals = Renewals::default();
            let statuses = beats.iter().map(|beat| self.beat(beat, &held, drain, now, &mut renewals));
            let leases = statuses.collect::<Result<Vec<_>, _>>()?;
            let mut write = Write::new();
            renewals.write_into(&mut write);
            if attempt.write(write).await? {
                return Ok(HeartbeatResponse { leases });
            }
        }
    }

    async fn held(&self, worker: &Worker, ids: &[Uuid], beats: &[Beat]) -> Result<Held, DbErr> {
        let db = self.store().read();
        let mut held = Held::default();
        if ids.is_empty() {
            return Ok(held);
        }
        held.read_tasks(db, worker, ids).await?;
        let missing = held.missing(ids);
        let messages = store::waiting::of_worker(db, worker.agents.as_deref(), &missing).await?;
        held.messages.extend(messages.into_iter().map(|row| (row.id, row)));
        let missing = held.missing(&missing);
        if !missing.is_empty() {
            // A message that was no task when tasks were read, and no message any more when those were.
            held.read_tasks(db, worker, &missing).await?;
        }
        held.read_unseen(db, beats).await?;
        Ok(held)
    }

    fn beat(
        &self,
        beat: &Beat,
        held: &Held,
        drain: bool,
        now: i64,
        renewals: &mut Renewals,
    ) -> Result<LeaseStatus, Error> {
        let mut status = LeaseStatus { lease: beat.held.lease.clone(), ..LeaseStatus::default() };
        let found = beat.name.and_then(|name| Some((name, held.tasks.get(&name.task)?)));
        let Some((name, task)) = found else {
            match beat.name.and_then(|name| Some((name, held.messages.get(&name.task)?))) {
                Some((name, message)) => self.beat_message(beat, name, message, now, renewals, &mut status),
                None => status.reason = "unknown".into(),
            }
            status.drain = status.held && drain;
            return Ok(status);
        };
        status.state = state_of(task);
        if held.current(beat).is_none() {
            status.cancel = status.state == TaskState::Canceled;
            status.reason = match (held.works.get(&name.task), status.state.is_terminal()) {
                (_, true) => "finished",
                (Some(work), false) if work.lease_id.is_some() => "claimed",
                _ => "ended",
            }
            .into();
            return Ok(status);
        }
        let lease = self.agent_of(&task.agent).lease;
        status.held = true;
        status.drain = drain;
        status.seconds_left = lease.as_secs_f64();
        let unseen = held.unseen.get(&name.task).map(Vec::as_slice).unwrap_or_default();
        status.messages = unseen.iter().map(|row| from_text(&row.body)).collect::<Result<_, _>>()?;
        let seen = unseen.last().map(|row| row.seq);
        renewals.task(name, now + lease.as_millis() as i64, seen);
        Ok(status)
    }

    /// The lease of a message that waits for a direct answer.
    fn beat_message(
        &self,
        beat: &Beat,
        name: LeaseName,
        message: &waiting_message::Model,
        now: i64,
        renewals: &mut Renewals,
        status: &mut LeaseStatus,
    ) {
        status.state = TaskState::Submitted;
        if message.lease_id != Some(name.lease) || message.epoch != beat.held.epoch {
            status.reason = if message.lease_id.is_some() { "claimed" } else { "ended" }.into();
            return;
        }
        let lease = self.agent_of(&message.agent).lease;
        status.held = true;
        status.seconds_left = lease.as_secs_f64();
        renewals.message(name, now + lease.as_millis() as i64);
    }
}
