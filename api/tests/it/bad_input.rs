//! Bad input over both bindings: the exact status, code, reason and fields, and a store that holds what it held before.

use api::Options;
use poem::http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, Platform, platform_with, settings, text};

mod send;
use send::sends;

/// What is wrong, as each binding says it.
pub(super) struct Expected {
    status: u16,
    code: i32,
    reason: &'static str,
    fields: &'static [&'static str],
}

const fn invalid(fields: &'static [&'static str]) -> Expected {
    Expected { status: 400, code: -32602, reason: "INVALID_PARAMS", fields }
}

const PARSE: Expected = Expected { status: 400, code: -32700, reason: "PARSE_ERROR", fields: &[] };
const TYPE: Expected = Expected { status: 400, code: -32005, reason: "CONTENT_TYPE_NOT_SUPPORTED", fields: &[] };
const LARGE: Expected = Expected { status: 413, code: -32600, reason: "PAYLOAD_TOO_LARGE", fields: &[] };
const NO_TASK: Expected = Expected { status: 404, code: -32001, reason: "TASK_NOT_FOUND", fields: &[] };

/// A request in HTTP+JSON.
struct Rest {
    method: Method,
    path: String,
    body: Option<String>,
}

fn post(path: &str, body: &str) -> Rest {
    Rest { method: Method::POST, path: path.into(), body: Some(body.into()) }
}

fn get(path: impl Into<String>) -> Rest {
    Rest { method: Method::GET, path: path.into(), body: None }
}

/// The smallest platform that everything can be sent to.
async fn small() -> Platform<impl poem::Endpoint<Output = poem::Response>> {
    let mut settings = settings();
    let agent = std::sync::Arc::make_mut(settings.agents.get_mut("echo").unwrap());
    agent.limits.parts = 3;
    platform_with(settings, Options { body_bytes: 20_000, ..Options::default() }).await
}

async fn rest<E: poem::Endpoint<Output = poem::Response>>(platform: &Platform<E>, rest: Rest, media: &str) -> Answer {
    let request = platform.client.request(rest.method, rest.path).header("A2A-Version", "1.0");
    Answer::of(match rest.body {
        Some(body) => request.content_type(media).body(body),
        None => request,
    })
    .await
}

async fn rpc<E: poem::Endpoint<Output = poem::Response>>(platform: &Platform<E>, body: String, media: &str) -> Answer {
    let request = platform.client.post("/").header("A2A-Version", "1.0").content_type(media).body(body);
    Answer::of(request).await
}

fn check_rest(name: &str, answer: &Answer, expected: &Expected) {
    let error = &answer.body["error"];
    assert_eq!(answer.status, expected.status, "{name}: {answer:?}");
    assert_eq!(error["code"], expected.status, "{name}: {answer:?}");
    assert_eq!(answer.content_type, "application/a2a+json", "{name}");
    assert_eq!(answer.reason(), expected.reason, "{name}: {answer:?}");
    assert_eq!(answer.fields(), expected.fields, "{name}: {answer:?}");
    let members: Vec<&String> = error.as_object().unwrap().keys().collect();
    assert_eq!(members, ["code", "details", "message", "status"], "{name}");
}

fn check_rpc(name: &str, answer: &Answer, id: Value, expected: &Expected) {
    let error = &answer.body["error"];
    assert_eq!(answer.status, 200, "{name}: {answer:?}");
    assert_eq!(answer.content_type, "application/json", "{name}");
    assert_eq!(answer.body["jsonrpc"], "2.0", "{name}");
    assert_eq!(answer.body["id"], id, "{name}: {answer:?}");
    assert_eq!(error["code"], expected.code, "{name}: {answer:?}");
    assert_eq!(answer.reason(), expected.reason, "{name}: {answer:?}");
    assert_eq!(answer.fields(), expected.fields, "{name}: {answer:?}");
    let members: Vec<&String> = error.as_object().unwrap().keys().collect();
    assert_eq!(members, ["code", "data", "message"], "{name}");
}

#[tokio::test]
async fn sends_are_refused_alike_by_both_bindings() {
    let platform = small().await;
    platform.submit().await;
    let before = platform.rows().await;
    for (name, params, expected) in sends() {
        check_rest(name, &rest(&platform, post("/message:send", &params), "application/a2a+json").await, &expected);
        assert_eq!(platform.rows().await, before, "{name}");
        let called = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"SendMessage","params":{params}}}"#);
        check_rpc(name, &rpc(&platform, called, "application/json").await, json!("x"), &expected);
        assert_eq!(platform.rows().await, before, "{name}");
    }
}

