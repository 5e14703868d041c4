//! Streams of both bindings on real sockets: what stands on the wire, and when it ends.

use std::sync::Arc;
use std::time::Duration;

use api::Options;
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::client::{Held, Platform, immediately, settings, text};
use crate::server::{Reader, call, server, server_with};

mod ends;

const WORKING: &str = "TASK_STATE_WORKING";

async fn apply<E: Endpoint<Output = Response>>(platform: &Platform<E>, held: &Held, updates: Value) {
    let applied = platform.work(held, "apply", json!({"updates": updates})).await;
    assert_eq!(applied.status, 200, "{applied:?}");
}

/// Whoever polls next holds the task.
async fn hold<E: Endpoint<Output = Response>>(platform: &Platform<E>, task: &str) -> Held {
    let polled = platform.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 5})).await;
    let lease = &polled.body["leases"][0];
    assert_eq!(lease["task"]["id"], task, "{polled:?}");
    Held { task: task.to_owned(), lease: text(&lease["lease"]), epoch: lease["epoch"].to_string() }
}

fn is_stream(reader: &Reader) {
    assert!(reader.head.starts_with("http/1.1 200 "), "{}", reader.head);
    assert_eq!(reader.header("content-type"), Some("text/event-stream"));
    assert_eq!(reader.header("cache-control"), Some("no-cache"));
    assert_eq!(reader.header("x-accel-buffering"), Some("no"));
}

