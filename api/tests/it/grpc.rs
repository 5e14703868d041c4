//! The gRPC binding over a socket, by a client that knows nothing of it but the proto.

use serde_json::{Value, json};
use tonic::Code;

use crate::client::{immediately, platform, text};

mod alike;
mod bad_input;
pub(crate) mod client;
mod messages;
pub(crate) mod proto;
mod services;
mod streams;

use client::{Remote, fields, reason};

#[tokio::test]
async fn every_method_answers() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let sent = remote.call("SendMessage", immediately(json!({}))).await.unwrap();
    let id = text(&sent["task"]["id"]);
    assert_eq!(sent["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    let got = remote.call("GetTask", json!({"id": id, "historyLength": 1})).await.unwrap();
    assert_eq!((&got["id"], &got["history"][0]["messageId"]), (&json!(id), &json!("m")));
    let listed = remote.call("ListTasks", json!({"includeArtifacts": true})).await.unwrap();
    assert_eq!(
        (&listed["tasks"][0]["id"], &listed["totalSize"], &listed["pageSize"]),
        (&json!(id), &json!(1), &json!(50))
    );
    let hook = json!({"taskId": id, "id": "hook", "url": "http://127.0.0.1:2/", "token": "secret"});
    let created = remote.call("CreateTaskPushNotificationConfig", hook).await.unwrap();
    assert_eq!((&created["id"], &created["token"]), (&json!("hook"), &json!("secret")));
    let named = json!({"taskId": id, "id": "hook"});
    let got = remote.call("GetTaskPushNotificationConfig", named.clone()).await.unwrap();
    assert_eq!((&got["url"], &got["token"]), (&json!("http://127.0.0.1:2/"), &Value::Null));
    let listed = remote.call("ListTaskPushNotificationConfigs", json!({"taskId": id})).await.unwrap();
    assert_eq!(listed["configs"][0]["id"], "hook");
    assert_eq!(remote.call("DeleteTaskPushNotificationConfig", named.clone()).await.unwrap(), json!({}));
    let gone = remote.call("GetTaskPushNotificationConfig", named).await.unwrap_err();
    assert_eq!((gone.code(), reason(&gone).as_str()), (Code::NotFound, "TASK_NOT_FOUND"));
    let (mut stream, _) = remote.open("SubscribeToTask", json!({"id": id}), &[]).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap()["task"]["id"], json!(id));
    let canceled = remote.call("CancelTask", json!({"id": id})).await.unwrap();
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(stream.next().await.unwrap().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(stream.next().await.unwrap(), None);
    let (mut stream, _) = remote.open("SendStreamingMessage", immediately(json!({})), &[]).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap()["task"]["id"].is_string());
    let card = remote.call("GetExtendedAgentCard", json!({})).await.unwrap_err();
    assert_eq!((card.code(), reason(&card).as_str()), (Code::FailedPrecondition, "UNSUPPORTED_OPERATION"));
}

#[tokio::test]
async fn the_version_is_asked_for_first() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    for version in [None, Some(""), Some("0.3"), Some("1.1"), Some("99.0"), Some("one")] {
        let metadata: Vec<_> = version.iter().map(|version| ("a2a-version", *version)).collect();
        for bytes in [vec![0xff], Vec::new()] {
            let refused = remote.raw("SendMessage", bytes, &metadata).await.unwrap_err();
            assert_eq!(
                (refused.code(), reason(&refused).as_str()),
                (Code::FailedPrecondition, "VERSION_NOT_SUPPORTED")
            );
        }
    }
    for version in ["1.0", "1.0.1"] {
        assert!(remote.raw("ListTasks", Vec::new(), &[("a2a-version", version)]).await.is_ok());
    }
}

