//! The same task is the same JSON, whichever binding it is asked for by.

use serde_json::{Value, json};

use super::client::Remote;
use crate::client::{Held, immediately, platform, text};
use crate::table::ask::{Ask, Binding, Told, ask};

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
    let held = Held { task: text(&id), lease: text(&lease["lease"]), epoch: lease["epoch"].to_string() };
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

#[tokio::test]
async fn the_bindings_give_the_same_json_for_the_same_config_and_the_same_events() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let by = async |binding, command, params: &Value, last: &str| {
        let asked = Ask::of(command, "acme", params.clone()).with("Last-Event-ID", last);
        ask(&platform, &remote, binding, &asked).await
    };
    // Every binding's answer to the same question.
    let all = async |command, params: Value, last: &str| {
        let mut answers = Vec::new();
        for binding in Binding::ALL {
            answers.push(match by(binding, command, &params, last).await {
                Told::Done(answer) => vec![answer],
                Told::Streams(mut stream) => {
                    let mut items = Vec::new();
                    while let Some(item) = stream.next().await {
                        items.push(item);
                    }
                    items
                }
                refused @ Told::Refused { .. } => panic!("{command}: {refused:?}"),
            });
        }
        assert!(answers.windows(2).all(|two| two[0] == two[1]), "{command}: {answers:#?}");
        answers.remove(0)
    };
    let authentication = json!({"scheme": "Bearer", "credentials": "hidden"});
    let hook = json!({"url": "http://127.0.0.1:2/ä?b=c", "token": "t", "authentication": authentication});
    let mut send = immediately(json!({}));
    send["configuration"]["taskPushNotificationConfig"] = hook.clone();
    let Told::Done(sent) = by(Binding::Rest, "SendMessage", &send, "").await else { panic!("no task") };
    let id = text(&sent["task"]["id"]);
    let polled = platform.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 5})).await;
    let lease = &polled.body["leases"][0];
    let held = Held { task: id.clone(), lease: text(&lease["lease"]), epoch: lease["epoch"].to_string() };

    let mut created = Vec::new();
    for binding in Binding::ALL {
        let mut config = hook.clone();
        config["taskId"] = json!(id);
        config["id"] = json!("mine");
        let Told::Done(config) = by(binding, "CreateTaskPushNotificationConfig", &config, "").await else {
            panic!("no config by {binding:?}")
        };
        created.push(config);
    }
    assert!(created.windows(2).all(|two| two[0] == two[1]), "{created:#?}");
    assert_eq!((&created[0]["token"], &created[0]["authentication"]), (&json!("t"), &authentication));
    let got = all("GetTaskPushNotificationConfig", json!({"taskId": id, "id": "mine"}), "").await;
    assert_eq!(got[0]["authentication"], json!({"scheme": "Bearer"}));

    let parts = json!([{"text": "ä"}, {"data": {"n": 1, "half": 0.5, "none": null}}, {"raw": "AP8="}]);
    let artifact = json!({"artifactId": "a", "name": "n", "parts": parts, "metadata": {"k": [1]}});
    let updates = json!([
        {"work": {"statusMessage": {"parts": parts}, "metadata": {"step": 1}}},
        {"artifact": {"artifact": artifact}},
        {"artifact": {"artifact": artifact, "append": true, "lastChunk": true, "metadata": {"x": "y"}}},
        {"complete": {"statusMessage": {"parts": parts}}},
    ]);
    let applied = platform.work(&held, "apply", json!({"updates": updates})).await;
    assert_eq!(applied.status, 200, "{applied:?}");
    let events = all("SubscribeToTask", json!({"id": id}), "1").await;
    assert_eq!(events.len(), 4, "{events:#?}");
    assert_eq!(events[1]["artifactUpdate"]["artifact"]["parts"], parts);
    assert_eq!(events[3]["statusUpdate"]["status"]["message"]["parts"], parts);
    let task = all("GetTask", json!({"id": id}), "").await;
    assert_eq!(task[0]["artifacts"][0]["parts"].as_array().map(Vec::len), Some(6));
}
