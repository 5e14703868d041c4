//! The main way once round.

use crate::client::platform;
use serde_json::json;

#[tokio::test]
async fn a_blocking_send_is_answered_by_a_worker() {
    let platform = platform().await;
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    let send = platform.post("/message:send", json!({"message": message}));
    let work = async {
        let poll = json!({"agents": ["echo"], "waitSeconds": 5, "start": true});
        let polled = platform.post("/worker/v1/leases:poll", poll).await;
        let lease = &polled.body["leases"][0];
        let held = crate::client::Held {
            task: crate::client::text(&lease["task"]["id"]),
            lease: crate::client::text(&lease["lease"]),
            epoch: lease["epoch"].to_string(),
        };
        let artifact = json!({"artifactId": "a", "parts": [{"text": "hello back"}]});
        let updates = json!([{"artifact": {"artifact": artifact}}, {"complete": {}}]);
        platform.work(&held, "apply", json!({"updates": updates})).await
    };
    let (sent, applied) = tokio::join!(send, work);
    assert_eq!(applied.status, 200, "{applied:?}");
    assert_eq!(sent.status, 200, "{sent:?}");
    assert_eq!(sent.content_type, "application/a2a+json");
    let task = &sent.body["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "hello back"}]));
    let got = platform.get(&format!("/tasks/{}", crate::client::text(&task["id"]))).await;
    assert_eq!(got.body, *task);
    let called = platform.rpc("GetTask", json!({"id": task["id"]})).await;
    assert_eq!(called.body, json!({"jsonrpc": "2.0", "id": 1, "result": task}));
}
