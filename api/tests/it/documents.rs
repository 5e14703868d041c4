//! The checked-in documents are what the code says, and what the code says is whole.

use std::path::Path;

use serde_json::{Value, json};

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
            item.as_object().unwrap().iter().filter(|(name, _)| *name != "servers").map(move |(method, operation)| {
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
        "GET /.well-known/agent-card.json GetAgentCard",
        "GET /.well-known/jwks.json GetSigningKeys",
        "GET /extendedAgentCard GetExtendedAgentCard",
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
        "GET /queues ListQueues",
        "GET /sessions/{session}/control ControlSession",
        "POST /leases/{lease}:release ReleaseLease",
        "POST /leases:heartbeat HeartbeatLeases",
        "POST /leases:poll PollLeases",
        "POST /sessions OpenSession",
        "POST /sessions/{session}:drain DrainSession",
        "POST /tasks/{id}:apply ApplyUpdates",
        "POST /tasks/{id}:complete CompleteTask",
        "POST /tasks/{id}:fail FailTask",
        "POST /tasks/{id}:reject RejectTask",
        "POST /tasks/{id}:reply ReplyToMessage",
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
            if operation.is_array() {
                // A path's own servers.
                continue;
            }
            for statuses in ["4XX", "5XX"] {
                let content = operation["responses"][statuses]["content"].as_object().unwrap();
                for media in content.values() {
                    assert_eq!(media["schema"]["$ref"], "#/components/schemas/ErrorResponse", "{name}");
                }
            }
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
        "header A2A-Extensions",
    ];
    assert_eq!(names("/tasks", "get"), list);
    assert_eq!(
        names("/tasks/{id}", "get"),
        ["path id", "query tenant", "query historyLength", "header A2A-Version", "header A2A-Extensions"]
    );
    assert_eq!(
        names("/message:send", "post"),
        ["header Idempotency-Key", "header A2A-Version", "header A2A-Extensions"]
    );
    let keyed = ["header Idempotency-Key", "header Last-Event-ID", "header A2A-Version", "header A2A-Extensions"];
    assert_eq!(names("/message:stream", "post"), keyed);
    for method in ["get", "post"] {
        let subscribe =
            ["path id", "header Last-Event-ID", "query tenant", "header A2A-Version", "header A2A-Extensions"];
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
        let media =
            json!({"schema": {"type": "string"}, "x-itemSchema": {"$ref": "#/components/schemas/StreamResponse"}});
        assert_eq!(*content, json!({"text/event-stream": media}), "{method} {path}");
    }
}

#[test]
fn every_operation_is_tagged_and_summed_up_in_a_line() {
    for name in ["a2a.json", "worker.json"] {
        let document = document(name);
        let tags: Vec<&str> =
            document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
        let mut used = std::collections::BTreeSet::new();
        for item in document["paths"].as_object().unwrap().values() {
            for operation in item.as_object().unwrap().values().filter(|operation| operation.is_object()) {
                let [tag] = operation["tags"].as_array().unwrap().as_slice() else { panic!("{operation}") };
                used.insert(tag.as_str().unwrap());
                let summary = operation["summary"].as_str().unwrap();
                assert!(!summary.is_empty() && !summary.contains(['\n', '\r']), "{summary}");
            }
        }
        assert_eq!(used, tags.into_iter().collect(), "{name}");
    }
}

#[test]
fn parameters_keep_the_bounds_of_the_request() {
    let document = document("a2a.json");
    let id = json!({"$ref": "#/components/schemas/Id"});
    for (path, method, index) in [
        ("/tasks/{id}", "get", 0),
        ("/tasks/{id}:cancel", "post", 0),
        ("/tasks/{id}:subscribe", "get", 0),
        ("/tasks/{task_id}/pushNotificationConfigs", "post", 0),
        ("/tasks/{task_id}/pushNotificationConfigs/{id}", "delete", 0),
        ("/tasks/{task_id}/pushNotificationConfigs/{id}", "delete", 1),
    ] {
        let parameter = &document["paths"][path][method]["parameters"][index];
        assert_eq!((&parameter["in"], &parameter["schema"]), (&json!("path"), &id), "{method} {path}");
    }
    let page_size = &document["paths"]["/tasks"]["get"]["parameters"][3]["schema"];
    assert_eq!(*page_size, json!({"type": "integer", "format": "int32", "minimum": 1, "maximum": 100}));
}

