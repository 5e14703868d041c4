//! Tasks the platform gave up because no worker finished them: the operator looks at them, and sends them again once the cause is gone.
//!
//! A finished task stays finished. What is sent again is a new task with everything the old one was told, in the same context, which names
//! the old one. It goes to no client by itself: whoever follows the context, or lists tasks, finds it.

use entity::{task_message, undelivered};
use serde::Serialize;
use uuid::Uuid;
use wire::{Error, Message, Tenant, Timestamp};

use super::new_task::First;
use crate::change::{from_text, timestamp, to_text};
use crate::store::undelivered::Filter;
use crate::store::{self, Write};
use crate::view::{bare, messages};
use crate::{Engine, database};

/// Which of them to list; every member may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndeliveredFilter {
    /// Only of this tenant; the empty name is *no tenant*.
    pub tenant: Option<String>,
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only those that were not sent again.
    pub open: bool,
}

/// A task that was given up.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Undelivered {
    /// The task.
    pub task: String,
    /// Its tenant; empty for none.
    pub tenant: String,
    /// Its agent.
    pub agent: String,
    /// How often workers were handed it.
    pub deliveries: i32,
    /// The session of the last of them, where it had one.
    pub worker: Option<String>,
    /// When it was given up.
    pub failed_at: Option<Timestamp>,
    /// The task it was sent again as.
    pub resent_as: Option<String>,
}

/// Where a page of them ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndeliveredPlace {
    at: i64,
    task: Uuid,
}

/// What an undelivered task was sent again as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resent {
    /// The new task.
    pub task: String,
    /// Whether it was made just now, and not when the old one was first sent again.
    pub made: bool,
}

impl Engine {
    /// Up to `size` of them after `after`, those that failed last first; and where the next page begins, if there is one.
    ///
    /// # Errors
    /// `InvalidParams` for a tenant that cannot be.
    pub async fn undelivered(
        &self,
        filter: &UndeliveredFilter,
        after: Option<UndeliveredPlace>,
        size: usize,
    ) -> Result<(Vec<Undelivered>, Option<UndeliveredPlace>), Error> {
        let tenant = filter.tenant.as_deref().map(Tenant::parse).transpose()?;
        let filter = Filter {
            tenant: tenant.map(|tenant| tenant.as_str().to_owned()),
            agent: filter.agent.clone(),
            open: filter.open,
        };
        let after = after.map(|place| (place.at, place.task));
        let mut rows = store::undelivered::list(self.store().read(), &filter, after, size as u64 + 1)
            .await
            .map_err(database("listing undelivered tasks"))?;
        let more = rows.len() > size;
        rows.truncate(size);
        let next = rows.last().filter(|_| more).map(|last| UndeliveredPlace { at: last.failed_at, task: last.task_id });
        Ok((rows.into_iter().map(shown).collect(), next))
    }

    /// Make a new task of an undelivered one, ready for a worker: same tenant, agent and context, the whole history, metadata, and what its
    /// client can take back. Its last client message names the old task. Whoever asks again is told the task that was made first.
    ///
    /// # Errors
    /// `InvalidParams` when `task` is none of the undelivered ones; `ResourceExhausted` when the tenant holds its maximum of tasks.
    pub async fn resend_undelivered(&self, task: &str) -> Result<Resent, Error> {
        let doing = "sending an undelivered task again";
        let unknown = || {
            Error::invalid("task", format!("`{task}` is no undelivered task: `taskyard undelivered list` shows them"))
        };
        let id = Uuid::try_parse(task).map_err(|_| unknown())?;
        let again = self.ids().next();
        let mut attempts = self.attempts(doing, None);
        loop {
            let attempt = attempts.next().await?;
            let db = self.store().read();
            let row = store::undelivered::read(db, id).await.map_err(database(doing))?.ok_or_else(unknown)?;
            if let Some(first) = row.resent_as {
                return Ok(Resent { task: first.to_string(), made: false });
            }
            let now = self.clock().now();
            let mut write = Write::new();
            write.must_update(store::undelivered::resend(id, again));
            self.take_allowance(&Tenant::parse(&row.tenant)?, attempt.is_first(), now, &mut write).await?;
            let hints = self.copy_task(&row, again, now, &mut write).await?;
            if attempt.write(write).await? {
                self.bus().send(hints);
                return Ok(Resent { task: again.to_string(), made: true });
            }
        }
    }

    /// Everything the task of `row` was told, as the new task `again`. A finished task changes no more, so nothing guards this.
    async fn copy_task(
        &self,
        row: &undelivered::Model,
        again: Uuid,
        now: i64,
        write: &mut Write,
    ) -> Result<Vec<crate::Hint>, Error> {
        let doing = "reading an undelivered task";
        let (db, id) = (self.store().read(), row.task_id);
        let old = store::task::of_worker(db, None, &[id]).await.map_err(database(doing))?.pop();
        let old = old.ok_or_else(|| Error::internal(format!("task `{id}` is undelivered, and is not there")))?;
        let mut history = store::message::of_tasks(db, &[id]).await.map_err(database(doing))?;
        let last = history.iter().rposition(|row| row.client);
        for (place, row) in history.iter_mut().enumerate() {
            let mut message: Message = from_text(&row.body)?;
            message.task_id = again.to_string();
            let names = &mut message.reference_task_ids;
            if Some(place) == last && !names.iter().any(|name| *name == id.to_string()) {
                names.push(id.to_string());
            }
            (row.task_id, row.body) = (again, to_text(&message)?);
        }
        let first = history.first().ok_or_else(|| Error::internal(format!("task `{id}` has no history")))?;
        let series = self.agent_of(&old.agent).serial_contexts;
        let mut new = First {
            id: again,
            tenant: old.tenant,
            agent: old.agent,
            context_id: old.context_id,
            body: first.body.clone(),
            metadata: old.metadata,
            output_modes: old.output_modes,
            trace: None,
            not_before: None,
            priority: 0,
            series,
        }
        .begin(now);
        new.task.history_count = history.last().map_or(1, |last| last.seq);
        new.task.history_bytes = history.iter().map(|row| row.body.len() as i64).sum();
        new.task.client_seq = last.and_then(|last| history.get(last)).map_or(1, |last| last.seq);
        let mut view = bare(&new.task)?;
        view.history = messages(&history)?;
        let hints = new.write_into(&view, write)?;
        write.insert_many(history.into_iter().skip(1).map(task_message::ActiveModel::from).collect());
        Ok(hints)
    }
}

fn shown(row: undelivered::Model) -> Undelivered {
    Undelivered {
        task: row.task_id.to_string(),
        tenant: row.tenant,
        agent: row.agent,
        deliveries: row.deliveries,
        worker: row.worker,
        failed_at: timestamp(row.failed_at),
        resent_as: row.resent_as.map(|task| task.to_string()),
    }
}
