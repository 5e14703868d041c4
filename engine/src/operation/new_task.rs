//! The rows a task begins with, whoever makes it: a send, or a message that waited for a direct answer and got none.

use entity::{push_config, push_lane, task, task_event, task_message, waiting_message, work};
use uuid::Uuid;
use wire::{Error, StreamResponse, Task, TaskState};

use crate::Hint;
use crate::change::{delivery, to_text};
use crate::store::Write;
use crate::store::task::TaskAndWork;

/// What a task is made of: its first message, and what came with it.
#[derive(Debug)]
pub(super) struct First {
    pub(super) id: Uuid,
    pub(super) tenant: String,
    pub(super) agent: String,
    pub(super) context_id: String,
    /// The message as history holds it.
    pub(super) body: String,
    pub(super) metadata: Option<String>,
    pub(super) output_modes: Option<String>,
    /// The trace context of the request, as JSON.
    pub(super) trace: Option<String>,
    pub(super) priority: i16,
    /// No worker gets it before.
    pub(super) not_before: Option<i64>,
    /// Whether its context runs in series.
    pub(super) series: bool,
}

/// A task that is not written yet.
#[derive(Debug)]
pub(super) struct NewTask {
    pub(super) task: task::Model,
    pub(super) work: work::Model,
    pub(super) message: task_message::Model,
    config: Option<push_config::Model>,
}

impl First {
    /// The task, submitted `now` and ready for a worker.
    pub(super) fn begin(self, now: i64) -> NewTask {
        let bytes = self.body.len() as i64;
        NewTask {
            work: work::Model {
                task_id: self.id,
                tenant: self.tenant.clone(),
                agent: self.agent.clone(),
                due_at: Some(self.not_before.map_or(now, |at| at.max(now))),
                lease_id: None,
                epoch: 0,
                worker: None,
                deliveries: 0,
                seen_seq: 0,
                revision: 1,
                trace: self.trace,
                priority: self.priority,
                series: self.series.then(|| self.context_id.clone()),
                series_at: self.series.then_some(now),
            },
            message: task_message::Model { task_id: self.id, seq: 1, client: true, body: self.body },
            config: None,
            task: task::Model {
                id: self.id,
                tenant: self.tenant,
                agent: self.agent,
                context_id: self.context_id,
                state: TaskState::Submitted as i16,
                status_message: None,
                status_kept: true,
                status_at: now,
                metadata: self.metadata,
                generation: 1,
                history_count: 1,
                history_bytes: bytes,
                client_seq: 1,
                answered_seq: 0,
                artifact_count: 0,
                artifact_bytes: 0,
                config_count: 0,
                cancelable: true,
                output_modes: self.output_modes,
                created_at: now,
            },
        }
    }
}

impl NewTask {
    /// The task that a waiting message would be `now`: its lease and its place in the queue are the message's.
    pub(super) fn of_waiting(row: &waiting_message::Model, now: i64) -> NewTask {
        let first = First {
            id: row.id,
            tenant: row.tenant.clone(),
            agent: row.agent.clone(),
            context_id: row.context_id.clone(),
            body: row.body.clone(),
            metadata: row.metadata.clone(),
            output_modes: row.output_modes.clone(),
            trace: row.trace.clone(),
            priority: row.priority,
            not_before: None,
            series: false,
        };
        let mut new = first.begin(now);
        new.work = work::Model {
            due_at: row.due_at,
            lease_id: row.lease_id,
            epoch: row.epoch,
            worker: row.worker.clone(),
            deliveries: row.deliveries,
            seen_seq: i32::from(row.lease_id.is_some()),
            ..new.work
        };
        new
    }

    /// With this config, which came with the message.
    pub(super) fn hook(&mut self, config: push_config::Model) {
        self.task.config_count = 1;
        self.config = Some(config);
    }

    /// Task and work row, to decide upon.
    pub(super) fn read(&self) -> TaskAndWork {
        TaskAndWork { task: self.task.clone(), work: Some(self.work.clone()) }
    }

    /// Add all of it to `write`. `view` is the task as clients see it. Yields what to tell everybody once it is written.
    pub(super) fn write_into(self, view: &Task, write: &mut Write) -> Result<Vec<Hint>, Error> {
        let now = self.task.created_at;
        let mut hints = Vec::with_capacity(2);
        if self.work.lease_id.is_none() && self.work.due_at.is_some_and(|due| due <= now) {
            hints.push(Hint::Work { agent: self.task.agent.clone() });
        }
        if let Some(row) = self.config {
            let mut lane = new_lane(&row);
            lane.tail = 1;
            lane.due_at = Some(now);
            write.insert(entity::push_delivery::ActiveModel::from(delivery(&lane, 1, 1, None, now)));
            write.insert(push_lane::ActiveModel::from(lane));
            write.insert(push_config::ActiveModel::from(row));
            hints.push(Hint::Delivery);
        }
        let id = self.task.id;
        write.insert(task::ActiveModel::from(self.task));
        write.insert(work::ActiveModel::from(self.work));
        write.insert(task_message::ActiveModel::from(self.message));
        let body = to_text(&StreamResponse::Task(view.clone()))?;
        let event = task_event::Model { task_id: id, generation: 1, at: now, body, epoch: None };
        write.insert(task_event::ActiveModel::from(event));
        Ok(hints)
    }
}

/// The lane of a config that was just made: nothing to deliver yet.
pub(super) fn new_lane(config: &push_config::Model) -> push_lane::Model {
    push_lane::Model {
        id: config.id,
        tenant: config.tenant.clone(),
        task_id: config.task_id,
        head: 1,
        tail: 0,
        due_at: None,
        holder: None,
        fence: 0,
        attempts: 0,
        closed: false,
    }
}
