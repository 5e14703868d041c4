//! Processes that are asked to stop put things in order first, and what was kept is there at the next start.

use e2e::{Failure, Platform, Receiver, Setup, eventually, hook, said, text};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_stops_puts_off_blocked_sends() {
    let Some(setup) = Setup::replicas(2, 0, 0) else { return };
    let platform = Platform::start(setup.agent("raw", "")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let blocked = tokio::spawn({
        let client = client.at(0);
        async move { client.call("SendMessage", &text("work"), Some("k")).await }
    });
    let made = eventually("the task", async || worker.all_tasks().await.pop()).await;
    platform.terminate("api-0");
    match blocked.await.expect("the send's end") {
        Err(Failure::Refused(refusal)) => {
            assert_eq!((refusal.http, refusal.reason.as_str()), (503, "UNAVAILABLE"));
            let after = refusal.retry_after.as_deref().and_then(|seconds| seconds.parse::<u64>().ok());
            assert!(after.is_some_and(|seconds| seconds <= 60), "{refusal:?}");
        }
        other => panic!("a blocked send came to {other:?}"),
    }
    assert!(platform.end_of("api-0").await.success());
    let mut params = text("work");
    params["configuration"]["returnImmediately"] = json!(true);
    let again = client.at(1).call("SendMessage", &params, Some("k")).await.expect("an answer of the other replica");
    assert_eq!(again["task"]["id"], made["id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_stops_gives_its_tasks_back() {
    let Some(setup) = Setup::replicas(1, 1, 0) else { return };
    // A lease of an hour: what comes to another worker was given back and did not expire.
    let platform = Platform::start(setup.agent("demo", "default = true\nlease_seconds = 3600")).await;
    let (client, worker) = (platform.client(), platform.worker());
    let task = client.start(text("wait 3000")).await;
    client.task_in(&task["id"], "TASK_STATE_WORKING").await;
    platform.terminate("worker-0");
    assert!(platform.end_of("worker-0").await.success());
    assert_eq!(platform.database().await.number("SELECT count(*) FROM work WHERE lease_id IS NOT NULL").await, 0);
    let lease = worker.lease("demo").await;
    assert_eq!((lease.task(), lease.attempt()), (&task["id"], 1));
}

/// Polls are answered and what they are answered with is theirs; no lease is made for a poll that ends with its replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_stops_takes_no_lease_along() {
    let Some(setup) = Setup::replicas(2, 0, 0) else { return };
    // A lease of an hour: what expires does not count.
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 3600")).await;
    let (client, worker) = (platform.client().of("", "raw").at(1), platform.worker());
    let polls: Vec<_> = (0..8)
        .map(|_| {
            let worker = worker.at(0);
            tokio::spawn(async move { worker.poll("raw", 2, 30.0, true).await })
        })
        .collect();
    // They are there once one of them is served.
    let mut tasks = vec![client.start(text("first")).await["id"].take()];
    let database = platform.database().await;
    let leased = "SELECT count(*) FROM work WHERE lease_id IS NOT NULL";
    eventually("a served poll", async || (database.number(leased).await == 1).then_some(())).await;
    platform.terminate("api-0");
    for _ in 0..20 {
        tasks.push(client.start(text("work")).await["id"].take());
    }
    let mut got = Vec::new();
    for poll in polls {
        got.extend(poll.await.expect("an answer to a poll of a replica that stops"));
    }
    assert!(platform.end_of("api-0").await.success());
    assert_eq!(database.number(leased).await, got.len() as i64, "leases that nobody was told of");
    while got.len() < tasks.len() {
        got.extend(worker.at(1).poll("raw", 10, 10.0, true).await);
    }
    tasks.sort_by_key(ToString::to_string);
    got.sort_by_key(|lease| lease.task().to_string());
    assert!(got.iter().map(e2e::Lease::task).eq(&tasks), "{got:?}");
    assert!(got.iter().all(|lease| lease.attempt() == 1), "{got:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notifier_that_dies_leaves_its_line_to_another() {
    let Some(setup) = Setup::replicas(1, 1, 1) else { return };
    let platform = Platform::start(setup).await;
    let receiver = Receiver::start().await;
    receiver.fail("line", [500]);
    let mut params = text("stream 3");
    params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url("line"));
    platform.client().start(params).await;
    eventually("a first try", async || receiver.hits("line").pop()).await;
    platform.kill("notifier-0");
    platform.restart("notifier-0");
    let hits = receiver.until_the_end("line").await;
    let mut numbers: Vec<i64> = hits.iter().map(|hit| hit.sequence).collect();
    numbers.dedup();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_keeps_its_data_over_restarts() {
    let platform = Platform::start(Setup::embedded().agent("raw", "")).await;
    let receiver = Receiver::start().await;
    let (client, raw) = (platform.client(), platform.client().of("acme", "raw"));
    let asked = client.send(text("ask")).await;
    let done = client.send(text("hello")).await;
    // Work and a notification that are still owed when it dies.
    let mut params = text("later");
    params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url("owed"));
    receiver.fail("owed", [500, 500]);
    let owed = raw.start(params).await;
    eventually("a first try", async || receiver.hits("owed").pop()).await;

    platform.kill("dev");
    platform.restart("dev");
    platform.healthy().await;
    assert_eq!(client.task(&done["id"]).await, done);
    assert_eq!(raw.task(&owed["id"]).await["status"], owed["status"]);
    let mut answer = text("still here");
    answer["message"]["taskId"] = asked["id"].clone();
    assert_eq!(said(&client.send(answer).await["artifacts"][0]), "still here");

    // And once more, asked politely.
    platform.terminate("dev");
    assert!(platform.end_of("dev").await.success());
    platform.restart("dev");
    platform.healthy().await;
    let lease = platform.worker().lease("raw").await;
    assert_eq!(*lease.task(), owed["id"]);
    platform.worker().apply(lease.task(), Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
    let hits = receiver.until_the_end("owed").await;
    // The secrets it needs were kept too.
    assert!(hits.iter().all(|hit| hit.headers["authorization"] == "Bearer the-credentials"));
    assert_eq!(hits.last().map(|hit| hit.generation), Some(3));
}
