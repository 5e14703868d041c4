//! The `Idempotency-Key` of a worker's writes: what it makes safe, within which bounds.

use engine::{Engine, LeaseClaim, Worker};
use serde_json::{Value, json};
use wire::worker::{Applied, ApplyRequest, Lease, ReleaseRequest, Replied, ReplyRequest};
use wire::{Error, Kind, TaskState};

use crate::fixture::*;
use crate::on_every_store;

const LEASE: i64 = 30_000;
const DAY: i64 = 24 * 3_600 * 1_000;

async fn apply_keyed(
    engine: &Engine,
    task: &str,
    lease: Option<LeaseClaim>,
    key: &str,
    updates: Value,
) -> Result<Applied, Error> {
    let request: ApplyRequest = serde_json::from_value(json!({ "updates": updates })).unwrap();
    engine.apply(&Worker::default(), task, lease, Some(key.to_owned()), request).await
}

/// An update under a key by the holder of `lease`.
async fn keyed(engine: &Engine, lease: &Lease, key: &str, updates: Value) -> Result<Applied, Error> {
    apply_keyed(engine, &lease.task.id, Some(claim_of(lease)), key, updates).await
}

async fn reply_keyed(engine: &Engine, lease: &Lease, key: &str, text: &str) -> Result<Replied, Error> {
    let request: ReplyRequest = serde_json::from_value(json!({"message": {"parts": [{ "text": text }]}})).unwrap();
    engine.reply(&Worker::default(), &lease.task.id, Some(claim_of(lease)), Some(key.to_owned()), request).await
}

async fn release_keyed(engine: &Engine, lease: &Lease, key: &str, request: ReleaseRequest) -> Result<(), Error> {
    engine.release(&Worker::default(), &lease.lease, lease.epoch, Some(key.to_owned()), request).await
}

fn chunk(text: &str, append: bool) -> Value {
    json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{ "text": text }]}, "append": append}}])
}

fn assert_reused(error: &Error) {
    assert_eq!((error.kind, error.violations[0].field.as_str()), (Kind::InvalidParams, "Idempotency-Key"));
    assert_eq!(error.violations[0].reason.as_deref(), Some("IDEMPOTENCY_KEY_REUSED"));
}

async fn parts(engine: &Engine, task: &str) -> usize {
    get(engine, "", task).await.unwrap().artifacts.iter().map(|artifact| artifact.parts.len()).sum()
}

