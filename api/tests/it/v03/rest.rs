//! HTTP+JSON under `/v1`.

use api::Options;
use poem::http::Method;
use serde_json::{Value, json};

use super::{NEEDED, demanding, send, send_proto};
use crate::client::{platform, platform_with, text};

#[tokio::test]
async fn every_path_answers_in_the_protos_dialect_below_every_base() {
    let platform = platform().await;
    for base in ["", "/t/acme", "/agents/other", "/t/acme/agents/echo"] {
        let at = |path: &str| format!("{base}/v1{path}");
        let sent = platform.plain(Method::POST, &at("/message:send"), &[], send_proto(json!({}))).await;
        assert_eq!((sent.status, sent.content_type.as_str()), (200, "application/json"), "{base}: {sent:?}");
        let task = &sent.body["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
        assert_eq!(task["history"][0]["content"], json!([{"text": "hello"}]));
        let id = text(&task["id"]);
        let got = platform.plain(Method::GET, &at(&format!("/tasks/{id}?historyLength=0")), &[], Value::Null).await;
        assert_eq!((&got.body["id"], got.body["history"].as_array().map(Vec::len)), (&json!(id), Some(1)), "{got:?}");
        assert_eq!(platform.get(&format!("{base}/tasks/{id}")).await.status, 200, "{base}");
        let configs = at(&format!("/tasks/{id}/pushNotificationConfigs"));
        let url = "http://127.0.0.1:2/";
        let name = |config: &str| format!("tasks/{id}/pushNotificationConfigs/{config}");
        // The proto's request, its `config`, and what lies in that.
        for (config, body) in [
            ("a", json!({"parent": "tasks/x", "configId": "a", "config": {"pushNotificationConfig": {"url": url}}})),
            ("b", json!({"name": "whatever", "pushNotificationConfig": {"id": "b", "url": url}})),
            ("c", json!({"id": "c", "url": url})),
        ] {
            let made = platform.plain(Method::POST, &configs, &[], body).await;
            assert_eq!((made.status, &made.body["name"]), (200, &json!(name(config))), "{made:?}");
            assert_eq!(made.body["pushNotificationConfig"]["url"], url);
        }
        let listed = platform.plain(Method::GET, &format!("{configs}?pageSize=2"), &[], Value::Null).await;
        assert_eq!(listed.body["configs"].as_array().map(Vec::len), Some(2), "{listed:?}");
        let token = text(&listed.body["nextPageToken"]);
        let rest = platform.plain(Method::GET, &format!("{configs}?pageToken={token}"), &[], Value::Null).await;
        assert_eq!(rest.body["configs"].as_array().map(Vec::len), Some(1), "{rest:?}");
        let got = platform.plain(Method::GET, &format!("{configs}/b"), &[], Value::Null).await;
        assert_eq!(got.body["name"], name("b"), "{got:?}");
        for _ in 0..2 {
            let deleted = platform.plain(Method::DELETE, &format!("{configs}/b"), &[], Value::Null).await;
            assert_eq!((deleted.status, deleted.body), (200, json!({})));
        }
        let gone = platform.plain(Method::GET, &format!("{configs}/b"), &[], Value::Null).await;
        assert_eq!((gone.status, gone.reason()), (404, "TASK_NOT_FOUND"));
        let cancel = at(&format!("/tasks/{id}:cancel"));
        let canceled = platform.plain(Method::POST, &cancel, &[], json!({"name": format!("tasks/{id}")})).await;
        assert_eq!(canceled.body["status"]["state"], "TASK_STATE_CANCELLED", "{canceled:?}");
        let again = platform.plain(Method::POST, &cancel, &[], Value::Null).await;
        assert_eq!((again.status, again.reason()), (400, "TASK_NOT_CANCELABLE"), "{again:?}");
        for method in [Method::GET, Method::POST] {
            let over = platform.plain(method, &at(&format!("/tasks/{id}:subscribe")), &[], Value::Null).await;
            assert_eq!((over.status, over.reason()), (400, "UNSUPPORTED_OPERATION"), "{over:?}");
        }
        let card = platform.plain(Method::GET, &at("/card"), &[], Value::Null).await;
        assert_eq!((card.status, &card.body["protocolVersion"]), (200, &json!("0.3.0")), "{card:?}");
    }
}

#[tokio::test]
async fn the_other_dialect_is_read_too() {
    let platform = platform().await;
    for media in ["application/json", "application/a2a+json"] {
        let request = platform.client.post("/v1/message:send").content_type(media).body(send(json!({})).to_string());
        let sent = crate::client::Answer::of(request).await;
        assert_eq!(sent.body["task"]["history"][0]["role"], "ROLE_USER", "{sent:?}");
    }
    let snake = json!({"request": {"message_id": "m", "role": "ROLE_USER", "content": [{"text": "hello"}]},
        "configuration": {"blocking": false, "history_length": 1}});
    let sent = platform.plain(Method::POST, "/v1/message:send", &[], snake).await;
    assert_eq!((sent.status, &sent.body["task"]["history"][0]["messageId"]), (200, &json!("m")), "{sent:?}");
}

#[tokio::test]
async fn what_is_wrong_is_said_in_one_shape() {
    let platform = platform().await;
    let nil = uuid::Uuid::nil();
    for (method, path, body, status, reason, fields) in [
        (Method::POST, "/v1/message:send".to_owned(), json!({}), 400, "INVALID_PARAMS", vec!["message"]),
        (Method::POST, "/v1/message:send".into(), json!([]), 400, "INVALID_PARAMS", vec![""]),
        (
            Method::POST,
            "/v1/message:send".into(),
            send_proto(json!({"content": [{"text": 1}]})),
            400,
            "INVALID_PARAMS",
            vec!["message.content[0].text"],
        ),
        (Method::GET, format!("/v1/tasks/{nil}"), Value::Null, 404, "TASK_NOT_FOUND", vec![]),
        (Method::GET, "/v1/tasks/7?historyLength=x".into(), Value::Null, 400, "INVALID_PARAMS", vec!["historyLength"]),
        (Method::GET, "/v1/tasks/%FF".into(), Value::Null, 400, "INVALID_PARAMS", vec!["path"]),
        (Method::POST, format!("/v1/tasks/{nil}:cancel"), json!({}), 404, "TASK_NOT_FOUND", vec![]),
        (
            Method::POST,
            format!("/v1/tasks/{nil}/pushNotificationConfigs"),
            json!({}),
            400,
            "INVALID_PARAMS",
            vec!["config"],
        ),
        (Method::GET, format!("/v1/tasks/{nil}:subscribe"), Value::Null, 404, "TASK_NOT_FOUND", vec![]),
        (Method::GET, "/t/.acme/v1/tasks/7".into(), Value::Null, 400, "INVALID_PARAMS", vec!["tenant"]),
        (Method::GET, "/agents/nobody/v1/tasks/7".into(), Value::Null, 404, "METHOD_NOT_FOUND", vec![]),
        // Tasks are not listed in 0.3, and its paths take no `/{tenant}`.
        (Method::GET, "/v1/tasks".into(), Value::Null, 404, "METHOD_NOT_FOUND", vec![]),
        (Method::GET, "/v1".into(), Value::Null, 404, "METHOD_NOT_FOUND", vec![]),
        (Method::GET, "/v1/extendedAgentCard".into(), Value::Null, 404, "METHOD_NOT_FOUND", vec![]),
        (Method::GET, "/acme/v1/tasks/7".into(), Value::Null, 404, "METHOD_NOT_FOUND", vec![]),
        (Method::GET, "/v1/message:send".into(), Value::Null, 405, "METHOD_NOT_ALLOWED", vec![]),
        (Method::PUT, "/v1/tasks/7:subscribe".into(), Value::Null, 405, "METHOD_NOT_ALLOWED", vec![]),
    ] {
        let answer = platform.plain(method.clone(), &path, &[], body).await;
        assert_eq!((answer.status, answer.reason()), (status, reason), "{method} {path}: {answer:?}");
        assert_eq!(answer.fields(), fields, "{method} {path}: {answer:?}");
        assert_eq!(answer.headers.contains_key("allow"), status == 405);
    }
    let text = platform.client.post("/v1/message:send").content_type("text/plain").body("{}");
    assert_eq!(crate::client::Answer::of(text).await.reason(), "CONTENT_TYPE_NOT_SUPPORTED");
    let long = "x".repeat(5 << 20);
    let long = platform.plain(Method::POST, "/v1/message:send", &[], json!({"x": long})).await;
    assert_eq!((long.status, long.reason()), (413, "PAYLOAD_TOO_LARGE"));
}

#[tokio::test]
async fn the_version_and_the_extensions_have_to_be_right() {
    let platform = platform_with(demanding(), Options::default()).await;
    let ask = async |headers: &[(&str, &str)]| platform.plain(Method::GET, "/v1/tasks/7", headers, Value::Null).await;
    for version in ["1.0", "0.2", "99.0"] {
        let refused = ask(&[("A2A-Version", version)]).await;
        assert_eq!((refused.status, refused.reason()), (400, "VERSION_NOT_SUPPORTED"), "{version}");
        assert_eq!(refused.body["error"]["details"][0]["metadata"]["supportedVersions"], "1.0, 0.3");
    }
    for headers in [vec![], vec![("A2A-Extensions", NEEDED)], vec![("A2A-Version", "0.3")]] {
        let refused = ask(&headers).await;
        assert_eq!((refused.status, refused.reason()), (400, "EXTENSION_SUPPORT_REQUIRED"), "{headers:?}");
    }
    let got = ask(&[("X-A2A-Extensions", NEEDED), ("A2A-Version", "0.3.0")]).await;
    assert_eq!((got.status, got.headers["x-a2a-extensions"].to_str().unwrap()), (404, NEEDED));
}
