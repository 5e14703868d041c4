//! A look into the database behind the platform's back, for what no surface shows, and a fresh Postgres database a platform.

use std::path::Path;
use std::time::Duration;

use sea_orm::{ConnectOptions, ConnectionTrait, DatabaseConnection, QueryResult, Statement};
use uuid::Uuid;

/// A platform's database.
#[derive(Debug)]
pub struct Database {
    connection: DatabaseConnection,
    /// URL of the administrator's database and the name of this one; none for a file.
    dropped: Option<(String, String)>,
    url: String,
}

async fn connect(url: &str) -> DatabaseConnection {
    let mut options = ConnectOptions::new(url);
    // Without what counts idle connections: see the engine's own.
    options.max_connections(2).idle_timeout(None::<Duration>).max_lifetime(None::<Duration>).sqlx_logging(false);
    sea_orm::Database::connect(options).await.unwrap_or_else(|error| panic!("connecting to the database: {error}"))
}

impl Database {
    /// A new database beside the one of `admin`.
    ///
    /// # Panics
    /// When Postgres does not make one.
    pub async fn create(admin: &str) -> Database {
        let name = format!("taskyard_e2e_{}", Uuid::now_v7().simple());
        let connection = connect(admin).await;
        connection
            .execute_unprepared(&format!("CREATE DATABASE {name}"))
            .await
            .unwrap_or_else(|error| panic!("creating the database {name}: {error}"));
        connection.close().await.ok();
        let (server, _) = admin.rsplit_once('/').expect("a database URL ends in its name");
        let url = format!("{server}/{name}");
        Database { connection: connect(&url).await, dropped: Some((admin.to_owned(), name)), url }
    }

    /// The embedded store in `folder`, to be read while `dev` runs.
    ///
    /// # Panics
    /// When there is none.
    pub async fn embedded(folder: &Path) -> Database {
        let is_sqlite = |path: &Path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3"));
        let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("reading {}: {error}", folder.display()));
        let file = entries.flatten().map(|entry| entry.path()).find(|path| is_sqlite(path));
        let file = file.unwrap_or_else(|| panic!("no SQLite file in {}", folder.display()));
        let url = format!("sqlite://{}?mode=rw", file.display());
        Database { connection: connect(&url).await, dropped: None, url }
    }

    /// The same with a connection of its own; it goes with the first.
    pub(crate) async fn again(other: &Database) -> Database {
        Database { connection: connect(&other.url).await, dropped: None, url: other.url.clone() }
    }

    /// Where the platform finds it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The connection, for statements made elsewhere.
    pub fn connection(&self) -> &DatabaseConnection {
        &self.connection
    }

    /// Every row of a query.
    ///
    /// # Panics
    /// When the query fails.
    pub async fn rows(&self, sql: &str) -> Vec<QueryResult> {
        let statement = Statement::from_string(self.connection.get_database_backend(), sql);
        self.connection.query_all_raw(statement).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The one number a query answers.
    ///
    /// # Panics
    /// When it answers anything else.
    pub async fn number(&self, sql: &str) -> i64 {
        let rows = self.rows(sql).await;
        rows.first().expect("one row").try_get_by_index(0).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Statements, one text.
    ///
    /// # Panics
    /// When one fails.
    pub async fn execute(&self, sql: &str) {
        self.connection.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some((admin, name)) = self.dropped.take() else { return };
        // A thread of its own: nothing can be awaited here.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let connection = sea_orm::Database::connect(ConnectOptions::new(admin)).await?;
                connection.execute_unprepared(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })
        });
        if let Ok(Err(error)) = dropped.join() {
            eprintln!("dropping a test's database: {error}");
        }
    }
}
