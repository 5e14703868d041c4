//! The worker surface: every move in every state, leases, limits, the two views.

use std::sync::Arc;

use api::Options;
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::client::{Answer, Held, Platform, platform, platform_with, settings, text};

/// The moves of `lifecycle.tsv` that workers make, and where they lead.
const MOVES: &[(&str, &str)] = &[
    ("work", "TASK_STATE_WORKING"),
    ("require_input", "TASK_STATE_INPUT_REQUIRED"),
    ("require_auth", "TASK_STATE_AUTH_REQUIRED"),
    ("complete", "TASK_STATE_COMPLETED"),
    ("fail", "TASK_STATE_FAILED"),
    ("reject", "TASK_STATE_REJECTED"),
];

/// A new task in that state, held by nobody.
async fn in_state<E: Endpoint<Output = Response>>(platform: &Platform<E>, state: &str) -> String {
    let id = text(&platform.submit().await["id"]);
    match MOVES.iter().find(|(_, target)| *target == state) {
        Some((verb, _)) => assert_eq!(unheld(platform, &id, verb).await.status, 200),
        None if state == "TASK_STATE_CANCELED" => {
            assert_eq!(platform.post(&format!("/tasks/{id}:cancel"), Value::Null).await.status, 200);
        }
        None => assert_eq!(state, "TASK_STATE_SUBMITTED"),
    }
    id
}

async fn unheld<E: Endpoint<Output = Response>>(platform: &Platform<E>, id: &str, verb: &str) -> Answer {
    platform.post(&format!("/worker/v1/tasks/{id}:{verb}"), json!({})).await
}

#[tokio::test]
async fn every_move_in_every_state_does_what_the_table_says() {
    let platform = platform().await;
    for state in wire::TaskState::ALL.into_iter().filter(|state| state.number() != 0) {
        for (verb, target) in MOVES {
            let id = in_state(&platform, state.name()).await;
            let made = unheld(&platform, &id, verb).await;
            let target_state = wire::TaskState::from_name(target).unwrap();
            let permitted =
                wire::MOVES.iter().find(|rule| rule.step.target() == target_state).unwrap().step.permitted_from(state);
            if permitted {
                assert_eq!((made.status, &made.body["state"]), (200, &json!(target)), "{verb} from {state}: {made:?}");
                assert_eq!(made.body["taskId"], id.as_str());
                assert_eq!(made.content_type, "application/json");
            } else {
                assert_eq!((made.status, made.reason()), (409, "TASK_STATE_CONFLICT"), "{verb} from {state}: {made:?}");
                let info = &made.body["error"]["details"][0];
                assert_eq!(
                    (&info["domain"], &info["metadata"]["state"]),
                    (&json!("taskyard.dev"), &json!(state.name()))
                );
            }
        }
        let id = in_state(&platform, state.name()).await;
        let artifact = json!({"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}});
        let updated = platform.post(&format!("/worker/v1/tasks/{id}:update_artifact"), artifact).await;
        let expected = if state.is_terminal() { 409 } else { 200 };
        assert_eq!(updated.status, expected, "{state}: {updated:?}");
    }
}

#[tokio::test]
async fn a_held_task_is_changed_by_its_holder_alone() {
    let platform = platform().await;
    let held = platform.hold().await;
    let other = platform.hold().await;
    let before = platform.rows().await;
    let refused = unheld(&platform, &held.task, "complete").await;
    assert_eq!((refused.status, refused.reason()), (428, "LEASE_REQUIRED"), "{refused:?}");
    let others = Held { task: held.task.clone(), ..other.clone() };
    let late = Held { epoch: "0".into(), ..held.clone() };
    for wrong in [&others, &late] {
        for verb in ["work", "complete"] {
            let lost = platform.work(wrong, verb, json!({})).await;
            assert_eq!((lost.status, lost.reason()), (409, "LEASE_LOST"), "{lost:?}");
            assert_eq!(lost.body["error"]["details"][0]["metadata"]["state"], "TASK_STATE_SUBMITTED");
        }
        let artifact = json!({"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}});
        assert_eq!(platform.work(wrong, "update_artifact", artifact).await.reason(), "LEASE_LOST");
    }
    assert_eq!(platform.rows().await, before);
    let made = platform.work(&held, "work", json!({"statusMessage": {"parts": [{"text": "on it"}]}})).await;
    assert_eq!((made.status, &made.body["leaseHeld"]), (200, &json!(true)), "{made:?}");
    assert_eq!(platform.work(&held, "complete", Value::Null).await.status, 400);
    assert_eq!(platform.work(&held, "complete", json!({})).await.body["leaseHeld"], false);
    // Existence is decided before the lease, the lease before the state.
    assert_eq!(platform.work(&held, "complete", json!({})).await.reason(), "LEASE_LOST");
    assert_eq!(unheld(&platform, &held.task, "complete").await.reason(), "TASK_STATE_CONFLICT");
    let nowhere = Held { task: uuid::Uuid::nil().to_string(), ..held };
    assert_eq!(platform.work(&nowhere, "complete", json!({})).await.reason(), "TASK_NOT_FOUND");
}

#[tokio::test]
async fn a_lease_is_named_whole_or_not_at_all() {
    let platform = platform().await;
    let held = platform.hold().await;
    for (lease, epoch, field) in [
        (Some(held.lease.as_str()), None, "Taskyard-Epoch"),
        (None, Some("1"), "Taskyard-Lease"),
        (Some("nonsense"), Some("1"), "Taskyard-Lease"),
        (Some(held.lease.as_str()), Some("one"), "Taskyard-Epoch"),
    ] {
        let mut request = platform.client.post(format!("/worker/v1/tasks/{}:work", held.task));
        for (name, value) in [("Taskyard-Lease", lease), ("Taskyard-Epoch", epoch)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.fields()), (400, vec![field]), "{answer:?}");
    }
    let release = format!("/worker/v1/leases/{}:release", held.lease);
    let bare = platform.post(&release, json!({})).await;
    assert_eq!((bare.status, bare.fields()), (400, vec!["Taskyard-Epoch"]));
    let unknown = platform.client.post("/worker/v1/leases/nope:release").header("Taskyard-Epoch", "1");
    let unknown = Answer::of(unknown).await;
    assert_eq!((unknown.status, unknown.reason()), (404, "LEASE_NOT_FOUND"));
    let given = Answer::of(platform.client.post(release).header("Taskyard-Epoch", &held.epoch)).await;
    assert_eq!((given.status, given.body), (200, json!({})));
    let polled = platform.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 5})).await;
    assert_eq!(polled.body["leases"][0]["task"]["id"], held.task.as_str(), "{polled:?}");
}