#[test]
fn answers_come_in_both_media_types_and_every_schema_has_a_name() {
    let document = document("a2a.json");
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(_, operation)| operation.is_object()) {
            let bodies = operation["responses"].as_object().unwrap().values().chain(operation.get("requestBody"));
            for content in bodies.filter_map(|body| body["content"].as_object()) {
                if content.contains_key("text/event-stream") {
                    continue;
                }
                let schema = |media: &str| content.get(media).map(|media| media["schema"].clone());
                assert!(schema("application/json").is_some(), "{method} {path}");
                // Cards and keys are plain JSON for whoever asks.
                if !path.starts_with("/.well-known") || content.len() > 1 {
                    assert_eq!(schema("application/json"), schema("application/a2a+json"), "{method} {path}");
                }
                for (media, body) in content {
                    assert!(body["schema"]["$ref"].is_string(), "{method} {path}: {media}");
                }
            }
        }
    }
}

#[test]
fn every_error_is_listed() {
    let document = document("a2a.json");
    let text = document["info"]["description"].as_str().unwrap();
    for reason in ["TASK_NOT_FOUND", "VERSION_NOT_SUPPORTED", "INVALID_PARAMS", "RESOURCE_EXHAUSTED"] {
        assert!(text.contains(&format!("| `{reason}` |")), "{reason}");
    }
    assert!(!text.contains("LEASE"));
}

#[test]
fn workers_parameters_are_typed() {
    let document = document("worker.json");
    let schema = |path: &str, method: &str, name: &str| {
        let parameters = document["paths"][path][method]["parameters"].as_array().unwrap();
        let parameter = parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
        (parameter["required"].as_bool().unwrap(), parameter["schema"].clone())
    };
    let epoch = json!({"type": "integer", "format": "int64"});
    assert_eq!(schema("/tasks/{id}:apply", "post", "Taskyard-Epoch"), (false, epoch.clone()));
    assert_eq!(schema("/leases/{lease}:release", "post", "Taskyard-Epoch"), (true, epoch));
    let state = json!({"$ref": "#/components/schemas/TaskState"});
    assert_eq!(schema("/allTasks", "get", "state"), (false, state));
    assert_eq!(schema("/allTasks", "get", "pageSize").1["maximum"], 100);
}

#[test]
fn cards_are_below_every_base_that_has_them() {
    let document = document("a2a.json");
    let urls = |servers: &Value| -> Vec<String> {
        servers.as_array().unwrap().iter().map(|server| server["url"].as_str().unwrap().to_owned()).collect()
    };
    let bases = ["/", "/{tenant}", "/agents/{agent}", "/t/{tenant}", "/t/{tenant}/agents/{agent}"];
    assert_eq!(urls(&document["servers"]), bases);
    let cards = ["/", "/agents/{agent}", "/t/{tenant}", "/t/{tenant}/agents/{agent}"];
    assert_eq!(urls(&document["paths"]["/.well-known/agent-card.json"]["servers"]), cards);
    assert_eq!(urls(&document["paths"]["/.well-known/jwks.json"]["servers"]), ["/"]);
    for server in document["servers"].as_array().unwrap() {
        let url = server["url"].as_str().unwrap();
        for variable in ["tenant", "agent"] {
            assert_eq!(url.contains(&format!("{{{variable}}}")), server["variables"][variable].is_object(), "{url}");
        }
    }
}
