//! What comes of clients' commands, in more detail than the table of all outcomes (`table.rs`) looks at, by the two bindings in JSON.

use std::sync::Arc;

use api::Options;
use engine::{Agent, Settings};
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::client::{Answer, Platform, immediately, platform, platform_with, settings, text};

/// A platform whose default agent is `change`d.
async fn with_agent(change: impl FnOnce(&mut Agent)) -> Platform<impl Endpoint<Output = Response>> {
    let mut settings = settings();
    change(Arc::make_mut(settings.agents.get_mut("echo").unwrap()));
    platform_with(settings, Options::default()).await
}

/// Send the same message by both bindings; both must be refused alike and store nothing.
async fn refused<E: Endpoint<Output = Response>>(
    platform: &Platform<E>,
    send: Value,
    (status, code, reason): (u16, i32, &str),
    fields: &[&str],
) -> [Answer; 2] {
    let before = platform.rows().await;
    let sent = platform.post("/message:send", send.clone()).await;
    assert_eq!((sent.status, sent.reason()), (status, reason), "{sent:?}");
    assert_eq!(sent.fields(), fields, "{sent:?}");
    let called = platform.rpc("SendMessage", send).await;
    assert_eq!((called.body["error"]["code"].as_i64(), called.reason()), (Some(code.into()), reason), "{called:?}");
    assert_eq!(called.fields(), fields, "{called:?}");
    assert_eq!(platform.rows().await, before);
    [sent, called]
}

