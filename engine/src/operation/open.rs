//! A message that waited for a direct answer becomes a task: because a worker does more than reply, because its sender's patience or a
//! worker's deliveries are over, or because a repeated send does not want to wait.
//!
//! In one write the waiting row, as it was read, becomes the task's rows, and the lease on it the task's lease: whoever holds it goes on
//! as if there had been a task from the beginning. The tenant's allowance is taken then, not before.

use entity::waiting_message;
use uuid::Uuid;
use wire::worker::ApplyRequest;
use wire::{Error, Kind, Tenant, Version};

use super::attempt::Attempt;
use super::direct::Inline;
use super::new_task::NewTask;
use crate::change::{LeaseClaim, from_text};
use crate::store::task::TaskAndWork;
use crate::store::{Write, WriteError};
use crate::view::bare;
use crate::{Caller, Engine, Hint, Worker, database, store, unwritten};

impl Engine {
    /// Make a task of a waiting message that stands as it was read. Nothing when it does not, or when the guess where the tenant's
    /// allowance has something left was wrong: read again.
    ///
    /// # Errors
    /// `ResourceExhausted` when the tenant holds its maximum of tasks; the message waits on then.
    pub(super) async fn open(
        &self,
        row: &waiting_message::Model,
        attempt: Attempt<'_>,
    ) -> Result<Option<TaskAndWork>, Error> {
        let now = self.clock().now();
        let tenant = Tenant::parse(&row.tenant)?;
        let mut write = Write::new();
        write.must_delete(store::waiting::take(row));
        self.take_allowance(&tenant, attempt.is_first(), now, &mut write).await?;
        let mut new = NewTask::of_waiting(row, now);
        // One that waited for its sender alone is a worker's to do.
        new.work.due_at = new.work.due_at.or(Some(now));
        if let Some(sealed) = &row.push_config {
            let text = self.secrets().open(row.id, sealed).map_err(Error::internal)?;
            let Inline { version, config } = from_text(&text)?;
            let version = Version::parse(&version).unwrap_or_default();
            let maker =
                Caller { tenant: tenant.clone(), agent: self.agent_of(&row.agent), version, trace: row.trace.clone() };
            new.hook(self.new_push_config(&maker, row.id, &config, now)?);
        }
        let mut view = bare(&new.task)?;
        view.history = vec![from_text(&new.message.body)?];
        let read = new.read();
        let mut hints = vec![Hint::Event { task: row.id, generation: 1, state: read.task.state }];
        hints.extend(new.write_into(&view, &mut write)?);
        Ok(attempt.write(write).await?.then(|| {
            self.bus().send(hints);
            read
        }))
    }

    /// As [`Engine::open`], for a worker or the platform; whether it was done. Where there is no place for a task, the sender is told at
    /// once.
    ///
    /// # Errors
    /// As there; with `ResourceExhausted` the lease has ended.
    pub(super) async fn open_or_end_wait(
        &self,
        row: &waiting_message::Model,
        attempt: Attempt<'_>,
    ) -> Result<bool, Error> {
        match self.open(row, attempt).await {
            Ok(Some(opened)) => {
                self.inner.recent.put(opened);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) if error.kind == Kind::ResourceExhausted => {
                self.end_wait(row).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// End the lease on a waiting message and have its sender look what becomes of it now: its own opening of a task answers it,
    /// with the task or with what is refused.
    async fn end_wait(&self, row: &waiting_message::Model) -> Result<(), Error> {
        let mut write = Write::new();
        write.must_update(store::waiting::end_wait(row, self.clock().now()));
        match self.store().write(write).await {
            Ok(()) => self.bus().send([Hint::Answer { message: row.id }]),
            // It has been answered, opened or claimed since, so nobody waits for this.
            Err(WriteError::Lost) => {}
            Err(error) => return Err(unwritten("ending the wait for a direct answer")(error)),
        }
        Ok(())
    }

    /// What a worker makes `request` of, and what is no task that could be found: a waiting message becomes one. What would be refused
    /// of the task is refused before there is one.
    ///
    /// # Errors
    /// `TaskNotFound` where there is neither; those of [`Engine::apply`] on the task that would be; `ResourceExhausted` when the
    /// tenant holds its maximum of tasks. The lease has ended then.
    pub(super) async fn open_for(
        &self,
        worker: &Worker,
        id: Uuid,
        lease: Option<LeaseClaim>,
        request: &ApplyRequest,
    ) -> Result<(), Error> {
        let doing = "making a task of a waiting message";
        let mut attempts = self.attempts(doing, None);
        loop {
            let attempt = attempts.next().await?;
            let Some(row) = self.waiting_for(worker, id).await? else {
                let db = self.store().read();
                // It may have become a task between the look for a task and the one for a message.
                let task =
                    store::task::of_worker(db, worker.agents.as_deref(), &[id]).await.map_err(database(doing))?;
                return if task.is_empty() { Err(Error::task_not_found(&id.to_string())) } else { Ok(()) };
            };
            let agent = self.agent_of(&row.agent);
            let would_be = NewTask::of_waiting(&row, self.clock().now());
            self.decide(&agent, would_be.read(), lease, request).await?;
            if self.open_or_end_wait(&row, attempt).await? {
                return Ok(());
            }
        }
    }

    /// The message `id` that waits for an answer, if it is this worker's business.
    pub(super) async fn waiting_for(&self, worker: &Worker, id: Uuid) -> Result<Option<waiting_message::Model>, Error> {
        let rows = store::waiting::of_worker(self.store().read(), worker.agents.as_deref(), &[id])
            .await
            .map_err(database("reading a message that waits for an answer"))?;
        Ok(rows.into_iter().next())
    }
}
