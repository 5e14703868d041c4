//! An `Idempotency-Key` of a worker's write: what makes it safe to repeat when its answer was lost.
//!
//! The key is one more row in the write it came with, so it is known exactly when what it stands for has happened. Nobody looks for it
//! beforehand: a repeat is tried like any other call, and only what stands in its way has the key looked up, before anything is refused.
//! That is the key's own row, the lease that the first call ended, the state that it made. So a key costs one insert, and a call without
//! one nothing.
//!
//! A key counts within the lease's epoch: under the next lease it is another key. Calls without a lease, on a task nobody holds, have an
//! epoch each, which a repeat could not know. Their keys count within the task, under [`UNHELD`].

use entity::update_key;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;
use wire::{Error, Kind};

use super::key;
use crate::change::{LeaseClaim, from_text, to_text};
use crate::store::Write;
use crate::{Engine, Worker, database, store, unwritten};

/// Where keys of calls without a lease count. The epoch of a lease is 1 at least.
const UNHELD: i64 = 0;

/// The key of one call.
#[derive(Debug, Clone)]
pub(super) struct UpdateKey {
    task: Uuid,
    epoch: i64,
    text: String,
    hash: String,
}

impl UpdateKey {
    /// The key that `request` came with, if it came with one. `name` is what is asked, so that two requests that look alike are not
    /// taken for one.
    ///
    /// # Errors
    /// `InvalidParams` for what is no key.
    pub(super) fn of(
        text: Option<String>,
        task: Uuid,
        lease: Option<LeaseClaim>,
        name: &str,
        request: &impl Serialize,
    ) -> Result<Option<UpdateKey>, Error> {
        let Some(text) = text else { return Ok(None) };
        key::check(&text)?;
        let hash = key::hash(&(name, request))?;
        Ok(Some(UpdateKey { task, epoch: lease.map_or(UNHELD, |lease| lease.epoch), text, hash }))
    }

    /// Keep what the call is answered, as part of what it writes.
    pub(super) fn keep(&self, agent: &str, answer: &impl Serialize, now: i64, write: &mut Write) -> Result<(), Error> {
        write.insert(update_key::ActiveModel::from(update_key::Model {
            task_id: self.task,
            epoch: self.epoch,
            key: self.text.clone(),
            agent: agent.to_owned(),
            body_hash: self.hash.clone(),
            answer: to_text(answer)?,
            created_at: now,
        }));
        Ok(())
    }
}

impl Engine {
    /// The answer the key stands for, if it is known. One that has expired is forgotten first: it would be in the way of the new one.
    ///
    /// # Errors
    /// `InvalidParams` when it stands for another request.
    pub(super) async fn find_update<A: DeserializeOwned>(
        &self,
        worker: &Worker,
        key: Option<&UpdateKey>,
    ) -> Result<Option<A>, Error> {
        let Some(key) = key else { return Ok(None) };
        let db = self.store().read();
        let known = store::update_key::read(db, key.task, key.epoch, &key.text)
            .await
            .map_err(database("looking up the idempotency key of an update"))?;
        let Some(known) = known.filter(|known| worker.may(&known.agent)) else { return Ok(None) };
        let oldest = self.clock().now() - self.settings().key_lifetime.as_millis() as i64;
        if known.created_at < oldest {
            let mut forget = Write::new();
            forget.delete(store::update_key::delete_expired(&known, oldest));
            self.store().write(forget).await.map_err(unwritten("forgetting the idempotency key of an update"))?;
            return Ok(None);
        }
        if known.body_hash != key.hash {
            return Err(key::reused());
        }
        from_text(&known.answer).map(Some)
    }

    /// What a refused call is answered: the first answer, when it is a repeat, else the refusal.
    ///
    /// # Errors
    /// The refusal; `InvalidParams` when the key stands for another request.
    pub(super) async fn first_answer_or<A: DeserializeOwned>(
        &self,
        worker: &Worker,
        key: Option<&UpdateKey>,
        refusal: Error,
    ) -> Result<A, Error> {
        if matches!(refusal.kind, Kind::Internal | Kind::Unavailable) {
            return Err(refusal);
        }
        self.find_update(worker, key).await?.ok_or(refusal)
    }
}
