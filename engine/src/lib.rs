//! The rules of Taskyard: one file an operation, over one store.
//!
//! Bindings decode, make a [`Caller`], call an operation and encode; what a task may do is decided here and nowhere else. Every
//! operation is one transaction and, after it, hints. See `change.rs` for how a task's rows are decided, `store/write.rs` for how they
//! are written, `queue.rs` for how work reaches workers.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::{ConnectionTrait, DbErr, Statement};
use sea_orm_migration::MigratorTrait;
use tokio::sync::watch as signal;
use wire::Error;

pub mod address;
mod allowance;
pub mod bus;
mod caller;
pub mod card;
mod change;
pub mod clock;
mod cursor;
mod deployment_key;
mod ids;
pub mod operation;
mod order;
mod queue;
mod recent;
pub mod scheduling;
pub mod secret;
pub mod sessions;
pub mod settings;
pub mod signing;
pub mod store;
pub mod stream;
mod sweep;
mod view;
pub mod watch;
mod webhook_url;

pub use bus::{Bus, Hint, Interests};
pub use caller::{Caller, Worker};
pub use card::{Card, Extended, ExtendedCard};
pub use change::LeaseClaim;
pub use clock::Clock;
pub use deployment_key::secret_key;
pub use ids::Ids;
pub use operation::lease::LeaseName;
pub use queue::Poll;
pub use secret::SecretKey;
pub use settings::{Agent, Limits, Settings, TenantSettings, WebhookPolicy};
pub use store::Store;

use allowance::Allowances;
use operation::Senders;
use order::Order;
use queue::Queue;
use recent::Recent;
use stream::Sources;

/// Why an engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database could not be reached or failed.
    #[error("{doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// The cause.
        source: DbErr,
    },
    /// The schema is older than this binary.
    #[error("the database lacks {0} migration(s) of this release; run `taskyard migrate` first")]
    SchemaBehind(usize),
    /// The schema is newer than this binary.
    #[error("the database was migrated by a later release (`{0}`); run that release or a later one")]
    SchemaAhead(String),
    /// Another key than the one this deployment seals with.
    #[error(
        "the secrets key is not the one this deployment's webhook secrets are sealed with; \
         start with that key (none, if none was configured), or delete every push config that holds a secret and the rows of signing_key"
    )]
    SecretMismatch,
    /// The secrets key is unusable.
    #[error("reading the secrets key")]
    Secret(#[from] secret::SecretError),
}

/// The rules over one store, shared by every surface of a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    bus: Bus,
    clock: Clock,
    ids: Ids,
    secrets: Arc<SecretKey>,
    settings: Settings,
    allowances: Allowances,
    queue: Queue,
    order: Order,
    recent: Recent,
    sources: Sources,
    senders: Senders,
    closing: signal::Sender<bool>,
}

/// Everything an engine is made of.
#[derive(Debug)]
pub struct Parts {
    /// Where everything is kept; migrated.
    pub store: Store,
    /// How hints travel.
    pub bus: Bus,
    /// What time it is.
    pub clock: Clock,
    /// Where ids come from.
    pub ids: Ids,
    /// Seals secrets.
    pub secrets: Arc<SecretKey>,
    /// What the operator decided.
    pub settings: Settings,
}

impl Engine {
    /// An engine of these parts. It does nothing on its own until [`Engine::run`].
    pub fn new(parts: Parts) -> Engine {
        let Parts { store, bus, clock, ids, secrets, settings } = parts;
        let inner = Inner {
            store,
            bus,
            clock,
            ids,
            secrets,
            settings,
            allowances: Allowances::default(),
            queue: Queue::default(),
            order: Order::default(),
            recent: Recent::default(),
            sources: Sources::default(),
            senders: Senders::default(),
            closing: signal::Sender::new(false),
        };
        Engine { inner: Arc::new(inner) }
    }

    /// The claimer and the sweeps of an api process, until `shutdown` resolves. Any number of replicas may run them at once.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        tokio::select! {
            () = self.claim_for_polls() => {}
            () = self.sweep_watchers() => {}
            () = self.sweep_keys() => {}
            () = self.sweep_waiting() => {}
            () = self.sweep_spent() => {}
            () = self.keep_sessions() => {}
            () = keep_time(self.store().clone(), self.clock().clone()) => {}
            () = shutdown => {}
        }
    }

    /// Stop waiting: blocked sends and polls are answered now, so that a process can end. Tasks live on.
    pub fn close(&self) {
        self.inner.closing.send_replace(true);
    }

    /// Resolves once [`Engine::close`] has been called.
    pub(crate) async fn closed(&self) {
        let mut closing = self.inner.closing.subscribe();
        // An error means that the engine is gone, which is as closed as can be.
        let _gone = closing.wait_for(|closed| *closed).await;
    }

    /// What the operator decided.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Where everything is kept.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// How hints travel.
    pub fn bus(&self) -> &Bus {
        &self.inner.bus
    }

    /// What time it is.
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Where ids come from.
    pub(crate) fn ids(&self) -> &Ids {
        &self.inner.ids
    }

    /// Seals secrets.
    pub fn secrets(&self) -> &Arc<SecretKey> {
        &self.inner.secrets
    }

    /// Whether the database answers: what readiness means.
    ///
    /// # Errors
    /// When it does not.
    pub async fn check(&self) -> Result<(), DbErr> {
        let db = self.store().read();
        let ask = db.query_one_raw(Statement::from_string(db.get_database_backend(), "SELECT 1"));
        match tokio::time::timeout(Duration::from_secs(2), ask).await {
            Ok(answer) => answer.map(|_| ()),
            Err(_) => Err(DbErr::Custom("the database did not answer within 2 s".into())),
        }
    }
}

