//! The built-in agents that hand tasks on: a command, an HTTP endpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::{Platform, Setup, eventually, said, text};
use poem::http::StatusCode;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Endpoint, Request, Response, Server, endpoint};
use serde_json::Value;

on_both!(
    a_command_works_on_tasks,
    a_cancel_ends_a_command_and_what_it_started,
    an_endpoint_works_on_tasks_and_is_asked_again,
);

/// A table of an agent that runs a script.
fn script(script: &str) -> String {
    format!("lease_seconds = 3600\n[agent.run]\nexec = [\"sh\", \"-c\", {}]", Value::from(script))
}

async fn a_command_works_on_tasks(setup: Setup) {
    let lines = script(
        r#"cat > /dev/null; echo "of $TASKYARD_TENANT"; echo '{"requireInput": {"statusMessage": {"parts": [{"text": "more?"}]}}}'"#,
    );
    let setup = setup.agent("asks", &lines).agent("counts", &script("sed 's/.*\"text\":\"\\([a-z]*\\)\".*/\\1!/'"));
    let setup = setup.agent("fails", &script("echo out of paper >&2; exit 3"));
    let platform = Platform::start(setup).await;
    let asked = platform.client().of("acme", "asks").send(text("go")).await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!((said(&asked["artifacts"][0]), said(&asked["status"]["message"])), ("of acme\n", "more?"));
    let done = platform.client().of("", "counts").send(text("hello")).await;
    assert_eq!((&done["status"]["state"], said(&done["artifacts"][0])), (&"TASK_STATE_COMPLETED".into(), "hello!\n"));
    let failed = platform.client().of("", "fails").send(text("go")).await;
    assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED");
    assert_eq!(said(&failed["status"]["message"]), "The command ended with exit code 3: out of paper");
}

/// Two processes that tell their ids and stay: the command and one that it started.
const STAYS: &str = "sleep 1000 & echo $! $$; wait";

async fn a_cancel_ends_a_command_and_what_it_started(setup: Setup) {
    let platform = Platform::start(setup.agent("stays", &script(STAYS))).await;
    let client = platform.client().of("", "stays");
    let task = client.start(text("go")).await;
    let processes = processes(&client, &task["id"]).await;
    client.ask("CancelTask", serde_json::json!({"id": task["id"]})).await;
    gone(&processes).await;
    assert_eq!(client.task(&task["id"]).await["status"]["state"], "TASK_STATE_CANCELED");
}

/// The processes that the task's command told of.
async fn processes(client: &e2e::Client, task: &Value) -> Vec<String> {
    let told = eventually("the command's first words", async || {
        let task = client.task(task).await;
        Some(said(&task["artifacts"][0]).to_owned()).filter(|said| said.ends_with('\n'))
    })
    .await;
    told.split_whitespace().map(str::to_owned).collect()
}

async fn gone(processes: &[String]) {
    for process in processes {
        eventually(&format!("the end of process {process}"), async || {
            // One that has ended and was not waited for is a Z.
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
        })
        .await;
    }
}

async fn an_endpoint_works_on_tasks_and_is_asked_again(setup: Setup) {
    let tries = Arc::new(AtomicUsize::new(0));
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("a port");
    let url = format!("http://{}/work", acceptor.local_addr()[0].as_socket_addr().expect("an address"));
    let server = tokio::spawn(Server::new_with_acceptor(acceptor).run(endpoint_of(tries.clone())));
    let setup = setup.agent("far", &format!("max_deliveries = 2\n[agent.run]\nhttp = \"{url}\""));
    let platform = Platform::start(setup).await;
    let client = platform.client().of("", "far");
    let done = client.send(text("hello")).await;
    assert_eq!((&done["status"]["state"], said(&done["artifacts"][0])), (&"TASK_STATE_COMPLETED".into(), "HELLO"));
    assert_eq!(tries.load(Ordering::Relaxed), 2, "the first try met an endpoint that did not serve");
    let failed = client.send(text("unserved")).await;
    assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED");
    assert!(said(&failed["status"]["message"]).contains("2 times"), "{failed}");
    assert_eq!(tries.load(Ordering::Relaxed), 4);
    let refused = client.send(text("unwanted")).await;
    assert_eq!(said(&refused["status"]["message"]), "The agent's endpoint answered 422: not this");
    server.abort();
}

/// Serves from the second try on, `unserved` never, and `unwanted` not at all.
fn endpoint_of(tries: Arc<AtomicUsize>) -> impl Endpoint<Output = Response> + 'static {
    endpoint::make(move |mut request: Request| {
        let tries = tries.clone();
        async move {
            let body = request.take_body().into_vec().await?;
            let lease: Value = serde_json::from_slice(&body).map_err(poem::error::BadRequest)?;
            let words = said(&lease["messages"][0]).to_owned();
            let answer = |status: StatusCode, body: String| {
                Response::builder().status(status).content_type("text/plain").body(body)
            };
            Ok::<_, poem::Error>(match (tries.fetch_add(1, Ordering::Relaxed), words.as_str()) {
                (_, "unwanted") => answer(StatusCode::UNPROCESSABLE_ENTITY, "not this".into()),
                (0, _) | (_, "unserved") => answer(StatusCode::SERVICE_UNAVAILABLE, String::new()),
                _ => answer(StatusCode::OK, words.to_uppercase()),
            })
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_stops_leaves_no_lease_and_no_process() {
    let Some(setup) = Setup::replicas(2, 1, 0) else { return };
    // A lease of an hour: what comes to another worker was given back and did not expire.
    let platform = Platform::start(setup.agent("stays", &script(STAYS))).await;
    let client = platform.client().of("", "stays");
    let mut processes_of = Vec::new();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let task = client.start(text("go")).await;
        processes_of.extend(processes(&client, &task["id"]).await);
        tasks.push(task["id"].clone());
    }
    platform.terminate("worker-0");
    assert!(platform.end_of("worker-0").await.success());
    gone(&processes_of).await;
    // Tasks that came while nobody was there are the other worker's as well.
    tasks.push(client.start(text("go")).await["id"].clone());
    let worker = platform.worker();
    let mut leased = Vec::new();
    while leased.len() < tasks.len() {
        let lease = worker.lease("stays").await;
        assert_eq!(lease.attempt(), 1);
        leased.push(lease.task().clone());
    }
    leased.sort_by_key(Value::to_string);
    tasks.sort_by_key(Value::to_string);
    assert_eq!(leased, tasks);
}
