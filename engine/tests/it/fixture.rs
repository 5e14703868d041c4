//! An engine on a store of its own, with a clock that tests move, and short words for what tests say often.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::operation::ListedTasks;
use engine::{
    Agent, Bus, Caller, Clock, Engine, Ids, LeaseClaim, LeaseName, SecretKey, Settings, Store, WebhookPolicy, Worker,
};
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};
use wire::worker::{Applied, ApplyRequest, Lease, PollRequest};
use wire::{Error, SendMessageRequest, SendMessageResponse, Task, Tenant};

/// The first moment of every test.
pub(crate) const START: i64 = 1_764_000_000_000;

static DATABASES: AtomicU32 = AtomicU32::new(0);

#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    settings: Settings,
    store: Store,
    url: String,
    secrets: Arc<SecretKey>,
    server: Option<(Store, String)>,
    folder: Option<Arc<Folder>>,
}

/// An empty database, and what goes with it.
pub(crate) struct Ground {
    pub(crate) store: Store,
    url: String,
    server: Option<(Store, String)>,
    folder: Option<Arc<Folder>>,
}

/// Removed when the last who uses it is gone, also when a test fails.
struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// One agent `demo`, loopback webhooks allowed, everything else as by default.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::with_agents([Agent::named("demo")]);
    settings.webhooks = WebhookPolicy { allow_loopback: true, ..WebhookPolicy::default() };
    settings
}

impl Ground {
    pub(crate) async fn sqlite() -> Ground {
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("taskyard-engine-{}-{number}", std::process::id()));
        // A killed run of the same process number may have left one.
        let _none = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let url = format!("sqlite://{}/t.db", folder.display());
        let store = Store::connect(&url, 4).await.unwrap();
        Ground { store, url, server: None, folder: Some(Arc::new(Folder(folder))) }
    }

    /// Nothing without a server, where somebody said that this is fine; else a test without one fails rather than prove nothing.
    pub(crate) async fn postgres() -> Option<Ground> {
        let Ok(url) = std::env::var("TASKYARD_TEST_POSTGRES") else {
            let optional = std::env::var("TASKYARD_TEST_SERVICES_OPTIONAL").is_ok_and(|value| value == "1");
            assert!(
                optional,
                "TASKYARD_TEST_POSTGRES is not set: run `./test`; TASKYARD_TEST_SERVICES_OPTIONAL=1 does without"
            );
            println!("LEFT OUT: this test needs Postgres");
            return None;
        };
        let server = Store::connect(&url, 1).await.unwrap();
        let name = format!("engine_{}_{}", std::process::id(), DATABASES.fetch_add(1, Ordering::Relaxed));
        run(&server, &format!("CREATE DATABASE {name}")).await;
        let (base, _) = url.rsplit_once('/').unwrap();
        let url = format!("{base}/{name}");
        let store = Store::connect(&url, 8).await.unwrap();
        Some(Ground { store, url, server: Some((server, name)), folder: None })
    }

    /// An engine on it, once its tables are this release's.
    pub(crate) async fn fixture(self) -> Fixture {
        let Ground { store, url, server, folder } = self;
        engine::migrate(&store).await.unwrap();
        engine::check_schema(&store).await.unwrap();
        let secrets = Arc::new(engine::secret_key(&store, None, START).await.unwrap());
        let clock = Clock::pinned(START);
        let settings = settings();
        let engine = assemble(&store, &clock, &secrets, settings.clone());
        Fixture { engine, clock, settings, store, url, secrets, server, folder }
    }
}

impl Fixture {
    pub(crate) async fn on_sqlite() -> Fixture {
        Ground::sqlite().await.fixture().await
    }

    pub(crate) async fn on_postgres() -> Option<Fixture> {
        Some(Ground::postgres().await?.fixture().await)
    }

    /// Another process on the same store, with other settings.
    pub(crate) fn replica(&self, change: impl FnOnce(&mut Settings)) -> Engine {
        let mut settings = self.settings.clone();
        change(&mut settings);
        assemble(&self.store, &self.clock, &self.secrets, settings)
    }

    /// Another process on the same file, with connections of its own.
    pub(crate) async fn reopen(&self) -> Engine {
        assemble(&self.another_store().await, &self.clock, &self.secrets, self.settings.clone())
    }

    /// The same database by connections of its own.
    pub(crate) async fn another_store(&self) -> Store {
        let url = match (&self.folder, &self.server) {
            (Some(folder), _) => format!("sqlite://{}/t.db", folder.0.display()),
            (_, Some((_, name))) => {
                let url = std::env::var("TASKYARD_TEST_POSTGRES").unwrap();
                format!("{}/{name}", url.rsplit_once('/').unwrap().0)
            }
            (None, None) => panic!("a database in memory has one connection"),
        };
        Store::connect(&url, 2).await.unwrap()
    }

    /// Another process that does what it is asked and nothing on its own, with connections of its own.
    pub(crate) async fn quiet(&self) -> Engine {
        let store = Store::connect(&self.url, 2).await.unwrap();
        engine_of(&store, &self.clock, &self.secrets, self.settings.clone())
    }