#[tokio::test]
async fn a_worker_is_greeted_and_hears_of_a_cancel() {
    let platform = platform().await;
    let session = platform.post("/worker/v1/sessions", json!({"worker": "w", "agents": ["echo"]})).await;
    assert_eq!((session.status, &session.body["leaseSeconds"]), (200, &json!(30.0)), "{session:?}");
    let held = platform.hold().await;
    let leases = json!([{"lease": held.lease, "epoch": held.epoch.parse::<i64>().unwrap()}]);
    let beat = platform.post("/worker/v1/leases:heartbeat", json!({"leases": leases})).await;
    assert_eq!((&beat.body["leases"][0]["held"], &beat.body["leases"][0]["cancel"]), (&json!(true), &json!(false)));
    platform.post(&format!("/tasks/{}:cancel", held.task), Value::Null).await;
    let beat = platform.post("/worker/v1/leases:heartbeat", json!({"leases": leases})).await;
    assert_eq!((&beat.body["leases"][0]["held"], &beat.body["leases"][0]["cancel"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn bad_updates_name_their_field_and_change_nothing() {
    let platform = platform().await;
    let held = platform.hold().await;
    let before = platform.rows().await;
    let text_part = json!([{"text": "x"}]);
    let many: Vec<Value> = (0..101).map(|_| json!({"work": {}})).collect();
    let cases = [
        ("work", json!({"statusMessage": {}}), "statusMessage.parts"),
        ("work", json!({"statusMessage": {"role": "ROLE_USER", "parts": text_part}}), "statusMessage.role"),
        ("complete", json!({"statusMessage": {"parts": [{}]}}), "statusMessage.parts[0]"),
        ("fail", json!({"metadata": 1}), "metadata"),
        ("fail", json!({"cancelable": "no"}), "cancelable"),
        ("update_artifact", json!({}), "artifact.artifactId"),
        ("update_artifact", json!({"artifact": {"artifactId": "a", "parts": []}}), "artifact.parts"),
        (
            "update_artifact",
            json!({"artifact": {"artifactId": "a", "parts": text_part}, "append": true}),
            "artifact.artifactId",
        ),
        ("apply", json!({"updates": []}), "updates"),
        ("apply", json!({"updates": many}), "updates"),
        ("apply", json!({"updates": [{"work": {}, "complete": {}}]}), "updates[0]"),
        ("apply", json!({"updates": [{"explode": {}}]}), "updates[0]"),
        ("apply", json!({"updates": [{"complete": {}}, {"work": {}}]}), "updates[0].complete"),
        ("apply", json!({"updates": [{"work": {}}, {"progress": {}}]}), "updates[1].progress.statusMessage"),
    ];
    for (verb, body, field) in cases {
        let answer = platform.work(&held, verb, body.clone()).await;
        assert_eq!((answer.status, answer.reason()), (400, "INVALID_PARAMS"), "{verb} {body}: {answer:?}");
        assert_eq!(answer.fields().first(), Some(&field), "{verb} {body}: {answer:?}");
        assert_eq!(platform.rows().await, before, "{verb} {body}");
    }
    for (body, field) in [
        (json!({}), "agents"),
        (json!({"agents": []}), "agents"),
        (json!({"agents": ["nobody"]}), "agents[0]"),
        (json!({"agents": ["echo"], "max": 0}), "max"),
        (json!({"agents": ["echo"], "max": 101}), "max"),
        (json!({"agents": ["echo"], "waitSeconds": -1}), "waitSeconds"),
        (json!({"agents": ["echo"], "waitSeconds": 31}), "waitSeconds"),
        (json!({"agents": "echo"}), "agents"),
    ] {
        let answer = platform.post("/worker/v1/leases:poll", body.clone()).await;
        assert_eq!((answer.status, answer.fields()), (400, vec![field]), "{body}: {answer:?}");
    }
    for (path, field) in [
        ("allTasks?state=DONE", "state"),
        ("allTasks?pageSize=0", "pageSize"),
        ("allTasks?pageSize=x", "pageSize"),
        ("allTasks?pageToken=x", "pageToken"),
        ("allTasks?agent=nobody", "agent"),
        ("allTasks?tenant=.x", "tenant"),
        ("allPushNotificationConfigs?pageSize=101", "pageSize"),
    ] {
        let answer = platform.get(&format!("/worker/v1/{path}")).await;
        assert_eq!((answer.status, answer.fields()), (400, vec![field]), "{path}: {answer:?}");
        assert_eq!(answer.content_type, "application/json", "{path}");
    }
    assert_eq!(platform.rows().await, before);
    let other = platform.ask(poem::http::Method::GET, "/worker/v1/leases:poll", Value::Null).await;
    assert_eq!((other.status, other.headers["allow"].to_str().unwrap()), (405, "POST"));
}

#[tokio::test]
async fn artifacts_are_limited() {
    let mut settings = settings();
    let limits = &mut Arc::make_mut(settings.agents.get_mut("echo").unwrap()).limits;
    limits.artifacts = 2;
    limits.artifact_bytes = 400;
    limits.parts = 2;
    let platform = platform_with(settings, Options::default()).await;
    let held = platform.hold().await;
    let artifact = |id: &str, text: &str| json!({"artifact": {"artifactId": id, "parts": [{"text": text}]}});
    for id in ["a", "b", "a"] {
        assert_eq!(platform.work(&held, "update_artifact", artifact(id, "x")).await.status, 200);
    }
    let before = platform.rows().await;
    for over in [artifact("c", "x"), artifact("a", &"x".repeat(400))] {
        let refused = platform.work(&held, "update_artifact", over).await;
        assert_eq!((refused.status, refused.reason()), (429, "RESOURCE_EXHAUSTED"), "{refused:?}");
    }
    let parts = json!([{"text": "x"}, {"text": "x"}, {"text": "x"}]);
    let refused =
        platform.work(&held, "update_artifact", json!({"artifact": {"artifactId": "a", "parts": parts}})).await;
    assert_eq!((refused.status, refused.fields()), (400, vec!["artifact.parts"]), "{refused:?}");
    assert_eq!(platform.rows().await, before);
}

#[tokio::test]
async fn the_agents_views_show_every_tenant_and_no_secret() {
    let platform = platform().await;
    let send = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}, "configuration": {
        "returnImmediately": true,
        "taskPushNotificationConfig": {"url": "http://127.0.0.1:2/", "token": "hidden", "authentication": {"scheme": "Bearer", "credentials": "hidden"}},
    }});
    for base in ["", "/acme", "/agents/other"] {
        assert_eq!(platform.post(&format!("{base}/message:send"), send.clone()).await.status, 200);
    }
    let all = platform.get("/worker/v1/allTasks").await;
    assert_eq!(all.body["tasks"].as_array().map(Vec::len), Some(3), "{all:?}");
    for (query, count) in [
        ("tenant=acme", 1),
        ("tenant=", 2),
        ("agent=other", 1),
        ("state=TASK_STATE_SUBMITTED", 3),
        ("state=TASK_STATE_WORKING", 0),
        ("agent=echo&tenant=", 1),
    ] {
        let some = platform.get(&format!("/worker/v1/allTasks?{query}")).await;
        assert_eq!(some.body["tasks"].as_array().map(Vec::len), Some(count), "{query}: {some:?}");
    }
    let page = platform.get("/worker/v1/allTasks?pageSize=2").await;
    let rest =
        platform.get(&format!("/worker/v1/allTasks?pageSize=2&pageToken={}", text(&page.body["nextPageToken"]))).await;
    assert_eq!((rest.body["tasks"].as_array().map(Vec::len), &rest.body["nextPageToken"]), (Some(1), &json!("")));
    let configs = platform.get("/worker/v1/allPushNotificationConfigs").await;
    assert_eq!(configs.body["configs"].as_array().map(Vec::len), Some(3), "{configs:?}");
    assert_eq!(configs.body["configs"][0]["authentication"], json!({"scheme": "Bearer"}));
    assert!(!configs.body.to_string().contains("hidden"));
}