/// Set `clock` by the database's again and again, for ever.
pub async fn keep_time(store: Store, clock: Clock) {
    loop {
        tokio::time::sleep(Duration::from_secs(30)).await;
        if let Err(error) = measure(&store, &clock).await {
            tracing::warn!(%error, "asking the database for its time");
        }
    }
}

/// Set `clock` by the database's. SQLite has none of its own: there the host's is right.
///
/// # Errors
/// When the database fails.
pub async fn measure(store: &Store, clock: &Clock) -> Result<(), DbErr> {
    let db = store.read();
    if db.get_database_backend() != sea_orm::DbBackend::Postgres {
        return Ok(());
    }
    let ask = "SELECT (extract(epoch from clock_timestamp()) * 1000)::bigint AS now";
    let mut quickest: Option<Duration> = None;
    for _ in 0..SAMPLES {
        let asked = std::time::Instant::now();
        let row = db.query_one_raw(Statement::from_string(sea_orm::DbBackend::Postgres, ask)).await?;
        let took = asked.elapsed();
        if let Some(row) = row
            && quickest.is_none_or(|quickest| took < quickest)
        {
            let now: i64 = row.try_get("", "now")?;
            clock.set(now + took.as_millis() as i64 / 2);
            quickest = Some(took);
        }
    }
    Ok(())
}

/// How often the database is asked for its time in a row: the quickest answer is off by the least.
const SAMPLES: u32 = 5;

/// Bring the tables to this release's shape. Safe to run twice and by several processes at once.
///
/// # Errors
/// When the database fails.
pub async fn migrate(store: &Store) -> Result<(), StartError> {
    let failed = |source| StartError::Database { doing: "migrating the database", source };
    if store.read().get_database_backend() != sea_orm::DbBackend::Postgres {
        return migration::Migrator::up(store.read(), None).await.map_err(failed);
    }
    // One migrates at a time. The lock belongs to this transaction's connection; migrations run on others.
    let locked = store.lock().await.map_err(failed)?;
    let lock = Statement::from_string(sea_orm::DbBackend::Postgres, "SELECT pg_advisory_xact_lock(7238411)");
    locked.read().query_one_raw(lock).await.map_err(failed)?;
    migration::Migrator::up(store.read(), None).await.map_err(failed)
}

/// Refuse a schema this release cannot serve.
///
/// # Errors
/// When migrations are missing, when a later release has been there, or when the database fails.
pub async fn check_schema(store: &Store) -> Result<(), StartError> {
    let failed = |source| StartError::Database { doing: "reading which migrations the database has", source };
    let known: Vec<String> = migration::Migrator::migrations().iter().map(|one| one.name().to_owned()).collect();
    let db = store.read();
    let ask = Statement::from_string(db.get_database_backend(), "SELECT version FROM seaql_migrations");
    let applied: Vec<String> = match db.query_all_raw(ask).await {
        Ok(rows) => rows.iter().map(|row| row.try_get("", "version")).collect::<Result<_, _>>().map_err(failed)?,
        Err(error) if store::is_away(&error) => return Err(failed(error)),
        // Without the table nothing was ever migrated.
        Err(_) => Vec::new(),
    };
    if let Some(later) = applied.iter().find(|name| !known.contains(name)) {
        return Err(StartError::SchemaAhead(later.clone()));
    }
    let missing = known.iter().filter(|name| !applied.contains(name)).count();
    if missing > 0 { Err(StartError::SchemaBehind(missing)) } else { Ok(()) }
}

/// A database failure as a caller hears of it: temporary when the database is away, else a fault of ours.
pub(crate) fn database(doing: &'static str) -> impl Fn(DbErr) -> Error {
    move |error| match store::is_away(&error) {
        true => Error::unavailable("the platform cannot reach its database; try again").caused_by(error),
        false => Error::internal(error).doing(doing),
    }
}

/// A failed write as a caller hears of it.
pub(crate) fn unwritten(doing: &'static str) -> impl Fn(store::WriteError) -> Error {
    move |error| match error {
        store::WriteError::Lost => {
            Error::unavailable("others write to the same place all the time; try again").caused_by(error)
        }
        store::WriteError::Failed(error) => database(doing)(error),
    }
}
