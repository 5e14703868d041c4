//! A worker listens for what concerns its session: cancels, messages, lost leases, the wish that it stops.
//!
//! The stream says nothing that a heartbeat does not say; it only says it sooner. Whoever connects, again or for the first time, sends a
//! heartbeat: what happened while nobody listened is told there.

use tokio::sync::mpsc;
use wire::worker::ControlEvent;
use wire::{Error, TaskState};

use crate::sessions::{Nudge, Present};
use crate::stream::Cut;
use crate::{Engine, Worker};

/// What concerns one session, as it comes.
#[derive(Debug)]
pub struct ControlStream {
    engine: Engine,
    /// While the stream is there, so is the worker.
    present: Present,
    nudges: mpsc::Receiver<Nudge>,
    /// What already was when the stream began.
    first: Option<Nudge>,
}

impl Engine {
    /// Listen on behalf of a session, from now on; first comes whether it drains.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn control(&self, worker: &Worker, session: &str) -> Result<ControlStream, Error> {
        let present = self.session(worker, session).await?;
        let was_draining = present.is_draining();
        let nudges = present.listen();
        // A drain between the two is told by the queue, or by both, which does no harm.
        let first = was_draining.then_some(Nudge::Drain);
        Ok(ControlStream { engine: self.clone(), present, nudges, first })
    }
}

impl ControlStream {
    /// The session it is of.
    pub fn session(&self) -> String {
        self.present.id.to_string()
    }

    /// The next event. Cancel safe.
    ///
    /// # Errors
    /// [`Cut::Slow`] when the worker did not read, or has opened other streams since; [`Cut::Closing`] when this replica ends.
    pub async fn next(&mut self) -> Result<ControlEvent, Cut> {
        if let Some(nudge) = self.first.take() {
            return Ok(event(nudge));
        }
        tokio::select! {
            nudge = self.nudges.recv() => nudge.map(event).ok_or(Cut::Slow),
            () = self.engine.closed() => Err(Cut::Closing),
        }
    }
}

fn event(nudge: Nudge) -> ControlEvent {
    match nudge {
        Nudge::Drain => ControlEvent { kind: "drain".into(), ..ControlEvent::default() },
        Nudge::Lease { turn, lease, state } => ControlEvent {
            kind: turn.name().into(),
            lease: lease.to_string(),
            task_id: lease.task.to_string(),
            state: TaskState::from_number(i64::from(state)).unwrap_or_default(),
        },
    }
}