#[tokio::test]
async fn reads_and_changes_are_refused_alike_by_both_bindings() {
    let platform = small().await;
    let id = text(&platform.submit().await["id"]);
    let configs = format!("/tasks/{id}/pushNotificationConfigs");
    let before = platform.rows().await;
    let longest = "x".repeat(257);
    let cases: Vec<(&str, Rest, &str, Value, Expected)> = vec![
        ("an id too long", get(format!("/tasks/{longest}")), "GetTask", json!({"id": longest}), invalid(&["id"])),
        ("an unknown task", get("/tasks/nope"), "GetTask", json!({"id": "nope"}), NO_TASK),
        (
            "negative history",
            get(format!("/tasks/{id}?historyLength=-1")),
            "GetTask",
            json!({"id": id, "historyLength": -1}),
            invalid(&["historyLength"]),
        ),
        (
            "history of the wrong type",
            get(format!("/tasks/{id}?history_length=x")),
            "GetTask",
            json!({"id": id, "historyLength": "x"}),
            invalid(&["historyLength"]),
        ),
        ("page size 0", get("/tasks?pageSize=0"), "ListTasks", json!({"pageSize": 0}), invalid(&["pageSize"])),
        ("page size 101", get("/tasks?pageSize=101"), "ListTasks", json!({"pageSize": 101}), invalid(&["pageSize"])),
        ("page size -1", get("/tasks?page_size=-1"), "ListTasks", json!({"page_size": -1}), invalid(&["pageSize"])),
        (
            "page size out of range",
            get("/tasks?pageSize=3000000000"),
            "ListTasks",
            json!({"pageSize": 3_000_000_000_i64}),
            invalid(&["pageSize"]),
        ),
        ("an unknown status", get("/tasks?status=DONE"), "ListTasks", json!({"status": "DONE"}), invalid(&["status"])),
        (
            "an unknown status by number",
            get("/tasks?status=99"),
            "ListTasks",
            json!({"status": 99}),
            invalid(&["status"]),
        ),
        (
            "a bad cursor",
            get("/tasks?pageToken=nope"),
            "ListTasks",
            json!({"pageToken": "nope"}),
            invalid(&["pageToken"]),
        ),
        (
            "a bad timestamp",
            get("/tasks?statusTimestampAfter=today"),
            "ListTasks",
            json!({"statusTimestampAfter": "today"}),
            invalid(&["statusTimestampAfter"]),
        ),
        (
            "a flag that is none",
            get("/tasks?includeArtifacts=1"),
            "ListTasks",
            json!({"includeArtifacts": 1}),
            invalid(&["includeArtifacts"]),
        ),
        (
            "two at once",
            get("/tasks?pageSize=0&historyLength=-2"),
            "ListTasks",
            json!({"pageSize": 0, "historyLength": -2}),
            invalid(&["pageSize", "historyLength"]),
        ),
        (
            "a tenant that cannot be",
            get("/tasks?tenant=.a"),
            "ListTasks",
            json!({"tenant": ".a"}),
            invalid(&["tenant"]),
        ),
        (
            "cancel with bad metadata",
            post(&format!("/tasks/{id}:cancel"), r#"{"metadata":1}"#),
            "CancelTask",
            json!({"id": id, "metadata": 1}),
            invalid(&["metadata"]),
        ),
        ("cancel of an unknown task", post("/tasks/nope:cancel", "{}"), "CancelTask", json!({"id": "nope"}), NO_TASK),
        (
            "a config without url",
            post(&configs, "{}"),
            "CreateTaskPushNotificationConfig",
            json!({"taskId": id}),
            invalid(&["url"]),
        ),
        (
            "a config that is no url",
            post(&configs, r#"{"url":"nope"}"#),
            "CreateTaskPushNotificationConfig",
            json!({"taskId": id, "url": "nope"}),
            invalid(&["url"]),
        ),
        (
            "a config whose token breaks a header",
            post(&configs, r#"{"url":"https://a.example/","token":"a\nb"}"#),
            "CreateTaskPushNotificationConfig",
            json!({"taskId": id, "url": "https://a.example/", "token": "a\nb"}),
            invalid(&["token"]),
        ),
        (
            "a config of an unknown task",
            post("/tasks/nope/pushNotificationConfigs", r#"{"url":"https://a.example/"}"#),
            "CreateTaskPushNotificationConfig",
            json!({"taskId": "nope", "url": "https://a.example/"}),
            NO_TASK,
        ),
        (
            "an unknown config",
            get(format!("{configs}/nope")),
            "GetTaskPushNotificationConfig",
            json!({"taskId": id, "id": "nope"}),
            NO_TASK,
        ),
        (
            "configs, page size 101",
            get(format!("{configs}?pageSize=101")),
            "ListTaskPushNotificationConfigs",
            json!({"taskId": id, "pageSize": 101}),
            invalid(&["pageSize"]),
        ),
        (
            "configs, a bad cursor",
            get(format!("{configs}?page_token=x")),
            "ListTaskPushNotificationConfigs",
            json!({"taskId": id, "pageToken": "x"}),
            invalid(&["pageToken"]),
        ),
        (
            "configs of an unknown task",
            get("/tasks/nope/pushNotificationConfigs"),
            "ListTaskPushNotificationConfigs",
            json!({"taskId": "nope"}),
            NO_TASK,
        ),
        (
            "deleting of an unknown task",
            Rest { method: Method::DELETE, path: "/tasks/nope/pushNotificationConfigs/c".into(), body: None },
            "DeleteTaskPushNotificationConfig",
            json!({"taskId": "nope", "id": "c"}),
            NO_TASK,
        ),
    ];
    for (name, request, method, params, expected) in cases {
        check_rest(name, &rest(&platform, request, "application/json").await, &expected);
        assert_eq!(platform.rows().await, before, "{name}");
        check_rpc(name, &platform.rpc(method, params).await, json!(1), &expected);
        assert_eq!(platform.rows().await, before, "{name}");
    }
}

#[tokio::test]
async fn what_the_path_says_the_body_may_not_contradict() {
    let platform = small().await;
    let id = text(&platform.submit().await["id"]);
    let before = platform.rows().await;
    let cases = [
        (
            "/acme/message:send".to_owned(),
            json!({"tenant": "other", "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}]}}),
            "tenant",
        ),
        (format!("/tasks/{id}:cancel"), json!({"id": "other"}), "id"),
        (
            format!("/tasks/{id}/pushNotificationConfigs"),
            json!({"taskId": "other", "url": "https://a.example/"}),
            "taskId",
        ),
    ];
    for (path, body, field) in cases {
        let answer = platform.post(&path, body).await;
        assert_eq!((answer.status, answer.fields()), (400, vec![field]), "{path}: {answer:?}");
    }
    let queried = platform.get("/acme/tasks?tenant=other").await;
    assert_eq!((queried.status, queried.fields()), (400, vec!["tenant"]));
    let called = platform
        .post("/t/acme/rpc", json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"tenant": "other"}}));
    let called = called.await;
    assert_eq!((called.body["error"]["code"].as_i64(), called.fields()), (Some(-32602), vec!["tenant"]));
    assert_eq!(platform.rows().await, before);
}

#[tokio::test]
async fn bodies_are_bounded_typed_and_json() {
    let platform = small().await;
    platform.submit().await;
    let before = platform.rows().await;
    let send = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}}"#;
    let long = send.replace("\"a\"", &format!("\"{}\"", "a".repeat(20_000)));
    let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}"#);
    for (name, body, media, expected) in [
        ("too long", long.as_str(), "application/json", &LARGE),
        ("another type", send, "text/plain", &TYPE),
        ("a form", send, "application/x-www-form-urlencoded", &TYPE),
        ("another json", send, "application/ld+json", &TYPE),
        ("not json", "{\"message\":", "application/json", &PARSE),
        ("nothing", "", "application/json", &PARSE),
        ("more than json", "{} {}", "application/json", &PARSE),
    ] {
        check_rest(name, &rest(&platform, post("/message:send", body), media).await, expected);
        assert_eq!(platform.rows().await, before, "{name}");
        // What cannot be read as JSON names no id, nor does what is not read at all.
        let id = if media == "application/json" { Value::Null } else { json!(1) };
        let called = if body.is_empty() { String::new() } else { call(body) };
        check_rpc(name, &rpc(&platform, called, media).await, id, expected);
        assert_eq!(platform.rows().await, before, "{name}");
    }
    // Without a length the bound holds all the same.
    let chunks = futures_util::stream::iter(vec![Ok::<_, std::io::Error>(long.into_bytes())]);
    let body = poem::Body::from_bytes_stream(chunks);
    let request = platform.client.post("/message:send").header("A2A-Version", "1.0").body(body);
    check_rest("too long, in chunks", &Answer::of(request).await, &LARGE);
    assert_eq!(platform.rows().await, before);
    // Parameters and case of a media type do not count, and none is JSON.
    for media in ["application/json; charset=utf-8", "Application/A2A+JSON", "application/a2a+json;x=y"] {
        assert_eq!(rest(&platform, post("/message:send", "{}"), media).await.fields(), ["message"], "{media}");
    }
    let bare = platform.client.post("/message:send").header("A2A-Version", "1.0").body("{}");
    assert_eq!(Answer::of(bare).await.fields(), ["message"]);
}
