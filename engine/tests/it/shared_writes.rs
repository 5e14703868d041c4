//! Writes that come at the same time may be one statement and one commit; each is as if it had been alone.

use std::time::Duration;

use engine::store::{Write, WriteError, work};
use entity::tenant;
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{Kind, TaskState};

use crate::fixture::*;
use crate::on_every_store;

/// A row of a kind that nobody else writes.
fn insert(name: &str) -> Write {
    let mut write = Write::new();
    write.insert(tenant::ActiveModel::from(tenant::Model { name: name.to_owned(), task_limit: 1, created_at: START }));
    write
}

on_every_store! {
    /// Of 40 sends at once every one that was answered is there, whole, with its event, and a worker gets each once.
    async fn sends_at_once_are_all_there(f: Fixture) {
        let mut sends = JoinSet::new();
        for n in 0..40 {
            let engine = f.engine.clone();
            sends.spawn(async move { send(&engine, if n % 2 == 0 { "a" } else { "b" }, say(&format!("x{n}"))).await.unwrap() });
        }
        let mut sent: Vec<String> = sends.join_all().await.into_iter().map(|task| task.id).collect();
        let mut claimed = Vec::new();
        while claimed.len() < 40 {
            claimed.extend(poll(&f.engine, 40, true).await.into_iter().map(|lease| lease.task.id));
        }
        sent.sort_unstable();
        claimed.sort_unstable();
        assert_eq!(sent, claimed);
        for table in ["task", "work", "task_message"] {
            assert_eq!(f.count(table).await, 40, "{table}");
        }
        // Each was submitted and then moved to Working.
        assert_eq!(f.count("task_event").await, 80);
    }

    /// Workers' updates that lose against a cancel, or come twice, fail by themselves; all others of the same moment go through.
    async fn a_lost_guard_is_its_own(f: Fixture) {
        for _ in 0..30 {
            send(&f.engine, "", say("x")).await.unwrap();
        }
        let mut leases = Vec::new();
        while leases.len() < 30 {
            leases.extend(poll(&f.engine, 30, true).await);
        }
        let mut updates = JoinSet::new();
        for (n, lease) in leases.iter().cloned().enumerate() {
            let times = if n % 3 == 1 { 2 } else { 1 };
            for _ in 0..times {
                let (engine, lease) = (f.engine.clone(), lease.clone());
                updates.spawn(async move { (n, apply(&engine, &lease, json!([{"complete": {}}])).await.map(|done| done.state)) });
            }
            if n % 3 == 2 {
                let engine = f.engine.clone();
                updates.spawn(async move { (n, cancel(&engine, "", &lease.task.id).await.map(|task| task.status.state)) });
            }
        }
        let mut won = vec![Vec::new(); 30];
        for (n, outcome) in updates.join_all().await {
            match outcome {
                Ok(state) => won[n].push(state),
                Err(error) => {
                    assert!(n % 3 != 0, "nobody else wrote to this task: {error}");
                    assert!(matches!(error.kind, Kind::LeaseLost | Kind::TaskNotCancelable), "{error}");
                }
            }
        }
        for (lease, won) in leases.iter().zip(won) {
            let task = get(&f.engine, "", &lease.task.id).await.unwrap();
            assert_eq!(won, [task.status.state], "exactly one wins, and what it was told is how the task is");
            assert!(matches!(task.status.state, TaskState::Completed | TaskState::Canceled));
        }
        assert_eq!(f.count("task_event").await, 90, "submitted, working, over");
    }

    /// A key that is taken is one write's trouble.
    async fn a_taken_key_is_its_own(f: Fixture) {
        let store = f.engine.store();
        store.write(insert("taken")).await.unwrap();
        let mut writes = JoinSet::new();
        for n in 0..20 {
            let store = store.clone();
            writes.spawn(async move {
                let name = if n == 7 { "taken".to_owned() } else { format!("free{n}") };
                (n, store.write(insert(&name)).await)
            });
        }
        for (n, outcome) in writes.join_all().await {
            assert_eq!(matches!(outcome, Err(WriteError::Lost)), n == 7, "{n}: {outcome:?}");
            assert_eq!(outcome.is_ok(), n != 7);
        }
        assert_eq!(f.count("tenant").await, 20);
    }

    /// Who asked may be gone before it is written; those who come later are not kept by that.
    async fn whoever_leaves_keeps_nobody(f: Fixture) {
        let store = f.engine.store();
        let mut writes = JoinSet::new();
        for n in 0..20 {
            let store = store.clone();
            writes.spawn(async move { store.write(insert(&format!("left{n}"))).await });
        }
        tokio::task::yield_now().await;
        writes.abort_all();
        while writes.join_next().await.is_some() {}
        tokio::time::timeout(Duration::from_secs(20), store.write(insert("stays"))).await.unwrap().unwrap();
    }

    /// A process that ends: what was answered is written, and everybody is answered.
    async fn an_end_answers_everybody(f: Fixture) {
        let store = f.another_store().await;
        let mut writes = JoinSet::new();
        for n in 0..50 {
            let store = store.clone();
            writes.spawn(async move { (format!("n{n}"), store.write(insert(&format!("n{n}"))).await) });
        }
        tokio::task::yield_now().await;
        store.close().await;
        let outcomes = tokio::time::timeout(Duration::from_secs(20), writes.join_all()).await.unwrap();
        for (name, outcome) in outcomes {
            let there = f.count(&format!("tenant WHERE name = '{name}'")).await == 1;
            assert!(there || outcome.is_err(), "`{name}` was answered and is not there");
        }
    }
}

/// What Postgres refuses of one write, and who waits for a row, is nobody else's trouble.
mod on_postgres {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_refused_value_is_its_own() {
        let Some(f) = Fixture::on_postgres().await else { return };
        let mut writes = JoinSet::new();
        for n in 0..20 {
            let store = f.engine.store().clone();
            // Postgres keeps no text with a zero in it.
            let name = if n == 7 { "zero\0".to_owned() } else { format!("n{n}") };
            writes.spawn(async move { (n, store.write(insert(&name)).await) });
        }
        for (n, outcome) in writes.join_all().await {
            assert_eq!(matches!(outcome, Err(WriteError::Failed(_))), n == 7, "{n}: {outcome:?}");
            assert_eq!(outcome.is_ok(), n != 7);
        }
        f.end().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_waits_for_a_row_waits_alone() {
        let Some(f) = Fixture::on_postgres().await else { return };
        for _ in 0..20 {
            send(&f.engine, "", say("x")).await.unwrap();
        }
        let mut leases = Vec::new();
        while leases.len() < 20 {
            leases.extend(poll(&f.engine, 20, true).await);
        }
        // Another replica, which may stand still for long.
        let other = f.replica(|_| {});
        let locked = other.store().lock().await.unwrap();
        let held: Uuid = leases[0].task.id.parse().unwrap();
        work::lock(locked.read(), held).await.unwrap();
        let mut updates = JoinSet::new();
        for (n, lease) in leases.into_iter().enumerate() {
            let engine = f.engine.clone();
            updates.spawn(async move { (n, apply(&engine, &lease, json!([{"complete": {}}])).await.unwrap()) });
        }
        for _ in 1..20 {
            let (n, _) = updates.join_next().await.unwrap().unwrap();
            assert_ne!(n, 0, "its row is held");
        }
        locked.rollback().await;
        assert_eq!(updates.join_next().await.unwrap().unwrap().0, 0);
        f.end().await;
    }
}
