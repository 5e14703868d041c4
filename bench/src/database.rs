//! The platform's Postgres: what it can commit, and what it has committed.

use std::ops::Sub;
use std::time::Duration;

use serde::Serialize;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, SqlSafeStr as _};

/// A connection of our own.
pub(crate) struct Database {
    options: PgConnectOptions,
    connection: PgConnection,
}

/// What a database has done since it was made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    /// Transactions that wrote: each took a transaction id. They are what waits for the disk.
    pub(crate) commits: i64,
    /// `pg_stat_database.xact_commit`: those that only read are in it.
    pub(crate) transactions: i64,
    /// Bytes of write-ahead log.
    pub(crate) log_bytes: i64,
}

/// What the platform did to its database in one run.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Done {
    /// Transactions that wrote.
    pub(crate) commits: f64,
    /// Every transaction, a lone `SELECT` included.
    pub(crate) transactions: f64,
    /// Bytes of write-ahead log.
    pub(crate) log_bytes: f64,
}

impl Sub for Counters {
    type Output = Counters;

    fn sub(self, earlier: Counters) -> Counters {
        Counters {
            commits: self.commits - earlier.commits,
            transactions: self.transactions - earlier.transactions,
            log_bytes: self.log_bytes - earlier.log_bytes,
        }
    }
}

impl Counters {
    /// The same for one of so many cycles.
    pub(crate) fn per(self, cycles: usize) -> Option<Done> {
        let share = |of: i64| of as f64 / cycles as f64;
        (cycles > 0).then(|| Done {
            commits: share(self.commits),
            transactions: share(self.transactions),
            log_bytes: share(self.log_bytes),
        })
    }
}

/// The table that `ceiling` writes to, and drops.
const TABLE: &str = "taskyard_bench";

impl Database {
    pub(crate) async fn connect(url: &str) -> Result<Database, String> {
        let options: PgConnectOptions = url.parse().map_err(|error| format!("reading the database URL: {error}"))?;
        let options = options.application_name("taskyard-bench").disable_statement_logging();
        let connection = connect(&options).await?;
        Ok(Database { options, connection })
    }

    /// Reads the counters. `transactions` lags by up to [`Database::LAG`].
    pub(crate) async fn counters(&mut self) -> Result<Counters, String> {
        const READ: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, \
            (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()), \
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
        let (commits, transactions, log_bytes) = sqlx::query_as(READ)
            .fetch_one(&mut self.connection)
            .await
            .map_err(|error| format!("reading the database's counters: {error}"))?;
        Ok(Counters { commits, transactions, log_bytes })
    }

    /// A backend that falls idle tells what it has done ten seconds later at the latest.
    pub(crate) const LAG: Duration = Duration::from_millis(10_500);

    /// Makes an empty table for [`Database::inserter`].
    pub(crate) async fn make_table(&mut self) -> Result<(), String> {
        self.run(format!(
            "DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} (id bigint PRIMARY KEY, body text NOT NULL)"
        ))
        .await
    }

    pub(crate) async fn drop_table(&mut self) -> Result<(), String> {
        self.run(format!("DROP TABLE IF EXISTS {TABLE}")).await
    }

    async fn run(&mut self, statements: String) -> Result<(), String> {
        let failed = |error| format!("`{TABLE}`, the table of the ceiling: {error}");
        self.connection.execute(sqlx::raw_sql(AssertSqlSafe(statements))).await.map(drop).map_err(failed)
    }

    /// One client of the ceiling, on a connection of its own: a call inserts one small row and commits. The clients of a
    /// table have different numbers, below `1 << 16`.
    pub(crate) async fn inserter(
        &self,
        number: usize,
    ) -> Result<impl AsyncFnMut() -> Result<(), String> + 'static, String> {
        let mut connection = connect(&self.options).await?;
        let insert = AssertSqlSafe(format!("INSERT INTO {TABLE} (id, body) VALUES ($1, $2)")).into_sql_str();
        let mut id = (number as i64) << 40;
        Ok(async move || {
            id += 1;
            let query = sqlx::query(insert.clone()).bind(id).bind("a row about as long as a short line of text");
            query.execute(&mut connection).await.map(drop).map_err(|error| format!("inserting a row: {error}"))
        })
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, String> {
    options.connect().await.map_err(|error| format!("connecting to the database: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_was_done_between() {
        let before = Counters { commits: 100, transactions: 1_000, log_bytes: 5 };
        let after = Counters { commits: 130, transactions: 1_050, log_bytes: 1_005 };
        let done = (after - before).per(10).unwrap();
        assert_eq!((done.commits, done.transactions, done.log_bytes), (3.0, 5.0, 100.0));
        assert!((after - before).per(0).is_none());
    }
}
