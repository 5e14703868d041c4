//! A worker gives a lease back.

use wire::worker::{ApplyRequest, ReleaseRequest, StatusChange, Update};
use wire::{Error, Move};

use super::lease::LeaseName;
use super::new_task::NewTask;
use super::update_key::UpdateKey;
use crate::change::{Change, LeaseClaim};
use crate::store::{Write, WriteError};
use crate::{Engine, Worker, database, store, unwritten};

/// Give the lease back within a change.
fn released(change: &mut Change<'_>, delay: i64, deliveries: Option<i32>) -> Result<(), Error> {
    change.release(delay, deliveries);
    Ok(())
}

/// The longest delay of a release, in seconds.
const LONGEST: f64 = 86_400.0;

impl Engine {
    /// End the lease: the task is ready for another after the delay, or fails when no other try would help.
    ///
    /// # Errors
    /// `InvalidParams`; `LeaseNotFound` when the name is none of ours; `LeaseLost` when it is not the current one.
    pub async fn release(
        &self,
        worker: &Worker,
        lease: &str,
        epoch: i64,
        key: Option<String>,
        request: ReleaseRequest,
    ) -> Result<(), Error> {
        wire::validate(&request)?;
        let name: LeaseName = lease.parse().map_err(|_| Error::lease_not_found(lease))?;
        let delay = request.delay_seconds.unwrap_or(0.0);
        if delay > LONGEST {
            return Err(Error::invalid("delaySeconds", format!("must be at most {LONGEST}")));
        }
        let delay = (delay * 1_000.0) as i64;
        let claim = LeaseClaim { id: name.lease, epoch };
        let key = UpdateKey::of(key, name.task, Some(claim), "release", &request)?;
        let key = key.as_ref();
        match self.try_release(worker, name, epoch, key, delay, request).await {
            Err(refusal) => self.first_answer_or(worker, key, refusal).await,
            released => released,
        }
    }

    async fn try_release(
        &self,
        worker: &Worker,
        name: LeaseName,
        epoch: i64,
        key: Option<&UpdateKey>,
        delay: i64,
        request: ReleaseRequest,
    ) -> Result<(), Error> {
        let known = store::task::of_worker(self.store().read(), worker.agents.as_deref(), &[name.task])
            .await
            .map_err(database("reading the task of a lease"))?;
        let is_message = known.is_empty() && self.waiting_for(worker, name.task).await?.is_some();
        if known.is_empty() && !is_message {
            return Err(Error::lease_not_found(&name.to_string()));
        }
        if request.retryable.unwrap_or(true) {
            // What failed counts on; anything else is as if it had not been handed out.
            let deliveries = (!request.failed).then_some(0);
            return self.change_held(worker, name, epoch, key, |change| released(change, delay, deliveries)).await;
        }
        let reason = if request.reason.is_empty() { "no reason was given" } else { &request.reason };
        let text = format!("The worker gave the task back for good: {reason}");
        let text = self.platform_says(&text);
        if is_message {
            let status = StatusChange { status_message: Some(text), metadata: None };
            let request = ApplyRequest { updates: vec![Update::Fail(status)], cancelable: None };
            let claim = LeaseClaim { id: name.lease, epoch };
            return self.apply_under(worker, name.task, Some(claim), key, &request, |_| ()).await;
        }
        self.change_held(worker, name, epoch, key, |change| change.make(Move::Fail, Some(text.clone()), None)).await
    }

    /// End a lease and make its task ready after `delay` milliseconds, with `deliveries` counted so far.
    pub(crate) async fn end_lease(
        &self,
        name: LeaseName,
        epoch: i64,
        delay: i64,
        deliveries: i32,
    ) -> Result<(), Error> {
        self.change_held(&Worker::default(), name, epoch, None, |change| released(change, delay, Some(deliveries)))
            .await
    }

    async fn change_held(
        &self,
        worker: &Worker,
        name: LeaseName,
        epoch: i64,
        key: Option<&UpdateKey>,
        make: impl Fn(&mut Change<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let doing = "releasing a lease";
        let mut attempts = self.attempts(doing, Some(name.task));
        let mut lost = false;
        loop {
            let attempt = attempts.next().await?;
            // What came first may have been this very call.
            if lost && self.find_update::<()>(worker, key).await?.is_some() {
                return Ok(());
            }
            lost = true;
            let read = store::task::read_for_worker(self.store().read(), None, name.task).await;
            let Some(read) = read.map_err(database(doing))? else {
                match self.release_message(name, epoch, key, &make).await? {
                    Some(true) => return Ok(()),
                    Some(false) => continue,
                    None => return Err(Error::lease_not_found(&name.to_string())),
                }
            };
            let agent = self.agent_of(&read.task.agent);
            let mut change = Change::begin(read, &agent, self.clock().now());
            change.by_worker(Some(LeaseClaim { id: name.lease, epoch }))?;
            make(&mut change)?;
            let hints = change.hints();
            let mut write = Write::new();
            if let Some(key) = key {
                key.keep(&agent.name, &(), change.now(), &mut write)?;
            }
            change.write_into(&mut write);
            if attempt.write(write).await? {
                self.bus().send(hints);
                return Ok(());
            }
        }
    }

    /// The same on a message that waits for a direct answer; whether it was written. Nothing when there is none.
    async fn release_message(
        &self,
        name: LeaseName,
        epoch: i64,
        key: Option<&UpdateKey>,
        make: &impl Fn(&mut Change<'_>) -> Result<(), Error>,
    ) -> Result<Option<bool>, Error> {
        let Some(row) = self.waiting_for(&Worker::default(), name.task).await? else { return Ok(None) };
        let agent = self.agent_of(&row.agent);
        let now = self.clock().now();
        let mut change = Change::begin(NewTask::of_waiting(&row, now).read(), &agent, now);
        change.by_worker(Some(LeaseClaim { id: name.lease, epoch }))?;
        make(&mut change)?;
        let hints = change.hints();
        let mut write = Write::new();
        if let Some(work) = change.work() {
            write.must_update(store::waiting::update(&row, work));
        }
        if let Some(key) = key {
            key.keep(&agent.name, &(), now, &mut write)?;
        }
        match self.store().write(write).await {
            Ok(()) => {
                self.bus().send(hints);
                Ok(Some(true))
            }
            Err(WriteError::Lost) => Ok(Some(false)),
            Err(error) => Err(unwritten("releasing a lease")(error)),
        }
    }
}
