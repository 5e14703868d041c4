//! ListTasks over many tasks: `./test list`. A deep page has to cost what the first one costs, and an index has to be why.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Parser;
use e2e::{Client, Database, Platform, Setup};
use engine::store::task::{TaskFilter, count, list};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, Statement};
use serde_json::{Value, json};
use uuid::Uuid;
use wire::Tenant;

/// Tasks a page.
const PAGE: usize = 50;
/// Statements are explained a few times; the fastest is shown, the others met a cold cache.
const TRIES: usize = 5;

/// Pages 1 and 1,000 of ListTasks: the same cost, by an index.
#[derive(Debug, Parser)]
#[command(name = "./test list")]
struct Options {
    /// Tasks of the tenant.
    #[arg(long, default_value_t = 100_000)]
    tasks: usize,
    /// The deep page.
    #[arg(long, default_value_t = 1_000)]
    page: usize,
    /// Requests for each of the two pages.
    #[arg(long, default_value_t = 200)]
    requests: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let Some(setup) = Setup::replicas(1, 0, 0) else { return ExitCode::FAILURE };
    let platform = Platform::start(setup).await;
    let database = platform.database().await;
    let begin = Instant::now();
    seed(&database, options.tasks).await;
    println!("{} tasks and their messages seeded in {:.1} s", options.tasks, begin.elapsed().as_secs_f64());

    let client = platform.client();
    let begin = Instant::now();
    let walked = walk(&client, options.page).await;
    println!("{} pages of {PAGE} walked in {:.1} s", walked.pages, begin.elapsed().as_secs_f64());
    let mut fine = walked.ids == options.tasks && walked.unique == options.tasks;
    println!("they held {} tasks, {} of them different", walked.ids, walked.unique);

    println!("\nthrough the API, {} requests each                  median        p99", options.requests);
    for (name, params) in [("page 1", json!({"pageSize": PAGE})), ("the deep page", walked.deep.clone())] {
        let times = times(&client, &params, options.requests).await;
        println!(
            "  {name:<44}{:>8.2} ms {:>8.2} ms",
            millis(times[times.len() / 2]),
            millis(times[times.len() * 99 / 100])
        );
    }

