//! Push configs and what they bring.

use std::time::Duration;

use e2e::{Binding, Hit, Platform, Receiver, Setup, hook, never_within, said, text};
use serde_json::{Value, json};

on_both!(
    secrets_are_shown_once,
    a_config_of_the_same_id_replaces,
    nothing_comes_after_a_delete,
    a_later_config_hears_first_how_the_task_stands,
    a_receiver_that_fails_is_asked_again_in_order,
    an_agent_without_webhooks_refuses_them,
);

/// `hook` of this id on this task.
fn config(task: &Value, id: &str, url: &str) -> Value {
    let mut params = hook(url);
    params["taskId"] = task["id"].clone();
    params["id"] = json!(id);
    params
}

fn of(task: &Value, id: &str) -> Value {
    json!({"taskId": task["id"], "id": id})
}

async fn secrets_are_shown_once(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let receiver = Receiver::start().await;
    for binding in Binding::ALL {
        let client = platform.client().of("", "raw").over(binding);
        let task = client.start(text("work")).await;
        let made = client.ask("CreateTaskPushNotificationConfig", config(&task, "mine", &receiver.url("a"))).await;
        assert_eq!(made["token"], "the-token");
        assert_eq!(made["authentication"], json!({"scheme": "Bearer", "credentials": "the-credentials"}));
        let got = client.ask("GetTaskPushNotificationConfig", of(&task, "mine")).await;
        assert_eq!((&got["id"], &got["taskId"], &got["url"]), (&json!("mine"), &task["id"], &made["url"]));
        assert_eq!(got["authentication"], json!({"scheme": "Bearer"}));
        assert!(got.get("token").is_none(), "{got}");
        // One without an id gets one.
        let mut nameless = hook(&receiver.url("b"));
        nameless["taskId"] = task["id"].clone();
        let named = client.ask("CreateTaskPushNotificationConfig", nameless).await;
        assert!(named["id"].as_str().is_some_and(|id| !id.is_empty()), "{named}");
        let listed = client.ask("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})).await;
        assert_eq!(listed["configs"].as_array().map(Vec::len), Some(2));
        assert_eq!(listed["configs"][0], got);
        let missing = client.refused("GetTaskPushNotificationConfig", of(&task, "other")).await;
        assert_eq!(missing.reason, "TASK_NOT_FOUND");
        for _ in 0..2 {
            assert_eq!(client.ask("DeleteTaskPushNotificationConfig", of(&task, "mine")).await, json!({}));
        }
        assert_eq!(client.refused("GetTaskPushNotificationConfig", of(&task, "mine")).await.reason, "TASK_NOT_FOUND");
        let view = platform
            .worker()
            .view(&format!("/allPushNotificationConfigs?taskId={}", task["id"].as_str().unwrap_or_default()))
            .await;
        assert_eq!(view["configs"].as_array().map(Vec::len), Some(1), "{view}");
        for secret in ["the-token", "the-credentials"] {
            assert!(!listed.to_string().contains(secret) && !view.to_string().contains(secret));
        }
    }
    for name in platform.names() {
        let log = platform.log(&name);
        for secret in ["the-token", "the-credentials"] {
            assert!(!log.contains(secret), "{name} logged a secret");
        }
    }
}

async fn a_config_of_the_same_id_replaces(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let receiver = Receiver::start().await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("work")).await;
    client.ask("CreateTaskPushNotificationConfig", config(&task, "mine", &receiver.url("before"))).await;
    receiver.taken("before", |hits| hits.len() == 1).await;
    let mut changed = config(&task, "mine", &receiver.url("after"));
    changed["authentication"] = json!({"scheme": "Basic", "credentials": "others"});
    changed.as_object_mut().expect("an object").remove("token");
    client.ask("CreateTaskPushNotificationConfig", changed).await;
    let listed = client.ask("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})).await;
    assert_eq!(listed["configs"].as_array().map(Vec::len), Some(1));
    worker.step(&task["id"], "work", None, &json!({})).await.expect("work");
    worker.step(&task["id"], "complete", None, &json!({})).await.expect("the end");
    let hits = receiver.until_the_end("after").await;
    for hit in &hits {
        assert_eq!(hit.headers["authorization"], "Basic others");
        assert!(!hit.headers.contains_key("a2a-notification-token"), "{hit:?}");
    }
    assert_eq!(receiver.hits("before").len(), 1);
}

async fn nothing_comes_after_a_delete(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let receiver = Receiver::start().await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let mut params = text("work");
    params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url("stays"));
    let task = client.start(params).await;
    // The one to go fails: what is yet to be tried again is to end as well.
    receiver.fail("goes", [500; 1_000]);
    client.ask("CreateTaskPushNotificationConfig", config(&task, "goes", &receiver.url("goes"))).await;
    e2e::eventually("a second try", async || (receiver.hits("goes").len() >= 2).then_some(())).await;
    client.ask("DeleteTaskPushNotificationConfig", of(&task, "goes")).await;
    let dialled = receiver.hits("goes").len();
    worker.step(&task["id"], "work", None, &json!({})).await.expect("work");
    worker.step(&task["id"], "complete", None, &json!({})).await.expect("the end");
    receiver.until_the_end("stays").await;
    // Several times the wait before the next try.
    never_within(Duration::from_secs(3), "a deleted webhook was dialled", async || {
        receiver.hits("goes").len() != dialled
    })
    .await;
    assert_eq!(receiver.hits("stays").len(), 3);
}

