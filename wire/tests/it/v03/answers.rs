//! What 0.3 clients are answered.

use serde_json::{Value, json};
use wire::v03::{self, proto, rpc};
use wire::{SendMessageResponse, StreamResponse, Task};

fn from<T: serde::de::DeserializeOwned>(document: Value) -> T {
    serde_json::from_value(document).unwrap()
}

fn task() -> Task {
    from(json!({
        "id": "t", "contextId": "c",
        "status": {
            "state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-01-02T03:04:05.678Z",
            "message": {"messageId": "m2", "role": "ROLE_AGENT", "parts": [{"text": "when?"}], "contextId": "c", "taskId": "t"}
        },
        "artifacts": [{
            "artifactId": "a", "name": "n", "description": "d", "extensions": ["https://e"], "metadata": {"x": 1},
            "parts": [
                {"text": "t", "filename": "lost"},
                {"raw": "JVBERi0=", "filename": "f.pdf", "mediaType": "application/pdf"},
                {"url": "https://f/1"},
                {"data": {"k": 1}, "metadata": {"y": 2}},
                {"data": [1, 2], "metadata": {"y": 2}},
                {"data": null}
            ]
        }],
        "history": [{"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "book"}], "referenceTaskIds": ["r"]}],
        "metadata": {"z": true}
    }))
}

#[test]
fn a_task_is_printed_in_the_dialect_of_json_rpc() {
    let expected = json!({
        "kind": "task", "id": "t", "contextId": "c",
        "status": {
            "state": "input-required", "timestamp": "2026-01-02T03:04:05.678Z",
            "message": {
                "kind": "message", "messageId": "m2", "role": "agent", "contextId": "c", "taskId": "t",
                "parts": [{"kind": "text", "text": "when?"}]
            }
        },
        "artifacts": [{
            "artifactId": "a", "name": "n", "description": "d", "extensions": ["https://e"], "metadata": {"x": 1},
            "parts": [
                {"kind": "text", "text": "t"},
                {"kind": "file", "file": {"bytes": "JVBERi0=", "name": "f.pdf", "mimeType": "application/pdf"}},
                {"kind": "file", "file": {"uri": "https://f/1"}},
                {"kind": "data", "data": {"k": 1}, "metadata": {"y": 2}},
                {"kind": "data", "data": {"value": [1, 2]}, "metadata": {"y": 2, "data_part_compat": true}},
                {"kind": "data", "data": {"value": null}, "metadata": {"data_part_compat": true}}
            ]
        }],
        "history": [{
            "kind": "message", "messageId": "m1", "role": "user", "referenceTaskIds": ["r"],
            "parts": [{"kind": "text", "text": "book"}]
        }],
        "metadata": {"z": true}
    });
    let task = task();
    assert_eq!(json!(rpc::task(&task)), expected);
    assert_eq!(json!(rpc::send_response(&SendMessageResponse::Task(task.clone()))), expected);
    assert_eq!(json!(rpc::stream_response(&StreamResponse::Task(task.clone()))), expected);
    let message = task.history[0].clone();
    assert_eq!(json!(rpc::message(&message)), expected["history"][0]);
    assert_eq!(json!(rpc::send_response(&SendMessageResponse::Message(message))), expected["history"][0]);
}

#[test]
fn events_are_bare_objects_and_say_whether_they_are_the_last() {
    let states = [
        ("SUBMITTED", "submitted", false),
        ("WORKING", "working", false),
        ("COMPLETED", "completed", true),
        ("FAILED", "failed", true),
        ("CANCELED", "canceled", true),
        ("INPUT_REQUIRED", "input-required", false),
        ("REJECTED", "rejected", true),
        ("AUTH_REQUIRED", "auth-required", false),
        ("UNSPECIFIED", "unknown", false),
    ];
    for (state, name, last) in states {
        let event = json!({"statusUpdate": {
            "taskId": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}, "metadata": {"a": 1}
        }});
        let expected = json!({
            "kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": name}, "final": last,
            "metadata": {"a": 1}
        });
        assert_eq!(json!(rpc::stream_response(&from(event.clone()))), expected);
        let body = v03::notification(&event.to_string()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    }
    let event = json!({"artifactUpdate": {
        "taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "append": true
    }});
    let expected = json!({
        "kind": "artifact-update", "taskId": "t", "contextId": "c", "append": true, "lastChunk": false,
        "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x"}]}
    });
    assert_eq!(json!(rpc::stream_response(&from(event))), expected);
    assert!(v03::notification("{}").is_err());
}

