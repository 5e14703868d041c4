//! What every process builds from its configuration: the store, the clock, the secrets key, the engine.

use crate::{Config, Failure};
use engine::{Bus, Clock, Engine, Ids, SecretKey, Store};
use std::sync::Arc;

/// A store that fits this release, and what hangs on it.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) secrets: Arc<SecretKey>,
}

/// Connect to `url`.
pub(crate) async fn connect(url: &str, connections: u32) -> Result<Store, Failure> {
    // The URL may hold a password, so the message names the cause only.
    Store::connect(url, connections).await.map_err(|error| format!("connecting to the database: {error}").into())
}

impl Parts {
    /// Everything on a store that has been migrated.
    pub(crate) async fn of(config: &Config, store: Store) -> Result<Parts, Failure> {
        engine::check_schema(&store).await?;
        let clock = Clock::system();
        engine::measure(&store, &clock).await?;
        let operators = config.secrets_key.as_ref().map(|key| key.reveal().as_slice());
        let secrets = Arc::new(engine::secret_key(&store, operators, clock.now()).await?);
        Ok(Parts { store, clock, secrets })
    }

    /// The engine over them.
    pub(crate) fn engine(&self, config: &Config, bus: Bus) -> Engine {
        Engine::new(engine::Parts {
            store: self.store.clone(),
            bus,
            clock: self.clock.clone(),
            ids: Ids::Version7,
            secrets: self.secrets.clone(),
            settings: config.settings.clone(),
        })
    }

    /// The notifier over them.
    pub(crate) fn notifier(&self, config: &Config, bus: Bus) -> notifier::Notifier {
        let options = notifier::Options {
            webhooks: config.settings.webhooks.clone(),
            slots: config.notifier.slots,
            schedule: notifier::Schedule::new(config.notifier.schedule.clone()),
            sweep: config.settings.sweep,
            connect_timeout: config.notifier.connect_timeout,
            total_timeout: config.notifier.timeout,
            ..notifier::Options::default()
        };
        notifier::Notifier {
            store: self.store.clone(),
            bus,
            clock: self.clock.clone(),
            secrets: self.secrets.clone(),
            options,
        }
    }
}
