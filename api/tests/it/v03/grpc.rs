//! gRPC: the service of `a2a.v1` beside that of 1.0.

use api::Options;
use engine::Engine;
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::{NEEDED, demanding, send_proto};
use crate::client::{immediately, platform, platform_with, text};
use crate::grpc::client::{Remote, fields, info, method_of, reason, service_v03};

/// Call a method without metadata, as clients of 0.3 do.
async fn call(remote: &Remote, name: &str, request: Value) -> Result<Value, Status> {
    Ok(remote.call_method(method_of(&service_v03(), name), request, &[]).await?.0)
}

async fn remote(engine: &Engine) -> Remote {
    Remote::of(engine).await
}

#[tokio::test]
async fn every_method_answers() {
    let platform = platform().await;
    let remote = remote(&platform.engine).await;
    let sent = call(&remote, "SendMessage", send_proto(json!({}))).await.unwrap();
    let id = text(&sent["task"]["id"]);
    assert_eq!(sent["task"]["history"][0]["content"], json!([{"text": "hello"}]));
    let name = format!("tasks/{id}");
    let got = call(&remote, "GetTask", json!({"name": name, "historyLength": 1})).await.unwrap();
    assert_eq!((&got["id"], &got["status"]["state"]), (&json!(id), &json!("TASK_STATE_SUBMITTED")));
    let hook = json!({"id": "hook", "url": "http://127.0.0.1:2/", "token": "secret",
        "authentication": {"schemes": ["Bearer"], "credentials": "hidden"}});
    let create = json!({"parent": name, "configId": "hook", "config": {"pushNotificationConfig": hook}});
    let created = call(&remote, "CreateTaskPushNotificationConfig", create).await.unwrap();
    let config = format!("{name}/pushNotificationConfigs/hook");
    assert_eq!((&created["name"], &created["pushNotificationConfig"]), (&json!(config), &hook));
    let got = call(&remote, "GetTaskPushNotificationConfig", json!({"name": config})).await.unwrap();
    assert_eq!(got["pushNotificationConfig"]["url"], "http://127.0.0.1:2/");
    let listed = call(&remote, "ListTaskPushNotificationConfig", json!({"parent": name})).await.unwrap();
    assert_eq!(listed["configs"][0]["name"], json!(config));
    let gone = call(&remote, "DeleteTaskPushNotificationConfig", json!({"name": config})).await.unwrap();
    assert_eq!(gone, json!({}));
    let gone = call(&remote, "GetTaskPushNotificationConfig", json!({"name": config})).await.unwrap_err();
    assert_eq!((gone.code(), reason(&gone).as_str()), (Code::NotFound, "TASK_NOT_FOUND"));
    let subscribe = method_of(&service_v03(), "TaskSubscription");
    let (mut stream, metadata) = remote.open_method(subscribe, json!({"name": name}), &[]).await.unwrap();
    assert!(metadata.contains_key("first-event-id"));
    assert_eq!(stream.next().await.unwrap().unwrap()["task"]["id"], json!(id));
    let canceled = call(&remote, "CancelTask", json!({"name": name})).await.unwrap();
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELLED");
    let last = stream.next().await.unwrap().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELLED");
    assert_eq!(last["statusUpdate"]["final"], true);
    assert_eq!(stream.next().await.unwrap(), None);
    let open = method_of(&service_v03(), "SendStreamingMessage");
    let (mut stream, _) = remote.open_method(open, send_proto(json!({})), &[]).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap()["task"]["id"].is_string());
    let card = call(&remote, "GetAgentCard", json!({})).await.unwrap();
    assert_eq!((&card["name"], &card["protocolVersion"]), (&json!("echo"), &json!("0.3.0")));
    assert_eq!((&card["preferredTransport"], &card["skills"][0]["id"]), (&json!("JSONRPC"), &json!("message")));
}

