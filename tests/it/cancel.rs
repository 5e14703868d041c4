//! Cancel is one transaction: the client never waits for a worker, and a late worker changes nothing.

use e2e::{Binding, Platform, Receiver, Setup, hook, text};
use serde_json::{Value, json};

on_both!(a_cancel_ends_the_task_and_its_lease, what_cannot_be_canceled_is_refused, cancel_and_complete_never_both_win);

async fn a_cancel_ends_the_task_and_its_lease(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let receiver = Receiver::start().await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let blocked = tokio::spawn({
        let client = client.clone();
        let mut params = text("long work");
        params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url("canceled"));
        async move { client.send(params).await }
    });
    let lease = worker.lease("raw").await;
    let canceled = client.ask("CancelTask", json!({"id": lease.task()})).await;
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(blocked.await.expect("the blocked send")["status"]["state"], "TASK_STATE_CANCELED");

    let status = &worker.beat(&[lease.held()]).await[0];
    assert_eq!((&status["held"], &status["cancel"]), (&json!(false), &json!(true)), "{status}");
    for (step, body) in [("complete", json!({})), ("work", json!({}))] {
        let late = worker.step(lease.task(), step, Some(&lease.held()), &body).await.expect_err("a late move");
        assert_eq!((late.http, late.reason.as_str()), (409, "LEASE_LOST"));
        assert_eq!(late.metadata["state"], "TASK_STATE_CANCELED");
    }
    let artifact = json!({"artifact": {"artifactId": "a", "parts": [{"text": "late"}]}});
    let late = worker.step(lease.task(), "update_artifact", Some(&lease.held()), &artifact).await.expect_err("late");
    assert_eq!((late.http, late.reason.as_str()), (409, "LEASE_LOST"));
    // Without a lease it is not the lease that is wrong.
    let late = worker.step(lease.task(), "complete", None, &json!({})).await.expect_err("a late move");
    assert_eq!((late.http, late.reason.as_str()), (409, "TASK_STATE_CONFLICT"));
    assert_eq!(late.metadata["state"], "TASK_STATE_CANCELED");

    let hits = receiver.until_the_end("canceled").await;
    let states: Vec<Option<&str>> = hits.iter().map(e2e::Hit::state).collect();
    assert_eq!(states, [Some("TASK_STATE_SUBMITTED"), Some("TASK_STATE_WORKING"), Some("TASK_STATE_CANCELED")]);
    let task = client.task(lease.task()).await;
    assert!(task.get("artifacts").is_none_or(|artifacts| *artifacts == json!([])), "{task}");
}

async fn what_cannot_be_canceled_is_refused(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "").agent("stubborn", "cancelable = false")).await;
    let worker = platform.worker();
    for binding in Binding::ALL {
        let client = platform.client().over(binding);
        let done = client.send(text("hello")).await;
        assert_eq!(client.refused("CancelTask", json!({"id": done["id"]})).await.reason, "TASK_NOT_CANCELABLE");
        let unknown = client.refused("CancelTask", json!({"id": uuid::Uuid::now_v7().to_string()})).await;
        assert_eq!(unknown.reason, "TASK_NOT_FOUND");

        let client = client.of("", "stubborn");
        let task = client.start(text("hello")).await;
        assert_eq!(client.refused("CancelTask", json!({"id": task["id"]})).await.reason, "TASK_NOT_CANCELABLE");
    }
    // A worker may forbid it for a stage, and permit it again.
    let client = platform.client().of("", "raw");
    let task = client.start(text("hello")).await;
    let lease = worker.lease("raw").await;
    for (cancelable, progress) in [(false, "the point of no return"), (true, "safe again")] {
        let body = json!({"cancelable": cancelable, "updates": [{"progress": {"statusMessage": {"parts": [{"text": progress}]}}}]});
        let path = format!("/tasks/{}:apply", task["id"].as_str().unwrap_or_default());
        worker.post(&path, Some(&lease.held()), &body).await.expect("progress");
        if !cancelable {
            assert_eq!(client.refused("CancelTask", json!({"id": task["id"]})).await.reason, "TASK_NOT_CANCELABLE");
        }
    }
    client.ask("CancelTask", json!({"id": task["id"]})).await;
}

/// A race in which exactly one must win, many times over.
async fn cancel_and_complete_never_both_win(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let receiver = Receiver::start().await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let mut canceled = 0;
    for n in 0..12 {
        let name = format!("race-{n}");
        let mut params = text("race");
        params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url(&name));
        client.start(params).await;
        let lease = worker.lease("raw").await;
        let (held, cancel) = (lease.held(), json!({"id": lease.task()}));
        let (completed, cancel) = tokio::join!(
            worker.apply(lease.task(), Some(&held), json!([{"complete": {}}])),
            client.call("CancelTask", &cancel, None),
        );
        assert_ne!(completed.is_ok(), cancel.is_ok(), "{completed:?} {cancel:?}");
        canceled += usize::from(cancel.is_ok());
        let state: Value = client.task(lease.task()).await["status"]["state"].take();
        assert_eq!(state, if cancel.is_ok() { "TASK_STATE_CANCELED" } else { "TASK_STATE_COMPLETED" });
        let hits = receiver.until_the_end(&name).await;
        assert_eq!(hits.iter().filter(|hit| hit.is_terminal()).count(), 1);
    }
    eprintln!("{canceled} of 12 races were won by the cancel");
}