    pub(crate) async fn end(self) {
        self.store.close().await;
        if let Some((server, name)) = self.server {
            run(&server, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
            server.close().await;
        }
    }

    /// Do something to the store that no operation does.
    pub(crate) async fn run(&self, sql: &str) {
        run(&self.store, sql).await;
    }

    /// So many tasks more like this one, each due a millisecond earlier than the one before.
    pub(crate) async fn flood(&self, task: &str, tasks: usize) {
        let id: uuid::Uuid = task.parse().unwrap();
        let (like, fresh) = match self.server {
            Some(_) => (format!("'{id}'"), "gen_random_uuid()"),
            None => (format!("X'{}'", id.simple()), "randomblob(16)"),
        };
        self.run(&format!(
            "INSERT INTO work (task_id, tenant, agent, due_at, epoch, deliveries, seen_seq, revision, priority) \
             WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {tasks}) \
             SELECT {fresh}, tenant, agent, due_at - n, epoch, deliveries, seen_seq, revision, priority \
             FROM work, n WHERE task_id = {like}"
        ))
        .await;
        self.run(&format!(
            "INSERT INTO task SELECT w.task_id, t.tenant, t.agent, t.context_id, t.state, t.status_message, t.status_kept, \
             t.status_at, t.metadata, t.generation, t.history_count, t.history_bytes, t.client_seq, t.answered_seq, \
             t.artifact_count, t.artifact_bytes, t.config_count, t.cancelable, t.output_modes, t.created_at \
             FROM work w, task t WHERE t.id = {like} AND w.task_id NOT IN (SELECT id FROM task)"
        ))
        .await;
        self.run(&format!(
            "INSERT INTO task_message SELECT w.task_id, m.seq, m.client, m.body FROM work w, task_message m \
             WHERE m.task_id = {like} AND w.task_id NOT IN (SELECT task_id FROM task_message)"
        ))
        .await;
    }

    /// How many rows a table holds.
    pub(crate) async fn count(&self, table: &str) -> i64 {
        let db = self.store.read();
        let sql = format!("SELECT count(*) AS n FROM {table}");
        let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap().unwrap();
        row.try_get("", "n").unwrap()
    }
}

async fn run(store: &Store, sql: &str) {
    let db = store.read();
    db.execute_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
}

fn engine_of(store: &Store, clock: &Clock, secrets: &Arc<SecretKey>, settings: Settings) -> Engine {
    Engine::new(engine::Parts {
        store: store.clone(),
        bus: Bus::in_process(),
        clock: clock.clone(),
        ids: Ids::Version7,
        secrets: secrets.clone(),
        settings,
    })
}

fn assemble(store: &Store, clock: &Clock, secrets: &Arc<SecretKey>, settings: Settings) -> Engine {
    let engine = engine_of(store, clock, secrets, settings);
    let claimer = engine.clone();
    tokio::spawn(async move { claimer.run(std::future::pending()).await });
    engine
}

pub(crate) fn caller(engine: &Engine, tenant: &str) -> Caller {
    engine.caller(Tenant::parse(tenant).unwrap(), None).unwrap()
}

pub(crate) fn request(body: Value) -> SendMessageRequest {
    serde_json::from_value(body).unwrap()
}

/// A message with this text, answered at once.
pub(crate) fn say(text: &str) -> SendMessageRequest {
    request(json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]},
        "configuration": {"returnImmediately": true}}))
}

/// A message more for this task, answered at once.
pub(crate) fn say_to(task: &str, text: &str) -> SendMessageRequest {
    let mut request = say(text);
    request.message.as_mut().unwrap().task_id = task.to_owned();
    request
}

pub(crate) fn task_of(response: SendMessageResponse) -> Task {
    match response {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(_) => panic!("a task was to be answered"),
    }
}

pub(crate) async fn send(engine: &Engine, tenant: &str, request: SendMessageRequest) -> Result<Task, Error> {
    engine.send_message(&caller(engine, tenant), None, request).await.map(task_of)
}

/// Lease what is ready now, up to `max`.
pub(crate) async fn poll(engine: &Engine, max: i32, start: bool) -> Vec<Lease> {
    poll_for(engine, max, start, 5.0).await
}

pub(crate) async fn poll_for(engine: &Engine, max: i32, start: bool, seconds: f64) -> Vec<Lease> {
    let request = PollRequest {
        agents: vec!["demo".into()],
        max: Some(max),
        start,
        wait_seconds: Some(seconds),
        ..PollRequest::default()
    };
    engine.poll(&Worker::default(), request).await.unwrap().leases
}

pub(crate) fn claim_of(lease: &Lease) -> LeaseClaim {
    let name: LeaseName = lease.lease.parse().unwrap();
    LeaseClaim { id: name.lease, epoch: lease.epoch }
}

pub(crate) async fn apply_as(
    engine: &Engine,
    task: &str,
    lease: Option<LeaseClaim>,
    updates: Value,
) -> Result<Applied, Error> {
    let request: ApplyRequest = serde_json::from_value(json!({ "updates": updates })).unwrap();
    engine.apply(&Worker::default(), task, lease, None, request).await
}

/// Updates by the holder of `lease`.
pub(crate) async fn apply(engine: &Engine, lease: &Lease, updates: Value) -> Result<Applied, Error> {
    apply_as(engine, &lease.task.id, Some(claim_of(lease)), updates).await
}

pub(crate) async fn get(engine: &Engine, tenant: &str, id: &str) -> Result<Task, Error> {
    let request = serde_json::from_value(json!({ "id": id })).unwrap();
    engine.get_task(&caller(engine, tenant), request).await
}

pub(crate) async fn cancel(engine: &Engine, tenant: &str, id: &str) -> Result<Task, Error> {
    let request = serde_json::from_value(json!({ "id": id })).unwrap();
    engine.cancel_task(&caller(engine, tenant), request).await
}

pub(crate) async fn list(engine: &Engine, tenant: &str, query: Value) -> Result<ListedTasks, Error> {
    engine.list_tasks(&caller(engine, tenant), serde_json::from_value(query).unwrap()).await
}

/// The text of a message.
pub(crate) fn text(message: &wire::Message) -> String {
    let parts = message.parts.iter().filter_map(|part| match &part.content {
        Some(wire::Content::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    parts.collect()
}