#[tokio::test]
async fn a_tenant_is_the_later_packages_routing_key() {
    let platform = platform().await;
    let remote = remote(&platform.engine).await;
    for (key, base) in
        [("", ""), ("acme", "/t/acme"), ("/other", "/agents/other"), ("acme/other", "/t/acme/agents/other")]
    {
        let mut request = send_proto(json!({}));
        request["tenant"] = json!(key);
        let sent = call(&remote, "SendMessage", request).await.unwrap();
        let id = text(&sent["task"]["id"]);
        assert_eq!(platform.get(&format!("{base}/tasks/{id}")).await.body["id"], json!(id), "{key}");
        let name = format!("tasks/{id}");
        assert!(call(&remote, "GetTask", json!({"tenant": key, "name": name})).await.is_ok());
        let sealed = call(&remote, "GetTask", json!({"tenant": "globex", "name": name})).await.unwrap_err();
        assert_eq!(reason(&sealed), "TASK_NOT_FOUND");
    }
    let unknown = call(&remote, "GetTask", json!({"tenant": "/nobody", "name": "tasks/7"})).await.unwrap_err();
    assert_eq!((unknown.code(), reason(&unknown).as_str()), (Code::Unimplemented, "METHOD_NOT_FOUND"));
    let wrong = call(&remote, "GetTask", json!({"tenant": "a b", "name": "tasks/7"})).await.unwrap_err();
    assert_eq!((wrong.code(), fields(&wrong)), (Code::InvalidArgument, vec!["tenant".to_owned()]));
}

#[tokio::test]
async fn what_is_wrong_is_named_as_the_client_named_it() {
    let platform = platform().await;
    let remote = remote(&platform.engine).await;
    let nil = uuid::Uuid::nil();
    for (method, request, code, named) in [
        ("SendMessage", json!({}), Code::InvalidArgument, vec!["message"]),
        ("SendMessage", send_proto(json!({"content": [{}]})), Code::InvalidArgument, vec!["message.content[0]"]),
        ("SendMessage", send_proto(json!({"taskId": nil})), Code::NotFound, vec![]),
        ("GetTask", json!({}), Code::InvalidArgument, vec!["name"]),
        ("GetTask", json!({"name": "7"}), Code::InvalidArgument, vec!["name"]),
        ("GetTask", json!({"name": format!("tasks/{nil}")}), Code::NotFound, vec![]),
        ("CancelTask", json!({"name": "tasks/7"}), Code::NotFound, vec![]),
        ("GetTaskPushNotificationConfig", json!({"name": "tasks/7"}), Code::InvalidArgument, vec!["name"]),
        ("CreateTaskPushNotificationConfig", json!({"parent": "tasks/7"}), Code::InvalidArgument, vec!["config"]),
    ] {
        let refused = call(&remote, method, request).await.unwrap_err();
        assert_eq!(
            (refused.code(), fields(&refused)),
            (code, named.into_iter().map(str::to_owned).collect()),
            "{method}"
        );
    }
    let raw = remote.at("/a2a.v1.A2AService/GetTask", vec![0xff], &[]).await.unwrap_err();
    assert_eq!(reason(&raw), "PARSE_ERROR");
}

#[tokio::test]
async fn the_version_and_the_extensions_have_to_be_right() {
    let platform = platform_with(demanding(), Options::default()).await;
    let remote = remote(&platform.engine).await;
    let get = async |metadata: &[(&str, &str)]| {
        remote.call_method(method_of(&service_v03(), "SendMessage"), send_proto(json!({})), metadata).await
    };
    for version in ["1.0", "0.2", "99.0"] {
        let refused = get(&[("a2a-version", version)]).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::FailedPrecondition, "VERSION_NOT_SUPPORTED"));
        assert_eq!(info(&refused).metadata["supportedVersions"], "1.0, 0.3");
    }
    for metadata in [vec![], vec![("a2a-extensions", NEEDED)], vec![("a2a-version", "0.3")]] {
        assert_eq!(reason(&get(&metadata).await.unwrap_err()), "EXTENSION_SUPPORT_REQUIRED", "{metadata:?}");
    }
    let (sent, metadata) = get(&[("x-a2a-extensions", NEEDED), ("a2a-version", "0.3.0")]).await.unwrap();
    assert!(sent["task"]["id"].is_string());
    assert_eq!(metadata.get("x-a2a-extensions").unwrap(), NEEDED);
}

#[tokio::test]
async fn both_services_are_healthy_and_apart() {
    let platform = platform().await;
    let remote = remote(&platform.engine).await;
    let mut health = HealthClient::new(remote.channel.clone());
    let asked = HealthCheckRequest { service: "a2a.v1.A2AService".to_owned() };
    assert_eq!(health.check(asked).await.unwrap().into_inner().status(), ServingStatus::Serving);
    let new = remote.call("SendMessage", immediately(json!({}))).await.unwrap();
    let name = format!("tasks/{}", text(&new["task"]["id"]));
    assert_eq!(call(&remote, "GetTask", json!({"name": name})).await.unwrap()["id"], new["task"]["id"]);
    for unserved in ["/a2a.v1.A2AService/ListTasks", "/a2a.v1.A2AService/SubscribeToTask"] {
        assert_eq!(remote.at(unserved, Vec::new(), &[]).await.unwrap_err().code(), Code::Unimplemented);
    }
}
