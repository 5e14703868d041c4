//! Moves, progress and artifacts, in every state.

use serde_json::{Value, json};
use wire::{Kind, Move, TaskState};

use crate::fixture::*;
use crate::on_every_store;

/// The update that makes a move, if a worker can make it.
fn update(step: Move) -> Option<Value> {
    let member = match step {
        Move::Work => "work",
        Move::RequireInput => "requireInput",
        Move::RequireAuth => "requireAuth",
        Move::Complete => "complete",
        Move::Fail => "fail",
        Move::Reject => "reject",
        Move::Cancel => return None,
    };
    Some(json!({ member: {} }))
}

/// A task brought into this state by unheld moves.
async fn task_in(f: &Fixture, state: TaskState) -> String {
    let id = send(&f.engine, "", say("x")).await.unwrap().id;
    let to = Move::ALL.into_iter().find(|step| step.target() == state);
    match to {
        None => {}
        Some(Move::Cancel) => drop(cancel(&f.engine, "", &id).await.unwrap()),
        Some(step) => drop(apply_as(&f.engine, &id, None, json!([update(step)])).await.unwrap()),
    }
    assert_eq!(get(&f.engine, "", &id).await.unwrap().status.state, state);
    id
}

on_every_store! {
    /// Every move from every state does what the table says.
    async fn every_move_in_every_state(f: Fixture) {
        for state in TaskState::ALL.iter().copied().filter(|state| *state != TaskState::Unspecified) {
            for step in Move::ALL {
                let id = task_in(&f, state).await;
                let before = f.count("task_event").await;
                let result = match update(step) {
                    None => cancel(&f.engine, "", &id).await.map(|task| task.status.state),
                    Some(update) => apply_as(&f.engine, &id, None, json!([update])).await.map(|applied| applied.state),
                };
                if step.permitted_from(state) {
                    assert_eq!(result.unwrap(), step.target(), "{step:?} from {state:?}");
                    assert_eq!(f.count("task_event").await, before + 1);
                } else {
                    let refused = result.unwrap_err();
                    let kind = if step == Move::Cancel { Kind::TaskNotCancelable } else { Kind::TaskStateConflict };
                    assert_eq!(refused.kind, kind, "{step:?} from {state:?}");
                    assert_eq!(refused.metadata["state"], state.name());
                    assert_eq!(f.count("task_event").await, before, "nothing is stored");
                }
            }
        }
    }

    /// Progress repeats Working as an event and never enters history; a status message does.
    async fn progress_is_no_history(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, false).await.remove(0);
        let says = |text: &str| json!({"statusMessage": {"parts": [{"text": text}]}});
        let refused = apply(&f.engine, &lease, json!([{"progress": says("too early")}])).await.unwrap_err();
        assert_eq!(refused.kind, Kind::TaskStateConflict);
        let applied = apply(&f.engine, &lease, json!([
            {"work": says("begun")}, {"progress": says("half")}, {"progress": says("nearly")}, {"complete": says("done")},
        ])).await.unwrap();
        assert_eq!(applied.generation, 5);
        let task = get(&f.engine, "", &lease.task.id).await.unwrap();
        assert_eq!(task.history.iter().map(text).collect::<Vec<_>>(), ["x", "begun"]);
        assert_eq!(text(task.status.message.as_ref().unwrap()), "done");
    }

    /// Chunks extend an artifact, a whole one replaces it, in one batch or in many, and its place among the others stays.
    async fn artifacts_are_the_fold_of_their_chunks(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let chunk = |id: &str, text: &str, append: bool| {
            json!({"artifact": {"artifact": {"artifactId": id, "parts": [{"text": text}], "metadata": {text: true}}, "append": append}})
        };
        let refused = apply(&f.engine, &lease, json!([chunk("a", "1", true)])).await.unwrap_err();
        assert_eq!((refused.kind, refused.violations[0].field.as_str()), (Kind::InvalidParams, "artifact.artifactId"));
        apply(&f.engine, &lease, json!([chunk("a", "1", false), chunk("a", "2", true), chunk("b", "x", false)])).await.unwrap();
        apply(&f.engine, &lease, json!([chunk("a", "3", true)])).await.unwrap();
        let texts = |task: &wire::Task| -> Vec<String> {
            task.artifacts.iter().map(|a| format!("{}:{}", a.artifact_id, text(&wire::Message { parts: a.parts.clone(), ..Default::default() }))).collect()
        };
        let read = get(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(texts(&read), ["a:123", "b:x"]);
        assert_eq!(read.artifacts[0].metadata.as_ref().unwrap().len(), 3);
        apply(&f.engine, &lease, json!([chunk("a", "4", true), chunk("a", "new", false), chunk("a", "er", true)])).await.unwrap();
        let read = get(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(texts(&read), ["a:newer", "b:x"]);
        assert_eq!(f.count("task_artifact").await, 3);
    }

    /// One update that is refused undoes the whole batch.
    async fn a_batch_is_all_or_nothing(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, false).await.remove(0);
        let refused = apply(&f.engine, &lease, json!([
            {"work": {}},
            {"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "append": true}},
            {"complete": {}},
        ])).await.unwrap_err();
        assert_eq!(refused.kind, Kind::InvalidParams);
        assert_eq!(f.count("task_event").await, 1);
        assert_eq!(get(&f.engine, "", &lease.task.id).await.unwrap().status.state, TaskState::Submitted);
    }

    /// A stage that a worker declared not cancelable is not canceled, until it says otherwise.
    async fn a_worker_may_forbid_cancel(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let set = |cancelable: bool| serde_json::from_value(json!({"updates": [{"progress": {"statusMessage": {"parts": [{"text": "…"}]}}}], "cancelable": cancelable})).unwrap();
        f.engine.apply(&Default::default(), &task.id, Some(claim_of(&lease)), None, set(false)).await.unwrap();
        assert_eq!(cancel(&f.engine, "", &task.id).await.unwrap_err().kind, Kind::TaskNotCancelable);
        f.engine.apply(&Default::default(), &task.id, Some(claim_of(&lease)), None, set(true)).await.unwrap();
        let canceled = cancel(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled);
        assert!(canceled.status.message.is_some());
        assert_eq!(cancel(&f.engine, "", &task.id).await.unwrap_err().kind, Kind::TaskNotCancelable, "twice is an error");
    }

    /// Another tenant's task is no task at all.
    async fn tenants_are_sealed(f: Fixture) {
        let task = send(&f.engine, "acme", say("secret")).await.unwrap();
        for tenant in ["umbrella", ""] {
            let theirs = get(&f.engine, tenant, &task.id).await.unwrap_err();
            let unknown = get(&f.engine, tenant, &uuid::Uuid::now_v7().to_string()).await.unwrap_err();
            assert_eq!(theirs.kind, unknown.kind);
            assert_eq!(theirs.kind, Kind::TaskNotFound);
            assert_eq!(cancel(&f.engine, tenant, &task.id).await.unwrap_err().kind, Kind::TaskNotFound);
            assert_eq!(send(&f.engine, tenant, say_to(&task.id, "me too")).await.unwrap_err().kind, Kind::TaskNotFound);
            assert!(list(&f.engine, tenant, json!({})).await.unwrap().response.tasks.is_empty());
        }
        assert_eq!(get(&f.engine, "acme", &task.id).await.unwrap().id, task.id);
    }
}
