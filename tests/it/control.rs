//! What a worker hears without asking, on whichever replica it listens; and that it hears the same when hints do not travel.

use std::time::{Duration, Instant};

use e2e::{Held, Lease, Platform, Setup, Worker, text};
use serde_json::{Value, json};

on_both!(a_worker_hears_at_once_what_happened, a_drained_worker_gets_nothing_more);

async fn session(worker: &Worker) -> String {
    let opened = worker.post("/sessions", None, &json!({"worker": "by hand", "agents": ["raw"]})).await;
    opened.expect("a session")["session"].as_str().unwrap_or_default().to_owned()
}

async fn poll(worker: &Worker, session: &str) -> Value {
    let body = json!({"session": session, "agents": ["raw"], "start": true, "waitSeconds": 20});
    worker.post("/leases:poll", None, &body).await.expect("a poll")
}

async fn lease(worker: &Worker, session: &str) -> Lease {
    Lease { body: poll(worker, session).await["leases"][0].take() }
}

async fn beat(worker: &Worker, session: &str, held: &Held) -> Value {
    let body = json!({"session": session, "leases": [{"lease": held.lease, "epoch": held.epoch}]});
    worker.post("/leases:heartbeat", None, &body).await.expect("a heartbeat")["leases"][0].take()
}

/// Listens at the last replica for what is done at the first.
async fn a_worker_hears_at_once_what_happened(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 5")).await;
    let (client, near, far) = (platform.client().of("", "raw").at(0), platform.worker().at(0), platform.worker().at(1));
    let session = session(&far).await;
    let mut control = far.control(&session).await;
    client.start(text("long work")).await;
    let held = lease(&far, &session).await;
    let mut more = text("and another thing");
    more["message"]["taskId"] = held.task().clone();
    client.start(more).await;
    let said = control.next().await.expect("a message");
    assert_eq!((&said["kind"], &said["taskId"]), (&json!("message"), held.task()));
    let heard = beat(&far, &session, &held.held()).await;
    assert_eq!(heard["messages"].as_array().map(Vec::len), Some(1), "{heard}");
    client.ask("CancelTask", json!({"id": held.task()})).await;
    let canceled = Instant::now();
    let said = control.next().await.expect("a cancel");
    let after = canceled.elapsed();
    assert_eq!((&said["kind"], &said["lease"]), (&json!("cancel"), &held.body["lease"]));
    assert_eq!(said["state"], "TASK_STATE_CANCELED");
    eprintln!("a cancel was on the control stream {after:?} after its answer");
    assert!(after < Duration::from_secs(5) / 3, "sooner than a heartbeat would: {after:?}");
    // Another takes over what it let expire.
    client.start(text("once more")).await;
    let held = lease(&far, &session).await;
    let taken = near.lease("raw").await;
    assert_eq!((taken.task(), taken.attempt()), (held.task(), 2));
    let said = control.next().await.expect("a lost lease");
    assert_eq!((&said["kind"], &said["lease"]), (&json!("lost"), &held.body["lease"]));
}

async fn a_drained_worker_gets_nothing_more(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 3600")).await;
    let (client, near, far) = (platform.client().of("", "raw"), platform.worker().at(0), platform.worker().at(1));
    let session = session(&near).await;
    client.start(text("one")).await;
    let held = lease(&far, &session).await;
    let mut control = far.control(&session).await;
    let waiting = tokio::spawn({
        let (far, session) = (far.clone(), session.clone());
        async move { poll(&far, &session).await }
    });
    let drained = near.post(&format!("/sessions/{session}:drain"), None, &json!({"release": true})).await;
    assert_eq!(drained.expect("a drain")["released"], 1);
    assert_eq!(control.next().await.expect("a drain")["kind"], "drain");
    assert_eq!(control.next().await.expect("a lost lease")["lease"], held.body["lease"]);
    assert_eq!(waiting.await.expect("the open poll")["drain"], true);
    let again = near.lease("raw").await;
    assert_eq!((again.task(), again.attempt()), (held.task(), 1));
    client.start(text("two")).await;
    assert_eq!(poll(&far, &session).await, json!({"leases": [], "drain": true}));
    assert_eq!(near.lease("raw").await.attempt(), 1);
}

/// Hints do not travel: heartbeats tell of the cancel, and the other replica reads within seconds who drains.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_it_is_told_all_the_same() {
    let Some(setup) = Setup::replicas(2, 0, 0) else { return };
    let platform = Platform::start(setup.agent("raw", "").without_redis()).await;
    let (client, near, far) = (platform.client().of("", "raw").at(0), platform.worker().at(0), platform.worker().at(1));
    let session = session(&far).await;
    let mut control = far.control(&session).await;
    client.start(text("long work")).await;
    let held = lease(&far, &session).await;
    client.ask("CancelTask", json!({"id": held.task()})).await;
    let heard = beat(&far, &session, &held.held()).await;
    assert_eq!((&heard["held"], &heard["cancel"]), (&json!(false), &json!(true)), "{heard}");
    near.post(&format!("/sessions/{session}:drain"), None, &json!({})).await.expect("a drain");
    assert_eq!(control.next().await.expect("a drain")["kind"], "drain");
    assert_eq!(poll(&far, &session).await["drain"], true);
}

/// A rolling restart of the api stops no worker: the stream ends, the other replica goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_stops_sends_nobody_home() {
    let Some(setup) = Setup::replicas(2, 0, 0) else { return };
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 3600")).await;
    let (client, near, far) = (platform.client().of("", "raw").at(1), platform.worker().at(0), platform.worker().at(1));
    let session = session(&near).await;
    let mut control = near.control(&session).await;
    client.start(text("long work")).await;
    let held = lease(&near, &session).await;
    platform.terminate("api-0");
    assert_eq!(control.next().await, None, "the stream says that it is to be opened again, and ends");
    assert!(platform.end_of("api-0").await.success());
    let heard = beat(&far, &session, &held.held()).await;
    assert_eq!((&heard["held"], &heard["drain"]), (&json!(true), &json!(false)), "{heard}");
    client.start(text("more")).await;
    assert_eq!(lease(&far, &session).await.attempt(), 1);
}