#[tokio::test]
async fn the_tenant_field_is_a_routing_key() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    for (key, base) in [
        ("", ""),
        ("acme", "/acme"),
        ("acme/echo", "/t/acme"),
        ("/echo", "/agents/echo"),
        ("/other", "/agents/other"),
        ("acme/other", "/t/acme/agents/other"),
    ] {
        let mut send = immediately(json!({}));
        send["tenant"] = json!(key);
        let sent = remote.call("SendMessage", send).await.unwrap();
        let id = text(&sent["task"]["id"]);
        let got = platform.get(&format!("{base}/tasks/{id}")).await;
        assert_eq!(got.body["id"], json!(id), "{key}: {got:?}");
        let hook = json!({"tenant": key, "taskId": id, "url": "http://127.0.0.1:2/"});
        let created = remote.call("CreateTaskPushNotificationConfig", hook).await.unwrap();
        assert_eq!(created["tenant"].as_str().unwrap_or_default(), key);
        let listed =
            remote.call("ListTaskPushNotificationConfigs", json!({"tenant": key, "taskId": id})).await.unwrap();
        assert_eq!(listed["configs"][0]["tenant"].as_str().unwrap_or_default(), key);
        for elsewhere in ["globex", "globex/echo", "globex/other"] {
            let sealed = remote.call("GetTask", json!({"tenant": elsewhere, "id": id})).await.unwrap_err();
            assert_eq!(reason(&sealed), "TASK_NOT_FOUND", "{elsewhere}");
        }
    }
    for key in ["/nobody", "acme/nobody", "acme/", "/", "acme/echo/echo"] {
        let unknown = remote.call("ListTasks", json!({"tenant": key})).await.unwrap_err();
        assert_eq!((unknown.code(), reason(&unknown).as_str()), (Code::Unimplemented, "METHOD_NOT_FOUND"), "{key}");
    }
    for key in [".acme", "tasks", "a b", "a b/echo"] {
        let wrong = remote.call("ListTasks", json!({"tenant": key})).await.unwrap_err();
        assert_eq!((wrong.code(), fields(&wrong)), (Code::InvalidArgument, vec!["tenant".to_owned()]), "{key}");
    }
}

#[tokio::test]
async fn a_key_finds_the_same_task_whichever_binding_it_came_by() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let parts = json!([{"data": {"whole": 1, "fraction": 0.5, "list": [1, null, -3]}}]);
    let send = immediately(json!({"parts": parts, "metadata": {"n": 7}}));
    let request = platform.client.post("/message:send").header("A2A-Version", "1.0").header("Idempotency-Key", "k");
    let first = crate::client::Answer::of(request.content_type("application/json").body(send.to_string())).await;
    let metadata = [("a2a-version", "1.0"), ("idempotency-key", "k")];
    let again = remote.call_with("SendMessage", send, &metadata).await.unwrap();
    assert_eq!(again["task"]["id"], first.body["task"]["id"]);
    let reused = remote.call_with("SendMessage", immediately(json!({})), &metadata).await.unwrap_err();
    assert_eq!(fields(&reused), ["Idempotency-Key"]);
    let details = client::violations(&reused);
    assert_eq!(details[0].reason, "IDEMPOTENCY_KEY_REUSED");
}

#[tokio::test]
async fn what_is_not_served_says_so() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    for path in ["/lf.a2a.v1.A2AService/Explode", "/lf.a2a.v1.A2AService/", "/a2a.v1.A2AService/ListTasks", "/x"] {
        let unknown = remote.at(path, Vec::new(), &[("a2a-version", "1.0")]).await.unwrap_err();
        assert_eq!((unknown.code(), reason(&unknown).as_str()), (Code::Unimplemented, "METHOD_NOT_FOUND"), "{path}");
    }
    for (method, media) in [("POST", "application/json"), ("POST", "application/grpc-web"), ("GET", "application/grpc")]
    {
        assert_eq!(remote.http(method, media).await, 415, "{method} {media}");
    }
    assert_eq!(remote.http("POST", "application/grpc+proto").await, 200);
}