#[test]
fn push_configs_are_nested() {
    let config = json!({
        "id": "p", "taskId": "t", "url": "https://h", "token": "s",
        "authentication": {"scheme": "Bearer", "credentials": "w"}
    });
    let expected = json!({"taskId": "t", "pushNotificationConfig": {
        "id": "p", "url": "https://h", "token": "s", "authentication": {"schemes": ["Bearer"], "credentials": "w"}
    }});
    assert_eq!(json!(rpc::push_config(&from(config.clone()))), expected);
    let page = json!({"configs": [config], "nextPageToken": "n"});
    assert_eq!(json!(rpc::push_configs(&from(page))), json!([expected]));
}

#[test]
fn a_task_is_printed_in_the_dialect_of_the_proto() {
    let expected = json!({
        "id": "t", "contextId": "c",
        "status": {
            "state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-01-02T03:04:05.678Z",
            "message": {
                "messageId": "m2", "role": "ROLE_AGENT", "contextId": "c", "taskId": "t", "content": [{"text": "when?"}]
            }
        },
        "artifacts": [{
            "artifactId": "a", "name": "n", "description": "d", "extensions": ["https://e"], "metadata": {"x": 1},
            "parts": [
                {"text": "t"},
                {"file": {"fileWithBytes": "JVBERi0=", "name": "f.pdf", "mimeType": "application/pdf"}},
                {"file": {"fileWithUri": "https://f/1"}},
                {"data": {"data": {"k": 1}}, "metadata": {"y": 2}},
                {"data": {"data": {"value": [1, 2]}}, "metadata": {"y": 2, "data_part_compat": true}},
                {"data": {"data": {"value": null}}, "metadata": {"data_part_compat": true}}
            ]
        }],
        "history": [{"messageId": "m1", "role": "ROLE_USER", "content": [{"text": "book"}]}],
        "metadata": {"z": true}
    });
    let task = task();
    assert_eq!(json!(proto::task(&task)), expected);
    assert_eq!(json!(proto::send_response(&SendMessageResponse::Task(task.clone()))), json!({"task": expected}));
    assert_eq!(json!(proto::stream_response(&StreamResponse::Task(task.clone()))), json!({"task": expected}));
    let message = task.history[0].clone();
    assert_eq!(json!(proto::message(&message)), expected["history"][0]);
    let message = SendMessageResponse::Message(message);
    assert_eq!(json!(proto::send_response(&message)), json!({"message": expected["history"][0]}));
}

#[test]
fn events_and_configs_of_the_proto_are_wrapped_and_named() {
    let event = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_CANCELED"}}});
    let expected = json!({"statusUpdate": {
        "taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_CANCELLED"}, "final": true
    }});
    assert_eq!(json!(proto::stream_response(&from(event))), expected);
    let event = json!({"artifactUpdate": {
        "taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"url": "u"}]}, "lastChunk": true
    }});
    let expected = json!({"artifactUpdate": {
        "taskId": "t", "contextId": "c", "append": false, "lastChunk": true,
        "artifact": {"artifactId": "a", "parts": [{"file": {"fileWithUri": "u"}}]}
    }});
    assert_eq!(json!(proto::stream_response(&from(event))), expected);

    let config = json!({"id": "p", "taskId": "t", "url": "https://h"});
    let expected = json!({
        "name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": {"id": "p", "url": "https://h"}
    });
    assert_eq!(json!(proto::push_config(&from(config.clone()))), expected);
    let page = json!({"configs": [config], "nextPageToken": "n"});
    assert_eq!(json!(proto::push_configs(&from(page))), json!({"configs": [expected], "nextPageToken": "n"}));
    let none = json!({"configs": [], "nextPageToken": ""});
    assert_eq!(json!(proto::push_configs(&from(none))), json!({"configs": []}));
}
