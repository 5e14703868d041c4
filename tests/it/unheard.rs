//! Networks that fail between workers and the platform: answers that never arrive, connections that are dead and open.

use std::time::{Duration, Instant};

use e2e::{Loss, Platform, Proxy, Setup, Worker, eventually, text};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

on_both!(
    a_poll_whose_answer_nobody_reads_loses_nothing,
    an_answer_that_is_lost_on_the_way_loses_nothing,
    a_dead_connection_keeps_nobody_else_from_working,
);

/// The lease, the sweep's two seconds, and what a loaded machine takes longer.
const LEASE: Duration = Duration::from_secs(5);
const REDELIVERED: Duration = Duration::from_secs(5 + 2 + 4);
const AGENT: &str = "lease_seconds = 5";

/// A client that goes away between the claim made for it and its answer.
async fn a_poll_whose_answer_nobody_reads_loses_nothing(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", AGENT)).await;
    let (client, worker, database) = (platform.client().of("", "raw"), platform.worker(), platform.database().await);
    let body = json!({"agents": ["raw"], "max": 1, "waitSeconds": 20, "start": true}).to_string();
    let mut socket = TcpStream::connect(("127.0.0.1", platform.port(0))).await.expect("a connection");
    let head = format!(
        "POST /worker/v1/leases:poll HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(format!("{head}{body}").as_bytes()).await.expect("sending a poll");
    let task = client.start(text("work")).await;
    eventually("the claim", async || {
        (database.number("SELECT count(*) FROM work WHERE lease_id IS NOT NULL").await == 1).then_some(())
    })
    .await;
    let claimed = Instant::now();
    drop(socket);
    let lease = worker.lease("raw").await;
    assert!(claimed.elapsed() < REDELIVERED, "{:?}", claimed.elapsed());
    // Second, or first again where the platform saw its client go in time to take the lease back.
    assert_eq!(lease.task(), &task["id"]);
    assert!((1..=2).contains(&lease.attempt()) && lease.epoch() >= 2, "{lease:?}");
    worker.apply(lease.task(), Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
}

async fn an_answer_that_is_lost_on_the_way_loses_nothing(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", AGENT)).await;
    let proxy = Proxy::start(vec![platform.url().to_owned()], Loss::default()).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("work")).await;
    proxy.lose_next("/leases:poll");
    let poll = json!({"agents": ["raw"], "max": 1, "waitSeconds": 5, "start": true});
    let unheard = Worker::new(vec![proxy.url().to_owned()]);
    let unanswered = unheard.try_post("/leases:poll", None, &poll).await;
    assert!(unanswered.is_none(), "{unanswered:?}");
    let lost = Instant::now();
    assert_eq!(proxy.witness().claims().len(), 1);
    let lease = worker.lease("raw").await;
    assert_eq!((lease.task(), lease.attempt(), lease.epoch()), (&task["id"], 2, 2));
    assert!(lost.elapsed() < REDELIVERED, "{:?}", lost.elapsed());

    // The same of a write: it has happened, and the task knows it once.
    let end = json!({"updates": [{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}, {"complete": {}}]});
    let path = format!("/tasks/{}:apply", task["id"].as_str().unwrap_or_default());
    proxy.lose_next(":apply");
    assert!(unheard.try_post(&path, Some(&lease.held()), &end).await.is_none());
    let again = unheard.post(&path, Some(&lease.held()), &end).await.expect_err("the lease has ended with the task");
    assert_eq!((again.reason.as_str(), &again.metadata["state"]), ("LEASE_LOST", &json!("TASK_STATE_COMPLETED")));
    assert_eq!(client.task(&task["id"]).await["artifacts"][0]["parts"], json!([{"text": "x"}]));
}

/// Packets are dropped and nothing is closed: what goes to polls behind it comes again, all else is as always.
async fn a_dead_connection_keeps_nobody_else_from_working(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", AGENT)).await;
    let proxy = Proxy::start(vec![platform.url().to_owned()], Loss::default()).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let behind = Worker::new(vec![proxy.url().to_owned()]);
    let polls: Vec<_> = (0..3)
        .map(|_| {
            let behind = behind.clone();
            tokio::spawn(async move { behind.poll("raw", 2, 30.0, true).await })
        })
        .collect();
    eventually("polls behind the proxy", async || (proxy.calls() == 3).then_some(())).await;
    // They are with the platform once one of them has been served.
    let first = client.start(text("first")).await;
    eventually("a served poll", async || (proxy.witness().claims().len() == 1).then_some(())).await;
    proxy.die(true);
    let mut left: Vec<_> = Vec::new();
    for _ in 0..12 {
        left.push(client.start(text("work")).await["id"].take());
    }
    let dead = Instant::now();
    left.push(first["id"].clone());
    while !left.is_empty() {
        for lease in worker.poll("raw", 2, 5.0, true).await {
            left.retain(|task| task != lease.task());
            worker.apply(lease.task(), Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
        }
        assert!(dead.elapsed() < LEASE + REDELIVERED, "{} tasks do not come: {left:?}", left.len());
    }
    polls.into_iter().for_each(|poll| poll.abort());
    for lease in platform.worker().all_tasks().await {
        assert_eq!(lease["state"], "TASK_STATE_COMPLETED");
    }
}
