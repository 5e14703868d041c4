//! The `Idempotency-Key` of the worker surface: every write takes one, and what is no key is refused.

use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::client::{Answer, Held, Platform, platform};

/// Every write of a worker, each with a body it takes and another.
fn writes() -> Vec<(&'static str, Value, Value)> {
    let says = |text: &str| json!({"statusMessage": {"parts": [{ "text": text }]}});
    let mut writes: Vec<_> = ["work", "require_input", "require_auth", "complete", "fail", "reject"]
        .into_iter()
        .map(|verb| (verb, says("one"), says("two")))
        .collect();
    let artifact = |text: &str| json!({"artifact": {"artifactId": "a", "parts": [{ "text": text }]}});
    writes.push(("update_artifact", artifact("one"), artifact("two")));
    let updates = |text: &str| json!({"updates": [{"artifact": artifact(text)}, {"complete": {}}]});
    writes.push(("apply", updates("one"), updates("two")));
    let reply = |text: &str| json!({"message": {"parts": [{ "text": text }]}});
    writes.push(("reply", reply("one"), reply("two")));
    writes.push(("release", json!({"reason": "one"}), json!({"reason": "two"})));
    writes
}

async fn keyed<E>(platform: &Platform<E>, held: &Held, verb: &str, body: &Value, key: &[u8]) -> Answer
where
    E: Endpoint<Output = Response>,
{
    platform.work_with(held, verb, body.clone(), &[("Idempotency-Key", key)]).await
}

#[tokio::test]
async fn every_write_is_safe_to_repeat() {
    let platform = platform().await;
    for (verb, body, other) in writes() {
        let held = platform.hold().await;
        let first = keyed(&platform, &held, verb, &body, b"k").await;
        assert_eq!(first.status, 200, "{verb}: {first:?}");
        let rows = platform.rows().await;
        let again = keyed(&platform, &held, verb, &body, b"k").await;
        assert_eq!((again.status, &again.body), (200, &first.body), "{verb}: {again:?}");
        let reused = keyed(&platform, &held, verb, &other, b"k").await;
        assert_eq!((reused.status, reused.fields()), (400, vec!["Idempotency-Key"]), "{verb}: {reused:?}");
        let reason = &reused.body["error"]["details"][1]["fieldViolations"][0]["reason"];
        assert_eq!(reason, "IDEMPOTENCY_KEY_REUSED", "{verb}");
        assert_eq!(platform.rows().await, rows, "{verb}");
        // Held no longer, so that the next task is the next poll's.
        platform.work(&held, "complete", json!({})).await;
        let id = &held.task;
        platform.post(&format!("/worker/v1/tasks/{id}:complete"), json!({})).await;
    }
}

#[tokio::test]
async fn what_is_no_key_is_refused_and_stores_nothing() {
    let platform = platform().await;
    let held = platform.hold().await;
    let before = platform.rows().await;
    for (verb, body, _) in writes() {
        for bad in [b"".as_slice(), "k".repeat(257).as_bytes(), b"a\tb", "k\u{e4}".as_bytes(), b"\xff"] {
            let refused = keyed(&platform, &held, verb, &body, bad).await;
            assert_eq!((refused.status, refused.reason()), (400, "INVALID_PARAMS"), "{verb} {bad:?}: {refused:?}");
            assert_eq!(refused.fields(), ["Idempotency-Key"], "{verb} {bad:?}");
        }
        // What is wrong with the body is told, whatever the key.
        let wrong = keyed(&platform, &held, verb, &json!([]), b"k").await;
        assert_eq!(wrong.status, 400, "{verb}: {wrong:?}");
    }
    assert_eq!(platform.rows().await, before);
    assert_eq!(keyed(&platform, &held, "work", &json!({}), "k".repeat(256).as_bytes()).await.status, 200);
}
