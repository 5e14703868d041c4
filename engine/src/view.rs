//! Rows as the wire has them: tasks, artifacts folded from their chunks, push configs without their secrets.

use std::collections::HashMap;

use entity::{push_config, task, task_artifact, task_message};
use uuid::Uuid;
use wire::worker::UnfinishedArtifact;
use wire::{Artifact, AuthenticationInfo, Error, Message, Task, TaskPushNotificationConfig, TaskStatus};

use crate::change::{from_text, state_of, timestamp};
use crate::store::task::WholeTask;
use crate::{Caller, Engine, database, store};

/// A task's status.
pub(crate) fn status(task: &task::Model) -> Result<TaskStatus, Error> {
    Ok(TaskStatus {
        state: state_of(task),
        message: task.status_message.as_deref().map(from_text).transpose()?,
        timestamp: timestamp(task.status_at),
    })
}

/// A task without history and artifacts.
pub(crate) fn bare(task: &task::Model) -> Result<Task, Error> {
    Ok(Task {
        id: task.id.to_string(),
        context_id: task.context_id.clone(),
        status: status(task)?,
        metadata: task.metadata.as_deref().map(from_text).transpose()?,
        ..Task::default()
    })
}

/// Messages from their rows.
pub(crate) fn messages(rows: &[task_message::Model]) -> Result<Vec<Message>, Error> {
    rows.iter().map(|row| from_text(&row.body)).collect()
}

/// Artifacts from their chunks' rows.
pub(crate) fn artifacts(chunks: &[task_artifact::Model]) -> Result<Vec<Artifact>, Error> {
    fold(chunks.iter().map(|chunk| chunk.body.as_str()))
}

/// The artifacts whose last chunk is not there, from every chunk's row in order.
pub(crate) fn unfinished(chunks: &[task_artifact::Model]) -> Vec<UnfinishedArtifact> {
    let each = chunks.chunk_by(|one, next| one.artifact_id == next.artifact_id);
    let unfinished = each.filter_map(|chunks| Some((chunks.len(), chunks.last().filter(|last| !last.last)?)));
    let told = unfinished.map(|(count, last)| UnfinishedArtifact {
        artifact_id: last.artifact_id.clone(),
        chunks: i32::try_from(count).unwrap_or(i32::MAX),
        bytes: last.bytes,
    });
    told.collect()
}

/// Artifacts from their chunks, which come in the order of artifact and chunk: later chunks add parts and metadata (§4.2.2).
fn fold<'a>(chunks: impl Iterator<Item = &'a str>) -> Result<Vec<Artifact>, Error> {
    let mut whole: Vec<Artifact> = Vec::new();
    for body in chunks {
        let next: Artifact = from_text(body)?;
        match whole.last_mut().filter(|last| last.artifact_id == next.artifact_id) {
            None => whole.push(next),
            Some(last) => {
                last.parts.extend(next.parts);
                if let Some(more) = next.metadata {
                    last.metadata.get_or_insert_default().extend(more);
                }
                for uri in next.extensions {
                    if !last.extensions.contains(&uri) {
                        last.extensions.push(uri);
                    }
                }
                for (kept, new) in [(&mut last.name, next.name), (&mut last.description, next.description)] {
                    if !new.is_empty() {
                        *kept = new;
                    }
                }
            }
        }
    }
    Ok(whole)
}

/// A push config as Get and List show it: token and credentials are left out (never masked, which a read-modify-write would store).
pub(crate) fn push_config(row: &push_config::Model) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant: row.tenant.clone(),
        id: row.config_id.clone(),
        task_id: row.task_id.to_string(),
        url: row.url.clone(),
        authentication: row.scheme.clone().map(|scheme| AuthenticationInfo { scheme, ..AuthenticationInfo::default() }),
        ..TaskPushNotificationConfig::default()
    }
}

/// What of a task's rows an answer shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    /// At most so many of the newest messages; all without a number (§3.2.4).
    pub(crate) history: Option<i32>,
    /// Whether artifacts are shown.
    pub(crate) artifacts: bool,
}

impl Shown {
    /// Everything.
    pub(crate) const ALL: Shown = Shown { history: None, artifacts: true };
}

/// A task read whole.
pub(crate) fn whole(read: &WholeTask) -> Result<Task, Error> {
    let mut view = bare(&read.task)?;
    view.history = read.history.iter().map(|body| from_text(body)).collect::<Result<_, _>>()?;
    view.artifacts = fold(read.chunks.iter().map(String::as_str))?;
    Ok(view)
}

/// Bytes of history and artifacts that one answer with many tasks holds at most, unless its first task alone holds more.
const ANSWER: i64 = 16 << 20;

/// How many of these tasks one answer holds, at least one of them.
pub(crate) fn within_bounds(tasks: &[task::Model], shown: Shown) -> usize {
    let mut bytes = 0;
    let over = tasks.iter().position(|task| {
        bytes += if shown.history == Some(0) { 0 } else { task.history_bytes };
        bytes += if shown.artifacts { task.artifact_bytes } else { 0 };
        bytes > ANSWER
    });
    over.map_or(tasks.len(), |over| over.max(1))
}

impl Engine {
    /// One task of the caller's with what is shown of it, in one statement.
    ///
    /// # Errors
    /// `TaskNotFound`, also for another tenant's or another agent's task.
    pub(crate) async fn read_whole(&self, caller: &Caller, id: Uuid, shown: Shown) -> Result<WholeTask, Error> {
        let db = self.store().read();
        store::task::read_whole(db, &caller.tenant, &caller.agent.name, id, shown.history, shown.artifacts)
            .await
            .map_err(database("reading a task"))?
            .ok_or_else(|| Error::task_not_found(&id.to_string()))
    }

    /// Many tasks with what is shown of them, in their order, in at most two more statements.
    pub(crate) async fn view_many(&self, tasks: &[task::Model], shown: Shown) -> Result<Vec<Task>, Error> {
        let db = self.store().read();
        let mut histories = HashMap::new();
        if shown.history != Some(0) {
            let rows = store::message::newest_of_tasks(db, tasks, shown.history)
                .await
                .map_err(database("reading histories"))?;
            histories = by_task(rows, |row| row.task_id);
        }
        let mut chunks = HashMap::new();
        if shown.artifacts {
            let ids: Vec<Uuid> = tasks.iter().filter(|task| task.artifact_count > 0).map(|task| task.id).collect();
            let rows = store::artifact::of_tasks(db, &ids).await.map_err(database("reading artifacts"))?;
            chunks = by_task(rows, |row| row.task_id);
        }
        let mut views = Vec::with_capacity(tasks.len());
        for task in tasks {
            let mut view = bare(task)?;
            if let Some(rows) = histories.get(&task.id) {
                view.history = messages(rows)?;
            }
            if let Some(rows) = chunks.get(&task.id) {
                view.artifacts = artifacts(rows)?;
            }
            views.push(view);
        }
        Ok(views)
    }
}

/// Rows that lie together by task.
pub(crate) fn by_task<T>(rows: Vec<T>, task: impl Fn(&T) -> Uuid) -> HashMap<Uuid, Vec<T>> {
    let mut sorted: HashMap<Uuid, Vec<T>> = HashMap::new();
    for row in rows {
        sorted.entry(task(&row)).or_default().push(row);
    }
    sorted
}