const INVALID: (u16, i32, &str) = (400, -32602, "INVALID_PARAMS");
const UNSUPPORTED: (u16, i32, &str) = (400, -32004, "UNSUPPORTED_OPERATION");
const EXHAUSTED: (u16, i32, &str) = (429, -32000, "RESOURCE_EXHAUSTED");
const NO_PUSH: (u16, i32, &str) = (400, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED");
const NO_TYPE: (u16, i32, &str) = (400, -32005, "CONTENT_TYPE_NOT_SUPPORTED");
const NO_TASK: (u16, i32, &str) = (404, -32001, "TASK_NOT_FOUND");

fn hooked(mut send: Value) -> Value {
    send["configuration"]["taskPushNotificationConfig"] = json!({"url": "http://127.0.0.1:2/", "token": "secret"});
    send
}

#[tokio::test]
async fn a_task_is_created_and_continued() {
    let platform = platform().await;
    let task = platform.submit().await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!(task["history"][0]["taskId"], task["id"]);
    let more = platform.rpc("SendMessage", immediately(json!({"taskId": task["id"], "messageId": "n"}))).await;
    let continued = &more.body["result"]["task"];
    assert_eq!((&continued["id"], &continued["contextId"]), (&task["id"], &task["contextId"]));
    assert_eq!(continued["history"][1]["messageId"], "n");
    let alike = platform.post("/message:send", immediately(json!({"contextId": task["contextId"]}))).await;
    assert_ne!(alike.body["task"]["id"], task["id"]);
    assert_eq!(alike.body["task"]["contextId"], task["contextId"]);
}

#[tokio::test]
async fn a_finished_task_takes_nothing_more() {
    let platform = platform().await;
    let task = platform.submit().await;
    let id = text(&task["id"]);
    // Terminal is decided before the context.
    let to = immediately(json!({"taskId": id, "contextId": "another"}));
    refused(&platform, to.clone(), INVALID, &["message.contextId"]).await;
    assert_eq!(platform.post(&format!("/tasks/{id}:cancel"), json!({})).await.status, 200);
    let [sent, _] = refused(&platform, to, UNSUPPORTED, &[]).await;
    assert_eq!(sent.body["error"]["details"][0]["metadata"]["state"], "TASK_STATE_CANCELED");
    refused(&platform, immediately(json!({"taskId": uuid::Uuid::nil()})), NO_TASK, &[]).await;
    for _ in 0..2 {
        let again = platform.post(&format!("/tasks/{id}:cancel"), Value::Null).await;
        assert_eq!((again.status, again.reason()), (400, "TASK_NOT_CANCELABLE"));
        let again = platform.rpc("CancelTask", json!({"id": id})).await;
        assert_eq!(again.body["error"]["code"], -32002);
    }
}

#[tokio::test]
async fn contexts_and_media_types_are_the_agents_to_accept() {
    let platform = with_agent(|agent| {
        agent.client_contexts = false;
        agent.input_modes = vec!["text/*".into(), "application/json".into()];
    })
    .await;
    let [sent, _] =
        refused(&platform, immediately(json!({"contextId": "mine"})), INVALID, &["message.contextId"]).await;
    let violation = &sent.body["error"]["details"][1]["fieldViolations"][0];
    assert_eq!(violation["reason"], "CONTEXT_NOT_ACCEPTED");
    let picture = immediately(json!({"parts": [{"text": "a"}, {"raw": "aGk=", "mediaType": "image/png"}]}));
    refused(&platform, picture, NO_TYPE, &[]).await;
    let plain = immediately(json!({"parts": [{"text": "a", "mediaType": "text/markdown; charset=utf-8"}]}));
    assert_eq!(platform.post("/message:send", plain).await.status, 200);
}

#[tokio::test]
async fn limits_are_kept() {
    let mut settings: Settings = settings();
    settings.tasks_per_tenant = 2;
    let limits = &mut Arc::make_mut(settings.agents.get_mut("echo").unwrap()).limits;
    limits.history = 2;
    limits.push_configs = 1;
    let platform = platform_with(settings, Options::default()).await;
    let task = platform.submit().await;
    let id = text(&task["id"]);
    platform.submit().await;
    let [sent, _] = refused(&platform, immediately(json!({})), EXHAUSTED, &[]).await;
    assert_eq!(sent.body["error"]["details"][0]["domain"], "taskyard.dev");
    assert!(sent.headers.get("retry-after").is_none());
    let elsewhere = platform.post("/acme/message:send", immediately(json!({}))).await;
    assert_eq!(elsewhere.status, 200, "{elsewhere:?}");
    let more = hooked(immediately(json!({"taskId": id})));
    assert_eq!(platform.post("/message:send", more.clone()).await.status, 200);
    refused(&platform, immediately(json!({"taskId": id})), EXHAUSTED, &[]).await;
    // Another config is one too many, the same one again is not.
    let configs = format!("/tasks/{id}/pushNotificationConfigs");
    let listed = platform.get(&configs).await;
    let known = text(&listed.body["configs"][0]["id"]);
    let before = platform.rows().await;
    let url = "http://127.0.0.1:2/two";
    let over = platform.post(&configs, json!({"url": url})).await;
    assert_eq!((over.status, over.reason()), (429, "RESOURCE_EXHAUSTED"));
    let over = platform.rpc("CreateTaskPushNotificationConfig", json!({"taskId": id, "url": url, "id": "b"})).await;
    assert_eq!(over.body["error"]["code"], -32000);
    assert_eq!(platform.rows().await, before);
    let replaced = platform.post(&configs, json!({"id": known, "url": url})).await;
    assert_eq!((replaced.status, &replaced.body["url"]), (200, &json!(url)));
}

#[tokio::test]
async fn an_inline_config_is_one_too_many_on_a_continued_task() {
    let platform = with_agent(|agent| agent.limits.push_configs = 1).await;
    let created = platform.post("/message:send", hooked(immediately(json!({})))).await;
    let id = &created.body["task"]["id"];
    refused(&platform, hooked(immediately(json!({"taskId": id}))), EXHAUSTED, &[]).await;
}

#[tokio::test]
async fn without_the_capability_push_comes_before_everything_else_in_the_request() {
    let platform = with_agent(|agent| agent.push_notifications = false).await;
    let id = text(&platform.submit().await["id"]);
    let mut bad = hooked(immediately(json!({"parts": []})));
    refused(&platform, bad.take(), NO_PUSH, &[]).await;
    let configs = format!("/tasks/{id}/pushNotificationConfigs");
    let answers = [
        platform.post(&configs, json!({"url": 7})).await,
        platform.get(&configs).await,
        platform.get("/tasks/nope/pushNotificationConfigs/c").await,
        platform.delete(&format!("{configs}/c")).await,
    ];
    for answer in answers {
        assert_eq!((answer.status, answer.reason()), (400, NO_PUSH.2), "{answer:?}");
    }
    for method in ["Create", "Get", "Delete"] {
        let answer = platform.rpc(&format!("{method}TaskPushNotificationConfig"), json!(7)).await;
        assert_eq!(answer.body["error"]["code"], NO_PUSH.1, "{answer:?}");
    }
    let answer = platform.rpc("ListTaskPushNotificationConfigs", json!({})).await;
    assert_eq!(answer.body["error"]["code"], NO_PUSH.1, "{answer:?}");
}

#[tokio::test]
async fn a_config_lives_from_creation_to_deletion_and_only_creation_shows_its_secrets() {
    let platform = platform().await;
    let id = text(&platform.submit().await["id"]);
    let configs = format!("/tasks/{id}/pushNotificationConfigs");
    let authentication = json!({"scheme": "Bearer", "credentials": "hidden"});
    let given = json!({"url": "http://127.0.0.1:2/", "token": "hidden", "authentication": authentication});
    let assigned = platform.post(&configs, given).await;
    assert_eq!((assigned.status, &assigned.body["token"]), (200, &json!("hidden")), "{assigned:?}");
    assert_eq!(assigned.body["authentication"]["credentials"], "hidden");
    let made = text(&assigned.body["id"]);
    let called = json!({"taskId": id, "id": "b", "url": "https://example.com/hook"});
    let called = platform.rpc("CreateTaskPushNotificationConfig", called).await;
    assert_eq!(called.body["result"]["id"], "b", "{called:?}");
    let got = platform.get(&format!("{configs}/{made}")).await;
    assert_eq!((got.status, &got.body["taskId"]), (200, &json!(id)));
    let listed = platform.rpc("ListTaskPushNotificationConfigs", json!({"taskId": id})).await;
    assert_eq!(listed.body["result"]["configs"].as_array().map(Vec::len), Some(2));
    for shown in [&got.body, &listed.body] {
        assert!(!shown.to_string().contains("hidden"), "{shown}");
    }
    for _ in 0..2 {
        let deleted = platform.delete(&format!("{configs}/{made}")).await;
        assert_eq!((deleted.status, deleted.body), (200, json!({})));
        let deleted = platform.rpc("DeleteTaskPushNotificationConfig", json!({"taskId": id, "id": "b"})).await;
        assert_eq!(deleted.body["result"], json!({}));
    }
    let gone = platform.get(&format!("{configs}/{made}")).await;
    assert_eq!((gone.status, gone.reason()), (404, "TASK_NOT_FOUND"));
    assert_eq!(platform.get(&configs).await.body, json!({"configs": [], "nextPageToken": ""}));
}

#[tokio::test]
async fn what_may_not_be_canceled_is_not() {
    let stubborn = with_agent(|agent| agent.cancelable = false).await;
    let id = text(&stubborn.submit().await["id"]);
    let refused = stubborn.rpc("CancelTask", json!({"id": id})).await;
    assert_eq!((refused.body["error"]["code"].as_i64(), refused.reason()), (Some(-32002), "TASK_NOT_CANCELABLE"));

    let platform = platform().await;
    let held = platform.hold().await;
    let cancel = format!("/tasks/{}:cancel", held.task);
    assert_eq!(platform.work(&held, "work", json!({"cancelable": false})).await.status, 200);
    let refused = platform.post(&cancel, Value::Null).await;
    assert_eq!((refused.status, refused.reason()), (400, "TASK_NOT_CANCELABLE"));
    let applied = platform
        .work(
            &held,
            "apply",
            json!({"updates": [{"progress": {"statusMessage": {"parts": [{"text": "soon"}]}}}], "cancelable": true}),
        )
        .await;
    assert_eq!(applied.status, 200, "{applied:?}");
    let canceled = platform.post(&cancel, json!({"metadata": {"why": "enough"}})).await;
    assert_eq!((canceled.status, &canceled.body["status"]["state"]), (200, &json!("TASK_STATE_CANCELED")));
}

#[tokio::test]
async fn a_key_makes_a_send_idempotent_across_the_bindings() {
    let platform = platform().await;
    let keyed = async |path: &str, body: Value| {
        let request = platform.client.post(path.to_owned()).header("A2A-Version", "1.0").header("Idempotency-Key", "k");
        Answer::of(request.content_type("application/json").body(body.to_string())).await
    };
    let call = |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let first = keyed("/message:send", immediately(json!({}))).await;
    let before = platform.rows().await;
    let again = keyed("/rpc", call(immediately(json!({"messageId": "another"})))).await;
    assert_eq!(again.body["result"]["task"]["id"], first.body["task"]["id"], "{again:?}");
    let other = immediately(json!({"parts": [{"text": "something else"}]}));
    let reused = keyed("/message:send", other.clone()).await;
    assert_eq!((reused.status, reused.fields()), (400, vec!["Idempotency-Key"]));
    assert_eq!(reused.body["error"]["details"][1]["fieldViolations"][0]["reason"], "IDEMPOTENCY_KEY_REUSED");
    let reused = keyed("/rpc", call(other)).await;
    assert_eq!((reused.body["error"]["code"].as_i64(), reused.fields()), (Some(-32602), vec!["Idempotency-Key"]));
    assert_eq!(platform.rows().await, before);
    // Another tenant's key is another key.
    let elsewhere = keyed("/acme/message:send", immediately(json!({}))).await;
    assert_ne!(elsewhere.body["task"]["id"], first.body["task"]["id"]);
}

#[tokio::test]
async fn lists_are_filtered_paged_and_show_artifacts_when_asked() {
    let platform = platform().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(platform.submit().await["id"].clone());
    }
    ids.reverse();
    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let page = platform.get(&format!("/tasks?pageSize=2&pageToken={token}")).await;
        assert_eq!((&page.body["pageSize"], &page.body["totalSize"]), (&json!(2), &json!(5)));
        for task in page.body["tasks"].as_array().unwrap() {
            assert!(task.get("artifacts").is_none() && task.get("history").is_none(), "{task}");
            seen.push(task["id"].clone());
        }
        token = text(&page.body["nextPageToken"]);
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let shown = platform.rpc("ListTasks", json!({"includeArtifacts": true, "historyLength": 1, "pageSize": 1})).await;
    let task = &shown.body["result"]["tasks"][0];
    assert_eq!((&task["artifacts"], task["history"].as_array().map(Vec::len)), (&json!([]), Some(1)));
    let token = shown.body["result"]["nextPageToken"].clone();
    // A cursor belongs to its query, its tenant and its agent.
    let queried = platform.get(&format!("/tasks?status=TASK_STATE_WORKING&pageToken={}", text(&token))).await;
    assert_eq!((queried.status, queried.fields()), (400, vec!["pageToken"]));
    let queried = platform.get(&format!("/acme/tasks?pageToken={}", text(&token))).await;
    assert_eq!((queried.status, queried.fields()), (400, vec!["pageToken"]));
    let working = platform.get("/tasks?status=2").await;
    assert_eq!(working.body["totalSize"], 0);
}