async fn a_later_config_hears_first_how_the_task_stands(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "").agent("mute", "push_snapshot = false")).await;
    let receiver = Receiver::start().await;
    let worker = platform.worker();
    for agent in ["raw", "mute"] {
        let client = platform.client().of("", agent);
        let task = client.start(text("work")).await;
        let lease = worker.lease(agent).await;
        let half = json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "half"}]}}}]);
        worker.apply(&task["id"], Some(&lease.held()), half).await.expect("an artifact");
        client.ask("CreateTaskPushNotificationConfig", config(&task, "late", &receiver.url(agent))).await;
        worker.apply(&task["id"], Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
        let hits = receiver.until_the_end(agent).await;
        let numbers: Vec<(i64, i64)> = hits.iter().map(|hit| (hit.sequence, hit.generation)).collect();
        if agent == "mute" {
            assert_eq!(numbers, [(1, 4)]);
            continue;
        }
        // The task as of event 3, then event 4.
        assert_eq!(numbers, [(1, 3), (2, 4)]);
        let shown = &hits[0].body["task"];
        assert_eq!(shown["status"]["state"], "TASK_STATE_WORKING");
        assert_eq!((said(&shown["artifacts"][0]), said(&shown["history"][0])), ("half", "work"));
        assert_eq!(hits[1].body["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

async fn a_receiver_that_fails_is_asked_again_in_order(setup: Setup) {
    let platform = Platform::start(setup).await;
    let receiver = Receiver::start().await;
    // Everything but 2xx is a failure, also what a browser would follow.
    receiver.fail("flaky", [500, 302, 200, 404, 429, 200, 503]);
    let mut params = text("stream 4");
    params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url("flaky"));
    platform.client().send(params).await;
    let taken = receiver.until_the_end("flaky").await;
    let numbers: Vec<i64> = taken.iter().map(|hit| hit.sequence).collect();
    assert_eq!(numbers, (1..=taken.len() as i64).collect::<Vec<_>>());
    assert_eq!(taken.len(), 7, "task, Working, four chunks, Completed");
    let all: Vec<(i64, u16)> = receiver.hits("flaky").iter().map(|hit: &Hit| (hit.sequence, hit.answered)).collect();
    let first = [(1, 500), (1, 302), (1, 200), (2, 404), (2, 429), (2, 200), (3, 503), (3, 200)];
    assert_eq!(all[..8], first);
}

async fn an_agent_without_webhooks_refuses_them(setup: Setup) {
    let platform = Platform::start(setup.agent("deaf", "push_notifications = false")).await;
    for binding in Binding::ALL {
        let client = platform.client().of("", "deaf").over(binding);
        let mut params = text("work");
        params["configuration"] =
            json!({"returnImmediately": true, "taskPushNotificationConfig": hook("http://127.0.0.1:2/")});
        assert_eq!(client.refused("SendMessage", params).await.reason, "PUSH_NOTIFICATION_NOT_SUPPORTED");
        let task = client.start(text("work")).await;
        for (operation, params) in [
            ("CreateTaskPushNotificationConfig", config(&task, "x", "http://127.0.0.1:2/")),
            ("GetTaskPushNotificationConfig", of(&task, "x")),
            ("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})),
            ("DeleteTaskPushNotificationConfig", of(&task, "x")),
        ] {
            assert_eq!(
                client.refused(operation, params).await.reason,
                "PUSH_NOTIFICATION_NOT_SUPPORTED",
                "{operation}"
            );
        }
    }
}
