//! What one command does to one task: the only place where a task's rows are decided.
//!
//! A [`Change`] begins with the task as it was read, takes moves, progress, artifacts and messages one after another, each checked
//! against what the ones before made of it, and ends as one [`Write`] whose guard is the work row as it was read. So rules are plain
//! code over values, and the database decides only whether they still apply.

use std::collections::HashMap;

use entity::{push_delivery, push_lane, task, task_artifact, task_event, task_message, work};
use uuid::Uuid;
use wire::{
    Error, Message, Move, Role, StreamResponse, Struct, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};

use crate::bus::Hint;
use crate::operation::lease::LeaseName;
use crate::scheduling::Schedule;
use crate::sessions::{Nudge, Turn};
use crate::settings::Agent;
use crate::store::task::TaskAndWork;
use crate::store::{self, Write};

mod artifact;
pub(crate) use artifact::KnownArtifact;

/// The lease a worker says it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseClaim {
    /// The lease's number.
    pub id: Uuid,
    /// Its epoch.
    pub epoch: i64,
}

/// On whose authority a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hand {
    /// A client's or the platform's.
    Platform,
    /// A worker's that holds the lease.
    Held,
    /// A worker's, on a task nobody holds.
    Unheld,
}

/// One command's effect on one task.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    agent: &'a Agent,
    now: i64,
    read: Option<work::Model>,
    work: Option<work::Model>,
    task: task::Model,
    /// The state it was read in.
    from: i16,
    hand: Hand,
    events: Vec<task_event::Model>,
    messages: Vec<task_message::Model>,
    chunks: Vec<task_artifact::Model>,
    artifacts: HashMap<String, KnownArtifact>,
    /// How many artifacts the store held.
    stored_artifacts: i32,
    removed_chunks: Vec<(String, i32)>,
}

