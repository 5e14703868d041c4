//! Sessions on the wire: the control stream byte by byte, drains, and what is refused.

use std::time::Duration;

use api::Options;
use engine::sessions::{Nudge, Turn};
use engine::{Hint, LeaseName};
use poem::http::Method;
use poem::{Endpoint, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::{Held, Platform, immediately, platform, settings, text};
use crate::server::{Server, server, server_with};

const LISTENING: &str = ": listening\n\n";
const RETRY: &str = "retry: 1000\n\n";

async fn open<E: Endpoint<Output = Response>>(platform: &Platform<E>) -> String {
    let opened = platform.post("/worker/v1/sessions", json!({"worker": "w", "agents": ["echo"]})).await;
    assert_eq!(opened.status, 200, "{opened:?}");
    text(&opened.body["session"])
}

async fn poll<E: Endpoint<Output = Response>>(platform: &Platform<E>, session: &str) -> Value {
    let body = json!({"session": session, "agents": ["echo"], "waitSeconds": 5, "start": true});
    let polled = platform.post("/worker/v1/leases:poll", body).await;
    assert_eq!(polled.status, 200, "{polled:?}");
    polled.body
}

async fn control<E: Endpoint<Output = Response>>(server: &Server<E>, session: &str) -> crate::server::Reader {
    server.open("GET", &format!("/worker/v1/sessions/{session}/control"), &[], Value::Null).await
}

fn event(kind: &str, held: &Held, state: &str) -> String {
    let data = json!({"kind": kind, "lease": held.lease, "taskId": held.task, "state": state});
    format!("event: {kind}\ndata: {data}\n\n")
}

#[tokio::test]
async fn a_control_stream_is_server_sent_events() {
    let mut server = server().await;
    let platform = &server.platform;
    let session = open(platform).await;
    let mut reader = control(&server, &session).await;
    assert_eq!(reader.status(), 200);
    assert_eq!(reader.header("content-type"), Some("text/event-stream"));
    assert_eq!(reader.header("cache-control"), Some("no-cache"));
    assert_eq!(reader.next().await.unwrap(), LISTENING);

    platform.submit().await;
    let lease = poll(platform, &session).await["leases"][0].take();
    let held = Held { task: text(&lease["task"]["id"]), lease: text(&lease["lease"]), epoch: String::new() };
    let more = platform.post("/message:send", immediately(json!({"taskId": held.task, "messageId": "n"}))).await;
    assert_eq!(more.status, 200, "{more:?}");
    let said = reader.next().await.unwrap();
    let data = |event: &str| -> Value { serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap() };
    assert_eq!(data(&said), data(&event("message", &held, "TASK_STATE_WORKING")));
    assert!(said.starts_with("event: message\ndata: {"), "{said}");
    platform.post(&format!("/tasks/{}:cancel", held.task), Value::Null).await;
    let said = reader.next().await.unwrap();
    assert_eq!(data(&said), data(&event("cancel", &held, "TASK_STATE_CANCELED")));

    platform.submit().await;
    let lease = poll(platform, &session).await["leases"][0].take();
    let drain = format!("/worker/v1/sessions/{session}:drain");
    let drained = platform.post(&drain, json!({"release": true})).await;
    assert_eq!((drained.status, drained.body), (200, json!({"released": 1})));
    let said = reader.next().await.unwrap();
    assert_eq!(said, "event: drain\ndata: {\"kind\":\"drain\"}\n\n");
    assert_eq!(data(&reader.next().await.unwrap())["lease"], lease["lease"]);
    assert_eq!(poll(platform, &session).await, json!({"leases": [], "drain": true}));
    let again = platform.post(&drain, Value::Null).await;
    assert_eq!((again.status, again.body), (200, json!({"released": 0})));
    let mut late = control(&server, &session).await;
    assert_eq!(late.next().await.unwrap(), LISTENING);
    assert_eq!(late.next().await.unwrap(), "event: drain\ndata: {\"kind\":\"drain\"}\n\n");

    server.stop();
    for mut reader in [reader, late] {
        assert_eq!(reader.next().await.unwrap(), RETRY);
        assert_eq!(reader.next().await, None);
    }
    server.ended().await;
}

#[tokio::test]
async fn a_quiet_control_stream_is_kept_alive() {
    let options = Options { keep_alive: Duration::from_millis(20), ..Options::default() };
    let server = server_with(settings(), options).await;
    let session = open(&server.platform).await;
    let mut reader = control(&server, &session).await;
    reader.text_of_length(LISTENING.len() + 3 * ": keep-alive\n".len()).await;
    server.platform.post(&format!("/worker/v1/sessions/{session}:drain"), Value::Null).await;
    assert_eq!(reader.next().await.unwrap(), LISTENING);
    let said = reader.next().await.unwrap();
    assert!(said.starts_with(": keep-alive\n") && said.ends_with("data: {\"kind\":\"drain\"}\n\n"), "{said}");
}

/// Nothing piles up for whoever is told more than it reads: its stream ends, and it comes again.
#[tokio::test]
async fn a_control_stream_that_overflows_ends() {
    let server = server().await;
    let session = open(&server.platform).await;
    let mut reader = control(&server, &session).await;
    assert_eq!(reader.next().await.unwrap(), LISTENING);
    let lease = LeaseName { task: Uuid::nil(), lease: Uuid::nil() };
    let nudge = Nudge::Lease { turn: Turn::Lost, lease, state: 2 };
    let hint = Hint::Control { session: session.parse().unwrap(), nudge };
    server.platform.engine.bus().send(vec![hint; 1_000]);
    let mut told = 0;
    loop {
        let said = reader.next().await.unwrap();
        if said == RETRY {
            break;
        }
        assert!(said.starts_with("event: lost\n"), "{said}");
        told += 1;
    }
    assert!((1..1_000).contains(&told), "{told}");
    assert_eq!(reader.next().await, None);
    assert_eq!(control(&server, &session).await.next().await.unwrap(), LISTENING);
}

/// Method, path and body; status and reason of the refusal; its fields.
type Case<'a> = (&'a Method, String, Value, (u16, &'a str), Vec<&'a str>);

#[tokio::test]
async fn what_is_wrong_with_a_session_is_said_and_changes_nothing() {
    let platform = platform().await;
    let session = open(&platform).await;
    let before = platform.rows().await;
    let queues = platform.get("/worker/v1/queues?agent=echo").await;
    let idle = json!({"agent": "echo", "ready": 0, "delayed": 0, "inFlight": 0, "waiting": 0, "oldestSeconds": 0.0, "workers": 1});
    assert_eq!((queues.status, queues.body), (200, json!({"queues": [idle]})));
    let many: Vec<Value> = (0..1_001).map(|n| json!({"lease": n.to_string(), "epoch": 1})).collect();
    let unknown = Uuid::now_v7();
    let worker = |path: &str| format!("/worker/v1{path}");
    let invalid = (400, "INVALID_PARAMS");
    let missing = (404, "SESSION_NOT_FOUND");
    let wrong = (405, "METHOD_NOT_ALLOWED");
    let drain = |session: &str| worker(&format!("/sessions/{session}:drain"));
    let control = |session: &str| worker(&format!("/sessions/{session}/control"));
    let (poll, beat) = (worker("/leases:poll"), worker("/leases:heartbeat"));
    let (post, get) = (Method::POST, Method::GET);
    let cases: Vec<Case<'_>> = vec![
        (&post, worker("/sessions"), json!({"worker": "w"}), invalid, vec!["agents"]),
        (&post, worker("/sessions"), json!({"agents": ["nobody"]}), invalid, vec!["agents[0]"]),
        (&post, worker("/sessions"), json!({"worker": "w".repeat(257), "agents": ["echo"]}), invalid, vec!["worker"]),
        (&post, drain("nope"), json!({}), missing, vec![]),
        (&post, drain(&unknown.to_string()), json!({"release": true}), missing, vec![]),
        (&post, drain(&unknown.simple().to_string()), json!({}), missing, vec![]),
        (&post, drain("%00"), json!({}), missing, vec![]),
        (&post, drain(&session), json!({"release": "yes"}), invalid, vec!["release"]),
        (&post, drain(&session), json!([]), invalid, vec![""]),
        (&get, drain(&session), Value::Null, wrong, vec![]),
        (&get, control("nope"), Value::Null, missing, vec![]),
        (&get, control(&unknown.to_string()), Value::Null, missing, vec![]),
        (&post, control(&session), json!({}), wrong, vec![]),
        (&get, worker(&format!("/sessions/{session}/else")), Value::Null, (404, "METHOD_NOT_FOUND"), vec![]),
        (&get, worker("/queues?agent=nobody"), Value::Null, invalid, vec!["agent"]),
        (&get, worker("/queues?agent=a&agent=b"), Value::Null, invalid, vec!["agent"]),
        (&post, worker("/queues"), json!({}), wrong, vec![]),
        (&post, poll.clone(), json!({"session": "s", "agents": ["echo"]}), invalid, vec!["session"]),
        (&post, poll.clone(), json!({"session": "s".repeat(257), "agents": ["echo"]}), invalid, vec!["session"]),
        (&post, poll, json!({"session": 7, "agents": ["echo"]}), invalid, vec!["session"]),
        (&post, beat.clone(), json!({"session": "s"}), invalid, vec!["session"]),
        (&post, beat.clone(), json!({"leases": many}), invalid, vec!["leases"]),
        (&post, beat, json!({"leases": [{"epoch": 1}]}), invalid, vec!["leases[0].lease"]),
    ];
    for (method, path, body, (status, reason), fields) in cases {
        let answer = platform.ask(method.clone(), &path, body.clone()).await;
        assert_eq!((answer.status, answer.reason()), (status, reason), "{path} {body}: {answer:?}");
        assert_eq!(answer.fields(), fields, "{path} {body}: {answer:?}");
    }
    assert_eq!(platform.rows().await, before);
    assert_eq!(poll_at_once(&platform, &session).await, json!({"leases": []}));
}

async fn poll_at_once<E: Endpoint<Output = Response>>(platform: &Platform<E>, session: &str) -> Value {
    let body = json!({"session": session, "agents": ["echo"], "waitSeconds": 0});
    platform.post("/worker/v1/leases:poll", body).await.body
}
