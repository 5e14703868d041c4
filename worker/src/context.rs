//! What an agent sees of its task, and how it reports.
//!
//! Every report is one call and one commit, made when the method returns. What need not be seen at
//! once is gathered with [`Context::then`] and travels with the next report or with the end of the
//! run, in one transaction: that is how a task of one artifact costs one commit and not two.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use wire::worker::{ArtifactUpdate, Lease, Progress, TraceContext, Update};
use wire::{Artifact, Message, Part, Role, Struct, Task, TaskState};

use crate::client::Client;
use crate::error::Error;
use crate::lease::{Held, locked};
use crate::report::Reports;
use crate::stream::Growing;
use crate::text::{message, text_of};

/// One turn at one task. Clones are the same turn; all of them go dead when it ends.
#[derive(Debug, Clone)]
pub struct Context {
    turn: Arc<Turn>,
}

#[derive(Debug)]
struct Turn {
    lease: Lease,
    held: Arc<Held>,
    reports: Reports,
    /// What the next report takes along.
    gathered: Mutex<Vec<Update>>,
    /// Artifacts that are written at the moment.
    growing: Mutex<Vec<Arc<Growing>>>,
    stir: Notify,
    /// What went wrong with a chunk that was sent while the agent did something else.
    failure: Mutex<Option<Error>>,
}

impl Context {
    pub(crate) fn new(client: Client, lease: Lease, held: Arc<Held>) -> Self {
        let reports = Reports::new(client, held.clone(), lease.task.status.state);
        let turn = Turn {
            lease,
            held,
            reports,
            gathered: Mutex::default(),
            growing: Mutex::default(),
            stir: Notify::new(),
            failure: Mutex::default(),
        };
        Self { turn: Arc::new(turn) }
    }

    // What there is to know.

    /// The task as it was claimed, history and artifacts included.
    pub fn task(&self) -> &Task {
        &self.turn.lease.task
    }

    /// The lease: attempt, agent, tenant, accepted output modes and the rest.
    pub fn lease(&self) -> &Lease {
        &self.turn.lease
    }

    /// The agent's name, for an author who serves several with one value.
    pub fn agent(&self) -> &str {
        &self.turn.lease.agent
    }

    /// Which delivery of the task this is since it last made progress, from 1. More than 1 means that a worker died or lost its way
    /// with it.
    pub fn attempt(&self) -> i32 {
        self.turn.lease.attempt
    }

    /// Until when the lease lives should no more heartbeat go through. The runtime sends them, so this moves on.
    pub fn deadline(&self) -> Instant {
        self.turn.held.until()
    }

    /// What the operator wrote for the workers of this agent, under `settings` in its table.
    pub fn settings(&self) -> Option<&Struct> {
        self.turn.lease.agent_settings.as_ref()?.settings.as_ref()
    }

    /// The trace the task belongs to, to make it the parent of the agent's own spans and to pass on to what the agent calls.
    pub fn trace_context(&self) -> Option<&TraceContext> {
        self.turn.lease.trace_context.as_ref()
    }

    /// The task's state after the last report.
    pub fn state(&self) -> TaskState {
        self.turn.reports.state()
    }