fn said(text: &str) -> Value {
    json!({"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

#[tokio::test]
async fn every_byte_is_as_the_framing_says() {
    let server = server().await;
    let held = server.platform.hold().await;
    let subscribe = format!("/tasks/{}:subscribe", held.task);
    let asked = json!({"id": held.task});
    let mut streams = vec![
        (String::new(), server.open("GET", &subscribe, &[], Value::Null).await),
        (String::new(), server.open("POST", &subscribe, &[("Accept", "application/json")], json!({})).await),
    ];
    for id in [json!(1), json!("a\"b"), Value::Null] {
        let body = call(id.clone(), "SubscribeToTask", asked.clone());
        let opening = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        streams.push((opening, server.open("POST", "/rpc", &[], body).await));
    }
    let task = server.platform.get(&format!("/tasks/{}", held.task)).await.body;
    // A line feed in a text is none on the wire.
    apply(&server.platform, &held, json!([{"work": {}}, said("one\ntwo\r\n\n"), {"complete": {}}])).await;
    let events = server.events(&held.task).await;
    assert_eq!(events.iter().map(|event| event.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for (opening, mut reader) in streams {
        is_stream(&reader);
        let closing = if opening.is_empty() { "" } else { "}" };
        let first = reader.next().await.unwrap();
        let body = first.strip_prefix(&format!("id: 1\ndata: {opening}")).unwrap_or_else(|| panic!("{first}"));
        let body: Value = serde_json::from_str(body.strip_suffix(&format!("{closing}\n\n")).unwrap()).unwrap();
        assert_eq!(body, json!({"task": task}));
        for (number, body) in &events[1..] {
            assert_eq!(
                reader.next().await.unwrap(),
                format!("id: {number}\ndata: {opening}{body}{closing}\n\n"),
                "{opening}"
            );
        }
        assert_eq!(reader.next().await, None);
    }
}

#[tokio::test]
async fn a_sends_stream_ends_at_a_question_and_a_subscription_at_the_end() {
    let server = server().await;
    let platform = &server.platform;
    for rpc in [false, true] {
        let send = async |message: Value| {
            let params = immediately(message);
            match rpc {
                false => server.open("POST", "/message:stream", &[], params).await,
                true => server.open("POST", "/rpc", &[], call(json!(7), "SendStreamingMessage", params)).await,
            }
        };
        let mut sent = send(json!({})).await;
        is_stream(&sent);
        let (number, first) = sent.event().await.unwrap();
        assert_eq!((number, &first["task"]["status"]["state"]), (1, &json!("TASK_STATE_SUBMITTED")), "{first}");
        let id = text(&first["task"]["id"]);
        let mut subscribed = server.subscribe(&id, None).await;
        let held = hold(platform, &id).await;
        // It waits through a question for authorization, and not through one for input.
        apply(platform, &held, json!([{"work": {}}, {"requireAuth": {}}])).await;
        let mut answered = send(json!({"taskId": id, "messageId": "auth"})).await;
        let held = hold(platform, &id).await;
        apply(platform, &held, json!([{"work": {}}, {"requireInput": {}}])).await;
        let numbers = sent.numbers().await;
        assert!(numbers.iter().zip(2..).all(|(number, expected)| *number == expected), "{numbers:?}");
        let last = *numbers.last().unwrap();
        assert_eq!(answered.numbers().await.last(), Some(&last));
        let mut more = send(json!({"taskId": id, "messageId": "n"})).await;
        let held = hold(platform, &id).await;
        apply(platform, &held, json!([{"work": {}}, {"complete": {}}])).await;
        let events = server.events(&id).await;
        let all: Vec<i64> = events.iter().map(|event| event.0).collect();
        assert_eq!(subscribed.numbers().await, all);
        assert_eq!(more.numbers().await.last(), all.last());
    }
}

#[tokio::test]
async fn streams_are_on_every_path_of_every_tenant_and_agent() {
    let server = server().await;
    for base in ["", "/acme", "/t/acme", "/agents/other", "/agents/other/acme", "/t/acme/agents/echo/acme"] {
        let mut sent = server.open("POST", &format!("{base}/message:stream"), &[], immediately(json!({}))).await;
        is_stream(&sent);
        let (_, first) = sent.event().await.unwrap();
        let path = format!("{base}/tasks/{}:subscribe", text(&first["task"]["id"]));
        for method in ["GET", "POST"] {
            let mut subscribed = server.open(method, &path, &[], Value::Null).await;
            is_stream(&subscribed);
            assert_eq!(subscribed.event().await.unwrap(), (1, first.clone()), "{method} {path}");
        }
        // The tenant may also be named in the query, and is not another one.
        let named = server.open("GET", &format!("{path}?tenant=globex"), &[], Value::Null).await;
        assert_eq!(named.status(), if base.contains("acme") { 400 } else { 404 }, "{path}");
    }
    let mut sent = server.open("POST", "/acme/message:stream", &[], immediately(json!({}))).await;
    let (_, first) = sent.event().await.unwrap();
    let path = format!("/tasks/{}:subscribe?tenant=acme", text(&first["task"]["id"]));
    is_stream(&server.open("POST", &path, &[], Value::Null).await);
    let params = json!({"id": first["task"]["id"], "tenant": "acme"});
    for base in ["", "/t/acme", "/agents/echo/rpc"] {
        let path = if base.is_empty() { "/" } else { base };
        is_stream(&server.open("POST", path, &[], call(json!(1), "SubscribeToTask", params.clone())).await);
    }
}

#[tokio::test]
async fn a_subscription_goes_on_after_the_last_event_its_client_has() {
    let server = server().await;
    let held = server.platform.hold().await;
    apply(&server.platform, &held, json!([{"work": {}}, said("one"), said("two")])).await;
    let open = async |last: &str, rpc: bool| {
        let headers = [("last-event-id", last)];
        match rpc {
            false => server.open("POST", &format!("/tasks/{}:subscribe", held.task), &headers, Value::Null).await,
            true => {
                let body = call(json!(1), "SubscribeToTask", json!({"id": held.task}));
                server.open("POST", "/rpc", &headers, body).await
            }
        }
    };
    let mut live = Vec::new();
    for rpc in [false, true] {
        for (last, expected) in [("0", 1), ("1", 2), ("2", 3), ("4", 5)] {
            live.push((open(last, rpc).await, expected));
        }
        // With nothing there is no number, and one beyond the last is none of this task's: the task comes first.
        for last in ["", "99"] {
            let mut whole = open(last, rpc).await;
            let (number, first) = whole.event().await.unwrap();
            assert_eq!((number, &first["task"]["status"]["state"]), (4, &json!(WORKING)), "{last:?}");
        }
    }
    apply(&server.platform, &held, json!([said("three"), {"complete": {}}])).await;
    let events = server.events(&held.task).await;
    for (mut reader, expected) in live {
        is_stream(&reader);
        for (number, body) in &events[expected - 1..] {
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(reader.event().await.unwrap(), (*number, body));
        }
        assert_eq!(reader.next().await, None);
    }
    // Finished by now: what is left is replayed, and where nothing is left there is no stream.
    for rpc in [false, true] {
        assert_eq!(open("3", rpc).await.numbers().await, [4, 5, 6]);
        let mut over = open("6", rpc).await;
        assert_eq!(over.status(), if rpc { 200 } else { 400 });
        let error = over.json().await["error"].take();
        let details = if rpc { &error["data"] } else { &error["details"] };
        assert_eq!(details[0]["reason"], "UNSUPPORTED_OPERATION", "{error}");
        for bad in ["one", "-1", "1.5", "99999999999999999999"] {
            let mut refused = open(bad, rpc).await;
            assert_eq!(refused.status(), if rpc { 200 } else { 400 });
            let error = refused.json().await["error"].take();
            let details = if rpc { &error["data"] } else { &error["details"] };
            assert_eq!(details[0]["reason"], "INVALID_PARAMS", "{error}");
            assert_eq!(details[1]["fieldViolations"][0]["field"], "Last-Event-ID", "{error}");
        }
    }
}

#[tokio::test]
async fn a_sends_stream_is_resumed_with_its_key_and_without_one_is_another_send() {
    let server = server().await;
    for rpc in [false, true] {
        let key = if rpc { "k1" } else { "k2" };
        let open = async |headers: &[(&str, &str)]| match rpc {
            false => server.open("POST", "/message:stream", headers, immediately(json!({}))).await,
            true => {
                let body = call(json!(1), "SendStreamingMessage", immediately(json!({})));
                server.open("POST", "/", headers, body).await
            }
        };
        let mut first = open(&[("Idempotency-Key", key)]).await;
        let (_, task) = first.event().await.unwrap();
        let id = text(&task["task"]["id"]);
        let held = hold(&server.platform, &id).await;
        apply(&server.platform, &held, json!([{"work": {}}, said("one")])).await;
        assert_eq!(first.event().await.unwrap().0, 2);
        drop(first);
        let mut resumed = open(&[("Idempotency-Key", key), ("Last-Event-ID", "2")]).await;
        assert_eq!(resumed.event().await.unwrap().0, 3);
        let mut again = open(&[("Idempotency-Key", key)]).await;
        let (number, whole) = again.event().await.unwrap();
        assert_eq!((number, &whole["task"]["id"]), (3, &json!(id)));
        apply(&server.platform, &held, json!([{"complete": {}}])).await;
        assert_eq!(resumed.numbers().await, [4]);
        assert_eq!(again.numbers().await, [4]);
        let mut other = open(&[("Last-Event-ID", "2")]).await;
        let (number, created) = other.event().await.unwrap();
        assert_eq!(number, 1);
        assert_ne!(created["task"]["id"], json!(id));
        let refused = open(&[("Idempotency-Key", key), ("Last-Event-ID", "x")]).await;
        assert_eq!(refused.header("content-type"), Some(if rpc { "application/json" } else { "application/a2a+json" }));
        // Nobody may find it when the next one is held.
        let cancel = format!("/tasks/{}:cancel", text(&created["task"]["id"]));
        assert_eq!(server.platform.post(&cancel, Value::Null).await.status, 200);
    }
}

#[tokio::test]
async fn a_silent_stream_is_kept_open_by_comments() {
    let options = Options { keep_alive: Duration::from_millis(100), ..Options::default() };
    let server = server_with(settings(), options).await;
    let held = server.platform.hold().await;
    let mut reader = server.subscribe(&held.task, None).await;
    assert_eq!(reader.event().await.unwrap().0, 1);
    // Comments and nothing else: a blank line would end an event, which some clients then try to read.
    let comment = ": keep-alive\n";
    reader.text_of_length(2 * comment.len()).await;
    apply(&server.platform, &held, json!([{"work": {}}, {"complete": {}}])).await;
    let event = reader.next().await.unwrap();
    assert!(event.starts_with(&comment.repeat(2)), "{event:?}");
    assert!(event.trim_start_matches(comment).starts_with("id: 2\ndata: "), "{event:?}");
    let event = reader.next().await.unwrap();
    assert!(event.trim_start_matches(comment).starts_with("id: 3\ndata: "), "{event:?}");
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn an_error_before_the_first_item_is_no_stream() {
    let server = server().await;
    let done = text(&server.platform.submit().await["id"]);
    assert_eq!(server.platform.post(&format!("/tasks/{done}:cancel"), Value::Null).await.status, 200);
    let unknown = uuid::Uuid::nil();
    let accept = [("Accept", "text/event-stream")];
    let wrong = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}});
    for (method, path, body, (status, reason), (code, rpc)) in [
        (
            "GET",
            format!("/tasks/{unknown}:subscribe"),
            Value::Null,
            (404, "TASK_NOT_FOUND"),
            (-32001, json!({"id": unknown})),
        ),
        (
            "POST",
            format!("/tasks/{unknown}:subscribe"),
            json!({}),
            (404, "TASK_NOT_FOUND"),
            (-32001, json!({"id": unknown})),
        ),
        (
            "GET",
            format!("/tasks/{done}:subscribe"),
            Value::Null,
            (400, "UNSUPPORTED_OPERATION"),
            (-32004, json!({"id": done})),
        ),
        ("POST", "/message:stream".into(), wrong.clone(), (400, "INVALID_PARAMS"), (-32602, wrong)),
    ] {
        let mut refused = server.open(method, &path, &accept, body).await;
        assert_eq!(
            (refused.status(), refused.header("content-type")),
            (status, Some("application/a2a+json")),
            "{path}"
        );
        assert_eq!(refused.json().await["error"]["details"][0]["reason"], reason, "{path}");
        let name = if path.ends_with("stream") { "SendStreamingMessage" } else { "SubscribeToTask" };
        let mut refused = server.open("POST", "/rpc", &accept, call(json!("i"), name, rpc)).await;
        assert_eq!((refused.status(), refused.header("content-type")), (200, Some("application/json")), "{path}");
        let body = refused.json().await;
        assert_eq!((&body["id"], &body["error"]["code"]), (&json!("i"), &json!(code)), "{body}");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_stream_says_so_and_stores_nothing() {
    let mut settings = settings();
    Arc::make_mut(settings.agents.get_mut("echo").unwrap()).streaming = false;
    let server = server_with(settings, Options::default()).await;
    let id = text(&server.platform.submit().await["id"]);
    let before = server.platform.rows().await;
    for (method, path) in [
        ("POST", "/message:stream".to_owned()),
        ("GET", format!("/tasks/{id}:subscribe")),
        ("POST", format!("/tasks/{id}:subscribe")),
    ] {
        let mut refused = server.open(method, &path, &[], immediately(json!({}))).await;
        let body = refused.json().await;
        assert_eq!(refused.status(), 400);
        assert_eq!(body["error"]["details"][0]["metadata"]["capability"], "streaming", "{path}: {body}");
    }
    for method in ["SendStreamingMessage", "SubscribeToTask"] {
        let answer = server.platform.rpc(method, json!([])).await;
        assert_eq!(answer.body["error"]["code"], -32004, "{answer:?}");
    }
    assert_eq!(server.platform.rows().await, before);
    is_stream(&server.open("POST", "/agents/other/message:stream", &[], immediately(json!({}))).await);
}

#[tokio::test]
async fn other_methods_are_told_which_there_are() {
    let server = server().await;
    for (method, path, allow) in [
        ("HEAD", "/tasks/7:subscribe", "get, post"),
        ("PUT", "/tasks/7:subscribe", "get, post"),
        ("HEAD", "/message:stream", "post"),
        ("GET", "/acme/message:stream", "post"),
        ("GET", "/rpc", "post"),
        ("HEAD", "/rpc", "post"),
    ] {
        let refused = server.open(method, path, &[("Accept", "text/event-stream")], Value::Null).await;
        assert_eq!((refused.status(), refused.header("allow")), (405, Some(allow)), "{method} {path}");
        assert_ne!(refused.header("content-type"), Some("text/event-stream"));
    }
}
