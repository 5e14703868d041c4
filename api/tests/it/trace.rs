//! The trace context of a client's request reaches the worker, whichever binding it came in.

use poem::http::Method;
use serde_json::{Value, json};

use crate::client::{immediately, platform};
use crate::grpc::client::Remote;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn every_binding_carries_the_trace() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let rpc = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let now = immediately(json!({}));
    let old =
        json!({"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]});
    let old = json!({"message": old, "configuration": {"blocking": false}});
    let proto = json!({"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hello"}]});
    let proto = json!({"message": proto, "configuration": {"blocking": false}});
    let posts = [
        ("/message:send", "1.0", now.clone()),
        ("/rpc", "1.0", rpc("SendMessage", now.clone())),
        ("/rpc", "0.3", rpc("message/send", old)),
        ("/v1/message:send", "0.3", proto),
    ];
    for (traced, state, told) in [
        (PARENT, "rojo=1", json!({"traceparent": PARENT, "tracestate": "rojo=1"})),
        (PARENT, "no state", json!({"traceparent": PARENT})),
        ("00-nonsense", "rojo=1", Value::Null),
    ] {
        for (path, version, body) in &posts {
            let headers = [("A2A-Version", *version), ("Traceparent", traced), ("tracestate", state)];
            let sent = platform.plain(Method::POST, path, &headers, body.clone()).await;
            assert!(sent.status == 200 && sent.body["error"].is_null(), "{path}: {sent:?}");
            assert_eq!(polled(&platform).await, told, "{path} {version}");
        }
        let metadata = [("a2a-version", "1.0"), ("traceparent", traced), ("tracestate", state)];
        remote.call_with("SendMessage", now.clone(), &metadata).await.unwrap();
        assert_eq!(polled(&platform).await, told, "gRPC");
    }
}

/// The trace context of the next lease.
async fn polled<E>(platform: &crate::client::Platform<E>) -> Value
where
    E: poem::Endpoint<Output = poem::Response>,
{
    let polled = platform.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 5})).await;
    polled.body["leases"][0]["traceContext"].clone()
}
