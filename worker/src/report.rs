//! Bringing one turn's reports to the platform, also over lost answers and restarting replicas.
//!
//! A call that may have happened is made again until it is clear that it did. One that ends the lease needs no more for that: its
//! repeat is refused, and the refusal names the state it led to. Every other carries an idempotency key, the number of the call
//! within its lease, so that its repeat is answered as the first was and no chunk comes twice.
//!
//! Calls wait in a queue until their end is known. So an agent may drop the future of a report (a `select!`, a timeout): the next
//! call first brings the dropped one to its end, under the same key.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};
use wire::worker::{ApplyRequest, Progress, ReplyRequest, StatusChange, UPDATES, Update};
use wire::{Message, TaskState};

use crate::backoff::Backoff;
use crate::client::Client;
use crate::error::Error;
use crate::lease::{Held, locked};

/// How long a report is retried. Long, since while no replica answers nobody else can claim the
/// task either, and what the agent found may have been dear.
const PATIENCE: Duration = Duration::from_secs(600);

/// One call that tells of a turn.
#[derive(Debug)]
struct Report {
    said: Said,
    /// The task's state after it.
    to: TaskState,
    /// Its key, unless it ends the lease.
    key: Option<String>,
}

#[derive(Debug)]
enum Said {
    Updates(ApplyRequest),
    Reply(ReplyRequest),
}

/// What a turn has to tell, in order.
#[derive(Debug, Default)]
struct Queue {
    reports: VecDeque<Report>,
    numbered: u64,
}

impl Queue {
    fn push(&mut self, said: Said, to: TaskState) {
        self.numbered += 1;
        let key = (to == TaskState::Working).then(|| self.numbered.to_string());
        self.reports.push_back(Report { said, to, key });
    }

    /// Updates of which the last one leads to `to`, in as many calls as it takes.
    fn push_updates(&mut self, mut updates: Vec<Update>, to: TaskState) {
        while updates.len() > UPDATES {
            let rest = updates.split_off(UPDATES);
            self.push_updates(updates, TaskState::Working);
            updates = rest;
        }
        if !updates.is_empty() {
            self.push(Said::Updates(ApplyRequest { updates, ..ApplyRequest::default() }), to);
        }
    }
}

/// The way from one turn to the platform. One report at a time, in order.
#[derive(Debug)]
pub(crate) struct Reports {
    client: Client,
    held: Arc<Held>,
    state: Mutex<TaskState>,
    queue: tokio::sync::Mutex<Queue>,
}

impl Reports {
    pub(crate) fn new(client: Client, held: Arc<Held>, state: TaskState) -> Self {
        Self { client, held, state: Mutex::new(state), queue: tokio::sync::Mutex::default() }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The task's state after the last report.
    pub(crate) fn state(&self) -> TaskState {
        *locked(&self.state)
    }

    /// Sends the updates that `take` gives once it is this call's turn. They happen on a Working task: one that is not yet is moved
    /// there first, in the same call.
    pub(crate) async fn send(&self, take: impl FnOnce() -> Vec<Update>) -> Result<(), Error> {
        let mut queue = self.queue.lock().await;
        self.work_off(&mut queue).await?;
        let updates = take();
        if !updates.is_empty() {
            queue.push_updates(self.on_working(updates), TaskState::Working);
        }
        self.work_off(&mut queue).await
    }

    /// Sends the updates that end the turn, whose last one leads to `end`.
    pub(crate) async fn finish(&self, take: impl FnOnce() -> Vec<Update>, end: TaskState) -> Result<(), Error> {
        let mut queue = self.queue.lock().await;
        self.work_off(&mut queue).await?;
        let mut updates = take();
        if updates.iter().any(|update| matches!(update, Update::Progress(_))) {
            updates = self.on_working(updates);
        }
        queue.push_updates(updates, end);
        self.work_off(&mut queue).await
    }

    /// Ends the turn with one update and nothing that was to be told before: it may be what went wrong.
    pub(crate) async fn break_off(&self, update: Update, end: TaskState) -> Result<(), Error> {
        let mut queue = self.queue.lock().await;
        queue.reports.clear();
        queue.push_updates(vec![update], end);
        self.work_off(&mut queue).await
    }

    /// Sends the message that is all of the answer.
    pub(crate) async fn reply(&self, message: Message) -> Result<(), Error> {
        let mut queue = self.queue.lock().await;
        self.work_off(&mut queue).await?;
        queue.push(Said::Reply(ReplyRequest { message: Some(message) }), TaskState::Completed);
        self.work_off(&mut queue).await
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

    /// Makes every call that waits. One that fails takes those behind it along, since they were to come after it.
    async fn work_off(&self, queue: &mut Queue) -> Result<(), Error> {
        while let Some(report) = queue.reports.front() {
            if report.key.is_none() {
                self.held.close();
            }
            if let Err(error) = self.insist(report).await {
                queue.reports.clear();
                return Err(error);
            }
            queue.reports.pop_front();
        }
        Ok(())
    }

    /// One call; yields the task's state after it.
    async fn make(&self, report: &Report) -> Result<TaskState, Error> {
        let (task, lease, key) = (&self.held.task, Some(&self.held.key), report.key.as_deref());
        match &report.said {
            Said::Updates(request) => Ok(self.client.apply(task, lease, key, request).await?.state),
            Said::Reply(request) => {
                let replied = self.client.reply(task, lease, key, request).await?;
                Ok(replied.applied.map_or(TaskState::Completed, |applied| applied.state))
            }
        }
    }

    /// Makes a call until it is clear what became of it.
    async fn insist(&self, report: &Report) -> Result<(), Error> {
        let ends = report.key.is_none();
        let since = Instant::now();
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
        let mut unclear = false;
        loop {
            if let Some(lost) = self.held.lost() {
                return Err(lost);
            }
            let error = match self.make(report).await {
                Ok(state) => {
                    *locked(&self.state) = state;
                    return Ok(());
                }
                Err(error) => error,
            };
            if let Some(refusal) = error.refusal() {
                let arrived = ends && unclear && refusal.state() == Some(report.to);
                if arrived && (refusal.is_lost() || refusal.is_conflict()) {
                    debug!(task.id = self.held.task, "a report whose answer was lost had arrived");
                    *locked(&self.state) = report.to;
                    return Ok(());
                }
                // A message that waited for an answer is gone once it has one, or once nobody wants one.
                if refusal.is_unknown() && ends && unclear {
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
            if !again || since.elapsed() > PATIENCE {
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

/// The first step of a task that is not Working yet, with the progress it is to begin with.
fn begin_working(first: Progress) -> Update {
    let Progress { status_message, metadata } = first;
    Update::Work(StatusChange { status_message, metadata })
}
