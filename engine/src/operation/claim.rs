//! A claim: ready tasks become leases, for slots of polls that wait. One transaction for all of them.

use std::collections::HashMap;

use entity::{task_artifact, task_message, undelivered, waiting_message, work};
use sea_orm::{ConnectionTrait, DbErr};
use uuid::Uuid;
use wire::worker::Lease;
use wire::{Error, Message, Move, Part, Role, TaskState, Tenant};

use super::lease::LeaseName;
use super::new_task::NewTask;
use super::pick::Picked;
use crate::change::{Change, from_text};
use crate::settings::Agent;
use crate::store::task::TaskAndWork;
use crate::store::{Write, WriteError};
use crate::view::{Shown, artifacts, bare, by_task, messages, unfinished, within_bounds};
use crate::{Engine, Hint, database, store, unwritten};

/// Ended leases looked at in one sweep; the others are claimed, or looked at in the next.
const SPENT: u64 = 500;

impl Engine {
    /// Lease up to one task per entry of `workers`. Also says whether more may be ready at once.
    pub(crate) async fn claim(
        &self,
        agents: &[String],
        start: bool,
        workers: &[Option<String>],
    ) -> Result<(Vec<Lease>, bool), Error> {
        let doing = "claiming ready tasks";
        let locked = self.store().lock().await.map_err(database(doing))?;
        let now = self.clock().now();
        let Picked { rows, mut waiting, more, passed_over } =
            self.pick(locked.read(), agents, now, workers.len()).await.map_err(database(doing))?;
        if rows.is_empty() {
            locked.rollback().await;
            return Ok((Vec::new(), more));
        }
        let due = rows.len();
        let Loaded { rows, mut tasks, mut histories, mut chunks } =
            Loaded::of(locked.read(), rows, &waiting).await.map_err(database(doing))?;
        // What is left out because the answer would be too large stays due.
        let mut full = more || rows.len() < due;
        let mut write = Write::new();
        let mut hints: Vec<Hint> = passed_over.into_iter().map(|agent| Hint::Work { agent }).collect();
        let (mut leases, mut written) = (Vec::with_capacity(rows.len()), Vec::new());
        let mut in_vain = Vec::new();
        for (row, worker) in rows.into_iter().zip(workers) {
            let Some(task) = tasks.remove(&row.task_id) else {
                tracing::error!(task.id = %row.task_id, "a work row without its task");
                continue;
            };
            let agent = self.agent_of(&task.agent);
            let id = task.id;
            let spent = is_spent(&row, &agent);
            let read = TaskAndWork { task, work: Some(row) };
            let mut change = Change::begin(read, &agent, now);
            // Whoever waits got nothing for it, and there may be more.
            full |= spent;
            if let Some(message) = waiting.remove(&id) {
                if spent {
                    in_vain.push(message);
                } else {
                    change.lease(self.ids().next(), worker.as_deref());
                    let history = histories.remove(&id).unwrap_or_default();
                    leases.push(Lease { direct: true, ..lease(&change, &history, &[])? });
                    if let Some(work) = change.work() {
                        write.must_update(store::waiting::update(&message, work));
                    }
                    hints.extend(change.hints());
                }
                continue;
            }
            if spent {
                self.give_up_on(&mut change, &agent, &mut write)?;
            } else {
                if start && change.state() == TaskState::Submitted {
                    change.make(Move::Work, None, None)?;
                }
                change.lease(self.ids().next(), worker.as_deref());
                let history = histories.remove(&id).unwrap_or_default();
                let chunks = chunks.remove(&id).unwrap_or_default();
                leases.push(lease(&change, &history, &chunks)?);
            }
            hints.extend(change.hints());
            written.push(change.write_into(&mut write));
        }
        match locked.write(write).await {
            Ok(()) => {}
            // The rows were locked, so this is a deadlock with a notifier at most: they stay due.
            Err(WriteError::Lost) => return Ok((Vec::new(), true)),
            Err(error) => return Err(unwritten(doing)(error)),
        }
        written.into_iter().for_each(|written| self.inner.recent.put(written));
        self.bus().send(hints);
        for message in &in_vain {
            self.open_in_vain(message).await;
        }
        Ok((leases, full))
    }

