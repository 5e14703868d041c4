//! The runtime against a worker surface that is watched call by call.

#![expect(clippy::unwrap_used, reason = "a test that is surprised fails")]

mod agents;
mod control;
mod demo;
mod exec;
mod http;
mod keys;
mod python;
mod stop;
mod streams;
mod surface;
mod unreadable;

use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use worker::{Agent, Error, Options, Worker, builtin::Demo};

use agents::{Failing, Gated, Panicking, Streaming};
use surface::{Answer, Surface, refusal};

/// A worker at work, until stopped.
struct Running {
    stop: oneshot::Sender<()>,
    done: JoinHandle<Result<(), Error>>,
}

impl Running {
    fn start(options: Options, agent: impl Agent) -> Self {
        let (stop, stopped) = oneshot::channel();
        let worker = Worker::new(options).unwrap();
        let done = tokio::spawn(worker.run(agent, async {
            let _ = stopped.await;
        }));
        Self { stop, done }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.done.await.unwrap().unwrap();
    }
}

fn options(url: &str) -> Options {
    Options { url: url.to_owned(), agents: vec!["demo".to_owned()], ..Options::default() }
}

#[tokio::test]
async fn an_echo_costs_one_poll_and_one_apply() {
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Demo);
    for task in 0..20 {
        surface.until("a waiting poll", |book| book.polling == 1).await;
        surface.queue(&format!("t{task}"), "TASK_STATE_WORKING", &["hello"]);
        surface.until("the end", |book| book.updates(&format!("t{task}")).len() == 1).await;
    }
    surface.until("a waiting poll", |book| book.polling == 1).await;
    surface.look(|book| {
        assert_eq!(book.of("/sessions").len(), 1);
        assert_eq!(book.of("/leases:poll").len(), 21);
        assert_eq!(book.of(":apply").len(), 20);
        assert_eq!(book.calls.len(), 42, "nothing else was called");
        assert!(book.connections.len() <= 3, "{:?}", book.connections);

        let poll = book.of("/leases:poll")[0];
        assert_eq!(
            poll.body,
            json!({"session": "s1", "agents": ["demo"], "max": 16, "waitSeconds": 20.0, "start": true})
        );
        let apply = book.of("/tasks/t0:apply")[0];
        assert_eq!((apply.lease.as_deref(), apply.epoch.as_deref()), (Some("lease-t0"), Some("7")));
        let updates = apply.body["updates"].as_array().unwrap();
        assert_eq!(updates.len(), 2);
        assert_eq!(updates[0]["artifact"]["artifact"]["parts"], json!([{"text": "hello"}]));
        assert_eq!(updates[1], json!({"complete": {}}));
    });
    worker.stop().await;
}

#[tokio::test]
async fn heartbeats_keep_slow_tasks_in_one_call() {
    let surface = Surface::start().await;
    let agent = Arc::new(Gated::default());
    let worker = Running::start(options(&surface.url), agent.clone());
    surface.queue("a", "TASK_STATE_WORKING", &["slow"]);
    surface.queue("b", "TASK_STATE_WORKING", &["slow"]);
    surface.until("heartbeats", |book| book.beats("lease-a") >= 3 && book.beats("lease-b") >= 3).await;
    surface.look(|book| {
        let together = book.of("/leases:heartbeat").into_iter().any(|call| {
            let leases = call.body["leases"].as_array().unwrap();
            leases.len() == 2 && leases.iter().all(|lease| lease["epoch"] == 7)
        });
        assert!(together);
        assert!(book.of(":apply").is_empty());
    });
    agent.open();
    surface.until("the ends", |book| book.of(":apply").len() == 2).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_cancel_in_a_heartbeat_stops_the_agent_and_frees_its_slot() {
    for says in [
        json!({"cancel": true, "state": "TASK_STATE_CANCELED"}),
        json!({"held": false, "reason": "claimed by another worker"}),
    ] {
        let surface = Surface::start().await;
        let agent = Arc::new(Gated::default());
        let one = Options { concurrency: 1, ..options(&surface.url) };
        let worker = Running::start(one, agent.clone());
        surface.queue("a", "TASK_STATE_WORKING", &["slow"]);
        agent.until_running(1).await;
        surface.plan_beats("lease-a", says);
        agent.until_running(0).await;
        agent.open();
        surface.queue("b", "TASK_STATE_WORKING", &["next"]);
        surface.until("the next task's end", |book| book.of("b:apply").len() == 1).await;
        worker.stop().await;
        surface.look(|book| {
            assert!(book.updates("a").is_empty(), "nothing was written without the lease");
            assert!(book.of(":release").is_empty());
        });
    }
}

#[tokio::test]
async fn an_agent_hears_of_a_cancel_and_of_new_messages() {
    let surface = Surface::start().await;
    let agent = Arc::new(Gated::default());
    let worker = Running::start(options(&surface.url), agent.clone());
    surface.queue("a", "TASK_STATE_WORKING", &["converse"]);
    agent.until_running(1).await;
    let message = json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "more"}]});
    surface.plan_beats("lease-a", json!({"messages": [message]}));
    surface.until("the progress", |book| book.updates("a").len() == 1).await;
    let said = &surface.look(|book| book.updates("a"))[0][0]["progress"]["statusMessage"]["parts"];
    assert_eq!(*said, json!([{"text": "heard: more"}]));
    surface.plan_beats("lease-a", json!({"cancel": true}));
    agent.until_running(0).await;
    assert_eq!(agent.heard_of_cancels(), 1);
    worker.stop().await;
}

