//! The checked-in documents are what the code says, and what the code says is whole.

use std::path::Path;

use serde_json::Value;

#[test]
fn the_checked_in_documents_are_the_codes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi");
    for document in api::documents() {
        let text = std::fs::read_to_string(folder.join(document.name)).unwrap_or_default();
        assert!(
            text == document.text,
            "openapi/{} is not what the code says: run `cargo run -- openapi`",
            document.name
        );
    }
}

fn document(name: &str) -> Value {
    let documents = api::documents();
    let document = documents.iter().find(|document| document.name == name).unwrap();
    serde_json::from_str(&document.text).unwrap()
}

/// `POST /message:send SendMessage`, in order.
fn operations(document: &Value) -> Vec<String> {
    let paths = document["paths"].as_object().unwrap();
    let mut lines: Vec<String> = paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(move |(method, operation)| {
                format!("{} {path} {}", method.to_uppercase(), operation["operationId"].as_str().unwrap())
            })
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn a2a_has_the_protocols_paths() {
    let expected = [
        "DELETE /tasks/{task_id}/pushNotificationConfigs/{id} DeleteTaskPushNotificationConfig",
        "GET /tasks ListTasks",
        "GET /tasks/{id} GetTask",
        "GET /tasks/{id}:subscribe SubscribeToTask",
        "GET /tasks/{task_id}/pushNotificationConfigs ListTaskPushNotificationConfigs",
        "GET /tasks/{task_id}/pushNotificationConfigs/{id} GetTaskPushNotificationConfig",
        "POST /message:send SendMessage",
        "POST /message:stream SendStreamingMessage",
        "POST /tasks/{id}:cancel CancelTask",
        "POST /tasks/{id}:subscribe SubscribeToTaskByPost",
        "POST /tasks/{task_id}/pushNotificationConfigs CreateTaskPushNotificationConfig",
    ];
    assert_eq!(operations(&document("a2a.json")), expected);
}

#[test]
fn workers_have_the_designs_paths() {
    let expected = [
        "GET /allPushNotificationConfigs PushNotificationConfigs",
        "GET /allTasks AllTasks",
        "POST /leases/{lease}:release ReleaseLease",
        "POST /leases:heartbeat HeartbeatLeases",
        "POST /leases:poll PollLeases",
        "POST /sessions OpenSession",
        "POST /tasks/{id}:apply ApplyUpdates",
        "POST /tasks/{id}:complete CompleteTask",
        "POST /tasks/{id}:fail FailTask",
        "POST /tasks/{id}:reject RejectTask",
        "POST /tasks/{id}:require_auth RequireAuth",
        "POST /tasks/{id}:require_input RequireInput",
        "POST /tasks/{id}:update_artifact UpdateArtifact",
        "POST /tasks/{id}:work StartWorking",
    ];
    assert_eq!(operations(&document("worker.json")), expected);
}

#[test]
fn every_reference_resolves_and_every_operation_says_how_it_fails() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    for name in ["a2a.json", "worker.json"] {
        let document = document(name);
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20, "{name}: {found:?}");
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{name}: {reference}");
        }
        for operation in
            document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
        {
            let content = operation["responses"]["default"]["content"].as_object().unwrap();
            let schema = &content.values().next().unwrap()["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/ErrorResponse", "{name}");
        }
    }
}

#[test]
fn query_parameters_are_those_of_the_request() {
    let document = document("a2a.json");
    let names = |path: &str, method: &str| -> Vec<String> {
        let parameters = document["paths"][path][method]["parameters"].as_array().unwrap();
        let shown = |parameter: &Value| {
            let of = |name: &str| parameter[name].as_str().unwrap().to_owned();
            format!("{} {}", of("in"), of("name"))
        };
        parameters.iter().map(shown).collect()
    };
    let list = [
        "query tenant",
        "query contextId",
        "query status",
        "query pageSize",
        "query pageToken",
        "query historyLength",
        "query statusTimestampAfter",
        "query includeArtifacts",
        "header A2A-Version",
    ];
    assert_eq!(names("/tasks", "get"), list);
    assert_eq!(names("/tasks/{id}", "get"), ["path id", "query tenant", "query historyLength", "header A2A-Version"]);
    assert_eq!(names("/message:send", "post"), ["header Idempotency-Key", "header A2A-Version"]);
    let keyed = ["header Idempotency-Key", "header Last-Event-ID", "header A2A-Version"];
    assert_eq!(names("/message:stream", "post"), keyed);
    for method in ["get", "post"] {
        let subscribe = ["path id", "header Last-Event-ID", "query tenant", "header A2A-Version"];
        assert_eq!(names("/tasks/{id}:subscribe", method), subscribe);
    }
}

#[test]
fn streams_are_events_of_stream_responses() {
    let document = document("a2a.json");
    for (path, method) in
        [("/message:stream", "post"), ("/tasks/{id}:subscribe", "get"), ("/tasks/{id}:subscribe", "post")]
    {
        let content = &document["paths"][path][method]["responses"]["200"]["content"];
        let schema = serde_json::json!({"schema": {"$ref": "#/components/schemas/StreamResponse"}});
        assert_eq!(*content, serde_json::json!({"text/event-stream": schema}), "{method} {path}");
    }
}
