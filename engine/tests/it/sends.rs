//! Sends: what they store, when they answer, and that a key makes them idempotent.

use std::time::Duration;

use sea_orm::ConnectionTrait;
use serde_json::json;
use tokio::task::JoinSet;
use wire::{Kind, TaskState};

use crate::fixture::*;
use crate::on_every_store;

on_every_store! {
    /// A new task holds its message, stands in the queue and has its first event.
    async fn a_send_stores_everything_in_one_write(f: Fixture) {
        let task = send(&f.engine, "acme", say("hello")).await.unwrap();
        assert_eq!(task.status.state, TaskState::Submitted);
        assert!(!task.context_id.is_empty());
        let read = get(&f.engine, "acme", &task.id).await.unwrap();
        assert_eq!(read, task);
        assert_eq!(text(&read.history[0]), "hello");
        assert_eq!(read.history[0].task_id, task.id);
        for table in ["task", "task_message", "task_event", "work"] {
            assert_eq!(f.count(table).await, 1, "{table}");
        }
    }

    /// A blocking send answers with the finished task, artifacts and all.
    async fn a_blocking_send_waits_for_the_agent(f: Fixture) {
        let mut wanted = say("hi");
        wanted.configuration = None;
        let engine = f.engine.clone();
        let sender = tokio::spawn(async move { send(&engine, "", wanted).await.unwrap() });
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(lease.task.status.state, TaskState::Working);
        assert_eq!(text(&lease.messages[0]), "hi");
        apply(&f.engine, &lease, json!([
            {"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "hi back"}]}}},
            {"complete": {}},
        ])).await.unwrap();
        let task = sender.await.unwrap();
        assert_eq!(task.status.state, TaskState::Completed);
        assert_eq!(task.artifacts[0].artifact_id, "a");
    }

    /// An old INPUT_REQUIRED does not answer a new message; one written by a lease that saw it does.
    async fn a_continued_send_waits_for_what_its_message_caused(f: Fixture) {
        let task = send(&f.engine, "", say("ask")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &lease, json!([{"requireInput": {"statusMessage": {"parts": [{"text": "who?"}]}}}])).await.unwrap();
        let mut more = say_to(&task.id, "me");
        more.configuration = None;
        let engine = f.engine.clone();
        let sender = tokio::spawn(async move { send(&engine, "", more).await.unwrap() });
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(lease.task.status.state, TaskState::InputRequired, "start moves only what is submitted");
        assert_eq!(lease.messages.iter().map(text).collect::<Vec<_>>(), ["me"]);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!sender.is_finished(), "the state from before the message must not answer it");
        apply(&f.engine, &lease, json!([{"work": {}}, {"requireInput": {"statusMessage": {"parts": [{"text": "sure?"}]}}}]))
            .await
            .unwrap();
        let answered = sender.await.unwrap();
        assert_eq!(answered.status.state, TaskState::InputRequired);
        assert_eq!(text(answered.status.message.as_ref().unwrap()), "sure?");
        assert_eq!(answered.history.iter().map(text).collect::<Vec<_>>(), ["ask", "me", "who?"],
            "a status message moves into history when the status changes");
    }

    /// A lease that asks for input while a message lies unseen leaves the task ready at once.
    async fn an_unseen_message_makes_the_task_ready_again(f: Fixture) {
        let task = send(&f.engine, "", say("one")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        send(&f.engine, "", say_to(&task.id, "two")).await.unwrap();
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty(), "a held task is nobody else's");
        apply(&f.engine, &lease, json!([{"requireInput": {}}])).await.unwrap();
        let again = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(again.messages.iter().map(text).collect::<Vec<_>>(), ["two"]);
        assert!(again.epoch > lease.epoch);
    }

    /// A hundred sends with one key on two replicas are one task.
    async fn a_key_makes_one_task_of_many_sends(f: Fixture) {
        let other = f.replica(|_| {});
        let mut senders = JoinSet::new();
        for n in 0..100 {
            let engine = if n % 2 == 0 { f.engine.clone() } else { other.clone() };
            senders.spawn(async move {
                let key = Some("k1".to_owned());
                engine.send_message(&caller(&engine, "acme"), key, say("pay")).await.map(task_of).unwrap().id
            });
        }
        let ids: std::collections::HashSet<String> = senders.join_all().await.into_iter().collect();
        assert_eq!(ids.len(), 1);
        assert_eq!(f.count("task").await, 1);
        let refused = f.engine.send_message(&caller(&f.engine, "acme"), Some("k1".into()), say("pay more")).await.unwrap_err();
        assert_eq!(refused.kind, Kind::InvalidParams);
        assert_eq!(refused.violations[0].field, "Idempotency-Key");
        assert_eq!(refused.violations[0].reason.as_deref(), Some("IDEMPOTENCY_KEY_REUSED"));
        let elsewhere = f.engine.send_message(&caller(&f.engine, "umbrella"), Some("k1".into()), say("pay")).await;
        assert!(!ids.contains(&task_of(elsewhere.unwrap()).id), "a key is its tenant's own");
    }

    /// A key is forgotten after a day, and can then stand for something else.
    async fn a_key_expires(f: Fixture) {
        let key = || Some("daily".to_owned());
        let who = caller(&f.engine, "");
        let first = task_of(f.engine.send_message(&who, key(), say("a")).await.unwrap());
        f.clock.advance(24 * 3_600_000 + 1);
        let second = task_of(f.engine.send_message(&who, key(), say("b")).await.unwrap());
        assert_ne!(first.id, second.id);
    }

    /// A retried send of a message that has been answered finds the answer, also when the task is over by now.
    async fn a_key_finds_a_continued_task_that_is_over(f: Fixture) {
        let task = send(&f.engine, "", say("one")).await.unwrap();
        let more = || say_to(&task.id, "two");
        let who = caller(&f.engine, "");
        f.engine.send_message(&who, Some("k".into()), more()).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &lease, json!([{"complete": {}}])).await.unwrap();
        let again = task_of(f.engine.send_message(&who, Some("k".into()), more()).await.unwrap());
        assert_eq!(again.status.state, TaskState::Completed);
        let refused = f.engine.send_message(&who, None, more()).await.unwrap_err();
        assert_eq!(refused.kind, Kind::UnsupportedOperation);
        assert_eq!(f.count("task_message").await, 2);
    }

    /// A send that waits is answered when the process ends; the task lives on.
    async fn closing_answers_who_waits(f: Fixture) {
        let replica = f.replica(|_| {});
        let waiting = replica.clone();
        let mut wanted = say("slow");
        wanted.configuration = None;
        let sender = tokio::spawn(async move { send(&waiting, "", wanted).await });
        while f.count("task").await == 0 {
            tokio::task::yield_now().await;
        }
        replica.close();
        assert_eq!(sender.await.unwrap().unwrap_err().kind, Kind::Unavailable);
        assert_eq!(poll(&f.engine, 1, true).await.len(), 1);
    }

    /// NUL and other odd characters in text survive on both stores.
    async fn text_survives_as_it_was_written(f: Fixture) {
        let odd = "nul\u{0} \u{1f980} \u{2028} \"quoted\" \\";
        let mut wanted = say(odd);
        let number: serde_json::Value = serde_json::from_str("1234567890123456789").unwrap();
        wanted.metadata = Some(json!({"big": number, "z": 1, "a": [null]}).as_object().unwrap().clone());
        let task = send(&f.engine, "", wanted.clone()).await.unwrap();
        let read = get(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(text(&read.history[0]), odd);
        assert_eq!(read.metadata, wanted.metadata);
    }
}

