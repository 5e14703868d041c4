//! What every process builds from its configuration: the store, the clock, the secrets key, the engine.

use crate::cli::refuse;
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

/// The deployment's database, or the embedded store that `dev` has made; `who` is the command that looks into it.
pub(crate) async fn open(config: &Config, who: &str) -> Result<Store, Failure> {
    // The folder is looked at only without a database: then it is what is meant.
    let url = match config.database_url(who) {
        Ok(url) => url.to_owned(),
        Err(_) => {
            let file = config.data.join("taskyard.db");
            if !file.is_file() {
                return Err(refuse(format!(
                    "`taskyard {who}` finds no data: `database.url` is not set (DATABASE_URL, --database-url, or `url` under \
                     `[database]`), and there is no embedded store at `{}` (TASKYARD_DATA or --data says where `dev` keeps it)",
                    file.display()
                )));
            }
            format!("sqlite://{}", file.display())
        }
    };
    connect(&url, config.database_connections.min(2)).await
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
