//! Leases: who holds a task, and that nobody else writes to it.

use std::time::{Duration, Instant};

use e2e::{Held, Platform, Refusal, Setup, eventually, said, text};
use serde_json::{Value, json};

on_both!(
    an_expired_lease_is_handed_on_and_its_epoch_is_fenced,
    a_task_that_kills_its_workers_is_failed,
    a_held_task_wants_its_lease,
    a_task_nobody_holds_moves_without_a_lease,
    a_lease_that_is_given_back_goes_to_another,
    a_heartbeat_keeps_a_lease,
    what_a_task_does_not_permit_is_refused_whole,
);

fn is(refusal: &Refusal, http: u16, reason: &str) -> bool {
    refusal.http == http && refusal.reason == reason
}

async fn an_expired_lease_is_handed_on_and_its_epoch_is_fenced(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 5")).await;
    let (client, dead, alive) = (platform.client().of("", "raw"), platform.worker(), platform.worker());
    let task = client.start(text("work")).await;
    let first = dead.lease("raw").await;
    assert_eq!((first.attempt(), first.task()), (1, &task["id"]));
    let artifact = |words: &str| json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": words}]}}}]);
    dead.apply(&task["id"], Some(&first.held()), artifact("half")).await.expect("a first artifact");

    // It says no more. The task is ready again when its lease is over, where it was.
    let second = alive.lease("raw").await;
    assert_eq!((second.attempt(), second.task()), (2, &task["id"]));
    assert!(second.epoch() > first.epoch(), "{first:?} {second:?}");
    assert_eq!(second.body["task"]["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(said(&second.body["task"]["artifacts"][0]), "half");
    assert_eq!(said(&second.body["messages"][0]), "work");

    // The dead one was only slow. Whatever it writes is refused, with either of what it may know.
    let forged = Held { epoch: second.epoch(), ..first.held() };
    for held in [first.held(), forged, Held { epoch: first.epoch(), ..second.held() }] {
        for updates in [artifact("late"), json!([{"complete": {}}])] {
            let refusal = dead.apply(&task["id"], Some(&held), updates).await.expect_err("a late write");
            assert!(is(&refusal, 409, "LEASE_LOST"), "{refusal:?}");
            assert_eq!(refusal.metadata["state"], "TASK_STATE_WORKING");
        }
        let refusal = dead.release(&held, &json!({})).await.expect_err("a late release");
        assert!(is(&refusal, 409, "LEASE_LOST"), "{refusal:?}");
        assert_eq!(dead.beat(&[held]).await[0]["held"], false);
    }
    assert_eq!(said(&client.task(&task["id"]).await["artifacts"][0]), "half");

    let done = alive.apply(&task["id"], Some(&second.held()), json!([{"complete": {}}])).await.expect("the end");
    assert_eq!((&done["state"], &done["leaseHeld"]), (&json!("TASK_STATE_COMPLETED"), &json!(false)));
}

async fn a_task_that_kills_its_workers_is_failed(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 5\nmax_deliveries = 2")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let blocked = tokio::spawn({
        let client = client.clone();
        async move { client.send(text("poison")).await }
    });
    for attempt in [1, 2] {
        assert_eq!(worker.lease("raw").await.attempt(), attempt);
    }
    let (failed, leases) = tokio::join!(blocked, worker.poll("raw", 1, 20.0, true));
    assert!(leases.is_empty(), "{leases:?}");
    let failed = failed.expect("the blocked send");
    assert_eq!(failed["status"]["state"], "TASK_STATE_FAILED");
    assert!(said(&failed["status"]["message"]).contains("2 times"), "{failed}");
}

