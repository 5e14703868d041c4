//! Every SQL statement, a file a noun, and the two doors: [`Store::read`] and [`Store::write`].
//!
//! One code path serves Postgres and SQLite. Where they differ it is here: how a [`Write`] is carried out, and that SQLite has one
//! writer at a time, which a lock in this process makes orderly instead of a busy error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult, RuntimeErr,
    SqliteTransactionMode, Statement, TransactionOptions, TransactionTrait,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

pub mod allowance;
pub mod artifact;
pub mod delivery;
pub mod event;
pub mod gate;
mod ids;
pub mod lease;
pub mod length;
pub mod message;
pub mod push;
pub mod ready;
mod row;
pub mod secret_key;
pub mod send_key;
pub mod session;
mod share;
pub mod signing_key;
pub mod task;
pub mod undelivered;
pub mod update_key;
pub mod waiting;
pub mod work;
mod write;

pub use row::Row;
pub use write::{Write, WriteError};

use share::Share;

/// Where everything is kept.
#[derive(Debug, Clone)]
pub struct Store {
    db: DatabaseConnection,
    locking: Arc<Mutex<Locking>>,
    /// Where there is more than one writer.
    share: Option<Share>,
    one_writer: bool,
    memory: bool,
    statements: Arc<AtomicU64>,
}

/// Where transactions run: one at a time in a process, on a connection of their own.
///
/// SQLite has one writer anyway. On Postgres a claim comes in as many texts as it has sizes: on one connection each is planned a few
/// times and then known, over a whole pool hardly any ever is.
#[derive(Debug)]
struct Locking {
    options: ConnectOptions,
    connection: Option<DatabaseConnection>,
}

/// A transaction, for writes that must read under a lock; everything else is a [`Write`]. Dropped without an end, it takes its connection
/// with it: what state that is in nobody knows, and a transaction begun on it might never commit.
#[derive(Debug)]
pub struct Locked {
    transaction: Option<DatabaseTransaction>,
    locking: OwnedMutexGuard<Locking>,
    clean: bool,
}

impl Drop for Locked {
    fn drop(&mut self) {
        if !self.clean {
            self.locking.connection = None;
        }
    }
}

impl Store {
    /// Connect to `url` (`postgres://...`, `sqlite://FILE`, `sqlite::memory:`) with at most `connections` connections.
    ///
    /// # Errors
    /// When the database cannot be reached or the URL is of no known kind.
    pub async fn connect(url: &str, connections: u32) -> Result<Store, DbErr> {
        let memory = url.starts_with("sqlite::memory:");
        let one_writer = url.starts_with("sqlite:");
        let mut options = ConnectOptions::new(url);
        let alone = if one_writer { connections } else { connections.saturating_sub(share::connections(connections)) };
        options
            .max_connections(if memory { 1 } else { alone.max(1) })
            .min_connections(1)
            .acquire_timeout(Duration::from_secs(10))
            .connect_timeout(Duration::from_secs(10))
            .sqlx_logging(false)
            .test_before_acquire(false)
            // With either of them a pool counts its idle connections now and then, by a number that a race can take below zero: the
            // count then has no end, and the thread it runs on is lost. And a database in memory lives as long as its one connection.
            .idle_timeout(None::<Duration>)
            .max_lifetime(None::<Duration>);
        if one_writer {
            options.map_sqlx_sqlite_opts(|sqlite| {
                sqlite
                    .create_if_missing(true)
                    .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
                    .synchronous(sqlx::sqlite::SqliteSynchronous::Full)
                    .busy_timeout(Duration::from_secs(10))
            });
        }
        let statements = Arc::<AtomicU64>::default();
        let db = counted(Database::connect(options.clone()).await?, &statements);
        let share = match one_writer {
            true => None,
            false => {
                let shared = counted(Database::connect(sharing(&options, connections)).await?, &statements);
                Some(Share::new(shared, db.clone()))
            }
        };
        options.max_connections(1);
        let connection = memory.then(|| db.clone());
        let locking = Arc::new(Mutex::new(Locking { options, connection }));
        Ok(Store { db, locking, share, one_writer, memory, statements })
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
        if self.one_writer {
            return self.lock().await?.write(write).await;
        }
        match self.share.as_ref().zip(write.kinds(share::SMALL)) {
            Some((share, kinds)) => share.write(kinds, write).await,
            None => write.run(&self.db).await,
        }
    }

