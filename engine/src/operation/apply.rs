//! The agent side's moves, progress and artifacts: one or several updates of one task in one transaction. The seven moves of the worker
//! surface are this with one update.

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;
use wire::worker::{Applied, ApplyRequest, Update};
use wire::{Error, Message, Move};

use super::task_id;
use super::update_key::UpdateKey;
use crate::change::{Change, KnownArtifact, LeaseClaim};
use crate::settings::Agent;
use crate::store::Write;
use crate::store::task::TaskAndWork;
use crate::{Engine, Worker, database, store};

impl Engine {
    /// Apply every update in order, or none. On a message that waits for a direct answer the first update makes the task. `key` is the
    /// call's `Idempotency-Key`: a repeat is given the first answer, also when the lease has ended by now.
    ///
    /// # Errors
    /// In this order: `InvalidParams`; `TaskNotFound`; `LeaseLost` or `LeaseRequired`; `TaskStateConflict`; `ResourceExhausted` over a
    /// bound of the agent.
    pub async fn apply(
        &self,
        worker: &Worker,
        task: &str,
        lease: Option<LeaseClaim>,
        key: Option<String>,
        request: ApplyRequest,
    ) -> Result<Applied, Error> {
        wire::validate(&request)?;
        let id = task_id(task)?;
        let key = UpdateKey::of(key, id, lease, "apply", &request)?;
        self.apply_under(worker, id, lease, key.as_ref(), &request, |applied| applied).await
    }

    /// The same under a key that may be another operation's, whose answer `answer` makes.
    pub(super) async fn apply_under<A: Serialize + DeserializeOwned>(
        &self,
        worker: &Worker,
        id: Uuid,
        lease: Option<LeaseClaim>,
        key: Option<&UpdateKey>,
        request: &ApplyRequest,
        answer: impl Fn(Applied) -> A,
    ) -> Result<A, Error> {
        match self.try_apply(worker, id, lease, key, request, answer).await {
            Err(refusal) => self.first_answer_or(worker, key, refusal).await,
            applied => applied,
        }
    }

    async fn try_apply<A: Serialize + DeserializeOwned>(
        &self,
        worker: &Worker,
        id: Uuid,
        lease: Option<LeaseClaim>,
        key: Option<&UpdateKey>,
        request: &ApplyRequest,
        answer: impl Fn(Applied) -> A,
    ) -> Result<A, Error> {
        let mut attempts = self.attempts("writing an agent's updates", Some(id));
        let mut lost = false;
        loop {
            let attempt = attempts.next().await?;
            // What came first may have been this very call.
            if lost && let Some(known) = self.find_update(worker, key).await? {
                return Ok(known);
            }
            let remembered = self.inner.recent.take(id).filter(|read| worker.may(&read.task.agent));
            let from_memory = remembered.is_some();
            let read = match remembered {
                Some(read) => read,
                None => {
                    let read = store::task::read_for_worker(self.store().read(), worker.agents.as_deref(), id)
                        .await
                        .map_err(database("reading a task to update"))?;
                    let Some(read) = read else {
                        self.open_for(worker, id, lease, request).await?;
                        continue;
                    };
                    read
                }
            };
            let agent = self.agent_of(&read.task.agent);
            let change = match self.decide(&agent, read, lease, request).await {
                Ok(change) => change,
                // What is remembered may be old; a refusal is given on what is read.
                Err(_) if from_memory => continue,
                Err(error) => return Err(error),
            };
            let (hints, answer) = (change.hints(), answer(applied(&change)));
            let mut write = Write::new();
            if let Some(key) = key {
                key.keep(&agent.name, &answer, change.now(), &mut write)?;
            }
            let written = change.write_into(&mut write);
            if attempt.write(write).await? {
                self.inner.recent.put(written);
                self.bus().send(hints);
                return Ok(answer);
            }
            lost = true;
        }
    }

