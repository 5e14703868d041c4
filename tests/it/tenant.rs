//! Tenants are sealed: another tenant's task is answered exactly as one that does not exist.

use e2e::{Binding, Platform, Receiver, Setup, hook, text};
use serde_json::{Value, json};

on_both!(another_tenants_task_is_an_unknown_one, the_tenant_may_stand_in_path_body_or_base);

/// Every operation on a task, with this id.
fn operations(id: &Value, config: &Value, url: &str) -> Vec<(&'static str, Value)> {
    let mut send = text("more");
    send["message"]["taskId"] = id.clone();
    let mut create = hook(url);
    create["taskId"] = id.clone();
    vec![
        ("SendMessage", send),
        ("GetTask", json!({"id": id})),
        ("CancelTask", json!({"id": id})),
        ("CreateTaskPushNotificationConfig", create),
        ("GetTaskPushNotificationConfig", json!({"taskId": id, "id": config})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": id})),
        ("DeleteTaskPushNotificationConfig", json!({"taskId": id, "id": config})),
    ]
}

async fn another_tenants_task_is_an_unknown_one(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "").agent("other", "")).await;
    let receiver = Receiver::start().await;
    let url = receiver.url("sealed");
    let owner = platform.client().of("acme", "raw");
    let mut params = text("secret");
    params["configuration"]["taskPushNotificationConfig"] = hook(&url);
    let task = owner.start(params).await;
    let config =
        owner.ask("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})).await["configs"][0]["id"].take();
    let before = owner.task(&task["id"]).await;
    let unknown = json!(uuid::Uuid::now_v7().to_string());
    // Another tenant, none, a tenant whose name begins alike, and the owner itself with another agent.
    for (tenant, agent) in [("zeta", "raw"), ("", "raw"), ("acme2", "raw"), ("acme", "other")] {
        for binding in Binding::ALL {
            let stranger = platform.client().of(tenant, agent).over(binding);
            let real = operations(&task["id"], &config, &url);
            let made_up = operations(&unknown, &config, &url);
            for ((operation, params), (_, nothing)) in real.into_iter().zip(made_up) {
                let refusal = stranger.refused(operation, params).await;
                assert_eq!(refusal.reason, "TASK_NOT_FOUND", "{operation} of {tenant}");
                let mut as_unknown = stranger.refused(operation, nothing).await;
                // Nothing but the id differs.
                let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let swap = |text: &str| text.replace(&id(&unknown), &id(&task["id"]));
                as_unknown.message = swap(&as_unknown.message);
                as_unknown.metadata = serde_json::from_str(&swap(&as_unknown.metadata.to_string())).expect("JSON");
                assert_eq!(refusal, as_unknown, "{operation} of {tenant}");
            }
            let listed = stranger.ask("ListTasks", json!({})).await;
            assert_eq!((&listed["tasks"], &listed["totalSize"]), (&json!([]), &json!(0)));
            let listed = stranger.ask("ListTasks", json!({"contextId": task["contextId"]})).await;
            assert_eq!(listed["totalSize"], 0);
        }
    }
    assert_eq!(owner.task(&task["id"]).await, before);
    assert_eq!(owner.ask("ListTasks", json!({})).await["totalSize"], 1);
}

async fn the_tenant_may_stand_in_path_body_or_base(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let plain = platform.client();
    let base = plain.of("acme", "raw");
    let task = base.start(text("hello")).await;
    for binding in Binding::ALL {
        let bodily = plain.of("", "raw").over(binding);
        let seen = bodily.ask("GetTask", json!({"id": task["id"], "tenant": "acme"})).await;
        assert_eq!(seen, base.task(&task["id"]).await);
        // An empty tenant is no tenant.
        assert_eq!(bodily.refused("GetTask", json!({"id": task["id"], "tenant": ""})).await.reason, "TASK_NOT_FOUND");
        let mut params = text("by body");
        params["tenant"] = json!("acme");
        params["configuration"]["returnImmediately"] = json!(true);
        bodily.ask("SendMessage", params).await;
    }
    assert_eq!(base.ask("ListTasks", json!({})).await["totalSize"], 3);
    assert_eq!(plain.of("", "raw").ask("ListTasks", json!({})).await["totalSize"], 0);
}