    /// Fail tasks whose last permitted lease has ended, also while nobody polls. Yields how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn fail_spent(&self) -> Result<usize, Error> {
        let agents: Vec<&str> = self.settings().agents.keys().map(String::as_str).collect();
        let ended = store::work::leases_ended(self.store().read(), &agents, self.clock().now(), SPENT);
        let ended = ended.await.map_err(database("looking for leases that have ended"))?;
        let mut failed = 0;
        for row in ended.into_iter().filter(|row| is_spent(row, &self.agent_of(&row.agent))) {
            failed += usize::from(self.fail_if_spent(row.task_id).await?);
        }
        Ok(failed)
    }

    async fn fail_if_spent(&self, task: Uuid) -> Result<bool, Error> {
        let mut attempts = self.attempts("failing a task that was delivered too often", Some(task));
        loop {
            let attempt = attempts.next().await?;
            let read = store::task::read_for_worker(self.store().read(), None, task).await;
            let Some(read) = read.map_err(database("reading a task that was delivered too often"))? else {
                return Ok(false);
            };
            let (agent, now) = (self.agent_of(&read.task.agent), self.clock().now());
            let ended = |work: &work::Model| is_spent(work, &agent) && work.due_at.is_some_and(|due| due <= now);
            if !read.work.as_ref().is_some_and(ended) {
                return Ok(false);
            }
            let (mut change, mut write) = (Change::begin(read, &agent, now), Write::new());
            self.give_up_on(&mut change, &agent, &mut write)?;
            let hints = change.hints();
            change.write_into(&mut write);
            if attempt.write(write).await? {
                self.bus().send(hints);
                return Ok(true);
            }
        }
    }

    /// Fail a task in the platform's name, and note it for the operator.
    fn give_up_on(&self, change: &mut Change<'_>, agent: &Agent, write: &mut Write) -> Result<(), Error> {
        let times = match agent.max_deliveries {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        if let Some(work) = change.work() {
            write.insert(undelivered::ActiveModel::from(store::undelivered::row(change.task(), work, change.now())));
        }
        let why = format!("The platform failed this task: it was delivered to workers {times} and none finished it.");
        change.make(Move::Fail, Some(self.platform_says(&why)), None)
    }

    /// A message that was delivered too often becomes a task, with its deliveries: the claim that finds it fails it.
    async fn open_in_vain(&self, message: &waiting_message::Model) {
        let doing = "making a task of a waiting message";
        let opened = async {
            let tenant = Tenant::parse(&message.tenant)?;
            let mut attempts = self.attempts(doing, None);
            let mut row = message.clone();
            // Not done: the message is no longer as it was claimed, or the allowance had to be looked for.
            while !self.open_or_end_wait(&row, attempts.next().await?).await? {
                let read = store::waiting::read(self.store().read(), &tenant, row.id).await.map_err(database(doing))?;
                match read.filter(|read| read.epoch == row.epoch && read.answer.is_none()) {
                    Some(read) => row = read,
                    None => break,
                }
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = opened.await {
            tracing::debug!(error = &error as &dyn std::error::Error, message.id = %message.id, "giving up a message");
        }
    }

    /// Leases nobody took: as if they had never been made.
    pub(crate) async fn give_back(&self, leases: Vec<Lease>) {
        for lease in leases {
            let Ok(name) = lease.lease.parse::<LeaseName>() else { continue };
            if let Err(error) = self.end_lease(name, lease.epoch, 0, lease.attempt - 1).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "giving back a lease; it will expire");
            }
        }
    }

    /// A status message in the platform's own name.
    pub(crate) fn platform_says(&self, text: &str) -> Message {
        Message {
            message_id: self.ids().next().to_string(),
            role: Role::Agent,
            parts: vec![Part::text(text)],
            ..Message::default()
        }
    }
}