async fn a_held_task_wants_its_lease(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("work")).await;
    let lease = worker.lease("raw").await;
    for (step, body) in [
        ("complete", json!({})),
        ("fail", json!({})),
        ("require_input", json!({})),
        ("update_artifact", json!({"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}})),
        ("apply", json!({"updates": [{"complete": {}}]})),
    ] {
        let refusal = worker.step(&task["id"], step, None, &body).await.expect_err("no lease");
        assert!(is(&refusal, 428, "LEASE_REQUIRED"), "{step}: {refusal:?}");
        let nowhere = json!(uuid::Uuid::now_v7().to_string());
        let refusal = worker.step(&nowhere, step, Some(&lease.held()), &body).await.expect_err("no task");
        assert!(is(&refusal, 404, "TASK_NOT_FOUND"), "{step}: {refusal:?}");
    }
    // The lease is decided before the state: this move is wrong in both.
    let other = Held { epoch: lease.epoch() + 1, ..lease.held() };
    let refusal = worker.step(&task["id"], "work", Some(&other), &json!({})).await.expect_err("no such lease");
    assert!(is(&refusal, 409, "LEASE_LOST"), "{refusal:?}");
    let refusal = worker.step(&task["id"], "work", Some(&lease.held()), &json!({})).await.expect_err("working already");
    assert!(is(&refusal, 409, "TASK_STATE_CONFLICT"), "{refusal:?}");
    assert_eq!(refusal.metadata["state"], "TASK_STATE_WORKING");
    let refusal = worker.post("/leases/nonsense:release", Some(&lease.held()), &json!({})).await.expect_err("no lease");
    assert!(is(&refusal, 404, "LEASE_NOT_FOUND"), "{refusal:?}");
    worker.step(&task["id"], "complete", Some(&lease.held()), &json!({})).await.expect("the holder's move");
}

async fn a_task_nobody_holds_moves_without_a_lease(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("work")).await;
    let moved = worker.step(&task["id"], "work", None, &json!({})).await.expect("a move of a task nobody holds");
    assert_eq!((&moved["state"], &moved["leaseHeld"]), (&json!("TASK_STATE_WORKING"), &json!(false)));
    // It took the task out of the queue.
    assert!(worker.poll("raw", 1, 0.0, true).await.is_empty());
    let blocked = tokio::spawn({
        let client = client.clone();
        let mut params = text("more");
        params["message"]["taskId"] = task["id"].clone();
        async move { client.send(params).await }
    });
    // A client's message puts it back.
    let lease = worker.lease("raw").await;
    assert_eq!(lease.task(), &task["id"]);
    worker.apply(&task["id"], Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
    assert_eq!(blocked.await.expect("an answer")["status"]["state"], "TASK_STATE_COMPLETED");
}

async fn a_lease_that_is_given_back_goes_to_another(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "max_deliveries = 1")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("work")).await;
    let mut lease = worker.lease("raw").await;
    for _ in 0..3 {
        // Given back is not failed: deliveries are counted anew.
        worker.release(&lease.held(), &json!({"reason": "busy"})).await.expect("a release");
        let refusal = worker.release(&lease.held(), &json!({})).await.expect_err("a second release");
        assert!(is(&refusal, 409, "LEASE_LOST"), "{refusal:?}");
        lease = worker.lease("raw").await;
        assert_eq!((lease.attempt(), lease.task()), (1, &task["id"]));
    }
    let given = Instant::now();
    worker.release(&lease.held(), &json!({"delaySeconds": 1})).await.expect("a release for later");
    lease = worker.lease("raw").await;
    assert!(given.elapsed() >= Duration::from_millis(900), "handed out before the delay was over");
    worker.release(&lease.held(), &json!({"retryable": false, "reason": "no use"})).await.expect("a last release");
    let task = client.task(&task["id"]).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    assert!(said(&task["status"]["message"]).contains("no use"), "{task}");
}

async fn a_heartbeat_keeps_a_lease(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 5")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("work")).await;
    let lease = worker.lease("raw").await;
    // Twice the lease's time, with somebody else waiting for it to end.
    let begin = Instant::now();
    let waits = tokio::spawn({
        let worker = worker.clone();
        async move { worker.poll("raw", 1, 10.0, true).await }
    });
    while begin.elapsed() < Duration::from_secs(10) {
        let status = worker.beat(&[lease.held()]).await.remove(0);
        assert_eq!(status["held"], true, "{status}");
        assert!(status["secondsLeft"].as_f64().is_some_and(|left| left > 3.0), "{status}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(waits.await.expect("the other poll").is_empty());
    // It also brings what the client said since, once.
    let mut params = text("more");
    params["message"]["taskId"] = task["id"].clone();
    client.start(params).await;
    let status = eventually("the message", async || {
        Some(worker.beat(&[lease.held()]).await.remove(0)).filter(|status| status["messages"] != json!([]))
    })
    .await;
    assert_eq!(said(&status["messages"][0]), "more");
    assert_eq!(worker.beat(&[lease.held()]).await[0]["messages"], json!([]));
    worker.apply(&task["id"], Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
}

async fn what_a_task_does_not_permit_is_refused_whole(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "limits.artifacts = 2")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("work")).await;
    let lease = worker.lease("raw").await;
    let artifact = |id: &str, append: bool| json!({"artifact": {"artifact": {"artifactId": id, "parts": [{"text": id}]}, "append": append}});
    let before = client.task(&task["id"]).await;
    for (updates, http, reason) in [
        (json!([artifact("a", false), artifact("b", true)]), 400, "INVALID_PARAMS"),
        (json!([artifact("a", false), artifact("b", false), artifact("c", false)]), 429, "RESOURCE_EXHAUSTED"),
        (json!([artifact("a", false), {"work": {}}]), 409, "TASK_STATE_CONFLICT"),
        (json!([{"complete": {}}, artifact("a", false)]), 400, "INVALID_PARAMS"),
        (json!([]), 400, "INVALID_PARAMS"),
    ] {
        let refusal = worker.apply(&task["id"], Some(&lease.held()), updates.clone()).await.expect_err("a refusal");
        assert!(is(&refusal, http, reason), "{updates}: {refusal:?}");
        assert_eq!(client.task(&task["id"]).await, before, "{updates}");
    }
    let updates: Vec<Value> =
        vec![artifact("a", false), artifact("a", true), artifact("b", false), json!({"complete": {}})];
    worker.apply(&task["id"], Some(&lease.held()), json!(updates)).await.expect("everything at once");
    let task = client.task(&task["id"]).await;
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "a"}, {"text": "a"}]));
    assert_eq!(task["artifacts"][1]["parts"], json!([{"text": "b"}]));
}