on_every_store! {
    /// A chunk sent twice under one key is there once, and both calls are answered alike.
    async fn a_chunk_is_applied_once(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        keyed(&f.engine, &lease, "1", chunk("one", false)).await.unwrap();
        let first = keyed(&f.engine, &lease, "2", chunk("two", true)).await.unwrap();
        f.clock.advance(1_000);
        let again = keyed(&f.engine, &lease, "2", chunk("two", true)).await.unwrap();
        assert_eq!(first, again);
        assert_eq!(parts(&f.engine, &lease.task.id).await, 2);
        // The task goes on as if there had been no repeat.
        keyed(&f.engine, &lease, "3", chunk("three", true)).await.unwrap();
        assert_eq!(parts(&f.engine, &lease.task.id).await, 3);
        assert_reused(&keyed(&f.engine, &lease, "2", chunk("four", true)).await.unwrap_err());
        assert_eq!((parts(&f.engine, &lease.task.id).await, f.count("update_key").await), (3, 3));
    }

    /// Who did not hear that the task is finished asks again, and hears it; with another body it hears what is wrong.
    async fn the_answer_outlives_the_lease(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let done = || json!([{"work": {}}, {"complete": {"statusMessage": {"parts": [{"text": "done"}]}}}]);
        let chunked = keyed(&f.engine, &lease, "chunk", chunk("one", false)).await.unwrap();
        let first = keyed(&f.engine, &lease, "end", done()).await.unwrap_err();
        assert_eq!(first.kind, Kind::TaskStateConflict, "what is refused uses up no key");
        let done = || json!([{"complete": {"statusMessage": {"parts": [{"text": "done"}]}}}]);
        let first = keyed(&f.engine, &lease, "end", done()).await.unwrap();
        assert_eq!((first.state, first.lease_held), (TaskState::Completed, false));
        for engine in [&f.engine, &f.replica(|_| {})] {
            assert_eq!(keyed(engine, &lease, "end", done()).await.unwrap(), first);
            assert_eq!(keyed(engine, &lease, "chunk", chunk("one", false)).await.unwrap(), chunked);
            assert_reused(&keyed(engine, &lease, "end", json!([{"fail": {}}])).await.unwrap_err());
            assert_reused(&keyed(engine, &lease, "end", chunk("late", true)).await.unwrap_err());
            let lost = keyed(engine, &lease, "another", done()).await.unwrap_err();
            assert_eq!((lost.kind, lost.metadata["state"].as_str()), (Kind::LeaseLost, "TASK_STATE_COMPLETED"));
        }
        assert_eq!(f.count("task_event").await, 4, "submitted, working, a chunk and the end");
    }

    /// A key counts within its lease: the next lease's is another, and a lost lease's stays what it was.
    async fn another_epoch_is_another_key(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let first = poll(&f.engine, 1, true).await.remove(0);
        let one = keyed(&f.engine, &first, "k", chunk("one", false)).await.unwrap();
        f.clock.advance(LEASE + 1);
        let second = poll(&f.engine, 1, true).await.remove(0);
        let two = keyed(&f.engine, &second, "k", chunk("two", true)).await.unwrap();
        assert_eq!(two.generation, one.generation + 1);
        assert_eq!(keyed(&f.engine, &first, "k", chunk("one", false)).await.unwrap(), one);
        assert_reused(&keyed(&f.engine, &first, "k", chunk("two", true)).await.unwrap_err());
        assert_eq!(keyed(&f.engine, &first, "l", chunk("two", true)).await.unwrap_err().kind, Kind::LeaseLost);
        assert_eq!(parts(&f.engine, &first.task.id).await, 2);
    }

    /// Two calls that are one, at the same time on two replicas: applied once, answered alike.
    async fn two_replicas_apply_one_call_once(f: Fixture) {
        let other = f.replica(|_| {});
        for round in 0..30 {
            send(&f.engine, "", say("x")).await.unwrap();
            let lease = poll(&f.engine, 1, true).await.remove(0);
            apply(&f.engine, &lease, chunk("first", false)).await.unwrap();
            let end = json!([chunk("last", true)[0], {"complete": {}}]);
            let body = || if round % 2 == 0 { chunk("last", true) } else { end.clone() };
            let (a, b, c) = tokio::join!(
                keyed(&f.engine, &lease, "k", body()),
                keyed(&other, &lease, "k", body()),
                keyed(&other, &lease, "k", body()),
            );
            let a = a.unwrap();
            assert_eq!((&a, &a), (&b.unwrap(), &c.unwrap()));
            assert_eq!(parts(&f.engine, &lease.task.id).await, 2);
        }
        assert_eq!(f.count("update_key").await, 30);
        assert_eq!(f.count("task_event").await, 30 * 4 + 15);
    }

    /// Without a lease, on a task nobody holds, a key counts within the task.
    async fn a_key_without_a_lease_counts_within_the_task(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let first = apply_keyed(&f.engine, &task.id, None, "k", chunk("one", false)).await.unwrap();
        assert_eq!(apply_keyed(&f.engine, &task.id, None, "k", chunk("one", false)).await.unwrap(), first);
        let appended = apply_keyed(&f.engine, &task.id, None, "l", chunk("two", true)).await.unwrap();
        assert_eq!(apply_keyed(&f.engine, &task.id, None, "l", chunk("two", true)).await.unwrap(), appended);
        assert_eq!(parts(&f.engine, &task.id).await, 2);
        assert_reused(&apply_keyed(&f.engine, &task.id, None, "k", chunk("two", true)).await.unwrap_err());
        // Also once somebody holds it.
        send(&f.engine, "", say_to(&task.id, "more")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(apply_keyed(&f.engine, &task.id, None, "k", chunk("one", false)).await.unwrap(), first);
        let refused = apply_keyed(&f.engine, &task.id, None, "m", chunk("one", false)).await.unwrap_err();
        assert_eq!(refused.kind, Kind::LeaseRequired);
        keyed(&f.engine, &lease, "k", chunk("three", true)).await.unwrap();
        assert_eq!(parts(&f.engine, &task.id).await, 3);
    }

    /// A release is one, however often it is asked for: the task keeps its next lease.
    async fn a_release_is_repeated_safely(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let first = poll(&f.engine, 1, true).await.remove(0);
        let busy = || ReleaseRequest { reason: "busy".into(), ..ReleaseRequest::default() };
        release_keyed(&f.engine, &first, "k", busy()).await.unwrap();
        release_keyed(&f.engine, &first, "k", busy()).await.unwrap();
        assert_reused(&release_keyed(&f.engine, &first, "k", ReleaseRequest::default()).await.unwrap_err());
        let second = poll(&f.engine, 1, true).await.remove(0);
        release_keyed(&f.engine, &first, "k", busy()).await.unwrap();
        assert_eq!(release_keyed(&f.engine, &first, "l", busy()).await.unwrap_err().kind, Kind::LeaseLost);
        keyed(&f.engine, &second, "k", chunk("one", false)).await.unwrap();
        assert_reused(&release_keyed(&f.engine, &second, "k", busy()).await.unwrap_err());
        let for_good = || ReleaseRequest { retryable: Some(false), ..ReleaseRequest::default() };
        release_keyed(&f.engine, &second, "end", for_good()).await.unwrap();
        release_keyed(&f.engine, &second, "end", for_good()).await.unwrap();
        assert_eq!(get(&f.engine, "", &task.id).await.unwrap().status.state, TaskState::Failed);
    }

    /// A reply on a task says the same again, as does one on a message that waits, also when message and sender are gone.
    async fn a_reply_is_repeated_safely(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, false).await.remove(0);
        let first = reply_keyed(&f.engine, &lease, "k", "hello").await.unwrap();
        assert_eq!(first.applied.as_ref().unwrap().task_id, task.id);
        assert_eq!(reply_keyed(&f.engine, &lease, "k", "hello").await.unwrap(), first);
        assert_reused(&reply_keyed(&f.engine, &lease, "k", "other").await.unwrap_err());
        // What looks alike but is another request is refused as well.
        let complete = json!([{"complete": {"statusMessage": {"parts": [{"text": "hello"}]}}}]);
        assert_reused(&keyed(&f.engine, &lease, "k", complete).await.unwrap_err());

        let direct = f.replica(|settings| {
            let agent = std::sync::Arc::make_mut(settings.agents.get_mut("demo").unwrap());
            agent.direct = Some(std::time::Duration::from_secs(60));
        });
        let sender = {
            let (engine, mut request) = (direct.clone(), say("ping"));
            request.configuration = None;
            tokio::spawn(async move { engine.send_message(&caller(&engine, ""), None, request).await })
        };
        let lease = poll(&direct, 1, false).await.remove(0);
        assert!(lease.direct);
        let (first, raced) =
            tokio::join!(reply_keyed(&direct, &lease, "k", "pong"), reply_keyed(&direct, &lease, "k", "pong"));
        let first = first.unwrap();
        assert_eq!((&first, first.direct), (&raced.unwrap(), true));
        let wire::SendMessageResponse::Message(answer) = sender.await.unwrap().unwrap() else { panic!("a task") };
        assert_eq!(text(&answer), "pong");
        while f.count("waiting_message").await > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(reply_keyed(&direct, &lease, "k", "pong").await.unwrap(), first);
        assert_reused(&reply_keyed(&direct, &lease, "k", "ping").await.unwrap_err());
        assert_eq!(reply_keyed(&direct, &lease, "l", "pong").await.unwrap_err().kind, Kind::TaskNotFound);
    }

    /// A key is no secret: another agent's worker hears nothing of it.
    async fn a_key_is_none_of_other_agents_workers(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        keyed(&f.engine, &lease, "k", chunk("one", false)).await.unwrap();
        let stranger = Worker { agents: Some(vec!["another".into()]) };
        let request: ApplyRequest = serde_json::from_value(json!({"updates": chunk("one", false)})).unwrap();
        let refused = f.engine.apply(&stranger, &lease.task.id, Some(claim_of(&lease)), Some("k".into()), request).await;
        assert_eq!(refused.unwrap_err().kind, Kind::TaskNotFound);
    }

    /// What is no key is refused before anything else is looked at, and a call without one leaves none.
    async fn keys_are_bounded(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        for bad in ["", "a\nb", &"k".repeat(257)] {
            let refused = keyed(&f.engine, &lease, bad, chunk("one", false)).await.unwrap_err();
            assert_eq!(refused.violations[0].field, "Idempotency-Key");
            let refused = reply_keyed(&f.engine, &lease, bad, "hello").await.unwrap_err();
            assert_eq!(refused.violations[0].field, "Idempotency-Key");
            let refused = release_keyed(&f.engine, &lease, bad, ReleaseRequest::default()).await.unwrap_err();
            assert_eq!(refused.violations[0].field, "Idempotency-Key");
        }
        keyed(&f.engine, &lease, &"k".repeat(256), chunk("one", false)).await.unwrap();
        apply(&f.engine, &lease, chunk("two", true)).await.unwrap();
        assert_eq!(f.count("update_key").await, 1);
    }

    /// Keys are forgotten after a day, by the sweep or when one is used anew.
    async fn keys_are_forgotten(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let first = keyed(&f.engine, &lease, "k", chunk("one", false)).await.unwrap();
        keyed(&f.engine, &lease, "l", chunk("two", true)).await.unwrap();
        f.clock.advance(DAY + 1);
        let anew = keyed(&f.engine, &lease, "k", chunk("one", false)).await.unwrap();
        assert_eq!(anew.generation, first.generation + 2);
        assert!(!f.engine.forget_old_keys().await.unwrap());
        assert_eq!(f.count("update_key").await, 1, "the one that was used anew");
        // More than one batch of them.
        f.run(
            "WITH RECURSIVE each(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM each WHERE n < 619) \
             INSERT INTO update_key (task_id, epoch, key, agent, body_hash, answer, created_at) \
             SELECT task_id, 9, CAST(n AS text), agent, '', '', n FROM update_key, each WHERE key = 'k' AND epoch < 9",
        )
        .await;
        assert!(f.engine.forget_old_keys().await.unwrap());
        assert!(!f.engine.forget_old_keys().await.unwrap());
        assert_eq!(f.count("update_key").await, 1);
    }
}
