//! Streams: what they begin with, what follows, when they end, and that resuming neither loses nor doubles.

use std::time::Duration;

use engine::Engine;
use engine::stream::{Cut, EventStream, Item};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use wire::{Error, Kind, SubscribeToTaskRequest};

use crate::fixture::*;
use crate::on_every_store;

async fn subscribe(engine: &Engine, id: &str, last: Option<i64>) -> Result<EventStream, Error> {
    let request = SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() };
    engine.subscribe_to_task(&caller(engine, ""), request, last).await
}

/// An item in one word: `task:STATE`, a state, or an artifact's id.
fn word(item: &Item) -> String {
    let body: Value = serde_json::from_str(&item.body).unwrap();
    let state = |status: &Value| status["state"].as_str().unwrap().trim_start_matches("TASK_STATE_").to_owned();
    if let Some(task) = body.get("task") {
        format!("task:{}", state(&task["status"]))
    } else if let Some(update) = body.get("statusUpdate") {
        state(&update["status"])
    } else {
        body["artifactUpdate"]["artifact"]["artifactId"].as_str().unwrap().to_owned()
    }
}

/// Everything to the end, as words.
async fn words(mut stream: EventStream) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(item) = stream.next().await.unwrap() {
        words.push(word(&item));
    }
    words
}

fn chunk(id: &str) -> Value {
    json!({"artifact": {"artifact": {"artifactId": id, "parts": [{"text": id}]}}})
}

