//! JSON-RPC: `category/action` methods on the endpoints of 1.0.

use api::Options;
use poem::http::Method;
use serde_json::{Value, json};

use super::{NEEDED, demanding, rpc_body, send};
use crate::client::{platform, platform_with, text};

#[tokio::test]
async fn every_method_answers_the_bare_object() {
    let platform = platform().await;
    let sent = platform.old_rpc("message/send", send(json!({}))).await;
    let task = sent.body["result"].clone();
    assert_eq!((sent.status, sent.content_type.as_str()), (200, "application/json"), "{sent:?}");
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("submitted")), "{sent:?}");
    assert_eq!(task["history"][0]["role"], "user");
    assert_eq!(task["history"][0]["parts"], json!([{"kind": "text", "text": "hello"}]));
    let id = text(&task["id"]);
    let got = platform.old_rpc("tasks/get", json!({"id": id, "historyLength": 1})).await;
    assert_eq!((&got.body["result"]["id"], &got.body["result"]["kind"]), (&json!(id), &json!("task")), "{got:?}");
    let config = json!({"id": "c", "url": "http://127.0.0.1:2/", "token": "secret",
        "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "hidden"}});
    let set = json!({"taskId": id, "pushNotificationConfig": config});
    let set = platform.old_rpc("tasks/pushNotificationConfig/set", set).await;
    let made = &set.body["result"];
    assert_eq!((&made["taskId"], &made["pushNotificationConfig"]["id"]), (&json!(id), &json!("c")), "{set:?}");
    assert_eq!(made["pushNotificationConfig"]["authentication"]["schemes"], json!(["Bearer"]));
    for params in [json!({"id": id, "pushNotificationConfigId": "c"}), json!({"id": id})] {
        let got = platform.old_rpc("tasks/pushNotificationConfig/get", params).await;
        assert_eq!(got.body["result"]["pushNotificationConfig"]["url"], "http://127.0.0.1:2/", "{got:?}");
        assert!(!got.body.to_string().contains("hidden"));
    }
    let listed = platform.old_rpc("tasks/pushNotificationConfig/list", json!({"id": id})).await;
    assert_eq!(listed.body["result"][0]["pushNotificationConfig"]["id"], "c", "{listed:?}");
    let named = json!({"id": id, "pushNotificationConfigId": "c"});
    for _ in 0..2 {
        let deleted = platform.old_rpc("tasks/pushNotificationConfig/delete", named.clone()).await;
        assert_eq!(deleted.body, json!({"jsonrpc": "2.0", "id": 1, "result": null}));
    }
    let listed = platform.old_rpc("tasks/pushNotificationConfig/list", json!({"id": id})).await;
    assert_eq!(listed.body["result"], json!([]));
    for params in [named, json!({"id": id})] {
        let gone = platform.old_rpc("tasks/pushNotificationConfig/get", params).await;
        assert_eq!((gone.body["error"]["code"].as_i64(), gone.reason()), (Some(-32001), "TASK_NOT_FOUND"));
    }
    let canceled = platform.old_rpc("tasks/cancel", json!({"id": id})).await;
    assert_eq!(canceled.body["result"]["status"]["state"], "canceled", "{canceled:?}");
    let again = platform.old_rpc("tasks/cancel", json!({"id": id})).await;
    assert_eq!(again.body["error"]["code"], -32002);
    let card = platform.old_rpc("agent/getAuthenticatedExtendedCard", json!({})).await;
    assert_eq!((card.body["error"]["code"].as_i64(), card.reason()), (Some(-32004), "UNSUPPORTED_OPERATION"));
}

#[tokio::test]
async fn one_task_is_one_task_in_both_versions() {
    let platform = platform().await;
    let old = platform.old_rpc("message/send", send(json!({}))).await;
    let id = text(&old.body["result"]["id"]);
    let new = platform.rpc("GetTask", json!({"id": id})).await;
    assert_eq!(new.body["result"]["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!(new.body["result"]["history"][0]["parts"], json!([{"text": "hello"}]));
    let more = send(json!({"taskId": id, "messageId": "n"}));
    let more = platform.old_rpc("message/send", more).await;
    assert_eq!(more.body["result"]["history"][1]["messageId"], "n", "{more:?}");
    for base in ["/t/acme", "/agents/other", "/t/acme/agents/other"] {
        let there = platform.plain(Method::POST, base, &[], rpc_body("message/send", send(json!({})))).await;
        let id = text(&there.body["result"]["id"]);
        assert_eq!(platform.get(&format!("{base}/tasks/{id}")).await.body["id"], json!(id), "{base}: {there:?}");
        let sealed = platform.old_rpc("tasks/get", json!({"id": id})).await;
        assert_eq!(sealed.body["error"]["code"], -32001, "{base}: {sealed:?}");
    }
    let nobody = platform.plain(Method::POST, "/agents/nobody/rpc", &[], rpc_body("tasks/get", json!({}))).await;
    assert_eq!((nobody.status, nobody.reason()), (404, "METHOD_NOT_FOUND"));
    let wrong = platform.plain(Method::POST, "/t/.acme/rpc", &[], rpc_body("tasks/get", json!({}))).await;
    assert_eq!((wrong.body["error"]["code"].as_i64(), wrong.fields()), (Some(-32602), vec!["tenant"]));
}

#[tokio::test]
async fn the_name_decides_and_the_version_has_to_be_right() {
    let platform = platform().await;
    let params = json!({"id": uuid::Uuid::nil()});
    for version in ["", "0.3", "0.3.0"] {
        let headers = [("A2A-Version", version)];
        let old = platform.plain(Method::POST, "/", &headers, rpc_body("tasks/get", params.clone())).await;
        assert_eq!(old.body["error"]["code"], -32001, "{version}: {old:?}");
        let new = platform.plain(Method::POST, "/", &headers, rpc_body("GetTask", params.clone())).await;
        assert_eq!((new.body["error"]["code"].as_i64(), new.reason()), (Some(-32009), "VERSION_NOT_SUPPORTED"));
        let unknown = platform.plain(Method::POST, "/", &headers, rpc_body("tasks/list", params.clone())).await;
        let message = text(&unknown.body["error"]["message"]);
        assert!(unknown.body["error"]["code"] == -32601 && message.contains("tasks/resubscribe"), "{message}");
    }
    for version in ["1.0", "1.1", "0.2", "x"] {
        let headers = [("A2A-Version", version)];
        let old = platform.plain(Method::POST, "/", &headers, rpc_body("tasks/get", params.clone())).await;
        assert_eq!((old.body["error"]["code"].as_i64(), old.reason()), (Some(-32603), "VERSION_NOT_SUPPORTED"));
        assert_eq!(old.body["error"]["data"][0]["metadata"]["supportedVersions"], "1.0, 0.3");
    }
    let broken = platform.client.post("/").content_type("application/json").body("{");
    assert_eq!(crate::client::Answer::of(broken).await.body["error"]["code"], -32700);
}

#[tokio::test]
async fn what_is_wrong_is_named_as_the_client_named_it() {
    let platform = platform().await;
    let before = platform.rows().await;
    let id = uuid::Uuid::nil();
    for (method, params, code, fields) in [
        ("message/send", json!({}), -32602, vec!["message"]),
        ("message/send", json!([]), -32602, vec!["params"]),
        ("message/send", send(json!({"parts": [{"kind": "picture"}]})), -32602, vec!["message.parts[0].kind"]),
        ("message/send", send(json!({"role": "agent"})), -32602, vec!["message.role"]),
        ("message/send", send(json!({"taskId": id})), -32001, vec![]),
        ("tasks/get", json!({}), -32602, vec!["id"]),
        ("tasks/get", json!({"id": id}), -32001, vec![]),
        ("tasks/get", json!({"id": id, "historyLength": -1}), -32602, vec!["historyLength"]),
        ("tasks/cancel", json!({"id": id}), -32001, vec![]),
        ("tasks/pushNotificationConfig/set", json!({"taskId": id}), -32602, vec!["pushNotificationConfig"]),
        ("tasks/pushNotificationConfig/get", json!({}), -32602, vec!["id"]),
        ("tasks/pushNotificationConfig/list", json!({"id": id}), -32001, vec![]),
        ("tasks/pushNotificationConfig/delete", json!({"id": id}), -32602, vec!["pushNotificationConfigId"]),
    ] {
        let answer = platform.old_rpc(method, params).await;
        assert_eq!(answer.status, 200);
        assert_eq!((&answer.body["error"]["code"], &answer.body["id"]), (&json!(code), &json!(1)), "{answer:?}");
        assert_eq!(answer.fields(), fields, "{method}: {answer:?}");
    }
    assert_eq!(platform.rows().await, before);
}

#[tokio::test]
async fn extensions_travel_under_their_old_name() {
    let platform = platform_with(demanding(), Options::default()).await;
    for headers in [vec![], vec![("A2A-Extensions", NEEDED)], vec![("X-A2A-Extensions", "urn:other")]] {
        let refused = platform.plain(Method::POST, "/", &headers, rpc_body("message/send", send(json!({})))).await;
        let told = (refused.body["error"]["code"].as_i64(), refused.reason());
        assert_eq!(told, (Some(-32603), "EXTENSION_SUPPORT_REQUIRED"), "{headers:?}");
    }
    let headers = [("X-A2A-Extensions", NEEDED)];
    let sent = platform.plain(Method::POST, "/", &headers, rpc_body("message/send", send(json!({})))).await;
    assert_eq!(sent.body["result"]["kind"], "task", "{sent:?}");
    assert_eq!(sent.headers["x-a2a-extensions"], NEEDED);
    assert!(!sent.headers.contains_key("a2a-extensions"));
}

#[tokio::test]
async fn a_key_is_one_key_in_both_versions() {
    let platform = platform().await;
    let keyed = [("Idempotency-Key", "k")];
    let first = platform.plain(Method::POST, "/", &keyed, rpc_body("message/send", send(json!({})))).await;
    let again = platform.plain(Method::POST, "/", &keyed, rpc_body("message/send", send(json!({})))).await;
    assert_eq!(first.body["result"]["id"], again.body["result"]["id"], "{again:?}");
    let rest = platform.plain(Method::POST, "/v1/message:send", &keyed, super::send_proto(json!({}))).await;
    assert_eq!(rest.body["task"]["id"], first.body["result"]["id"], "{rest:?}");
    let other = send(json!({"parts": [{"kind": "text", "text": "something else"}]}));
    let reused = platform.plain(Method::POST, "/", &keyed, rpc_body("message/send", other)).await;
    assert_eq!((reused.body["error"]["code"].as_i64(), reused.fields()), (Some(-32602), vec!["Idempotency-Key"]));
    assert!(platform.rows().await.contains(&("task", 1)));
    assert_eq!(Value::Null, first.body["error"]);
}