    /// Every update in turn, on the task as it was read.
    pub(super) async fn decide<'a>(
        &self,
        agent: &'a Agent,
        read: TaskAndWork,
        lease: Option<LeaseClaim>,
        request: &ApplyRequest,
    ) -> Result<Change<'a>, Error> {
        check_parts(request, agent.limits.parts)?;
        let mut change = Change::begin(read, agent, self.clock().now());
        change.by_worker(lease)?;
        for update in request.updates.iter().cloned() {
            self.apply_one(&mut change, update).await?;
        }
        if let Some(cancelable) = request.cancelable {
            change.set_cancelable(cancelable);
        }
        Ok(change)
    }

    async fn apply_one(&self, change: &mut Change<'_>, update: Update) -> Result<(), Error> {
        let (step, status) = match update {
            Update::Progress(progress) => {
                let message = progress.status_message.map(|message| self.named(message)).unwrap_or_default();
                return change.progress(message, progress.metadata);
            }
            Update::Artifact(update) => {
                self.look_up_artifact(change, &update.artifact.artifact_id).await?;
                return change.artifact(update.artifact, update.append, update.last_chunk, update.metadata);
            }
            Update::Work(status) => (Move::Work, status),
            Update::RequireInput(status) => (Move::RequireInput, status),
            Update::RequireAuth(status) => (Move::RequireAuth, status),
            Update::Complete(status) => (Move::Complete, status),
            Update::Fail(status) => (Move::Fail, status),
            Update::Reject(status) => (Move::Reject, status),
        };
        let message = status.status_message.map(|message| self.named(message));
        change.make(step, message, status.metadata)
    }

    /// A message of the agent's gets an id where it has none.
    pub(super) fn named(&self, mut message: Message) -> Message {
        if message.message_id.is_empty() {
            message.message_id = self.ids().next().to_string();
        }
        message
    }

    /// What an update to an artifact must know of it: nothing for one that this change makes, else one row.
    async fn look_up_artifact(&self, change: &mut Change<'_>, id: &str) -> Result<(), Error> {
        let task = change.task();
        if !change.may_be_stored(id) || change.state().is_terminal() {
            return Ok(());
        }
        let last = store::artifact::last_chunk(self.store().read(), task.id, id)
            .await
            .map_err(database("reading an artifact to write to"))?;
        if let Some(last) = last {
            let known = KnownArtifact { ordinal: last.ordinal, last_chunk: last.chunk, bytes: last.bytes };
            change.know_artifact(id, known);
        }
        Ok(())
    }
}

fn applied(change: &Change<'_>) -> Applied {
    let task = change.task();
    let held = change.work().filter(|work| work.lease_id.is_some());
    let left = held.and_then(|work| work.due_at).map(|until| (until - change.now()).max(0));
    Applied {
        task_id: task.id.to_string(),
        state: change.state(),
        generation: task.generation,
        status_timestamp: crate::change::timestamp(task.status_at),
        lease_held: held.is_some(),
        seconds_left: left.map(|left| left as f64 / 1_000.0),
    }
}

/// The bound of parts, for artifacts and messages alike.
fn check_parts(request: &ApplyRequest, most: usize) -> Result<(), Error> {
    for (n, update) in request.updates.iter().enumerate() {
        let (field, parts) = match update {
            Update::Artifact(update) => ("artifact.parts", Some(&update.artifact.parts)),
            Update::Progress(progress) => ("statusMessage.parts", progress.status_message.as_ref().map(|m| &m.parts)),
            Update::Work(status)
            | Update::RequireInput(status)
            | Update::RequireAuth(status)
            | Update::Complete(status)
            | Update::Fail(status)
            | Update::Reject(status) => {
                ("statusMessage.parts", status.status_message.as_ref().map(|message| &message.parts))
            }
        };
        if parts.is_some_and(|parts| parts.len() > most) {
            let field = format!("updates[{n}].{}.{field}", update.member());
            return Err(Error::invalid(field, format!("must be at most {most} parts")));
        }
    }
    Ok(())
}
