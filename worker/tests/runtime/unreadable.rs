//! What cannot be read of one task, and what becomes of the others.

use std::sync::Arc;

use serde_json::{Value, json};
use worker::builtin::Demo;

use crate::agents::Gated;
use crate::surface::Surface;
use crate::{Running, options};

const WORKING: &str = "TASK_STATE_WORKING";

#[tokio::test]
async fn a_lease_that_cannot_be_read_fails_alone() {
    let surface = Surface::start().await;
    let deep = (0..150).fold(json!(1), |inner, _| json!([inner]));
    // All of them are queued before the first poll, which brings them together.
    surface.queue("a", WORKING, &["hello"]);
    surface.queue_changed("b", WORKING, &["hello"], |lease| {
        lease["task"]["history"][0]["parts"][0] = json!({"data": deep});
    });
    surface.queue_changed("c", WORKING, &["hello"], |lease| lease["task"]["status"]["state"] = json!("LATER"));
    surface.queue_changed("nameless", WORKING, &["hello"], |lease| *lease = json!(5));
    surface.queue("d", WORKING, &["hello"]);
    let worker = Running::start(options(&surface.url), Demo);

    surface.until("the ends", |book| book.updates("a").len() == 1 && book.updates("d").len() == 1).await;
    surface.until("two failures", |book| book.of(":release").len() == 2).await;
    surface.queue("e", WORKING, &["hello"]);
    surface.until("the end of a later one", |book| book.updates("e").len() == 1).await;
    surface.look(|book| {
        let mut failed: Vec<&str> = book.of(":release").iter().map(|call| call.path.as_str()).collect();
        failed.sort_unstable();
        assert_eq!(failed, ["/leases/lease-b:release", "/leases/lease-c:release"]);
        for call in book.of(":release") {
            assert_eq!(call.body, json!({"reason": "the worker cannot read the task", "retryable": false}));
            assert_eq!(call.epoch.as_deref(), Some("7"));
        }
        for task in ["a", "d", "e"] {
            assert_eq!(book.updates(task)[0][1], json!({"complete": {}}), "{task}");
        }
        assert_eq!((book.updates("b").len(), book.updates("c").len()), (0, 0));
        assert_eq!(book.of("/sessions").len(), 1, "the session went on");
    });
    worker.stop().await;
}

#[tokio::test]
async fn a_heartbeat_that_cannot_be_read_ends_its_own_lease() {
    let surface = Surface::start().await;
    let agent = Arc::new(Gated::default());
    let deep = (0..150).fold(json!(1), |inner, _| json!([inner]));
    let message = json!({"messageId": "n", "role": "ROLE_USER", "parts": [{"data": deep}]});
    surface.plan_beats("lease-b", json!({"messages": [message]}));
    surface.queue("a", WORKING, &["slow"]);
    surface.queue("b", WORKING, &["slow"]);
    let worker = Running::start(options(&surface.url), agent.clone());

    surface.until("b given back", |book| book.of("/leases/lease-b:release").len() == 1).await;
    let before = surface.look(|book| book.beats("lease-a"));
    surface.until("heartbeats of a", |book| book.beats("lease-a") >= before + 2).await;
    agent.open();
    surface.until("the end of a", |book| book.updates("a").len() == 1).await;
    surface.look(|book| {
        let given_back = &book.of("/leases/lease-b:release")[0].body;
        assert_eq!(given_back["retryable"], Value::Null, "another lease shows all of it");
        assert!(book.updates("b").is_empty());
        assert_eq!(book.of(":release").len(), 1);
    });
    worker.stop().await;
}
