//! A webhook is told in the version of whoever registered it, by whichever binding and way.

use poem::http::Method;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::json;

use super::{send, send_proto};
use crate::client::{immediately, platform, text};
use crate::grpc::client::{Remote, method_of, service_v03};

#[tokio::test]
async fn the_version_is_kept_with_the_config() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let id = text(&platform.submit().await["id"]);
    let hook = |name: &str| json!({"id": name, "url": "http://127.0.0.1:2/"});
    let inline = |mut send: serde_json::Value, name: &str, member: &str| {
        send["configuration"][member] = hook(name);
        send
    };
    let set = json!({"taskId": id, "pushNotificationConfig": hook("rpc")});
    platform.old_rpc("tasks/pushNotificationConfig/set", set).await;
    platform.old_rpc("message/send", inline(send(json!({})), "rpc-inline", "pushNotificationConfig")).await;
    let configs = format!("/tasks/{id}/pushNotificationConfigs");
    let body = json!({"config": {"pushNotificationConfig": hook("rest")}});
    platform.plain(Method::POST, &format!("/v1{configs}"), &[], body).await;
    let body = inline(send_proto(json!({})), "rest-inline", "pushNotification");
    platform.plain(Method::POST, "/v1/message:send", &[], body).await;
    let create = json!({"parent": format!("tasks/{id}"), "config": {"pushNotificationConfig": hook("grpc")}});
    let method = method_of(&service_v03(), "CreateTaskPushNotificationConfig");
    remote.call_method(method, create, &[]).await.unwrap();
    platform.post(&configs, hook("new")).await;
    let new = inline(immediately(json!({})), "new-inline", "taskPushNotificationConfig");
    platform.rpc("SendMessage", new).await;

    let db = platform.engine.store().read();
    let ask = Statement::from_string(
        db.get_database_backend(),
        "SELECT config_id, version FROM push_config ORDER BY config_id",
    );
    let rows = db.query_all_raw(ask).await.unwrap();
    let kept: Vec<(String, String)> =
        rows.iter().map(|row| (row.try_get("", "config_id").unwrap(), row.try_get("", "version").unwrap())).collect();
    let expected = [
        ("grpc", "0.3"),
        ("new", "1.0"),
        ("new-inline", "1.0"),
        ("rest", "0.3"),
        ("rest-inline", "0.3"),
        ("rpc", "0.3"),
        ("rpc-inline", "0.3"),
    ];
    assert_eq!(kept, expected.map(|(id, version)| (id.to_owned(), version.to_owned())));
}