impl<'a> Change<'a> {
    /// Begin on a task as it was read.
    pub(crate) fn begin(read: TaskAndWork, agent: &'a Agent, now: i64) -> Change<'a> {
        Change {
            agent,
            // A status never is older than the one before it, whatever clocks do.
            now: now.max(read.task.status_at),
            work: read.work.clone(),
            read: read.work,
            from: read.task.state,
            stored_artifacts: read.task.artifact_count,
            task: read.task,
            hand: Hand::Platform,
            events: Vec::new(),
            messages: Vec::new(),
            chunks: Vec::new(),
            artifacts: HashMap::new(),
            removed_chunks: Vec::new(),
        }
    }

    /// The task as the change has made it so far.
    pub(crate) fn task(&self) -> &task::Model {
        &self.task
    }

    /// The work row as the change has made it so far.
    pub(crate) fn work(&self) -> Option<&work::Model> {
        self.work.as_ref()
    }

    /// The agent whose task it is.
    pub(crate) fn agent(&self) -> &Agent {
        self.agent
    }

    /// When it happens.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Its state now.
    pub(crate) fn state(&self) -> TaskState {
        state_of(&self.task)
    }

    /// A worker makes this change: with the lease it holds, or without one on a task nobody holds.
    ///
    /// # Errors
    /// `LeaseLost` when the lease is not the current one, `LeaseRequired` when somebody holds the task and no lease was named. Decided
    /// after existence and before state.
    pub(crate) fn by_worker(&mut self, lease: Option<LeaseClaim>) -> Result<(), Error> {
        let (id, state) = (self.task.id.to_string(), self.state());
        let current = self.work.as_ref().and_then(|work| work.lease_id.map(|lease| (lease, work.epoch, work.due_at)));
        self.hand = match (current, lease) {
            (Some((held, epoch, _)), Some(claim)) if held == claim.id && epoch == claim.epoch => Hand::Held,
            (_, Some(_)) => {
                let reason = match &self.work {
                    None => "the task is finished",
                    Some(work) if work.lease_id.is_none() => "the lease has ended",
                    Some(_) => "another worker holds the task",
                };
                return Err(Error::lease_lost(&id, state, reason));
            }
            (Some((_, _, Some(until))), None) if until > self.now => return Err(Error::lease_required(&id)),
            (_, None) => Hand::Unheld,
        };
        if let Some(work) = &mut self.work {
            match self.hand {
                Hand::Held => work.due_at = Some(self.now + self.agent.lease.as_millis() as i64),
                // The ready row is taken, and a lease that had expired is fenced off.
                Hand::Unheld => {
                    work.epoch += 1;
                    work.lease_id = None;
                    work.worker = None;
                    work.due_at = None;
                    work.seen_seq = self.task.history_count;
                }
                Hand::Platform => {}
            }
        }
        Ok(())
    }

    /// One of the lifecycle's moves.
    ///
    /// # Errors
    /// `TaskNotCancelable` for a cancel, `TaskStateConflict` for any other move that does not start from the present state.
    pub(crate) fn make(&mut self, step: Move, message: Option<Message>, metadata: Option<Struct>) -> Result<(), Error> {
        let id = self.task.id.to_string();
        if !step.permitted_from(self.state()) {
            return Err(match step {
                Move::Cancel => Error::task_not_cancelable(&id, self.state()),
                _ => Error::state_conflict(&id, self.state(), step),
            });
        }
        let target = step.target();
        if target.is_interrupted() || target.is_terminal() {
            self.task.answered_seq = match (&self.work, self.hand) {
                (Some(work), Hand::Held) => work.seen_seq,
                _ => self.task.history_count,
            };
        }
        self.set_status(target, message, metadata, true)?;
        if target.is_terminal() {
            self.work = None;
        } else if let Some(work) = &mut self.work {
            work.deliveries = 0;
            if target.is_interrupted() {
                work.lease_id = None;
                work.worker = None;
                // A message the lease was not handed makes the task ready at once.
                work.due_at = (self.task.client_seq > work.seen_seq).then_some(self.now);
            }
        }
        Ok(())
    }

    /// A text about work in progress: a status event that repeats Working. It never enters history.
    ///
    /// # Errors
    /// `TaskStateConflict` unless the task is Working.
    pub(crate) fn progress(&mut self, message: Message, metadata: Option<Struct>) -> Result<(), Error> {
        if self.state() != TaskState::Working {
            return Err(Error::update_conflict(&self.task.id.to_string(), self.state(), "progress"));
        }
        self.set_status(TaskState::Working, Some(message), metadata, false)
    }

    fn set_status(
        &mut self,
        state: TaskState,
        message: Option<Message>,
        metadata: Option<Struct>,
        kept: bool,
    ) -> Result<(), Error> {
        if let Some(previous) = self.task.status_message.take()
            && self.task.status_kept
        {
            self.add_to_history(previous, false);
        }
        let message = message.map(|message| self.as_agent(message));
        self.task.state = state as i16;
        self.task.status_at = self.now;
        self.task.status_kept = kept;
        self.task.status_message = message.as_ref().map(to_text).transpose()?;
        self.add_event(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.task.id.to_string(),
            context_id: self.task.context_id.clone(),
            status: TaskStatus { state, message, timestamp: timestamp(self.now) },
            metadata,
        }))
    }

    /// What the agent may leave out of a message of its own: role, ids.
    fn as_agent(&self, mut message: Message) -> Message {
        message.role = Role::Agent;
        message.task_id = self.task.id.to_string();
        message.context_id = self.task.context_id.clone();
        message
    }

    /// A client's message: into history, and the task is made available to workers, at once or when the message says. The state stays.
    /// `trace` is that of its request; one without leaves the task in the trace it is in.
    pub(crate) fn client_message(
        &mut self,
        message: &Message,
        output_modes: Option<String>,
        trace: Option<&str>,
        schedule: Schedule,
    ) -> Result<i32, Error> {
        let seq = self.add_to_history(to_text(message)?, true);
        self.task.client_seq = seq;
        if output_modes.is_some() {
            self.task.output_modes = output_modes;
        }
        if let Some(work) = &mut self.work {
            work.deliveries = 0;
            if let Some(trace) = trace {
                work.trace = Some(trace.to_owned());
            }
            work.priority = schedule.priority.unwrap_or(work.priority);
            // Whoever holds the task hears of it by heartbeat, and at once.
            if work.lease_id.is_none() {
                let due = schedule.not_before.unwrap_or(self.now);
                work.due_at = Some(work.due_at.map_or(due, |before| before.min(due)));
            }
        }
        Ok(seq)
    }

    /// Forbid or permit cancel for the present stage.
    pub(crate) fn set_cancelable(&mut self, cancelable: bool) {
        self.task.cancelable = cancelable;
    }

    /// Hand the task to `worker`: a new lease, a new epoch.
    pub(crate) fn lease(&mut self, lease: Uuid, worker: Option<&str>) {
        if let Some(work) = &mut self.work {
            work.lease_id = Some(lease);
            work.epoch += 1;
            work.worker = worker.map(str::to_owned);
            work.deliveries += 1;
            work.seen_seq = self.task.history_count;
            work.due_at = Some(self.now + self.agent.lease.as_millis() as i64);
            // A claim that starts the task does so in the name of the lease it makes.
            self.events.iter_mut().for_each(|event| event.epoch = Some(work.epoch));
        }
    }

    /// Give a lease back: the task is ready again after `delay` milliseconds, with the deliveries that are counted so far;
    /// without them all are.
    pub(crate) fn release(&mut self, delay: i64, deliveries: Option<i32>) {
        if let Some(work) = &mut self.work {
            work.lease_id = None;
            work.worker = None;
            work.deliveries = deliveries.unwrap_or(work.deliveries);
            // What was delivered too often is not put off: the next claim gives it up.
            let spent = work.deliveries >= self.agent.max_deliveries as i32;
            work.due_at = Some(self.now + if spent { 0 } else { delay });
        }
    }

    fn add_to_history(&mut self, body: String, client: bool) -> i32 {
        self.task.history_count += 1;
        self.task.history_bytes += body.len() as i64;
        let seq = self.task.history_count;
        self.messages.push(task_message::Model { task_id: self.task.id, seq, client, body });
        seq
    }

    fn add_event(&mut self, event: StreamResponse) -> Result<(), Error> {
        self.task.generation += 1;
        self.events.push(task_event::Model {
            task_id: self.task.id,
            generation: self.task.generation,
            at: self.now,
            body: to_text(&event)?,
            epoch: self.work.as_ref().filter(|_| self.hand == Hand::Held).map(|work| work.epoch),
        });
        Ok(())
    }

    /// What to tell everybody once it is written.
    pub(crate) fn hints(&self) -> Vec<Hint> {
        let mut hints = Vec::with_capacity(3);
        if let Some(last) = self.events.last() {
            hints.push(Hint::Event { task: self.task.id, generation: last.generation, state: self.task.state });
            if self.task.config_count > 0 {
                hints.push(Hint::Delivery);
            }
        }
        let ready = |work: &work::Model| work.lease_id.is_none() && work.due_at.is_some_and(|due| due <= self.now);
        let is_leased = self.work.as_ref().is_some_and(|work| work.lease_id.is_some());
        // What ends may have held others back: by a limit, or as the one before them in their context.
        let held_back = self.agent.takes_turns() && !is_leased;
        if held_back || self.work.as_ref().is_some_and(ready) {
            hints.push(Hint::Work { agent: self.task.agent.clone() });
        }
        hints.extend(self.nudge());
        hints
    }

    /// What to tell the session that held the task when it was read, unless it made the change itself.
    fn nudge(&self) -> Option<Hint> {
        let read = self.read.as_ref().filter(|_| self.hand != Hand::Held)?;
        let lease = LeaseName { task: read.task_id, lease: read.lease_id? };
        let session = Uuid::try_parse(read.worker.as_deref()?).ok()?;
        let turn = match &self.work {
            None if self.state() == TaskState::Canceled => Turn::Cancel,
            Some(work) if work.lease_id == read.lease_id => {
                self.messages.iter().any(|message| message.client).then_some(Turn::Message)?
            }
            _ => Turn::Lost,
        };
        Some(Hint::Control { session, nudge: Nudge::Lease { turn, lease, state: self.task.state } })
    }

    /// Everything as one write, upon the work row as it was read. Answers how the task stands once it is written.
    pub(crate) fn write_into(mut self, write: &mut Write) -> TaskAndWork {
        let Some(read) = self.read else {
            // A terminal task: whoever asked has been refused.
            return TaskAndWork { task: self.task, work: None };
        };
        match &mut self.work {
            None => write.must(store::work::delete(&read)),
            Some(work) => {
                work.revision += 1;
                write.must(store::work::update(&read, work));
            }
        }
        write.must(store::task::update(&self.task, self.from));
        for (artifact, through) in &self.removed_chunks {
            write.delete(store::artifact::delete_through(self.task.id, artifact, *through));
        }
        if let (Some(first), true) = (self.events.first(), self.task.config_count > 0) {
            store::push::deliver(self.task.id, first.generation, self.events.len(), self.now, write);
        }
        write.insert_many(self.messages.into_iter().map(task_message::ActiveModel::from).collect());
        write.insert_many(self.chunks.into_iter().map(task_artifact::ActiveModel::from).collect());
        write.insert_many(self.events.into_iter().map(task_event::ActiveModel::from).collect());
        TaskAndWork { task: self.task, work: self.work }
    }
}

/// A notification that is yet to be delivered.
pub(crate) fn delivery(
    lane: &push_lane::Model,
    sequence: i64,
    generation: i64,
    body: Option<String>,
    now: i64,
) -> push_delivery::Model {
    push_delivery::Model {
        lane_id: lane.id,
        sequence,
        tenant: lane.tenant.clone(),
        task_id: lane.task_id,
        generation,
        body,
        state: push_delivery::State::Pending,
        attempts: 0,
        created_at: now,
        ended_at: None,
    }
}

/// A body as it is stored.
pub(crate) fn to_text<T: serde::Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::internal(error).doing("writing a body as JSON"))
}

/// A body as it was stored.
pub(crate) fn from_text<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::internal(error).doing("reading a stored body"))
}

/// The state a row says.
pub(crate) fn state_of(task: &task::Model) -> TaskState {
    TaskState::from_number(i64::from(task.state)).unwrap_or_default()
}

/// A stored time as the wire has it.
pub(crate) fn timestamp(at: i64) -> Option<Timestamp> {
    Timestamp::from_unix_millis(at)
}
