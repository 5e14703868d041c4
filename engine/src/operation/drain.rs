//! An operator, or a worker that is about to stop, asks that a session gets no more work.
//!
//! It holds on every replica: those that hear the hint know at once, the others within seconds, when they note who was heard of
//! (`session.rs`). Until then one of them may still lease a task to the session; its answer, or its next heartbeat, says that it drains.

use entity::work;
use uuid::Uuid;
use wire::worker::{DrainRequest, DrainResponse};
use wire::{Error, Kind};

use super::lease::LeaseName;
use super::new_task::NewTask;
use crate::change::Change;
use crate::sessions::Nudge;
use crate::store::task::TaskAndWork;
use crate::store::{Write, WriteError};
use crate::{Engine, Hint, Worker, database, store, unwritten};

/// Leases given back in one write.
const BATCH: u64 = 50;

impl Engine {
    /// The session gets no more leases, and is told. With `release` all that it holds is ready for others at once.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn drain_session(
        &self,
        worker: &Worker,
        session: &str,
        request: DrainRequest,
    ) -> Result<DrainResponse, Error> {
        wire::validate(&request)?;
        let present = self.session(worker, session).await?;
        let id = present.id.to_string();
        let mut write = Write::new();
        write.must_update(store::session::drain(&id));
        match self.store().write(write).await {
            Ok(()) => {}
            // Its row was forgotten and it has come back since: then it is written as one that drains.
            Err(WriteError::Lost) => {
                self.bus().hub().sessions.hear(present.id, Nudge::Drain);
                self.note_sessions().await?;
            }
            Err(error) => return Err(unwritten("draining a worker's session")(error)),
        }
        self.bus().send([Hint::Control { session: present.id, nudge: Nudge::Drain }]);
        let released = if request.release { self.release_all(worker, &id).await? } else { 0 };
        Ok(DrainResponse { released })
    }

    /// Give back every lease that a session holds; how many there were.
    async fn release_all(&self, worker: &Worker, session: &str) -> Result<i32, Error> {
        let doing = "releasing the leases of a worker's session";
        let mut released = 0;
        loop {
            let db = self.store().read();
            let agents = worker.agents.as_deref();
            let held = store::task::held_by(db, agents, session, BATCH).await.map_err(database(doing))?;
            let messages = store::waiting::held_by(db, agents, session, BATCH).await.map_err(database(doing))?;
            let names: Vec<(LeaseName, i64)> = held
                .iter()
                .filter_map(|read| name_of(read.work.as_ref()?))
                .chain(
                    messages
                        .iter()
                        .filter_map(|row| Some((LeaseName { task: row.id, lease: row.lease_id? }, row.epoch))),
                )
                .collect();
            if names.is_empty() {
                return Ok(released);
            }
            let now = self.clock().now();
            let (mut write, mut hints, mut written) = (Write::new(), Vec::new(), Vec::new());
            for read in held {
                let agent = self.agent_of(&read.task.agent);
                let mut change = Change::begin(read, &agent, now);
                change.release(0, Some(0));
                hints.extend(change.hints());
                written.push(change.write_into(&mut write));
            }
            for row in &messages {
                let agent = self.agent_of(&row.agent);
                let mut change = Change::begin(NewTask::of_waiting(row, now).read(), &agent, now);
                change.release(0, Some(0));
                hints.extend(change.hints());
                write.must_update(change.work().map(|work| store::waiting::update(row, work)).unwrap_or_default());
            }
            match self.store().write(write).await {
                Ok(()) => {
                    written.into_iter().for_each(|written: TaskAndWork| self.inner.recent.put(written));
                    self.bus().send(hints);
                    released += i32::try_from(names.len()).unwrap_or(i32::MAX);
                }
                // One of them has moved on: each for itself, and in its turn where it has to be.
                Err(WriteError::Lost) => released += self.release_each(&names).await?,
                Err(error) => return Err(unwritten(doing)(error)),
            }
        }
    }

    async fn release_each(&self, names: &[(LeaseName, i64)]) -> Result<i32, Error> {
        let mut released = 0;
        for (name, epoch) in names {
            match self.end_lease(*name, *epoch, 0, 0).await {
                Ok(()) => released += 1,
                // It has ended by itself.
                Err(error) if matches!(error.kind, Kind::LeaseLost | Kind::LeaseNotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(released)
    }
}

fn name_of(work: &work::Model) -> Option<(LeaseName, i64)> {
    let lease: Uuid = work.lease_id?;
    Some((LeaseName { task: work.task_id, lease }, work.epoch))
}