    let recorder = Recorder { db: database.connection(), seen: Mutex::default() };
    let filter = TaskFilter { agent: Some("demo".into()), ..TaskFilter::default() };
    let failed = "a statement of the store failed";
    list(&recorder, &Tenant::none(), &filter, None, PAGE as u64 + 1).await.expect(failed);
    list(&recorder, &Tenant::none(), &filter, Some(walked.before), PAGE as u64 + 1).await.expect(failed);
    count(&recorder, &Tenant::none(), &filter).await.expect(failed);
    let statements = recorder.seen.into_inner().unwrap_or_default();
    let mut costs = Vec::new();
    for (name, statement) in ["page 1", "the deep page", "totalSize"].into_iter().zip(statements) {
        let plan = explain(&database, &statement).await;
        println!("\n{name}: {:.3} ms in Postgres", plan.milliseconds);
        plan.lines.iter().for_each(|line| println!("  {line}"));
        let walks_index = plan.lines.iter().any(|line| line.contains("Index"))
            && !plan.lines.iter().any(|line| line.contains("Seq Scan"));
        if name != "totalSize" && !walks_index {
            println!("  THIS WALKS NO INDEX");
            fine = false;
        }
        costs.push(plan);
    }
    if costs[1].buffers > costs[0].buffers * 2 + 10 {
        println!("\nTHE DEEP PAGE READS MORE: {} blocks, and page 1 reads {}", costs[1].buffers, costs[0].buffers);
        fine = false;
    }
    println!("\n{}", if fine { "page 1 and the deep page cost the same, by an index" } else { "NOT AS PROMISED" });
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tasks as sends make them, straight into the tables; three share each millisecond.
async fn seed(database: &Database, tasks: usize) {
    database
        .execute(&format!(
            "INSERT INTO task (id, tenant, agent, context_id, state, status_message, status_kept, status_at, metadata, generation, \
             history_count, history_bytes, client_seq, answered_seq, artifact_count, artifact_bytes, config_count, cancelable, output_modes, created_at) \
             SELECT gen_random_uuid(), CASE WHEN n <= {tasks} THEN '' ELSE 'other' END, 'demo', 'context-' || n % 1000, \
             (ARRAY[1, 2, 3, 3, 3, 3, 4, 5])[1 + n % 8], NULL, true, 1700000000000 + n / 3, NULL, 4, 1, 200, 1, 1, 0, 0, 0, true, NULL, \
             1700000000000 + n / 3 FROM generate_series(1, {tasks} + {tasks} / 10) AS n"
        ))
        .await;
    database
        .execute(
            "INSERT INTO task_message (task_id, seq, client, body) SELECT id, 1, true, \
             json_build_object('messageId', id, 'taskId', id, 'contextId', context_id, 'role', 'ROLE_USER', \
             'parts', json_build_array(json_build_object('text', 'hello')))::text FROM task",
        )
        .await;
    database.execute("VACUUM ANALYZE task").await;
    database.execute("VACUUM ANALYZE task_message").await;
}

struct Walked {
    pages: usize,
    ids: usize,
    unique: usize,
    /// The request for the deep page.
    deep: Value,
    /// Where the page before it ended.
    before: (i64, Uuid),
}

/// Every page there is.
async fn walk(client: &Client, deep: usize) -> Walked {
    let mut params = json!({"pageSize": PAGE});
    let mut seen: HashSet<String> = HashSet::new();
    let mut walked = Walked { pages: 0, ids: 0, unique: 0, deep: Value::Null, before: (0, Uuid::nil()) };
    loop {
        let page = client.ask("ListTasks", params.clone()).await;
        walked.pages += 1;
        let tasks = page["tasks"].as_array().expect("a page has tasks");
        walked.ids += tasks.len();
        seen.extend(tasks.iter().filter_map(|task| task["id"].as_str().map(str::to_owned)));
        params["pageToken"] = page["nextPageToken"].clone();
        if walked.pages + 1 == deep {
            let last = tasks.last().expect("a full page");
            let at: wire::Timestamp = serde_json::from_value(last["status"]["timestamp"].clone()).expect("a timestamp");
            let id = last["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
            walked.before = (at.unix_millis(), id);
            walked.deep = params.clone();
        }
        if params["pageToken"] == "" {
            walked.unique = seen.len();
            assert!(walked.deep.is_object(), "there are only {} pages", walked.pages);
            return walked;
        }
    }
}

async fn times(client: &Client, params: &Value, requests: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..requests {
        let begin = Instant::now();
        client.ask("ListTasks", params.clone()).await;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    times
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

struct Plan {
    lines: Vec<String>,
    milliseconds: f64,
    buffers: u64,
}

async fn explain(database: &Database, statement: &Statement) -> Plan {
    let mut best: Option<Plan> = None;
    for _ in 0..TRIES {
        let mut explained = statement.clone();
        explained.sql = format!("EXPLAIN (ANALYZE, BUFFERS, SUMMARY) {}", statement.sql);
        let rows = database.connection().query_all_raw(explained).await.expect("explaining a statement");
        let lines: Vec<String> = rows.iter().map(|row| row.try_get_by_index(0).expect("a line of a plan")).collect();
        let time = lines.iter().find_map(|line| line.trim().strip_prefix("Execution Time: ")?.strip_suffix(" ms"));
        let milliseconds = time.and_then(|time| time.parse().ok()).expect("a plan says its time");
        let shared = lines.iter().find(|line| line.contains("Buffers: shared"));
        let numbers = shared
            .map(|line| line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok()).sum());
        let plan = Plan { lines, milliseconds, buffers: numbers.unwrap_or_default() };
        if best.as_ref().is_none_or(|best| plan.milliseconds < best.milliseconds) {
            best = Some(plan);
        }
    }
    best.expect("at least one try")
}

/// Keeps the statements that the store's own code makes, so that what is explained is what is run.
struct Recorder<'a> {
    db: &'a DatabaseConnection,
    seen: Mutex<Vec<Statement>>,
}

impl Recorder<'_> {
    fn keep(&self, statement: &Statement) {
        self.seen.lock().expect("nobody panics with it").push(statement.clone());
    }
}

#[async_trait::async_trait]
impl ConnectionTrait for Recorder<'_> {
    fn get_database_backend(&self) -> DbBackend {
        self.db.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.db.execute_raw(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.db.execute_unprepared(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.keep(&statement);
        self.db.query_one_raw(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.keep(&statement);
        self.db.query_all_raw(statement).await
    }
}
