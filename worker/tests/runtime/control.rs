//! The control stream makes heartbeats come earlier, and heartbeats come whatever the agent does.

use std::sync::{Arc, Condvar, Mutex};

use serde_json::json;
use worker::{Outcome, agent_fn};

use crate::agents::Gated;
use crate::surface::Surface;
use crate::{Running, options};

/// So rarely that no test lives to see one.
const NEVER: f64 = 3_600.0;

#[tokio::test]
async fn a_nudge_asks_after_its_lease_at_once() {
    let surface = Surface::start().await;
    surface.modernize();
    surface.pace(NEVER);
    let agent = Arc::new(Gated::default());
    let worker = Running::start(options(&surface.url), agent.clone());
    surface.until("a listener", |book| book.listened == 1).await;
    surface.queue("a", "TASK_STATE_WORKING", &["converse"]);
    surface.queue("b", "TASK_STATE_WORKING", &["slow"]);
    agent.until_running(2).await;
    let message = json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "more"}]});
    surface.plan_beats("lease-a", json!({"messages": [message]}));
    surface.nudge("message", "lease-a");
    surface.until("the progress", |book| book.updates("a").len() == 1).await;
    surface.plan_beats("lease-a", json!({"held": false, "cancel": true, "state": "TASK_STATE_CANCELED"}));
    surface.nudge("cancel", "lease-a");
    agent.until_running(1).await;
    assert_eq!(agent.heard_of_cancels(), 1);
    surface.look(|book| {
        let last = book.of("/leases:heartbeat").last().unwrap().body["leases"].clone();
        assert_eq!(last, json!([{"lease": "lease-a", "epoch": 7}]), "nobody asked after the other");
    });
    surface.plan_beats("lease-b", json!({"drain": true}));
    surface.nudge("drain", "");
    agent.until_draining().await;
    surface.nudge("lost", "a-stranger");
    agent.open();
    surface.until("the end", |book| book.updates("b").len() == 1).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_platform_without_the_stream_is_served_by_heartbeats() {
    let surface = Surface::start().await;
    let agent = Arc::new(Gated::default());
    let worker = Running::start(options(&surface.url), agent.clone());
    surface.queue("a", "TASK_STATE_WORKING", &["converse"]);
    agent.until_running(1).await;
    surface.plan_beats("lease-a", json!({"cancel": true}));
    agent.until_running(0).await;
    assert_eq!(surface.look(|book| book.listened), 0);
    worker.stop().await;
}

/// The worker's runtime has one thread, and the agent blocks it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_blocks_its_thread_keeps_its_lease() {
    let surface = Surface::start().await;
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let agent = agent_fn({
        let gate = gate.clone();
        move |_ctx| {
            let gate = gate.clone();
            async move {
                let (open, turned) = &*gate;
                drop(turned.wait_while(open.lock().unwrap(), |open| !*open).unwrap());
                Ok(Outcome::complete())
            }
        }
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = worker::Worker::new(options(&surface.url)).unwrap();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(worker.run(agent, async {
            let _ = stopped.await;
        }))
    });
    surface.queue("a", "TASK_STATE_WORKING", &["block"]);
    surface.until("heartbeats", |book| book.beats("lease-a") >= 3).await;
    assert!(surface.look(|book| book.updates("a").is_empty()));
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    surface.until("the end", |book| book.updates("a").len() == 1).await;
    stop.send(()).unwrap();
    tokio::task::spawn_blocking(move || thread.join().unwrap().unwrap()).await.unwrap();
}