    /// The client's messages, oldest first, from the task's first one on.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.task().history.iter().filter(|message| message.role == Role::User)
    }

    /// The client's latest message at the time of the claim, if there is one.
    pub fn input(&self) -> Option<&Message> {
        self.messages().next_back().or_else(|| self.turn.lease.messages.last())
    }

    /// The text of the client's latest message: its text parts, joined by line breaks.
    pub fn input_text(&self) -> String {
        self.input().map(|message| text_of(&message.parts)).unwrap_or_default()
    }

    /// What the client wrote since the claim (or the last call of this). The platform tells on its control stream, and with its
    /// heartbeats at the latest.
    pub fn new_messages(&self) -> Vec<Message> {
        self.turn.held.take_messages()
    }

    /// Waits for the client to write while the task is being worked on. To end the run until it
    /// does, which costs nothing, return [`Outcome::ask`](crate::Outcome::ask).
    pub async fn next_message(&self) -> Message {
        self.turn.held.next_message().await
    }

    /// Waits until the lease is lost: the client cancelled, or another worker has the task.
    /// Nothing can be reported any more; the run is dropped soon after.
    pub async fn cancelled(&self) {
        self.turn.held.gone().await;
    }

    /// Whether the lease is lost.
    pub fn is_cancelled(&self) -> bool {
        self.turn.held.lost().is_some()
    }

    /// Waits until the work has to end now: the lease is lost, or the worker stops and its grace is over. An agent that ends within a
    /// second is heard, if there is still a lease to say it under; any other is dropped.
    pub async fn stopped(&self) {
        self.turn.held.end().await;
    }

    /// Waits until the work should come to an end soon, because this worker or the platform stops.
    /// An agent need not listen: what it does not finish in time goes to another worker.
    pub async fn draining(&self) {
        self.turn.held.drained().await;
    }

    /// Whether the work should come to an end soon.
    pub fn is_draining(&self) -> bool {
        self.turn.held.is_draining()
    }

    // What there is to report.

    /// Tells the client where the work stands: Working, with `words` as its status message.
    ///
    /// # Errors
    /// As every report: [`Error::Lost`] when the lease is lost, [`Error::Refused`] when the
    /// platform finds fault with it, and whatever kept the platform from answering for longer than
    /// a lease lasts.
    pub async fn progress(&self, words: impl Into<String>) -> Result<(), Error> {
        self.report(progress(words)).await
    }

    /// Publishes an artifact, or replaces the one of the same id.
    ///
    /// # Errors
    /// As [`progress`](Self::progress).
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), Error> {
        self.report(whole(artifact)).await
    }

    /// Begins an artifact that grows by [`append`](Self::append); one of the same id, which an
    /// earlier attempt may have left unfinished, is replaced.
    ///
    /// # Errors
    /// As [`progress`](Self::progress).
    pub async fn begin(&self, artifact: Artifact) -> Result<(), Error> {
        self.report(chunk(artifact, false, false)).await
    }

    /// Appends parts to the artifact `id`; `last` says that it is whole now.
    ///
    /// # Errors
    /// As [`progress`](Self::progress).
    pub async fn append(&self, id: &str, parts: Vec<Part>, last: bool) -> Result<(), Error> {
        self.report(chunk(part_of(id, parts), true, last)).await
    }

    /// Gathers reports for the next call, or for the end of the run: see [`Later`].
    pub fn then(&self) -> Later<'_> {
        Later { turn: &self.turn }
    }

    /// Sends what [`then`](Self::then) gathered, and what [streams](Self::stream) hold back.
    ///
    /// # Errors
    /// As [`progress`](Self::progress).
    pub async fn flush(&self) -> Result<(), Error> {
        self.check()?;
        self.turn.reports.send(|| self.take_gathered()).await
    }

    async fn report(&self, update: Update) -> Result<(), Error> {
        self.gather(update);
        self.flush().await
    }

    /// Gathers an update, after what was streamed before it.
    pub(crate) fn gather(&self, update: Update) {
        let before = self.take_gathered();
        locked(&self.turn.gathered).extend(before.into_iter().chain([update]));
    }

    /// Whether the platform may have no task yet and knows of nothing this turn did.
    pub(crate) fn is_untouched(&self) -> bool {
        let gathered = !locked(&self.turn.gathered).is_empty();
        self.turn.lease.direct && self.state() == TaskState::Submitted && !gathered && self.due().is_none()
    }

    /// What the next report takes along.
    pub(crate) fn take_gathered(&self) -> Vec<Update> {
        let mut growing = locked(&self.turn.growing);
        let mut taken = std::mem::take(&mut *locked(&self.turn.gathered));
        taken.extend(growing.iter().filter_map(|growing| growing.take()));
        growing.retain(|growing| !growing.is_over());
        taken
    }

    /// Looks after an artifact that is written from now on.
    pub(crate) fn watch(&self, growing: Arc<Growing>) {
        locked(&self.turn.growing).push(growing);
    }

    /// Says that a piece was written.
    pub(crate) fn stir(&self) -> Result<(), Error> {
        self.turn.stir.notify_one();
        self.check()
    }

    /// The error of a chunk that could not be sent, once.
    pub(crate) fn check(&self) -> Result<(), Error> {
        locked(&self.turn.failure).take().map_or(Ok(()), Err)
    }

    /// When a chunk has waited long enough.
    fn due(&self) -> Option<Instant> {
        locked(&self.turn.growing).iter().filter_map(|growing| growing.due()).min()
    }

    /// Sends chunks that have waited long enough, for as long as it is polled.
    pub(crate) async fn keep_flowing(&self) -> std::convert::Infallible {
        loop {
            let Some(due) = self.due() else {
                self.turn.stir.notified().await;
                continue;
            };
            sleep_until(due).await;
            if self.due().is_some_and(|due| due <= Instant::now())
                && let Err(error) = self.turn.reports.send(|| self.take_gathered()).await
            {
                *locked(&self.turn.failure) = Some(error);
                return std::future::pending().await;
            }
        }
    }

    pub(crate) fn client(&self) -> &Client {
        self.turn.reports.client()
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.turn.reports
    }
}

/// Reports that wait for the next call or for the end of the run, and travel with it in one
/// transaction: `ctx.then().progress("nearly there").artifact(result);`
#[derive(Debug)]
pub struct Later<'a> {
    turn: &'a Turn,
}

impl Later<'_> {
    /// As [`Context::progress`], later.
    pub fn progress(self, words: impl Into<String>) -> Self {
        self.update(progress(words))
    }

    /// As [`Context::artifact`], later.
    pub fn artifact(self, artifact: Artifact) -> Self {
        self.update(whole(artifact))
    }

    /// As [`Context::begin`], later.
    pub fn begin(self, artifact: Artifact) -> Self {
        self.update(chunk(artifact, false, false))
    }

    /// As [`Context::append`], later.
    pub fn append(self, id: &str, parts: Vec<Part>, last: bool) -> Self {
        self.update(chunk(part_of(id, parts), true, last))
    }

    /// Any update of the surface, for what has no method here. The moves that end a lease are not
    /// for here: return an [`Outcome`](crate::Outcome).
    pub fn update(self, update: Update) -> Self {
        locked(&self.turn.gathered).push(update);
        self
    }
}

fn progress(words: impl Into<String>) -> Update {
    Update::Progress(Progress { status_message: Some(message(words)), metadata: None })
}

fn whole(artifact: Artifact) -> Update {
    chunk(artifact, false, true)
}

fn part_of(id: &str, parts: Vec<Part>) -> Artifact {
    Artifact { artifact_id: id.to_owned(), parts, ..Artifact::default() }
}

pub(crate) fn chunk(artifact: Artifact, append: bool, last_chunk: bool) -> Update {
    Update::Artifact(ArtifactUpdate { artifact, append, last_chunk, metadata: None })
}
