//! Streams of 0.3: bare objects in JSON-RPC responses, and errors in the stream.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{rpc_body, send, send_proto};
use crate::client::text;
use crate::server::{Server, server};

/// A request as clients of 0.3 make it, and everything up to the end of its stream: the head and the events' `id`, `event` and `data`.
async fn read<E>(
    server: &Server<E>,
    method: &str,
    path: &str,
    headers: &str,
    body: &Value,
) -> (String, Vec<(String, String, Value)>) {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    let read = tokio::time::timeout(std::time::Duration::from_secs(20), socket.read_to_string(&mut text));
    read.await.expect("the stream ends").unwrap();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap();
    let lines = rest.lines().map(str::trim_end);
    let mut events = Vec::new();
    let (mut id, mut event) = (String::new(), String::new());
    for line in lines {
        if let Some(text) = line.strip_prefix("id: ") {
            text.clone_into(&mut id);
        } else if let Some(text) = line.strip_prefix("event: ") {
            text.clone_into(&mut event);
        } else if let Some(text) = line.strip_prefix("data: ") {
            events.push((std::mem::take(&mut id), std::mem::take(&mut event), serde_json::from_str(text).unwrap()));
        }
    }
    (head.to_lowercase(), events)
}

/// A worker that says how the next task goes.
async fn work<E: poem::Endpoint<Output = poem::Response>>(server: &Server<E>) {
    let polled = server.platform.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 10})).await;
    let lease = &polled.body["leases"][0];
    let held = crate::client::Held {
        task: text(&lease["task"]["id"]),
        lease: text(&lease["lease"]),
        epoch: lease["epoch"].as_i64().unwrap().to_string(),
    };
    let updates = json!({"updates": [
        {"work": {}},
        {"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "lastChunk": true}},
        {"complete": {"statusMessage": {"parts": [{"text": "done"}]}}},
    ]});
    let applied = server.platform.work(&held, "apply", updates).await;
    assert_eq!(applied.status, 200, "{applied:?}");
}

#[tokio::test]
async fn a_send_is_followed_in_both_dialects_and_resumed() {
    let server = server().await;
    let body = rpc_body("message/stream", send(json!({})));
    let keyed = "Idempotency-Key: k\r\n";
    let ((head, events), ()) = tokio::join!(read(&server, "POST", "/rpc", keyed, &body), work(&server));
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/event-stream"), "{head}");
    let kinds: Vec<&str> = events.iter().map(|(_, _, data)| data["result"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["task", "status-update", "artifact-update", "status-update"]);
    assert!(events.iter().all(|(_, _, data)| data["jsonrpc"] == "2.0" && data["id"] == 1));
    let finals: Vec<&Value> = events.iter().map(|(_, _, data)| &data["result"]["final"]).collect();
    assert_eq!((finals[1], finals[3]), (&json!(false), &json!(true)));
    assert_eq!(events[3].2["result"]["status"]["state"], "completed");
    assert_eq!(events[3].2["result"]["status"]["message"]["kind"], "message");
    // Again, from the second event on, over each binding.
    let last = format!("{keyed}Last-Event-ID: {}\r\n", events[1].0);
    let (_, again) = read(&server, "POST", "/rpc", &last, &body).await;
    assert_eq!(again, events[2..]);
    let (_, proto) = read(&server, "POST", "/v1/message:stream", &last, &send_proto(json!({}))).await;
    let numbers = |events: &[(String, String, Value)]| events.iter().map(|(id, ..)| id.clone()).collect::<Vec<_>>();
    assert_eq!(numbers(&proto), numbers(&again));
    assert_eq!(proto[1].2["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(proto[1].2["statusUpdate"]["final"], true);
    assert_eq!(proto[1].2["statusUpdate"]["status"]["message"]["content"], json!([{"text": "done"}]));
    let id = &events[0].2["result"]["id"];
    let last = format!("Last-Event-ID: {}\r\n", events[0].0);
    let (_, resumed) = read(&server, "POST", "/", &last, &rpc_body("tasks/resubscribe", json!({"id": id}))).await;
    assert_eq!(numbers(&resumed), numbers(&events[1..]));
    let path = format!("/v1/tasks/{}:subscribe", text(id));
    let (_, resumed) = read(&server, "GET", &path, &last, &Value::Null).await;
    assert_eq!(numbers(&resumed), numbers(&events[1..]));
}

#[tokio::test]
async fn json_rpc_tells_its_errors_in_the_stream() {
    let server = server().await;
    let done = server.platform.submit().await;
    server.platform.post(&format!("/tasks/{}:cancel", text(&done["id"])), json!({})).await;
    for (method, params, headers, code) in [
        ("tasks/resubscribe", json!({"id": uuid::Uuid::nil()}), "", -32001),
        ("tasks/resubscribe", json!({"id": done["id"]}), "", -32004),
        ("tasks/resubscribe", json!({}), "", -32602),
        ("tasks/resubscribe", json!({}), "A2A-Version: 1.0\r\n", -32603),
        ("tasks/resubscribe", json!({"id": done["id"]}), "Last-Event-ID: x\r\n", -32602),
        ("message/stream", json!({}), "", -32602),
        ("message/stream", send(json!({"taskId": done["id"]})), "", -32004),
    ] {
        let (head, events) = read(&server, "POST", "/rpc", headers, &rpc_body(method, params)).await;
        assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/event-stream"), "{head}");
        let [(id, event, data)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((id.as_str(), event.as_str()), ("", "error"));
        assert_eq!((&data["error"]["code"], &data["id"]), (&json!(code), &json!(1)), "{method}: {data}");
    }
    let (head, events) =
        read(&server, "POST", "/t/.acme", "", &rpc_body("tasks/resubscribe", json!({"id": "7"}))).await;
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    assert_eq!(events[0].2["error"]["code"], -32602);
    let (head, _) = read(&server, "GET", "/v1/tasks/7:subscribe", "", &Value::Null).await;
    assert!(head.starts_with("http/1.1 404") && head.contains("content-type: application/json"), "{head}");
}
