//! Every SQL statement, a file a noun, and the two doors: [`Store::read`] and [`Store::write`].
//!
//! One code path serves Postgres and SQLite. Where they differ it is here: how a [`Write`] is carried out, and that SQLite has one
//! writer at a time, which a lock in this process makes orderly instead of a busy error.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::{
    ConnectOptions, Database, DatabaseConnection, DatabaseTransaction, DbErr, RuntimeErr, SqliteTransactionMode,
    TransactionOptions, TransactionTrait,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

pub mod allowance;
pub mod artifact;
pub mod delivery;
pub mod event;
pub mod message;
pub mod push;
pub mod send_key;
pub mod task;
pub mod work;
mod write;

pub use write::{Write, WriteError};

/// Where everything is kept.
#[derive(Debug, Clone)]
pub struct Store {
    db: DatabaseConnection,
    /// Where transactions run. On Postgres a connection of its own, since a claim comes in as many texts as it has sizes: on one
    /// connection each is planned a few times and then known, over a whole pool hardly any ever is.
    locking: DatabaseConnection,
    memory: bool,
    /// SQLite's one writer.
    writer: Option<Arc<Mutex<()>>>,
}

/// A transaction for the few writes that must read under a lock; everything else is a [`Write`].
#[derive(Debug)]
pub struct Locked {
    transaction: DatabaseTransaction,
    _writer: Option<OwnedMutexGuard<()>>,
}

impl Store {
    /// Connect to `url` (`postgres://...`, `sqlite://FILE`, `sqlite::memory:`) with at most `connections` connections.
    ///
    /// # Errors
    /// When the database cannot be reached or the URL is of no known kind.
    pub async fn connect(url: &str, connections: u32) -> Result<Store, DbErr> {
        let memory = url.starts_with("sqlite::memory:");
        let mut options = ConnectOptions::new(url);
        options
            .max_connections(if memory { 1 } else { connections })
            .min_connections(1)
            .acquire_timeout(Duration::from_secs(10))
            .connect_timeout(Duration::from_secs(10))
            .sqlx_logging(false)
            .test_before_acquire(false);
        if memory {
            // The database lives as long as its one connection.
            options.idle_timeout(None::<Duration>).max_lifetime(None::<Duration>);
        }
        if url.starts_with("sqlite:") {
            options.map_sqlx_sqlite_opts(|sqlite| {
                sqlite
                    .create_if_missing(true)
                    .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
                    .synchronous(sqlx::sqlite::SqliteSynchronous::Full)
                    .busy_timeout(Duration::from_secs(10))
            });
            let db = Database::connect(options).await?;
            return Ok(Store { locking: db.clone(), db, memory, writer: Some(Arc::new(Mutex::new(()))) });
        }
        let db = Database::connect(options.clone()).await?;
        options.max_connections(1).min_connections(0).connect_lazy(true);
        Ok(Store { db, locking: Database::connect(options).await?, memory, writer: None })
    }

    /// Whether there is one connection for everything: a database in memory. Whoever holds a transaction there must not read beside it.
    pub(crate) fn is_one_connection(&self) -> bool {
        self.memory
    }

    /// The door for reads.
    pub fn read(&self) -> &DatabaseConnection {
        &self.db
    }

    /// The door for writes: all of `write` or none of it, in one commit.
    ///
    /// # Errors
    /// [`WriteError::Lost`] when somebody else was first, [`WriteError::Failed`] when the database failed.
    pub async fn write(&self, write: Write) -> Result<(), WriteError> {
        if write.is_empty() {
            return Ok(());
        }
        if self.writer.is_none() {
            return write.run(&self.db).await;
        }
        let locked = self.lock().await?;
        // Dropped on error, which rolls back.
        write.run(&locked.transaction).await?;
        Ok(locked.transaction.commit().await?)
    }

    /// A transaction, for a claim: what it reads with a row lock stays so until [`Locked::write`].
    ///
    /// # Errors
    /// When the database fails.
    pub async fn lock(&self) -> Result<Locked, DbErr> {
        let writer = match &self.writer {
            Some(writer) => Some(writer.clone().lock_owned().await),
            None => None,
        };
        let options = TransactionOptions {
            // A deferred transaction that upgrades fails at once when another writes.
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..Default::default()
        };
        Ok(Locked { transaction: self.locking.begin_with_options(options).await?, _writer: writer })
    }

    /// Close every connection once its statement is done.
    pub async fn close(&self) {
        for db in [&self.locking, &self.db] {
            if let Err(error) = db.clone().close().await {
                tracing::debug!(%error, "closing the database");
            }
        }
    }
}

impl Locked {
    /// Read under the lock.
    pub fn read(&self) -> &DatabaseTransaction {
        &self.transaction
    }

    /// Carry out `write` and commit.
    ///
    /// # Errors
    /// As [`Store::write`]; then the whole transaction is rolled back.
    pub async fn write(self, write: Write) -> Result<(), WriteError> {
        if !write.is_empty() {
            write.run(&self.transaction).await?;
        }
        Ok(self.transaction.commit().await?)
    }
}

/// Whether the database is away, for now: not reachable, shutting down or starting up.
pub(crate) fn is_away(error: &DbErr) -> bool {
    let cause = match error {
        DbErr::Conn(_) | DbErr::ConnectionAcquire(_) => return true,
        DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause)) => cause,
        _ => return false,
    };
    match &**cause {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        // Connection failures, too many connections, and an operator's shutdown or a crash of another backend.
        sqlx::Error::Database(cause) => cause.code().is_some_and(|code| {
            code.starts_with("08") || ["53300", "57P01", "57P02", "57P03"].contains(&code.as_ref())
        }),
        _ => false,
    }
}
