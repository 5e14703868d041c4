//! What finds what a hint missed, and what tidies up. Every api process runs them; any number at once is safe.

use std::time::Duration;

use crate::store::WriteError;
use crate::{Engine, store};

/// Tasks asked about in one statement.
const BATCH: usize = 500;

impl Engine {
    /// Ask the database for the tasks somebody in this process waits for, all of them at once, every sweep.
    pub(crate) async fn sweep_watchers(&self) {
        let hub = self.bus().hub();
        loop {
            tokio::time::sleep(self.settings().sweep).await;
            for tasks in hub.watch.waiting().chunks(BATCH) {
                match store::task::news(self.store().read(), tasks).await {
                    Ok(news) => {
                        for (task, generation, state) in news {
                            hub.watch.hear(task, generation, state);
                        }
                    }
                    Err(error) => tracing::warn!(%error, "looking for news of watched tasks"),
                }
            }
        }
    }

    /// Look after the messages that wait for a direct answer, every sweep.
    pub(crate) async fn sweep_waiting(&self) {
        loop {
            tokio::time::sleep(self.settings().sweep).await;
            if let Err(error) = self.look_after_waiting(BATCH).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "sweeping messages that wait");
            }
        }
    }

    /// Fail what was delivered too often, every sweep.
    pub(crate) async fn sweep_spent(&self) {
        loop {
            tokio::time::sleep(self.settings().sweep).await;
            if let Err(error) = self.fail_spent().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "failing tasks that were delivered too often");
            }
        }
    }

    /// Forget idempotency keys whose time is over, in small batches.
    pub(crate) async fn sweep_keys(&self) {
        loop {
            match self.forget_old_keys().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "forgetting old idempotency keys")
                }
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
    }

    /// Forget some keys of sends and of workers' writes that are too old; whether there may be more.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn forget_old_keys(&self) -> Result<bool, WriteError> {
        let oldest = self.clock().now() - self.settings().key_lifetime.as_millis() as i64;
        let sends = store::send_key::forget_some(self.store(), oldest, BATCH as u64).await?;
        let updates = store::update_key::forget_some(self.store(), oldest, BATCH as u64).await?;
        Ok(sends || updates)
    }
}