/// A full disk refuses what it cannot keep, loses nothing it has acknowledged, and is over when there is room again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing() {
    let f = Fixture::on_sqlite().await;
    let acknowledged = send(&f.engine, "", say("before")).await.unwrap();
    // No page more for the connection that writes: what SQLite says when the disk is full.
    let locked = f.engine.store().lock().await.unwrap();
    let pages: i64 = {
        let ask = sea_orm::Statement::from_string(sea_orm::DbBackend::Sqlite, "PRAGMA page_count");
        locked.read().query_one_raw(ask).await.unwrap().unwrap().try_get("", "page_count").unwrap()
    };
    locked.read().execute_unprepared(&format!("PRAGMA max_page_count = {pages}")).await.unwrap();
    locked.commit().await.unwrap();
    let refused = send(&f.engine, "", say(&"z".repeat(200_000))).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Unavailable);
    let after = send(&f.engine, "", say("after")).await.unwrap();
    for id in [&acknowledged.id, &after.id] {
        assert_eq!(&get(&f.engine, "", id).await.unwrap().id, id);
    }
    let again = Fixture::reopen(&f).await;
    assert_eq!(get(&again, "", &after.id).await.unwrap().id, after.id, "what was acknowledged is on disk");
    assert_eq!(f.count("task").await, 2);
    f.end().await;
}