/// Whether it was delivered as often as its agent permits.
fn is_spent(row: &work::Model, agent: &Agent) -> bool {
    row.deliveries >= agent.max_deliveries as i32
}

/// What a claim reads of the tasks whose work rows it has locked, so that nothing of it is stale.
struct Loaded {
    rows: Vec<work::Model>,
    tasks: HashMap<Uuid, entity::task::Model>,
    histories: HashMap<Uuid, Vec<task_message::Model>>,
    chunks: HashMap<Uuid, Vec<task_artifact::Model>>,
}

impl Loaded {
    async fn of<C: ConnectionTrait>(
        db: &C,
        mut rows: Vec<work::Model>,
        waiting: &HashMap<Uuid, waiting_message::Model>,
    ) -> Result<Loaded, DbErr> {
        let (messages, of_tasks): (Vec<_>, Vec<_>) =
            rows.iter().cloned().partition(|row| waiting.contains_key(&row.task_id));
        let mut tasks = store::work::tasks_of(db, &of_tasks).await?;
        let would_be = messages.iter().filter_map(|row| waiting.get(&row.task_id));
        let would_be: Vec<NewTask> = would_be.map(|row| NewTask::of_waiting(row, row.created_at)).collect();
        tasks.extend(would_be.iter().map(|new| new.task.clone()));
        // In the order of their rows: who is left out is who came last.
        let place: HashMap<Uuid, usize> = rows.iter().enumerate().map(|(place, row)| (row.task_id, place)).collect();
        tasks.sort_by_key(|task| place.get(&task.id).copied());
        tasks.truncate(within_bounds(&tasks, Shown::ALL));
        rows.truncate(tasks.len());
        let ids: Vec<Uuid> = tasks.iter().map(|task| task.id).collect();
        let with_artifacts: Vec<Uuid> =
            tasks.iter().filter(|task| task.artifact_count > 0).map(|task| task.id).collect();
        let mut histories = store::message::of_tasks(db, &ids).await?;
        histories.extend(would_be.into_iter().map(|new| new.message));
        Ok(Loaded {
            rows,
            histories: by_task(histories, |row| row.task_id),
            chunks: by_task(store::artifact::of_tasks(db, &with_artifacts).await?, |row| row.task_id),
            tasks: tasks.into_iter().map(|task| (task.id, task)).collect(),
        })
    }
}

fn lease(
    change: &Change<'_>,
    history: &[task_message::Model],
    chunks: &[task_artifact::Model],
) -> Result<Lease, Error> {
    let task = change.task();
    let Some(work) = change.work() else {
        return Err(Error::internal(format!("task `{}` was claimed without a work row", task.id)));
    };
    let mut view = bare(task)?;
    view.history = messages(history)?;
    view.artifacts = artifacts(chunks)?;
    let fresh = history.iter().filter(|row| row.client && row.seq > task.answered_seq);
    let name = LeaseName { task: task.id, lease: work.lease_id.unwrap_or_default() };
    Ok(Lease {
        lease: name.to_string(),
        epoch: work.epoch,
        attempt: work.deliveries,
        seconds_left: work.due_at.map_or(0.0, |until| (until - change.now()) as f64 / 1_000.0),
        agent: task.agent.clone(),
        tenant: task.tenant.clone(),
        task: view,
        messages: fresh.map(|row| from_text(&row.body)).collect::<Result<_, _>>()?,
        history_cursor: i64::from(task.history_count),
        accepted_output_modes: task.output_modes.as_deref().map(from_text).transpose()?.unwrap_or_default(),
        direct: false,
        unfinished_artifacts: unfinished(chunks),
        trace_context: work.trace.as_deref().map(from_text).transpose()?,
        agent_settings: Some(change.agent().for_workers()),
    })
}
