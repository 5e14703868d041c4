//! The outcome `direct-message`, in all three bindings: the agent answers with a message and no task.

use std::sync::Arc;
use std::time::Duration;

use api::Options;
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::client::{Held, Platform, immediately, platform_with, settings, text};
use crate::grpc::client::Remote;
use crate::server::{call, server_with};

fn direct() -> engine::Settings {
    let mut settings = settings();
    Arc::make_mut(settings.agents.get_mut("echo").unwrap()).direct = Some(Duration::from_secs(60));
    settings
}

/// A send that waits.
fn asking() -> Value {
    let mut send = immediately(json!({"contextId": "mine"}));
    send.as_object_mut().unwrap().remove("configuration");
    send
}

/// Reply to the next `count` messages with "hello back".
async fn reply<E: Endpoint<Output = Response>>(platform: &Platform<E>, count: usize) {
    for _ in 0..count {
        let polled = platform
            .post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 10, "start": true}))
            .await;
        let lease = &polled.body["leases"][0];
        assert_eq!(
            (&lease["direct"], &lease["task"]["status"]["state"]),
            (&json!(true), &json!("TASK_STATE_SUBMITTED")),
            "{polled:?}"
        );
        let held = Held {
            task: text(&lease["task"]["id"]),
            lease: text(&lease["lease"]),
            epoch: lease["epoch"].as_i64().unwrap().to_string(),
        };
        let read = platform.get(&format!("/tasks/{}", held.task)).await;
        assert_eq!((read.status, read.reason()), (404, "TASK_NOT_FOUND"));
        let wrong = platform.work(&held, "reply", json!({"message": {"parts": [], "taskId": "t", "role": 1}})).await;
        assert_eq!((wrong.status, wrong.fields()), (400, vec!["message.parts", "message.role", "message.taskId"]));
        assert_eq!(platform.work(&held, "reply", json!({})).await.fields(), ["message"]);
        let message = json!({"parts": [{"text": "hello back"}], "messageId": "n", "contextId": "another"});
        let replied = platform.work(&held, "reply", json!({ "message": message })).await;
        assert_eq!((replied.status, &replied.body), (200, &json!({"direct": true})), "{replied:?}");
    }
}

fn answer() -> Value {
    json!({"messageId": "n", "contextId": "mine", "role": "ROLE_AGENT", "parts": [{"text": "hello back"}]})
}

#[tokio::test]
async fn a_send_is_answered_with_a_message_in_every_binding() {
    let platform = platform_with(direct(), Options::default()).await;
    let remote = Remote::of(&platform.engine).await;
    let before = platform.rows().await;
    let (sent, ()) = tokio::join!(platform.post("/message:send", asking()), reply(&platform, 1));
    assert_eq!((sent.status, &sent.body), (200, &json!({"message": answer()})), "{sent:?}");
    let (called, ()) = tokio::join!(platform.rpc("SendMessage", asking()), reply(&platform, 1));
    assert_eq!(called.body["result"], json!({"message": answer()}), "{called:?}");
    let (over_grpc, ()) = tokio::join!(remote.call("SendMessage", asking()), reply(&platform, 1));
    assert_eq!(over_grpc.unwrap(), json!({"message": answer()}));
    let (opened, ()) = tokio::join!(remote.open("SendStreamingMessage", asking(), &[]), reply(&platform, 1));
    let (mut stream, metadata) = opened.unwrap();
    assert!(metadata.get("first-event-id").is_none(), "a message is no event");
    assert_eq!(stream.rest().await, [json!({"message": answer()})]);
    assert_eq!(platform.rows().await, before, "no task, and nothing else");
    let listed = platform.get("/tasks").await;
    assert_eq!(listed.body["totalSize"], 0);
}

#[tokio::test]
async fn a_stream_holds_one_message_and_ends() {
    let server = server_with(direct(), Options::default()).await;
    let platform = &server.platform;
    let before = platform.rows().await;
    let key = [("Idempotency-Key", "k")];
    let (mut stream, ()) = tokio::join!(server.open("POST", "/message:stream", &key, asking()), reply(platform, 1));
    assert_eq!((stream.status(), stream.header("content-type")), (200, Some("text/event-stream")));
    let item = stream.next().await.unwrap();
    let data: Value = serde_json::from_str(item.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(data, json!({"message": answer()}));
    assert_eq!(stream.next().await, None);
    // Resumed by its key, which is another binding's too, it is the message again.
    let resumed = [("Idempotency-Key", "k"), ("Last-Event-ID", "0")];
    let body = call(json!(7), "SendStreamingMessage", asking());
    let mut stream = server.open("POST", "/rpc", &resumed, body).await;
    let item = stream.next().await.unwrap();
    let data: Value = serde_json::from_str(item.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(data, json!({"jsonrpc": "2.0", "id": 7, "result": {"message": answer()}}));
    assert_eq!(stream.next().await, None);
    let more: Vec<_> =
        platform.rows().await.into_iter().zip(before).filter(|(after, before)| after != before).collect();
    assert_eq!(more, [(("send_key", 1), ("send_key", 0))]);
}

#[tokio::test]
async fn what_does_not_wait_is_a_task() {
    let platform = platform_with(direct(), Options::default()).await;
    let held = platform.hold().await;
    let replied = platform.work(&held, "reply", json!({"message": {"parts": [{"text": "hello back"}]}})).await;
    assert_eq!(replied.body["direct"], false);
    assert_eq!(replied.body["applied"]["state"], "TASK_STATE_COMPLETED");
    let task = platform.get(&format!("/tasks/{}", held.task)).await.body;
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "hello back");
    let again = platform.work(&held, "reply", json!({"message": {"parts": [{"text": "hello back"}]}})).await;
    assert_eq!((again.status, again.reason()), (409, "LEASE_LOST"));
}