on_every_store! {
    /// A send's stream is the task and then every event, until the end.
    async fn a_send_streams_everything(f: Fixture) {
        let stream = f.engine.send_streaming_message(&caller(&f.engine, ""), None, say("x"), None).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &lease, json!([chunk("a"), {"complete": {}}])).await.unwrap();
        assert_eq!(words(stream).await, ["task:SUBMITTED", "WORKING", "a", "COMPLETED"]);
    }

    /// A question ends a send's stream and leaves a subscription open.
    async fn a_question_ends_the_send_only(f: Fixture) {
        let sending = f.engine.send_streaming_message(&caller(&f.engine, ""), None, say("x"), None).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let id = lease.task.id.clone();
        let watching = subscribe(&f.engine, &id, None).await.unwrap();
        apply(&f.engine, &lease, json!([{"requireAuth": {}}])).await.unwrap();
        apply_as(&f.engine, &id, None, json!([{"work": {}}, {"requireInput": {}}])).await.unwrap();
        assert_eq!(words(sending).await, ["task:SUBMITTED", "WORKING", "AUTH_REQUIRED", "WORKING", "INPUT_REQUIRED"]);
        let idle = subscribe(&f.engine, &id, None).await.unwrap();
        let more = f.engine.send_streaming_message(&caller(&f.engine, ""), None, say_to(&id, "y"), None).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &lease, json!([{"complete": {}}])).await.unwrap();
        assert_eq!(words(watching).await, ["task:WORKING", "AUTH_REQUIRED", "WORKING", "INPUT_REQUIRED", "COMPLETED"]);
        assert_eq!(words(idle).await, ["task:INPUT_REQUIRED", "COMPLETED"]);
        assert_eq!(words(more).await, ["task:INPUT_REQUIRED", "COMPLETED"], "the question from before ends nothing");
    }

    /// A finished task has nothing to follow; what a client missed of it can still be resumed.
    async fn a_finished_task_can_only_be_resumed(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        apply_as(&f.engine, &task.id, None, json!([{"work": {}}, chunk("a"), {"complete": {}}])).await.unwrap();
        for last in [None, Some(4), Some(99)] {
            assert_eq!(subscribe(&f.engine, &task.id, last).await.unwrap_err().kind, Kind::UnsupportedOperation, "{last:?}");
        }
        assert_eq!(words(subscribe(&f.engine, &task.id, Some(2)).await.unwrap()).await, ["a", "COMPLETED"]);
        assert_eq!(words(subscribe(&f.engine, &task.id, Some(0)).await.unwrap()).await, ["task:SUBMITTED", "WORKING", "a", "COMPLETED"]);
        let stranger = SubscribeToTaskRequest { id: task.id.clone(), ..Default::default() };
        let refused = f.engine.subscribe_to_task(&caller(&f.engine, "umbrella"), stranger, None).await;
        assert_eq!(refused.unwrap_err().kind, Kind::TaskNotFound);
    }

    /// The key of a streamed send finds its stream again; without it another send begins.
    async fn a_key_resumes_a_streamed_send(f: Fixture) {
        let who = caller(&f.engine, "");
        let start = async |key: Option<&str>, last| {
            f.engine.send_streaming_message(&who, key.map(str::to_owned), say("x"), last).await.unwrap()
        };
        let mut first = start(Some("k"), None).await;
        assert_eq!(first.next().await.unwrap().unwrap().generation, 1);
        drop(first);
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let mut news = start(Some("k"), Some(2)).await;
        apply(&f.engine, &lease, json!([chunk("a"), {"complete": {}}])).await.unwrap();
        assert_eq!(news.next().await.unwrap().unwrap().generation, 3, "who has everything gets no second snapshot");
        assert_eq!(words(start(Some("k"), Some(1)).await).await, ["WORKING", "a", "COMPLETED"]);
        assert_eq!(words(start(Some("k"), None).await).await, ["task:COMPLETED"]);
        assert_eq!(start(None, Some(1)).await.next().await.unwrap().unwrap().generation, 1);
        assert_eq!(f.count("task").await, 2);
    }

    /// Where events are no longer kept, a resumed stream begins again with the task.
    async fn what_is_not_kept_is_announced(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        apply_as(&f.engine, &task.id, None, json!([{"work": {}}, chunk("a"), chunk("b")])).await.unwrap();
        f.run("DELETE FROM task_event WHERE generation <= 3").await;
        let resumed = subscribe(&f.engine, &task.id, Some(1)).await.unwrap();
        apply_as(&f.engine, &task.id, None, json!([{"complete": {}}])).await.unwrap();
        assert_eq!(words(resumed).await, ["task:WORKING", "COMPLETED"]);
    }

    /// Subscribers on two replicas, cut and resumed again and again, have every event once and in order.
    async fn everybody_has_every_event_once(f: Fixture) {
        let replicas = [f.replica(|s| s.sweep = Duration::from_millis(20)), f.replica(|s| s.sweep = Duration::from_millis(20))];
        let task = send(&replicas[0], "", say("x")).await.unwrap();
        let mut subscribers = JoinSet::new();
        for n in 0..12_usize {
            let (replicas, id) = (replicas.clone(), task.id.clone());
            subscribers.spawn(async move {
                let (mut seen, mut last, mut turn) = (Vec::new(), Some(0), n);
                loop {
                    let mut stream = subscribe(&replicas[turn % 2], &id, last).await.unwrap();
                    turn += 1;
                    // Some stay for a few items, some for many.
                    for _ in 0..(3 + 17 * (turn % 5)) {
                        match stream.next().await {
                            Ok(Some(item)) => {
                                seen.push(item.generation);
                                last = Some(item.generation);
                            }
                            Ok(None) => return seen,
                            Err(Cut::Slow) => break,
                            Err(cut) => panic!("{cut:?}"),
                        }
                    }
                }
            });
        }
        for n in 0..200 {
            apply_as(&replicas[n % 2], &task.id, None, json!([chunk(&n.to_string())])).await.unwrap();
        }
        apply_as(&replicas[0], &task.id, None, json!([{"complete": {}}])).await.unwrap();
        while let Some(seen) = subscribers.join_next().await {
            assert_eq!(seen.unwrap(), (1..=202).collect::<Vec<i64>>());
        }
    }

    /// Events that come at once and in numbers leave everybody behind, and cut off nobody who reads.
    async fn a_flood_cuts_off_nobody_who_reads(f: Fixture) {
        // It hears of nothing but by its sweep, so that each reading brings several pages.
        let replica = f.replica(|s| s.sweep = Duration::from_millis(300));
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let readers: Vec<_> = [None, Some(0), None].map(|last| {
            let (replica, id) = (replica.clone(), task.id.clone());
            tokio::spawn(async move { words(subscribe(&replica, &id, last).await.unwrap()).await })
        }).into();
        for batch in 0..7 {
            let chunks: Vec<Value> = (0..100).map(|n| chunk(&format!("{batch}-{n}"))).collect();
            apply_as(&f.engine, &task.id, None, Value::Array(chunks)).await.unwrap();
        }
        apply_as(&f.engine, &task.id, None, json!([{"complete": {}}])).await.unwrap();
        for reader in readers {
            let words = reader.await.unwrap();
            // Whoever came later began with the task as it was.
            assert!(words.len() > 1 && words.len() <= 702 && words[0].starts_with("task:"), "{}", words.len());
            assert_eq!(words.last().map(String::as_str), Some("COMPLETED"));
        }
    }

    /// A reader that does not read is cut off and can resume; the others have had everything meanwhile.
    async fn a_slow_reader_is_cut_off(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let mut slow = subscribe(&f.engine, &task.id, None).await.unwrap();
        assert_eq!(slow.next().await.unwrap().unwrap().generation, 1);
        let reading = subscribe(&f.engine, &task.id, None).await.unwrap();
        let reader = tokio::spawn(words(reading));
        apply_as(&f.engine, &task.id, None, json!([chunk("first")])).await.unwrap();
        assert_eq!(slow.next().await.unwrap().unwrap().generation, 2);
        for n in 0..300 {
            apply_as(&f.engine, &task.id, None, json!([chunk(&n.to_string())])).await.unwrap();
        }
        apply_as(&f.engine, &task.id, None, json!([{"complete": {}}])).await.unwrap();
        assert_eq!(reader.await.unwrap().len(), 303);
        // Longer than a reader may stay away while it falls behind.
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        assert!(matches!(slow.next().await, Err(Cut::Slow)));
        let resumed = subscribe(&f.engine, &task.id, Some(slow.last())).await.unwrap();
        assert_eq!(words(resumed).await.len(), 301);
    }

    /// A process that ends says so to its streams; nothing is left running for tasks nobody follows.
    async fn closing_ends_streams(f: Fixture) {
        let replica = f.replica(|_| {});
        let task = send(&replica, "", say("x")).await.unwrap();
        let mut stream = subscribe(&replica, &task.id, None).await.unwrap();
        stream.next().await.unwrap();
        replica.close();
        assert!(matches!(stream.next().await, Err(Cut::Closing)));
        drop(stream);
        while !replica.bus().hub().watch.waiting().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// An agent that does not stream refuses both before anything else.
    async fn streaming_is_a_capability(f: Fixture) {
        let engine = f.replica(|s| {
            let mut agent = engine::Agent::named("demo");
            agent.streaming = false;
            s.agents.insert("demo".into(), std::sync::Arc::new(agent));
        });
        let sent = engine.send_streaming_message(&caller(&engine, ""), None, Default::default(), None).await;
        assert_eq!(sent.unwrap_err().kind, Kind::UnsupportedOperation);
        assert_eq!(subscribe(&engine, "", None).await.unwrap_err().kind, Kind::UnsupportedOperation);
    }
}
