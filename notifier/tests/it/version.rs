//! Each receiver is told in the version it was registered in.

use entity::push_delivery::State;
use serde_json::{Value, json};

use crate::on_both_stores;
use crate::place::{Place, options};
use crate::receiver::Receiver;

on_both_stores!(
    two_versions_of_one_task,
    a_replaced_config_changes_its_version,
    what_cannot_be_told_spoils_itself_only
);

/// A task's life, as 1.0 and as 0.3 tell it.
fn events() -> [(Value, Value); 4] {
    let status = |state: &str| {
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {
            "state": state, "timestamp": "2026-01-02T03:04:05.678Z"
        }}})
    };
    let old = |state: &str, last: bool| {
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": last, "status": {
            "state": state, "timestamp": "2026-01-02T03:04:05.678Z"
        }})
    };
    [
        (
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}}}),
            json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "submitted"}}),
        ),
        (status("TASK_STATE_WORKING"), old("working", false)),
        (
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "lastChunk": true, "artifact": {
                "artifactId": "a", "parts": [{"raw": "eA==", "filename": "f"}, {"data": [1]}]
            }}}),
            json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "append": false, "lastChunk": true,
            "artifact": {"artifactId": "a", "parts": [
                {"kind": "file", "file": {"bytes": "eA==", "name": "f"}},
                {"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}}
            ]}}),
        ),
        (status("TASK_STATE_COMPLETED"), old("completed", true)),
    ]
}

async fn two_versions_of_one_task(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut new = place.lane(&receiver.url("/new")).await;
    let secrets = place.secrets.clone();
    let mut old = place
        .lane_with(&receiver.url("/old"), |config| {
            config.task_id = new.task;
            config.version = "0.3".into();
            config.token = Some(secrets.seal(config.id, "opaque").unwrap());
        })
        .await;
    for (event, _) in events() {
        new.write(Some(event.to_string()), None).await;
        old.write(None, None).await;
    }
    let running = place.notify(options());
    new.all(State::Delivered).await;
    old.all(State::Delivered).await;

    let seen = receiver.seen();
    let of = |path: &str| seen.iter().filter(|seen| seen.path == path).cloned().collect::<Vec<_>>();
    for (n, (as_new, as_old)) in events().into_iter().enumerate() {
        let (new, old) = (&of("/new")[n], &of("/old")[n]);
        assert_eq!(new.body, as_new.to_string());
        assert_eq!(serde_json::from_str::<Value>(&old.body).unwrap(), as_old);
        assert_eq!((new.header("a2a-version"), new.header("content-type")), ("1.0", "application/a2a+json"));
        assert_eq!((old.header("a2a-version"), old.header("content-type")), ("0.3", "application/json"));
        assert_eq!(old.header("x-a2a-notification-token"), "opaque");
        assert_eq!(old.sequence(), n as i64 + 1);
    }
    running.stop().await;
}

async fn a_replaced_config_changes_its_version(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    let running = place.notify(options());
    let [first, second, ..] = events();
    lane.write(Some(first.0.to_string()), None).await;
    lane.all(State::Delivered).await;
    lane.config(|config| config.version = sea_orm::Set("0.3".into())).await;
    lane.write(Some(second.0.to_string()), None).await;
    lane.all(State::Delivered).await;
    let bodies: Vec<Value> = receiver.seen().iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect();
    assert_eq!(bodies, [first.0, second.1]);
    running.stop().await;
}

async fn what_cannot_be_told_spoils_itself_only(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lane = place.lane_with(&receiver.url("/"), |config| config.version = "0.3".into()).await;
    let [first, second, ..] = events();
    lane.write(Some(first.0.to_string()), None).await;
    lane.write(Some(r#"{"news": {}}"#.into()), None).await;
    lane.write(Some(second.0.to_string()), None).await;
    let mut unknown = place.lane_with(&receiver.url("/unknown"), |config| config.version = "9.9".into()).await;
    unknown.write(Some(first.0.to_string()), None).await;
    let running = place.notify(options());
    lane.idle().await;
    unknown.all(State::Dead).await;
    let states: Vec<State> = lane.deliveries().await.into_iter().map(|delivery| delivery.state).collect();
    assert_eq!(states, [State::Delivered, State::Dead, State::Delivered]);
    assert_eq!(lane.attempts().await[1], (2, "internal".to_owned(), None));
    assert_eq!(receiver.sequences("/"), [1, 3]);
    assert!(receiver.sequences("/unknown").is_empty());
    running.stop().await;
}
