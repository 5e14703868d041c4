//! How a worker stops: nothing more comes, what runs may finish, the rest is given back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use worker::{Options, builtin::Demo};

use crate::agents::Gated;
use crate::surface::Surface;
use crate::{Running, options};

#[tokio::test]
async fn a_stop_lets_running_work_finish() {
    let surface = Surface::start().await;
    let agent = Arc::new(Gated::default());
    let worker = Running::start(options(&surface.url), agent.clone());
    surface.queue("a", "TASK_STATE_WORKING", &["slow"]);
    agent.until_running(1).await;
    surface.until("a waiting poll", |book| book.polling == 1).await;
    worker.stop.send(()).unwrap();
    agent.until_draining().await;
    let polls = surface.look(|book| book.of("/leases:poll").len());
    agent.open();
    worker.done.await.unwrap().unwrap();
    surface.look(|book| {
        assert_eq!(book.updates("a").len(), 1);
        assert!(book.of(":release").is_empty());
        assert_eq!(book.of("/leases:poll").len(), polls);
    });
}

#[tokio::test]
async fn a_stop_gives_back_what_does_not_finish_in_time() {
    let surface = Surface::start().await;
    let agent = Arc::new(Gated::default());
    let hasty = Options { grace: Duration::ZERO, ..options(&surface.url) };
    let worker = Running::start(hasty, agent.clone());
    for task in ["a", "b"] {
        surface.queue(task, "TASK_STATE_WORKING", &["slow"]);
    }
    agent.until_running(2).await;
    worker.stop().await;
    surface.look(|book| {
        for lease in ["lease-a", "lease-b"] {
            let releases = book.of(&format!("/leases/{lease}:release"));
            assert_eq!(releases.len(), 1);
            assert_eq!(releases[0].epoch.as_deref(), Some("7"));
        }
        assert!(book.of(":apply").is_empty());
    });
}

#[tokio::test]
async fn work_that_comes_with_the_stop_is_given_back() {
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Demo);
    surface.until("a waiting poll", |book| book.polling == 1).await;
    worker.stop.send(()).unwrap();
    surface.queue("a", "TASK_STATE_WORKING", &["late"]);
    worker.done.await.unwrap().unwrap();
    surface.look(|book| {
        assert_eq!(book.of("/leases/lease-a:release").len(), 1);
        assert!(book.of(":apply").is_empty());
    });
}

#[tokio::test]
async fn a_stop_drains_the_session_and_waits_for_its_poll() {
    let surface = Surface::start().await;
    surface.modernize();
    let agent = Arc::new(Gated::default());
    let worker = Running::start(options(&surface.url), agent.clone());
    surface.queue("a", "TASK_STATE_WORKING", &["slow"]);
    agent.until_running(1).await;
    surface.until("a waiting poll", |book| book.polling == 1).await;
    worker.stop.send(()).unwrap();
    surface.until("the poll's end", |book| book.of(":drain").len() == 1 && book.polling == 0).await;
    // Too late for this worker.
    surface.queue("b", "TASK_STATE_WORKING", &["slow"]);
    agent.open();
    worker.done.await.unwrap().unwrap();
    surface.look(|book| {
        let drains: Vec<_> = book.of(":drain").iter().map(|call| call.body.clone()).collect();
        assert_eq!(drains, [json!({}), json!({"release": true})], "the second is for leases nobody heard of");
        assert_eq!(book.updates("a").len(), 1);
        assert!(book.updates("b").is_empty() && book.of(":release").is_empty());
        let last = book.calls.last().unwrap();
        assert!(last.path.ends_with(":drain"), "{last:?}");
    });
}

#[tokio::test]
async fn a_drained_worker_finishes_and_takes_no_more() {
    let surface = Surface::start().await;
    surface.modernize();
    let agent = Arc::new(Gated::default());
    let worker = Running::start(options(&surface.url), agent.clone());
    surface.queue("a", "TASK_STATE_WORKING", &["slow"]);
    agent.until_running(1).await;
    surface.until("a waiting poll", |book| book.polling == 1).await;
    surface.drain();
    surface.until("the poll's end", |book| book.polling == 0).await;
    surface.queue("b", "TASK_STATE_WORKING", &["slow"]);
    let polls = surface.look(|book| book.of("/leases:poll").len());
    agent.open();
    surface.until("the end", |book| book.updates("a").len() == 1).await;
    worker.stop().await;
    surface.look(|book| {
        assert_eq!(book.of("/leases:poll").len(), polls);
        assert!(book.updates("b").is_empty());
    });
}
