//! Good requests, to be made worse.

use poem::http::{HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

/// Method, path and body of good requests, one of each operation of every surface.
pub(crate) fn good() -> Vec<(Method, &'static str, Value)> {
    let task = "00000000-0000-0000-0000-000000000000";
    let message = json!({"messageId": "m", "role": "ROLE_USER", "contextId": "c", "parts": [
        {"text": "a", "mediaType": "text/plain", "filename": "f", "metadata": {"k": 1}}, {"raw": "aGk="}, {"url": "http://127.0.0.1/"},
        {"data": {"n": [1, null, 0.5]}}], "metadata": {"k": {}}, "extensions": ["urn:x"], "referenceTaskIds": ["r"]});
    let send = json!({"tenant": "t", "message": message, "metadata": {"a": "b"}, "configuration": {
        "returnImmediately": true, "historyLength": 1, "acceptedOutputModes": ["text/plain"],
        "taskPushNotificationConfig": {"url": "http://127.0.0.1:2/", "token": "t", "authentication": {"scheme": "Bearer", "credentials": "c"}}}});
    let named = json!({"tenant": "t", "id": task, "historyLength": 1, "metadata": {}});
    let config = json!({"taskId": task, "id": "c", "url": "http://127.0.0.1:2/", "pageSize": 1, "pageToken": ""});
    let list = json!({"pageSize": 1, "pageToken": "", "status": "TASK_STATE_WORKING", "contextId": "c", "historyLength": 0,
        "statusTimestampAfter": "2026-01-01T00:00:00.000Z", "includeArtifacts": true});
    let mut all = vec![
        (Method::POST, "/message:send", send.clone()),
        (Method::POST, "/message:stream", send.clone()),
        (Method::POST, "/tasks/00000000-0000-0000-0000-000000000000:cancel", named.clone()),
        (Method::POST, "/tasks/00000000-0000-0000-0000-000000000000:subscribe", named.clone()),
        (Method::POST, "/tasks/00000000-0000-0000-0000-000000000000/pushNotificationConfigs", config.clone()),
        (Method::POST, "/worker/v1/sessions", json!({"worker": "w", "agents": ["echo"]})),
        (
            Method::POST,
            "/worker/v1/leases:poll",
            json!({"agents": ["echo"], "max": 1, "waitSeconds": 0, "start": true}),
        ),
        (Method::POST, "/worker/v1/leases:heartbeat", json!({"session": task, "leases": [{"lease": "l", "epoch": 1}]})),
        (Method::POST, "/worker/v1/sessions/00000000-0000-0000-0000-000000000000:drain", json!({"release": true})),
        (Method::POST, "/worker/v1/leases/l:release", json!({"delaySeconds": 1, "reason": "r", "retryable": false})),
        (
            Method::POST,
            "/worker/v1/tasks/00000000-0000-0000-0000-000000000000:apply",
            json!({"cancelable": true, "updates": [{"work": {"statusMessage": {"parts": [{"text": "t"}]}}},
                {"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "t"}]}, "append": true, "lastChunk": false}},
                {"complete": {"metadata": {}}}]}),
        ),
    ];
    let parts = json!([{"kind": "text", "text": "a"}, {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "image/png"}}, {"kind": "data", "data": {"k": 1}}]);
    let message = json!({"kind": "message", "messageId": "m", "role": "user", "contextId": "c", "parts": parts, "metadata": {"k": {}}});
    let configuration = json!({"blocking": false, "historyLength": 1, "acceptedOutputModes": ["text/plain"],
        "pushNotificationConfig": {"id": "c", "url": "http://127.0.0.1:2/", "authentication": {"schemes": ["Bearer"]}}});
    let old = json!({"message": message, "configuration": configuration, "metadata": {"a": "b"}});
    let content = json!([{"text": "a"}, {"file": {"fileWithBytes": "aGk=", "mimeType": "image/png"}}, {"data": {"data": {"k": 1}}}]);
    let plain = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": content}, "configuration": {"blocking": false}});
    all.push((Method::POST, "/v1/message:send", plain.clone()));
    all.push((Method::POST, "/v1/message:stream", plain));
    let set = json!({"taskId": task, "pushNotificationConfig": {"url": "http://127.0.0.1:2/", "token": "t"}});
    let olds = [
        ("message/send", old.clone()),
        ("message/stream", old),
        ("tasks/get", named.clone()),
        ("tasks/cancel", named.clone()),
        ("tasks/resubscribe", named.clone()),
        ("tasks/pushNotificationConfig/set", set),
        ("tasks/pushNotificationConfig/list", named.clone()),
        ("agent/getAuthenticatedExtendedCard", json!({})),
    ];
    all.extend(olds.into_iter().map(|(method, params)| {
        (Method::POST, "/", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }));
    let calls = [
        ("SendMessage", send.clone()),
        ("SendStreamingMessage", send),
        ("GetTask", named.clone()),
        ("CancelTask", named.clone()),
        ("SubscribeToTask", named),
        ("ListTasks", list),
        ("CreateTaskPushNotificationConfig", config.clone()),
        ("GetTaskPushNotificationConfig", config.clone()),
        ("ListTaskPushNotificationConfigs", config.clone()),
        ("DeleteTaskPushNotificationConfig", config),
        ("GetExtendedAgentCard", json!({})),
    ];
    all.extend(calls.into_iter().map(|(method, params)| {
        (Method::POST, "/rpc", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }));
    all
}

/// What such a request says of itself: those of 0.3 name no version.
pub(crate) fn usual_at(path: &str) -> Vec<(HeaderName, HeaderValue)> {
    let old = path == "/" || path.starts_with("/v1");
    usual().into_iter().filter(|(name, _)| !(old && name == "a2a-version")).collect()
}

/// What a good request says of itself.
pub(crate) fn usual() -> Vec<(HeaderName, HeaderValue)> {
    let header = |name, value| (HeaderName::from_static(name), HeaderValue::from_static(value));
    vec![header("a2a-version", "1.0"), header("content-type", "application/json")]
}
