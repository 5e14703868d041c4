//! Quotas are exact, however many ask at once on however many replicas, and what is refused leaves nothing.

use e2e::{Failure, Platform, Receiver, Setup, hook, text};
use futures_util::future::join_all;
use serde_json::{Value, json};

on_both!(a_tenant_gets_exactly_its_tasks, a_task_gets_exactly_its_configs, a_history_gets_exactly_its_messages);

/// How many calls were taken; the others must have been refused by this limit.
fn taken(answers: &[Result<Value, Failure>], limit: &str) -> usize {
    let mut taken = 0;
    for answer in answers {
        match answer {
            Ok(_) => taken += 1,
            Err(Failure::Refused(refusal)) => {
                assert_eq!((refusal.http, refusal.reason.as_str()), (429, "RESOURCE_EXHAUSTED"), "{refusal:?}");
                assert!(refusal.metadata.to_string().contains(limit), "{refusal:?}");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    taken
}

async fn a_tenant_gets_exactly_its_tasks(setup: Setup) {
    let setup = setup.set("limits", "tasks_per_tenant = 21").agent("raw", "");
    let platform = Platform::start(setup).await;
    for tenant in ["", "acme"] {
        let client = platform.client().of(tenant, "raw");
        let mut params = text("hello");
        params["configuration"]["returnImmediately"] = json!(true);
        let answers = join_all((0..64).map(|_| client.call("SendMessage", &params, None))).await;
        assert_eq!(taken(&answers, "tasks_per_tenant"), 21);
        assert_eq!(client.ask("ListTasks", json!({})).await["totalSize"], 21);
        // The limit is on tasks, not on messages.
        let task = client.ask("ListTasks", json!({"pageSize": 1})).await["tasks"][0]["id"].take();
        params["message"]["taskId"] = task;
        client.ask("SendMessage", params).await;
    }
    // Refused sends left nothing behind.
    assert_eq!(platform.worker().all_tasks().await.len(), 42);
}

async fn a_task_gets_exactly_its_configs(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "limits.push_configs = 5")).await;
    let receiver = Receiver::start().await;
    let client = platform.client().of("", "raw");
    let task = client.start(text("work")).await;
    let create = |n: usize| {
        let mut params = hook(&receiver.url(&format!("config-{n}")));
        params["taskId"] = task["id"].clone();
        params["id"] = json!(format!("config-{n}"));
        let client = client.clone();
        async move { client.call("CreateTaskPushNotificationConfig", &params, None).await }
    };
    let answers = join_all((0..16).map(create)).await;
    assert_eq!(taken(&answers, "push_configs"), 5);
    let listed = client.ask("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})).await;
    let ids: Vec<&Value> = listed["configs"].as_array().expect("configs").iter().map(|config| &config["id"]).collect();
    assert_eq!(ids.len(), 5);
    // At the limit one may still be replaced, one more may not come with a message, and one that goes makes room.
    let mut params = hook(&receiver.url("replaced"));
    params["taskId"] = task["id"].clone();
    params["id"] = ids[0].clone();
    client.ask("CreateTaskPushNotificationConfig", params).await;
    let mut inline = text("more");
    inline["message"]["taskId"] = task["id"].clone();
    inline["configuration"] =
        json!({"returnImmediately": true, "taskPushNotificationConfig": hook(&receiver.url("inline"))});
    assert_eq!(client.refused("SendMessage", inline.clone()).await.reason, "RESOURCE_EXHAUSTED");
    assert_eq!(client.task(&task["id"]).await["history"].as_array().map(Vec::len), Some(1));
    client.ask("DeleteTaskPushNotificationConfig", json!({"taskId": task["id"], "id": ids[0]})).await;
    client.ask("SendMessage", inline).await;
}

async fn a_history_gets_exactly_its_messages(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "limits.history = 9")).await;
    let client = platform.client().of("", "raw");
    let task = client.start(text("one")).await;
    let mut params = text("more");
    params["message"]["taskId"] = task["id"].clone();
    params["configuration"]["returnImmediately"] = json!(true);
    let mut answers = Vec::new();
    // Sends of one task wait for each other; a few at a time, so that none gives up.
    for _ in 0..6 {
        answers.extend(join_all((0..4).map(|_| client.call("SendMessage", &params, None))).await);
    }
    assert_eq!(taken(&answers, "history"), 8);
    assert_eq!(client.task(&task["id"]).await["history"].as_array().map(Vec::len), Some(9));
}