#[tokio::test]
async fn a_panic_fails_the_task_and_not_the_worker() {
    let surface = Surface::start().await;
    let worker = Running::start(Options { concurrency: 1, ..options(&surface.url) }, Panicking);
    for task in ["a", "b"] {
        surface.queue(task, "TASK_STATE_WORKING", &["anything"]);
        surface.until("the failure", |book| book.updates(task).len() == 1).await;
        let updates = &surface.look(|book| book.updates(task))[0];
        assert_eq!(updates.as_array().unwrap().len(), 1, "what was gathered is left out");
        let text = updates[0]["fail"]["statusMessage"]["parts"][0]["text"].as_str().unwrap();
        assert!(!text.contains("secret"), "{text}");
    }
    worker.stop().await;
}

#[tokio::test]
async fn an_error_fails_the_task_with_its_text() {
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Failing);
    surface.queue("a", "TASK_STATE_WORKING", &["anything"]);
    surface.until("the failure", |book| book.updates("a").len() == 1).await;
    let updates = &surface.look(|book| book.updates("a"))[0];
    assert_eq!(updates[0]["fail"]["statusMessage"]["parts"], json!([{"text": "out of paper"}]));
    worker.stop().await;
}

#[tokio::test]
async fn a_platform_that_is_not_there_yet_is_waited_for() {
    let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = door.local_addr().unwrap().to_string();
    let worker = Running::start(options(&format!("http://{address}")), Demo);
    // Nobody who answers, twice, and then nobody at all.
    for _ in 0..2 {
        door.accept().await.unwrap();
    }
    drop(door);
    let surface = Surface::start_at(&address).await;
    surface.queue("a", "TASK_STATE_WORKING", &["hello"]);
    surface.until("the end", |book| book.updates("a").len() == 1).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_platform_that_refuses_the_key_ends_the_run() {
    let surface = Surface::start().await;
    let wrong = Options { url: format!("{}/nowhere", surface.url), ..options("") };
    let error = Worker::new(wrong).unwrap().run(Demo, std::future::pending()).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().status, 401, "{error}");
}

#[tokio::test]
async fn no_more_is_asked_for_than_there_is_room_for() {
    let surface = Surface::start().await;
    let agent = Arc::new(Gated::default());
    let two = Options { concurrency: 2, ..options(&surface.url) };
    let worker = Running::start(two, agent.clone());
    for task in ["a", "b", "c", "d", "e"] {
        surface.queue(task, "TASK_STATE_WORKING", &["slow"]);
    }
    agent.until_running(2).await;
    surface.until("a heartbeat", |book| book.beats("lease-a") > 0).await;
    assert_eq!(surface.look(|book| book.polling), 0, "a full worker does not poll");
    agent.open();
    surface.until("the ends", |book| book.of(":apply").len() == 5).await;
    assert!(agent.most_running() <= 2);
    worker.stop().await;
}

#[tokio::test]
async fn an_end_whose_answer_was_lost_is_asked_after_and_counts() {
    for lost in [Answer::Broken, Answer::Of(500, json!({})), Answer::Of(200, json!("cut"))] {
        let surface = Surface::start().await;
        let ended = refusal(409, "LEASE_LOST", "TASK_STATE_COMPLETED");
        surface.plan_applies([lost, ended]);
        let worker = Running::start(options(&surface.url), Demo);
        surface.queue("a", "TASK_STATE_WORKING", &["hello"]);
        surface.until("two calls", |book| book.updates("a").len() == 2).await;
        worker.stop().await;
        surface.look(|book| {
            let updates = book.updates("a");
            assert_eq!(updates[0], updates[1]);
            assert_eq!(updates.len(), 2);
            assert!(book.of(":release").is_empty());
        });
    }
}

#[tokio::test]
async fn a_report_that_was_not_taken_is_made_again() {
    let surface = Surface::start().await;
    surface.plan_applies([Answer::Of(503, json!({})), Answer::Of(429, json!({})), Answer::Broken]);
    let worker = Running::start(options(&surface.url), Demo);
    surface.queue("a", "TASK_STATE_WORKING", &["hello"]);
    surface.until("four calls", |book| book.updates("a").len() == 4).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_lost_lease_ends_the_work_silently() {
    let surface = Surface::start().await;
    surface.plan_applies([refusal(409, "LEASE_LOST", "TASK_STATE_CANCELED")]);
    let worker = Running::start(options(&surface.url), Streaming);
    surface.queue("a", "TASK_STATE_WORKING", &["anything"]);
    surface.until("the report", |book| book.updates("a").len() == 1).await;
    worker.stop().await;
    surface.look(|book| {
        assert_eq!(book.updates("a").len(), 1);
        assert!(book.of(":release").is_empty());
    });
}

#[tokio::test]
async fn an_answer_the_platform_finds_fault_with_fails_the_task() {
    let surface = Surface::start().await;
    surface.plan_applies([refusal(400, "INVALID_PARAMS", "")]);
    let worker = Running::start(options(&surface.url), Demo);
    surface.queue("a", "TASK_STATE_WORKING", &["hello"]);
    surface.until("the failure", |book| book.updates("a").len() == 2).await;
    let updates = &surface.look(|book| book.updates("a"))[1];
    let text = updates[0]["fail"]["statusMessage"]["parts"][0]["text"].as_str().unwrap();
    assert!(text.contains("refused: INVALID_PARAMS"), "{text}");
    worker.stop().await;
}