    /// One statement that writes and yields rows, in a commit of its own.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn write_returning(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        if !self.one_writer {
            return self.db.query_all_raw(statement).await;
        }
        let locked = self.lock().await?;
        let rows = locked.read().query_all_raw(statement).await?;
        locked.commit().await?;
        Ok(rows)
    }

    /// How many statements have been sent in this process, transactions' beginnings and ends left out: what idle workers cost is told
    /// by it.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// A transaction: what it reads with a row lock stays so until its end.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn lock(&self) -> Result<Locked, DbErr> {
        let mut locking = self.locking.clone().lock_owned().await;
        let connection = match locking.connection.take() {
            Some(connection) => connection,
            // Whoever took it was dropped before it had begun. Another connection would be another, empty database.
            None if self.memory => self.db.clone(),
            None => counted(Database::connect(locking.options.clone()).await?, &self.statements),
        };
        let options = TransactionOptions {
            // A deferred transaction that upgrades fails at once when another writes.
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..Default::default()
        };
        let transaction = connection.begin_with_options(options).await?;
        locking.connection = Some(connection);
        Ok(Locked { transaction: Some(transaction), locking, clean: self.memory })
    }

    /// Close every connection once its statement is done.
    pub async fn close(&self) {
        let locking = self.locking.lock().await.connection.take();
        let shared = self.share.as_ref().map(|share| share.shared.clone());
        for db in locking.into_iter().chain(shared).chain([self.db.clone()]) {
            if let Err(error) = db.close().await {
                tracing::debug!(%error, "closing the database");
            }
        }
    }
}

/// The connection, whose statements are counted.
fn counted(mut db: DatabaseConnection, statements: &Arc<AtomicU64>) -> DatabaseConnection {
    let statements = statements.clone();
    db.set_metric_callback(move |_| {
        statements.fetch_add(1, Ordering::Relaxed);
    });
    db
}

/// Connections for writes that go together, made when they are needed.
fn sharing(options: &ConnectOptions, connections: u32) -> ConnectOptions {
    let mut sharing = options.clone();
    sharing
        .max_connections(share::connections(connections))
        .min_connections(0)
        .connect_lazy(true)
        .map_sqlx_postgres_opts(|postgres| postgres.options([("lock_timeout", share::LOCK_TIMEOUT)]));
    sharing
}

impl Locked {
    /// Read, or write, under the lock.
    pub fn read(&self) -> &DatabaseTransaction {
        self.transaction.as_ref().expect("a transaction is there until it ends, which consumes the lock")
    }

    /// Carry out `write` and commit.
    ///
    /// # Errors
    /// As [`Store::write`]; then the whole transaction is rolled back.
    pub async fn write(self, write: Write) -> Result<(), WriteError> {
        if !write.is_empty()
            && let Err(error) = write.run(self.read()).await
        {
            self.rollback().await;
            return Err(error);
        }
        Ok(self.commit().await?)
    }

    /// End the transaction with everything done in it.
    ///
    /// # Errors
    /// When the database fails; whether it was committed is then unknown.
    pub async fn commit(mut self) -> Result<(), DbErr> {
        if let Some(transaction) = self.transaction.take() {
            transaction.commit().await?;
            self.clean = true;
        }
        Ok(())
    }

    /// End the transaction with nothing done in it.
    pub async fn rollback(mut self) {
        if let Some(transaction) = self.transaction.take() {
            match transaction.rollback().await {
                Ok(()) => self.clean = true,
                Err(error) => tracing::debug!(%error, "rolling back; the connection is given up"),
            }
        }
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
        // Connection failures, no room, too many connections, and an operator's shutdown or a crash of another backend.
        sqlx::Error::Database(cause) => cause.code().is_some_and(|code| {
            code.starts_with("08")
                || ["53100", "53200", "53300", "57P01", "57P02", "57P03"].contains(&code.as_ref())
                || (code.len() < 5 && code.parse::<u32>().is_ok_and(|code| SQLITE_AWAY.contains(&(code & 0xff))))
        }),
        _ => false,
    }
}

/// Busy, locked, a failing disk, a full one, and a file that cannot be opened.
const SQLITE_AWAY: [u32; 5] = [5, 6, 10, 13, 14];

#[cfg(test)]
mod tests {
    use super::*;
    use sea_orm::DbBackend;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[tokio::test]
    async fn no_pool_counts_its_idle_connections() {
        let folder = std::env::temp_dir().join(format!("taskyard-pool-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let store = Store::connect(&format!("sqlite://{}/t.db", folder.display()), 2).await.unwrap();
        let options = store.read().get_sqlite_connection_pool().options();
        assert_eq!((options.get_idle_timeout(), options.get_max_lifetime()), (None, None));
        store.close().await;
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A client that leaves takes its request along, at whatever point that is.
    #[tokio::test]
    async fn a_transaction_given_up_before_it_begins_leaves_a_database_in_memory() {
        let store = Store::connect("sqlite::memory:", 1).await.unwrap();
        crate::migrate(&store).await.unwrap();
        for polls in 0..20 {
            {
                let mut begun = pin!(store.lock());
                for _ in 0..polls {
                    if begun.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                        break;
                    }
                }
            }
            let locked = store.lock().await.unwrap();
            let found =
                locked.read().query_all_raw(Statement::from_string(DbBackend::Sqlite, "SELECT id FROM task")).await;
            assert!(found.is_ok(), "after {polls} polls: {found:?}");
            locked.commit().await.unwrap();
        }
    }
}
