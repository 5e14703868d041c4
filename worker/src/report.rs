//! Bringing one turn's reports to the platform, also over lost answers and restarting replicas.
//!
//! A call that certainly did not happen is made again. One that may have happened is made again
//! only where that shows: replacing an artifact twice leaves the same artifact, and a move made
//! twice is refused, with the state it led to in the refusal. Appending twice would double the
//! chunk, so an unclear append is an error, and the task goes to an attempt that starts it anew.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};
use wire::worker::{ApplyRequest, Progress, ReplyRequest, UPDATES, Update};
use wire::{Message, TaskState};

use crate::backoff::Backoff;
use crate::client::Client;
use crate::context::begin_working;
use crate::error::Error;
use crate::lease::{Held, locked};

/// How long a report is retried. Long, since while no replica answers nobody else can claim the
/// task either, and what the agent found may have been dear.
const PATIENCE: Duration = Duration::from_secs(600);

/// One call that tells of a turn.
#[derive(Debug)]
enum Report {
    Updates { request: ApplyRequest, repeatable: bool },
    Reply(ReplyRequest),
}

/// The way from one turn to the platform. One report at a time, in order.
#[derive(Debug)]
pub(crate) struct Reports {
    client: Client,
    held: Arc<Held>,
    state: Mutex<TaskState>,
    order: tokio::sync::Mutex<()>,
}

impl Reports {
    pub(crate) fn new(client: Client, held: Arc<Held>, state: TaskState) -> Self {
        Self { client, held, state: Mutex::new(state), order: tokio::sync::Mutex::default() }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The task's state after the last report.
    pub(crate) fn state(&self) -> TaskState {
        *locked(&self.state)
    }

    /// Sends updates of a turn that goes on. They happen on a Working task: one that is not yet is
    /// moved there first, in the same call.
    pub(crate) async fn send(&self, updates: Vec<Update>) -> Result<(), Error> {
        if updates.is_empty() {
            return Ok(());
        }
        let _turn = self.order.lock().await;
        self.deliver(self.on_working(updates), TaskState::Working).await
    }

    /// Sends the updates that end the turn, whose last one leads to `end`.
    pub(crate) async fn finish(&self, mut updates: Vec<Update>, end: TaskState) -> Result<(), Error> {
        let _turn = self.order.lock().await;
        if updates.iter().any(|update| matches!(update, Update::Progress(_))) {
            updates = self.on_working(updates);
        }
        self.deliver(updates, end).await
    }

    fn on_working(&self, mut updates: Vec<Update>) -> Vec<Update> {
        let started =
            self.state() == TaskState::Working || updates.iter().any(|update| matches!(update, Update::Work(_)));
        if !started {
            match updates.first_mut() {
                Some(Update::Progress(progress)) => {
                    let progress = std::mem::take(progress);
                    updates[0] = begin_working(progress);
                }
                _ => updates.insert(0, begin_working(Progress::default())),
            }
        }
        updates
    }

    async fn deliver(&self, mut updates: Vec<Update>, end: TaskState) -> Result<(), Error> {
        while updates.len() > UPDATES {
            let rest = updates.split_off(UPDATES);
            self.apply(updates, TaskState::Working).await?;
            updates = rest;
        }
        if end != TaskState::Working {
            self.held.close();
        }
        self.apply(updates, end).await
    }

    /// Sends the message that is all of the answer.
    pub(crate) async fn reply(&self, message: Message) -> Result<(), Error> {
        let _turn = self.order.lock().await;
        self.held.close();
        self.insist(Report::Reply(ReplyRequest { message: Some(message) }), TaskState::Completed).await
    }

    async fn apply(&self, updates: Vec<Update>, end: TaskState) -> Result<(), Error> {
        let repeatable = !updates.iter().any(|update| matches!(update, Update::Artifact(artifact) if artifact.append));
        let request = ApplyRequest { updates, ..ApplyRequest::default() };
        self.insist(Report::Updates { request, repeatable }, end).await
    }

    /// One call; yields the task's state after it.
    async fn make(&self, report: &Report) -> Result<TaskState, Error> {
        let (task, key) = (&self.held.task, Some(&self.held.key));
        match report {
            Report::Updates { request, .. } => Ok(self.client.apply(task, key, request).await?.state),
            Report::Reply(request) => {
                let replied = self.client.reply(task, key, request).await?;
                Ok(replied.applied.map_or(TaskState::Completed, |applied| applied.state))
            }
        }
    }

    /// Makes a call until it is clear what became of it.
    async fn insist(&self, report: Report, end: TaskState) -> Result<(), Error> {
        let repeatable = !matches!(report, Report::Updates { repeatable: false, .. });
        let since = Instant::now();
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
        let mut unclear = false;
        loop {
            if let Some(lost) = self.held.lost() {
                return Err(lost);
            }
            let error = match self.make(&report).await {
                Ok(state) => {
                    *locked(&self.state) = state;
                    return Ok(());
                }
                Err(error) => error,
            };
            if let Some(refusal) = error.refusal() {
                let arrived = unclear && refusal.state() == Some(end);
                if arrived && (refusal.is_lost() || refusal.is_conflict()) {
                    debug!(task.id = self.held.task, "a report whose answer was lost had arrived");
                    *locked(&self.state) = end;
                    return Ok(());
                }
                // A message that waited for an answer is gone once it has one, or once nobody wants one.
                if refusal.is_unknown() && unclear {
                    return Ok(());
                }
                if refusal.is_unknown() {
                    self.held.lose("the client has gone away", None);
                    return Err(self.held.lost().unwrap_or(error));
                }
                if refusal.is_lost() {
                    let reason = refusal.metadata.get("reason").unwrap_or(&refusal.message);
                    self.held.lose(reason, refusal.state());
                    return Err(self.held.lost().unwrap_or(error));
                }
            }
            unclear |= error.is_unclear();
            let again = error.is_passing() || error.is_unclear();
            if !again || (unclear && !repeatable) || since.elapsed() > PATIENCE {
                return Err(error);
            }
            let pause = backoff.next();
            warn!(
                task.id = self.held.task,
                error = error.chain(),
                pause_ms = pause.as_millis() as u64,
                "a report did not go through, trying again",
            );
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.held.gone() => {}
            }
        }
    }
}
