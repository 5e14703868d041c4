//! A worker says which leases it still works on, and hears what it should know: cancel, new messages, a lease that was lost.

use std::collections::HashMap;

use entity::{task, work};
use uuid::Uuid;
use wire::Error;
use wire::worker::{HeartbeatRequest, HeartbeatResponse, HeldLease, LeaseStatus};

use super::lease::LeaseName;
use crate::change::{from_text, state_of};
use crate::store::Write;
use crate::{Engine, Worker, database, store, unwritten};

/// A lease of the request and what it stands on.
struct Beat {
    held: HeldLease,
    name: Option<LeaseName>,
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
        let db = self.store().read();
        // The tasks after the work rows: what a row says was seen is never more than the task holds.
        let works = store::work::read_many(db, &ids).await.map_err(database(doing))?;
        let works: HashMap<Uuid, work::Model> = works.into_iter().map(|row| (row.task_id, row)).collect();
        let tasks = store::task::of_worker(db, worker.agents.as_deref(), &ids).await.map_err(database(doing))?;
        let tasks: HashMap<Uuid, task::Model> = tasks.into_iter().map(|row| (row.id, row)).collect();
        let now = self.clock().now();
        let mut write = Write::new();
        let mut leases = Vec::with_capacity(beats.len());
        for beat in beats {
            let task = beat.name.and_then(|name| tasks.get(&name.task));
            let work = beat.name.and_then(|name| works.get(&name.task));
            let status = self.beat(beat, task, work, now, &mut write).await?;
            leases.push(status);
        }
        self.store().write(write).await.map_err(unwritten(doing))?;
        Ok(HeartbeatResponse { leases })
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
            status.cancel = status.state == wire::TaskState::Canceled;
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
