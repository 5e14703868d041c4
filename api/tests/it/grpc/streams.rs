//! Streams: what they hold, where they end, how they go on.

use serde_json::{Value, json};
use tonic::Code;
use tonic::metadata::MetadataMap;

use super::client::{Remote, fields, info, reason, retries};
use crate::client::{Held, immediately, platform, text};

/// The number of the first item.
fn first(metadata: &MetadataMap) -> i64 {
    metadata.get("first-event-id").unwrap().to_str().unwrap().parse().unwrap()
}

fn chunk(n: i64) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": format!("{n}")}]});
    json!({"updates": [{"artifact": {"artifact": artifact, "append": n > 0}}]})
}

/// What of an item tells it from the others.
fn told(item: &Value) -> String {
    match (item.get("task"), item.get("statusUpdate"), item.get("artifactUpdate")) {
        (Some(_), None, None) => "task".into(),
        (None, Some(update), None) => text(&update["status"]["state"]).replace("TASK_STATE_", ""),
        (None, None, Some(update)) => text(&update["artifact"]["parts"][0]["text"]),
        _ => panic!("{item}"),
    }
}

#[tokio::test]
async fn a_send_is_followed_to_its_end_and_resumed_anywhere() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let key = ("idempotency-key", "k");
    let sent = immediately(json!({}));
    let (mut stream, metadata) = remote.open("SendStreamingMessage", sent.clone(), &[key]).await.unwrap();
    assert_eq!(first(&metadata), 1);
    let task = stream.next().await.unwrap().unwrap();
    let id = text(&task["task"]["id"]);
    let polled = platform.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 5})).await;
    let lease = &polled.body["leases"][0];
    let held = Held { task: id.clone(), lease: text(&lease["lease"]), epoch: lease["epoch"].to_string() };
    assert_eq!(platform.work(&held, "work", json!({})).await.status, 200);
    for n in 0..3 {
        assert_eq!(platform.work(&held, "apply", chunk(n)).await.status, 200);
    }
    assert_eq!(platform.work(&held, "complete", json!({})).await.status, 200);
    let items: Vec<String> = stream.rest().await.iter().map(told).collect();
    assert_eq!(items, ["WORKING", "0", "1", "2", "COMPLETED"]);
    // From each number on, by either method, though the task is finished.
    for last in 1..=5_usize {
        let number = last.to_string();
        let resume = ("last-event-id", number.as_str());
        for (method, request) in [("SubscribeToTask", json!({"id": id})), ("SendStreamingMessage", sent.clone())] {
            let (mut stream, metadata) = remote.open(method, request, &[key, resume]).await.unwrap();
            assert_eq!(first(&metadata), last as i64 + 1);
            let rest: Vec<String> = stream.rest().await.iter().map(told).collect();
            assert_eq!(rest, items[last - 1..], "{method} after {last}");
        }
    }
    let over = remote.open("SubscribeToTask", json!({"id": id}), &[("last-event-id", "6")]).await.err().unwrap();
    assert_eq!((over.code(), reason(&over).as_str()), (Code::FailedPrecondition, "UNSUPPORTED_OPERATION"));
    let wrong = remote.open("SubscribeToTask", json!({"id": id}), &[("last-event-id", "one")]).await.err().unwrap();
    assert_eq!(fields(&wrong), ["Last-Event-ID"]);
    // The key of the first call without a number: the task as it stands.
    let (mut stream, metadata) = remote.open("SendStreamingMessage", sent, &[key]).await.unwrap();
    assert_eq!(first(&metadata), 6);
    let all = stream.rest().await;
    assert_eq!((all.len(), &all[0]["task"]["status"]["state"]), (1, &json!("TASK_STATE_COMPLETED")));
}

#[tokio::test]
async fn subscribers_see_the_same_and_a_dropped_one_changes_nothing() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let held = platform.hold().await;
    let request = json!({"id": held.task});
    let mut streams = Vec::new();
    for _ in 0..5 {
        let (mut stream, _) = remote.open("SubscribeToTask", request.clone(), &[]).await.unwrap();
        assert_eq!(told(&stream.next().await.unwrap().unwrap()), "task");
        streams.push(stream);
    }
    drop(streams.pop());
    assert_eq!(platform.work(&held, "apply", chunk(0)).await.status, 200);
    drop(streams.pop());
    assert_eq!(platform.work(&held, "complete", json!({})).await.status, 200);
    let mut seen = Vec::new();
    for mut stream in streams {
        seen.push(stream.rest().await);
    }
    assert_eq!(seen[0].iter().map(told).collect::<Vec<_>>(), ["0", "COMPLETED"]);
    assert!(seen.iter().all(|items| *items == seen[0]));
}

#[tokio::test]
async fn a_process_that_ends_says_where_to_go_on_and_answers_everybody() {
    let platform = platform().await;
    let mut remote = Remote::of(&platform.engine).await;
    let held = platform.hold().await;
    let (mut stream, metadata) = remote.open("SubscribeToTask", json!({"id": held.task}), &[]).await.unwrap();
    stream.next().await.unwrap().unwrap();
    let last = first(&metadata);
    let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}});
    let blocked = remote.call("SendMessage", message);
    let channel = remote.channel.clone();
    let stopping = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    };
    let mut blocked = Box::pin(blocked);
    tokio::select! {
        answer = &mut blocked => panic!("{answer:?}"),
        () = stopping => {}
    }
    drop(channel);
    platform.engine.close();
    let refused = blocked.await.unwrap_err();
    assert_eq!(
        (refused.code(), reason(&refused).as_str(), retries(&refused)),
        (Code::Unavailable, "UNAVAILABLE", true)
    );
    assert!(info(&refused).metadata.contains_key("taskId"));
    let cut = stream.next().await.unwrap_err();
    assert_eq!((cut.code(), reason(&cut).as_str(), retries(&cut)), (Code::Unavailable, "UNAVAILABLE", true));
    assert_eq!(cut.metadata().get("last-event-id").unwrap().to_str().unwrap(), last.to_string());
    remote.stop();
    remote.ended().await;
}
