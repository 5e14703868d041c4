//! The same task is the same JSON, whichever binding it is asked for by.

use serde_json::{Value, json};

use super::client::Remote;
use crate::client::{immediately, platform};

#[tokio::test]
async fn the_bindings_give_the_same_json_for_the_same_task() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let data = json!({"n": 1, "f": 0.25, "big": 9_007_199_254_740_991_i64, "neg": -7, "s": "ä\u{0}\u{1f600}", "l": [null, true, {}], "o": {"x": []}});
    let parts = json!([
        {"text": ""},
        {"text": "plain", "metadata": {"k": "v"}, "filename": "a.txt", "mediaType": "text/plain"},
        {"raw": "AP/+aGk=", "mediaType": "application/octet-stream"},
        {"url": "https://example.com/a?b=c"},
        {"data": data},
        {"data": null},
        {"data": 7},
        {"data": "text"},
        {"data": [1, [2, [3]]]},
    ]);
    let more = json!({"parts": parts, "metadata": {"deep": {"er": [1, 2.5]}}, "extensions": ["urn:x"], "referenceTaskIds": ["r"]});
    let by_grpc = remote.call("SendMessage", immediately(more.clone())).await.unwrap();
    assert_eq!(by_grpc["task"]["history"][0]["parts"], parts);
    let id = by_grpc["task"]["id"].clone();
    let polled = platform.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 5})).await;
    let lease = &polled.body["leases"][0];
    let held = crate::client::Held {
        task: crate::client::text(&id),
        lease: crate::client::text(&lease["lease"]),
        epoch: lease["epoch"].to_string(),
    };
    let artifact = json!({"artifactId": "a", "name": "n", "description": "d", "parts": parts, "metadata": {"k": [1]}});
    let updates = json!([{"artifact": {"artifact": artifact}}, {"requireInput": {"statusMessage": {"parts": parts}}}]);
    let applied = platform.work(&held, "apply", json!({"updates": updates})).await;
    assert_eq!(applied.status, 200, "{applied:?}");
    let rest = platform.get(&format!("/tasks/{}", held.task)).await.body;
    let rpc = platform.rpc("GetTask", json!({"id": id})).await.body["result"].clone();
    let grpc = remote.call("GetTask", json!({"id": id})).await.unwrap();
    assert_eq!(rest["artifacts"][0]["parts"], parts);
    assert_eq!(rest, rpc);
    assert_eq!(rest, grpc);
    let listed = |tasks: &Value| tasks["tasks"][0].clone();
    let query = json!({"includeArtifacts": true, "historyLength": 5});
    let rest = listed(&platform.get("/tasks?includeArtifacts=true&historyLength=5").await.body);
    assert_eq!(rest, listed(&platform.rpc("ListTasks", query.clone()).await.body["result"]));
    assert_eq!(rest, listed(&remote.call("ListTasks", query).await.unwrap()));
    // What came by the other bindings is no other.
    let by_rest = platform.post("/message:send", immediately(more)).await.body["task"]["history"][0].clone();
    let mut same = by_grpc["task"]["history"][0].clone();
    same["taskId"] = by_rest["taskId"].clone();
    same["contextId"] = by_rest["contextId"].clone();
    assert_eq!(same, by_rest);
}
