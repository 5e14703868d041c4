//! Refusals are the same in all three bindings: reason, code, message, fields, metadata.

use std::sync::Arc;

use api::Options;
use engine::Agent;
use poem::http::Method;
use poem::{Endpoint, Response};
use serde_json::{Value, json};
use wire::Kind::{self, *};

use super::client::{Remote, fields, info};
use crate::client::{Answer, Platform, immediately, platform, platform_with, settings, text};

/// A request over HTTP+JSON.
async fn rest<E: Endpoint<Output = Response>>(platform: &Platform<E>, method: &str, params: &Value) -> Answer {
    let id = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
    let configs = format!("/tasks/{}/pushNotificationConfigs", id("taskId"));
    let query = || {
        let named = params.as_object().unwrap().iter().filter(|(name, _)| !["id", "taskId"].contains(&name.as_str()));
        named
            .map(|(name, value)| format!("{name}={}", value.to_string().trim_matches('"')))
            .collect::<Vec<_>>()
            .join("&")
    };
    let (verb, path, body) = match method {
        "SendMessage" => (Method::POST, "/message:send".into(), params.clone()),
        "SendStreamingMessage" => (Method::POST, "/message:stream".into(), params.clone()),
        "GetTask" => (Method::GET, format!("/tasks/{}?{}", id("id"), query()), Value::Null),
        "ListTasks" => (Method::GET, format!("/tasks?{}", query()), Value::Null),
        "CancelTask" => (Method::POST, format!("/tasks/{}:cancel", id("id")), Value::Null),
        "SubscribeToTask" => (Method::GET, format!("/tasks/{}:subscribe", id("id")), Value::Null),
        "CreateTaskPushNotificationConfig" => (Method::POST, configs, params.clone()),
        "ListTaskPushNotificationConfigs" => (Method::GET, format!("{configs}?{}", query()), Value::Null),
        "GetTaskPushNotificationConfig" => (Method::GET, format!("{configs}/{}", id("id")), Value::Null),
        "DeleteTaskPushNotificationConfig" => (Method::DELETE, format!("{configs}/{}", id("id")), Value::Null),
        "GetExtendedAgentCard" => (Method::GET, "/extendedAgentCard".into(), Value::Null),
        other => panic!("{other}"),
    };
    platform.ask(verb, &path, body).await
}

/// Ask all three; each must refuse with `kind` and nothing may be stored.
async fn refused<E: Endpoint<Output = Response>>(
    (platform, remote): (&Platform<E>, &Remote),
    (method, params): (&str, Value),
    kind: Kind,
    wrong: &[&str],
) {
    let before = platform.rows().await;
    let at = format!("{method} {params}");
    let rest = rest(platform, method, &params).await;
    assert_eq!((rest.status, rest.reason()), (kind.http(), kind.reason()), "{at}: {rest:?}");
    let rpc = platform.rpc(method, params.clone()).await;
    assert_eq!(
        (rpc.body["error"]["code"].as_i64(), rpc.reason()),
        (Some(kind.jsonrpc().into()), kind.reason()),
        "{at}"
    );
    let grpc = remote.call(method, params).await.unwrap_err();
    let told = info(&grpc);
    assert_eq!((grpc.code() as i32, told.reason.as_str()), (kind.grpc().number(), kind.reason()), "{at}: {grpc:?}");
    assert_eq!(told.domain, kind.domain());
    let message = rest.body["error"]["message"].as_str().unwrap();
    assert_eq!((rpc.body["error"]["message"].as_str(), grpc.message()), (Some(message), message), "{at}");
    let metadata = &rest.body["error"]["details"][0]["metadata"];
    assert_eq!(&rpc.body["error"]["data"][0]["metadata"], metadata, "{at}");
    let of_grpc = if told.metadata.is_empty() { Value::Null } else { json!(told.metadata) };
    assert_eq!(&of_grpc, metadata, "{at}");
    assert_eq!((rest.fields(), rpc.fields(), fields(&grpc)), (wrong.to_vec(), wrong.to_vec(), own(wrong)), "{at}");
    assert_eq!(platform.rows().await, before, "{at}");
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// That many objects, one in the other.
fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| json!({"a": inner}))
}

#[tokio::test]
async fn what_one_binding_takes_the_others_can_give() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let deepest = immediately(json!({"parts": [{"data": nested(30), "metadata": nested(30)}], "metadata": nested(30)}));
    let sent = platform.post("/message:send", deepest.clone()).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    remote.call("SendMessage", deepest).await.unwrap();
    let id = text(&sent.body["task"]["id"]);
    let read = remote.call("GetTask", json!({"id": id})).await.unwrap();
    assert_eq!(read["history"][0]["parts"][0]["data"], nested(30));
    let listed = remote.call("ListTasks", json!({"historyLength": 5})).await.unwrap();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2);
    // The same of 0.3, where the task is named `tasks/{id}`.
    let name = format!("tasks/{id}");
    let request = [&[0x0a, u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
    assert!(remote.at("/a2a.v1.A2AService/GetTask", request, &[]).await.is_ok());
}

fn hooked(url: &str) -> Value {
    let mut send = immediately(json!({}));
    send["configuration"]["taskPushNotificationConfig"] = json!({"url": url});
    send
}

#[tokio::test]
async fn refusals_are_the_same_in_every_binding() {
    let platform = platform_with(settings(), Options::default()).await;
    let remote = Remote::of(&platform.engine).await;
    let open = text(&platform.submit().await["id"]);
    let done = text(&platform.submit().await["id"]);
    assert_eq!(platform.post(&format!("/tasks/{done}:cancel"), json!({})).await.status, 200);
    let nil = uuid::Uuid::nil().to_string();
    let send = |more: Value| ("SendMessage", immediately(more));
    let cases: Vec<((&str, Value), Kind, &[&str])> = vec![
        (("GetTask", json!({"id": nil})), TaskNotFound, &[]),
        (("GetTask", json!({"id": "nope"})), TaskNotFound, &[]),
        (("GetTask", json!({"id": open, "historyLength": -1})), InvalidParams, &["historyLength"]),
        (("GetTask", json!({"id": open, "tenant": "globex"})), TaskNotFound, &[]),
        (("GetTask", json!({"id": open, "tenant": ".globex"})), InvalidParams, &["tenant"]),
        (("ListTasks", json!({"pageSize": 0})), InvalidParams, &["pageSize"]),
        (("ListTasks", json!({"pageSize": 101, "historyLength": -1})), InvalidParams, &["pageSize", "historyLength"]),
        (("ListTasks", json!({"pageToken": "nope"})), InvalidParams, &["pageToken"]),
        (("ListTasks", json!({"tenant": "rpc"})), InvalidParams, &["tenant"]),
        (("SendMessage", json!({})), InvalidParams, &["message"]),
        (send(json!({"parts": []})), InvalidParams, &["message.parts"]),
        (send(json!({"messageId": "", "parts": []})), InvalidParams, &["message.messageId", "message.parts"]),
        (send(json!({"role": "ROLE_AGENT"})), InvalidParams, &["message.role"]),
        (send(json!({"role": "ROLE_UNSPECIFIED"})), InvalidParams, &["message.role"]),
        (send(json!({"role": 9})), InvalidParams, &["message.role"]),
        (send(json!({"parts": [{"text": "a"}, {"metadata": {"k": 1}}]})), InvalidParams, &["message.parts[1]"]),
        (send(json!({"parts": [{"data": nested(31)}]})), InvalidParams, &["message.parts[0].data"]),
        (send(json!({"parts": [{}, {}]})), InvalidParams, &["message.parts[0]", "message.parts[1]"]),
        (send(json!({"taskId": nil})), TaskNotFound, &[]),
        (send(json!({"taskId": open, "contextId": "another"})), InvalidParams, &["message.contextId"]),
        (send(json!({"taskId": done})), UnsupportedOperation, &[]),
        (("SendMessage", hooked("ftp://x/")), InvalidParams, &["configuration.taskPushNotificationConfig.url"]),
        (("SendStreamingMessage", json!({})), InvalidParams, &["message"]),
        (("SendStreamingMessage", immediately(json!({"taskId": done}))), UnsupportedOperation, &[]),
        (("CancelTask", json!({"id": done})), TaskNotCancelable, &[]),
        (("CancelTask", json!({"id": nil})), TaskNotFound, &[]),
        (("SubscribeToTask", json!({"id": nil})), TaskNotFound, &[]),
        (("SubscribeToTask", json!({"id": done})), UnsupportedOperation, &[]),
        (("CreateTaskPushNotificationConfig", json!({"taskId": nil, "url": "http://127.0.0.1:2/"})), TaskNotFound, &[]),
        (("CreateTaskPushNotificationConfig", json!({"taskId": open, "url": "ftp://x/"})), InvalidParams, &["url"]),
        (("GetTaskPushNotificationConfig", json!({"taskId": open, "id": "none"})), TaskNotFound, &[]),
        (("ListTaskPushNotificationConfigs", json!({"taskId": nil})), TaskNotFound, &[]),
        (("ListTaskPushNotificationConfigs", json!({"taskId": open, "pageToken": "x"})), InvalidParams, &["pageToken"]),
        (("DeleteTaskPushNotificationConfig", json!({"taskId": nil, "id": "none"})), TaskNotFound, &[]),
        (("GetExtendedAgentCard", json!({})), UnsupportedOperation, &[]),
    ];
    for (call, kind, wrong) in cases {
        refused((&platform, &remote), call, kind, wrong).await;
    }
}

async fn with_agent(change: impl FnOnce(&mut Agent)) -> (Platform<impl Endpoint<Output = Response>>, Remote) {
    let mut settings = settings();
    change(Arc::make_mut(settings.agents.get_mut("echo").unwrap()));
    let platform = platform_with(settings, Options::default()).await;
    let remote = Remote::of(&platform.engine).await;
    (platform, remote)
}

#[tokio::test]
async fn what_an_agent_does_not_do_is_refused_alike() {
    let (platform, remote) = with_agent(|agent| {
        agent.push_notifications = false;
        agent.streaming = false;
        agent.client_contexts = false;
        agent.cancelable = false;
        agent.input_modes = vec!["text/*".into()];
        agent.limits.history = 1;
    })
    .await;
    let task = text(&platform.submit().await["id"]);
    let both = (&platform, &remote);
    let picture = json!({"parts": [{"raw": "aGk=", "mediaType": "image/png"}]});
    let send = |more: Value| ("SendMessage", immediately(more));
    for method in
        ["CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"]
    {
        refused(both, (method, json!({"taskId": task, "id": "c"})), PushNotificationNotSupported, &[]).await;
    }
    let list = ("ListTaskPushNotificationConfigs", json!({"taskId": task}));
    refused(both, list, PushNotificationNotSupported, &[]).await;
    refused(both, ("SendMessage", hooked("http://127.0.0.1:2/")), PushNotificationNotSupported, &[]).await;
    refused(both, ("SendStreamingMessage", immediately(json!({}))), UnsupportedOperation, &[]).await;
    refused(both, ("SubscribeToTask", json!({"id": task})), UnsupportedOperation, &[]).await;
    refused(both, send(json!({"contextId": "mine"})), InvalidParams, &["message.contextId"]).await;
    refused(both, send(picture), ContentTypeNotSupported, &[]).await;
    refused(both, send(json!({"taskId": task})), ResourceExhausted, &[]).await;
    refused(both, ("CancelTask", json!({"id": task})), TaskNotCancelable, &[]).await;
}
