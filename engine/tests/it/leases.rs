//! Leases: fencing, expiry, redelivery, release, heartbeats.

use engine::{LeaseClaim, LeaseName, Worker};
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::worker::{HeartbeatRequest, HeldLease, ReleaseRequest};
use wire::{Kind, TaskState};

use crate::fixture::*;
use crate::on_every_store;

const LEASE: i64 = 30_000;

fn beat(lease: &wire::worker::Lease) -> HeartbeatRequest {
    let held = HeldLease { lease: lease.lease.clone(), epoch: lease.epoch };
    HeartbeatRequest { leases: vec![held], ..HeartbeatRequest::default() }
}

on_every_store! {
    /// Many pollers on two replicas: each task is leased exactly once.
    async fn a_task_is_claimed_once(f: Fixture) {
        for n in 0..60 {
            send(&f.engine, "", say(&n.to_string())).await.unwrap();
        }
        let other = f.replica(|_| {});
        let mut pollers = JoinSet::new();
        for n in 0..12 {
            let engine = if n % 2 == 0 { f.engine.clone() } else { other.clone() };
            pollers.spawn(async move {
                let mut got = Vec::new();
                loop {
                    let leases = poll_for(&engine, 3, true, 0.5).await;
                    if leases.is_empty() {
                        return got;
                    }
                    got.extend(leases.into_iter().map(|lease| lease.task.id));
                }
            });
        }
        let all: Vec<String> = pollers.join_all().await.into_iter().flatten().collect();
        let distinct: std::collections::HashSet<&String> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (60, 60));
    }

    /// A held task needs its lease, a task nobody holds needs none, and a lease that is not current is lost.
    async fn writes_are_fenced(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, false).await.remove(0);
        let work = || json!([{"work": {}}]);
        let refused = apply_as(&f.engine, &task.id, None, work()).await.unwrap_err();
        assert_eq!(refused.kind, Kind::LeaseRequired);
        let stranger = LeaseClaim { id: Uuid::now_v7(), epoch: lease.epoch };
        let refused = apply_as(&f.engine, &task.id, Some(stranger), work()).await.unwrap_err();
        assert_eq!(refused.kind, Kind::LeaseLost);
        let stale = LeaseClaim { epoch: lease.epoch + 1, ..claim_of(&lease) };
        assert_eq!(apply_as(&f.engine, &task.id, Some(stale), work()).await.unwrap_err().kind, Kind::LeaseLost);
        let applied = apply(&f.engine, &lease, work()).await.unwrap();
        assert_eq!((applied.state, applied.lease_held), (TaskState::Working, true));
        let unknown = Uuid::now_v7().to_string();
        assert_eq!(apply_as(&f.engine, &unknown, None, work()).await.unwrap_err().kind, Kind::TaskNotFound);
    }

    /// A move without a lease on a task nobody holds takes it out of the queue.
    async fn an_unheld_move_takes_the_ready_row(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        apply_as(&f.engine, &task.id, None, json!([{"work": {}}])).await.unwrap();
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty());
        apply_as(&f.engine, &task.id, None, json!([{"complete": {}}])).await.unwrap();
        let refused = apply_as(&f.engine, &task.id, None, json!([{"complete": {}}])).await.unwrap_err();
        assert_eq!(refused.kind, Kind::TaskStateConflict);
        assert_eq!(refused.metadata["state"], "TASK_STATE_COMPLETED");
    }

    /// An expired lease is still good until somebody claims the task; then it is lost, and the task is as it was.
    async fn an_expired_lease_is_redelivered(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let first = poll(&f.engine, 1, true).await.remove(0);
        f.clock.advance(LEASE + 1);
        apply(&f.engine, &first, json!([{"progress": {"statusMessage": {"parts": [{"text": "late"}]}}}])).await.unwrap();
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty(), "the late write renewed the lease");
        f.clock.advance(LEASE + 1);
        let second = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(second.attempt, 2);
        assert_eq!(second.task.status.state, TaskState::Working);
        assert_eq!(second.messages.len(), 1, "what nobody answered is told again");
        let lost = apply(&f.engine, &first, json!([{"complete": {}}])).await.unwrap_err();
        assert_eq!(lost.kind, Kind::LeaseLost);
        assert_eq!(lost.metadata["state"], "TASK_STATE_WORKING");
        apply(&f.engine, &second, json!([{"complete": {}}])).await.unwrap();
        let lost = apply(&f.engine, &second, json!([{"complete": {}}])).await.unwrap_err();
        assert_eq!((lost.kind, lost.metadata["state"].as_str()), (Kind::LeaseLost, "TASK_STATE_COMPLETED"));
    }

    /// An event says in the name of which lease it was written, and so does the start that came with the claim.
    async fn events_name_the_epoch_they_were_written_in(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let first = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &first, json!([{"progress": {"statusMessage": {"parts": [{"text": "half"}]}}}])).await.unwrap();
        f.clock.advance(LEASE + 1);
        let second = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &second, json!([{"progress": {"statusMessage": {"parts": [{"text": "more"}]}}}])).await.unwrap();
        cancel(&f.engine, "", &task.id).await.unwrap();
        for (events, count) in [
            (format!("task_event WHERE generation IN (2, 3) AND epoch = {}", first.epoch), 2),
            (format!("task_event WHERE generation = 4 AND epoch = {}", second.epoch), 1),
            ("task_event WHERE generation IN (1, 5) AND epoch IS NULL".to_owned(), 2),
        ] {
            assert_eq!(f.count(&events).await, count, "{events}");
        }
    }

    /// A lost lease says why, and how the task stands; decided before what its state permits.
    async fn a_lost_lease_says_why(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lost = async |lease: &wire::worker::Lease| {
            // Wrong in the state, too, and what comes first is the lease.
            let lost = apply(&f.engine, lease, json!([{"progress": {"statusMessage": {"parts": [{"text": "x"}]}}}])).await;
            let lost = lost.unwrap_err();
            assert_eq!((lost.kind, &lost.metadata["taskId"]), (Kind::LeaseLost, &task.id));
            (lost.metadata["reason"].clone(), lost.metadata["state"].clone())
        };
        let told = |reason: &str, state: &str| (reason.to_owned(), format!("TASK_STATE_{state}"));
        let first = poll(&f.engine, 1, false).await.remove(0);
        f.clock.advance(LEASE + 1);
        let second = poll(&f.engine, 1, false).await.remove(0);
        assert_eq!(lost(&first).await, told("another worker holds the task", "SUBMITTED"));
        f.engine.release(&Worker::default(), &second.lease, second.epoch, None, ReleaseRequest::default()).await.unwrap();
        for lease in [&first, &second] {
            assert_eq!(lost(lease).await, told("the lease has ended", "SUBMITTED"));
        }
        let third = poll(&f.engine, 1, true).await.remove(0);
        cancel(&f.engine, "", &task.id).await.unwrap();
        for lease in [&first, &second, &third] {
            assert_eq!(lost(lease).await, told("the task is finished", "CANCELED"));
        }
    }

    /// Asking the client ends the lease in the same write. What the client says then goes to whoever is next.
    async fn asking_the_client_ends_the_lease(f: Fixture) {
        for (step, state) in
            [("requireInput", TaskState::InputRequired), ("requireAuth", TaskState::AuthRequired)]
        {
            let task = send(&f.engine, "", say("x")).await.unwrap();
            let first = poll(&f.engine, 1, true).await.remove(0);
            let asked = apply(&f.engine, &first, json!([{ step: {} }])).await.unwrap();
            assert_eq!((asked.state, asked.lease_held, asked.seconds_left), (state, false, None));
            let heard = f.engine.heartbeat(&Worker::default(), beat(&first)).await.unwrap().leases.remove(0);
            assert_eq!((heard.held, heard.reason.as_str(), heard.state), (false, "ended", state));
            let lost = apply(&f.engine, &first, json!([{"complete": {}}])).await.unwrap_err();
            assert_eq!((lost.kind, &lost.metadata["reason"]), (Kind::LeaseLost, &"the lease has ended".to_owned()));
            assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty(), "it waits for its client");
            send(&f.engine, "", say_to(&task.id, "here you are")).await.unwrap();
            let second = poll(&f.replica(|_| {}), 1, true).await.remove(0);
            assert_eq!((second.task.status.state, second.attempt), (state, 1));
            assert_eq!(second.messages.iter().map(text).collect::<Vec<_>>(), ["here you are"]);
            assert!(second.epoch > first.epoch);
            apply(&f.engine, &second, json!([{"work": {}}, {"complete": {}}])).await.unwrap();
        }
    }

    /// After so many deliveries without progress the platform fails the task and says why.
    async fn the_platform_gives_up_after_five_deliveries(f: Fixture) {
        let task = send(&f.engine, "", say("poison")).await.unwrap();
        for attempt in 1..=5 {
            let lease = poll(&f.engine, 1, true).await.remove(0);
            assert_eq!(lease.attempt, attempt);
            f.clock.advance(LEASE + 1);
        }
        assert!(poll_for(&f.engine, 1, true, 1.5).await.is_empty());
        let task = get(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(task.status.state, TaskState::Failed);
        assert!(text(task.status.message.as_ref().unwrap()).contains("5 times"));
    }

    /// A move starts the count of deliveries anew.
    async fn progress_starts_the_count_anew(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        for _ in 0..4 {
            poll(&f.engine, 1, false).await.remove(0);
            f.clock.advance(LEASE + 1);
        }
        let lease = poll(&f.engine, 1, false).await.remove(0);
        assert_eq!(lease.attempt, 5);
        apply(&f.engine, &lease, json!([{"work": {}}])).await.unwrap();
        f.clock.advance(LEASE + 1);
        assert_eq!(poll(&f.engine, 1, false).await.remove(0).attempt, 1);
    }

    /// Heartbeats keep a lease, tell of new messages once, and of a cancel.
    async fn heartbeats_tell_what_happened(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        for _ in 0..4 {
            f.clock.advance(LEASE / 2);
            let answer = f.engine.heartbeat(&Worker::default(), beat(&lease)).await.unwrap();
            assert!(answer.leases[0].held);
        }
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty());
        send(&f.engine, "", say_to(&task.id, "more")).await.unwrap();
        let heard = f.engine.heartbeat(&Worker::default(), beat(&lease)).await.unwrap().leases.remove(0);
        assert_eq!(heard.messages.iter().map(text).collect::<Vec<_>>(), ["more"]);
        let heard = f.engine.heartbeat(&Worker::default(), beat(&lease)).await.unwrap().leases.remove(0);
        assert!(heard.messages.is_empty());
        cancel(&f.engine, "", &task.id).await.unwrap();
        let heard = f.engine.heartbeat(&Worker::default(), beat(&lease)).await.unwrap().leases.remove(0);
        assert_eq!((heard.held, heard.cancel, heard.state), (false, true, TaskState::Canceled));
        let lost = apply(&f.engine, &lease, json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}])).await;
        let lost = lost.unwrap_err();
        assert_eq!((lost.kind, lost.metadata["state"].as_str()), (Kind::LeaseLost, "TASK_STATE_CANCELED"));
        let unknown = HeldLease { lease: LeaseName { task: Uuid::nil(), lease: Uuid::nil() }.to_string(), epoch: 1 };
        let request = HeartbeatRequest { leases: vec![unknown], ..HeartbeatRequest::default() };
        assert!(!f.engine.heartbeat(&Worker::default(), request).await.unwrap().leases[0].held);
    }

    /// A message that a heartbeat handed over is seen: the state its lease then writes answers it, and the task is not ready again.
    async fn a_message_handed_by_heartbeat_is_seen(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let mut more = say_to(&task.id, "more");
        more.configuration = None;
        let engine = f.engine.clone();
        let sender = tokio::spawn(async move { send(&engine, "", more).await.unwrap() });
        while f.engine.heartbeat(&Worker::default(), beat(&lease)).await.unwrap().leases[0].messages.is_empty() {
            tokio::task::yield_now().await;
        }
        apply(&f.engine, &lease, json!([{"requireInput": {}}])).await.unwrap();
        assert_eq!(sender.await.unwrap().status.state, TaskState::InputRequired);
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty());
    }

    /// What one replica remembers of a task never hides what another wrote.
    async fn replicas_do_not_trust_their_memory(f: Fixture) {
        let other = f.replica(|_| {});
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let chunk = |id: &str| json!([{"artifact": {"artifact": {"artifactId": id, "parts": [{"text": id}]}}}]);
        for (n, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
            let replica = if n % 2 == 0 { &f.engine } else { &other };
            assert_eq!(apply(replica, &lease, chunk(id)).await.unwrap().generation, 3 + n as i64);
        }
        cancel(&other, "", &task.id).await.unwrap();
        assert_eq!(apply(&f.engine, &lease, chunk("e")).await.unwrap_err().kind, Kind::LeaseLost);
        assert_eq!(get(&f.engine, "", &task.id).await.unwrap().artifacts.len(), 4);
    }

    /// A client's message does not shorten a lease that a heartbeat has made longer.
    async fn a_message_leaves_the_lease_as_long_as_it_is(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        f.clock.advance(LEASE - 1);
        f.engine.heartbeat(&Worker::default(), beat(&lease)).await.unwrap();
        send(&f.engine, "", say_to(&task.id, "more")).await.unwrap();
        f.clock.advance(LEASE - 1);
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty());
    }

    /// A released task is ready after its delay; one released for good fails.
    async fn release_gives_a_task_back(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let later = ReleaseRequest { delay_seconds: Some(10.0), ..ReleaseRequest::default() };
        f.engine.release(&Worker::default(), &lease.lease, lease.epoch, None, later).await.unwrap();
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty());
        f.clock.advance(10_001);
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(lease.attempt, 1);
        let for_good = ReleaseRequest { retryable: Some(false), reason: "no such model".into(), ..ReleaseRequest::default() };
        f.engine.release(&Worker::default(), &lease.lease, lease.epoch, None, for_good.clone()).await.unwrap();
        let task = get(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(task.status.state, TaskState::Failed);
        assert!(text(task.status.message.as_ref().unwrap()).contains("no such model"));
        let lost = f.engine.release(&Worker::default(), &lease.lease, lease.epoch, None, for_good).await.unwrap_err();
        assert_eq!(lost.kind, Kind::LeaseLost);
    }

    /// A try that failed counts, however it was given back, and the last one is not put off.
    async fn failed_tries_come_to_an_end(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let failed = || ReleaseRequest { delay_seconds: Some(10.0), failed: true, ..ReleaseRequest::default() };
        for attempt in 1..=5 {
            let lease = poll(&f.engine, 1, true).await.remove(0);
            assert_eq!(lease.attempt, attempt);
            f.engine.release(&Worker::default(), &lease.lease, lease.epoch, None, failed()).await.unwrap();
            if attempt < 5 {
                assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty(), "{attempt}");
                f.clock.advance(10_001);
            }
        }
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty());
        let task = get(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(task.status.state, TaskState::Failed);
        assert!(text(task.status.message.as_ref().unwrap()).contains("delivered to workers 5 times"));
    }

    /// Leases of a poll that went away are ready again at once.
    async fn a_poll_that_went_away_takes_nothing_with_it(f: Fixture) {
        let engine = f.engine.clone();
        let gone = tokio::spawn(async move { poll_for(&engine, 1, true, 30.0).await });
        tokio::task::yield_now().await;
        gone.abort();
        let _aborted = gone.await;
        send(&f.engine, "", say("x")).await.unwrap();
        assert_eq!(poll(&f.engine, 1, true).await.remove(0).attempt, 1);
    }

    /// A poll that does not wait gets what is there.
    async fn a_poll_without_a_wait_gets_what_is_there(f: Fixture) {
        for _ in 0..20 {
            send(&f.engine, "", say("x")).await.unwrap();
            assert_eq!(poll_for(&f.engine, 1, true, 0.0).await.len(), 1);
        }
    }

    /// What one answer would hold too much of is left for the next.
    async fn large_tasks_are_leased_a_few_at_a_time(f: Fixture) {
        for _ in 0..6 {
            send(&f.engine, "", say(&"y".repeat(4 << 20))).await.unwrap();
        }
        let mut sizes = Vec::new();
        while sizes.iter().sum::<usize>() < 6 {
            sizes.push(poll(&f.engine, 10, true).await.len());
        }
        assert!(sizes.iter().all(|size| (1..=3).contains(size)), "{sizes:?}");
    }

    /// Of a cancel and a completion exactly one wins, and everybody agrees which.
    async fn cancel_and_complete_have_one_winner(f: Fixture) {
        for _ in 0..40 {
            let task = send(&f.engine, "", say("race")).await.unwrap();
            let lease = poll(&f.engine, 1, true).await.remove(0);
            let (canceled, completed) = tokio::join!(
                cancel(&f.engine, "", &task.id),
                apply(&f.engine, &lease, json!([{"complete": {}}])),
            );
            assert_ne!(canceled.is_ok(), completed.is_ok());
            let state = get(&f.engine, "", &task.id).await.unwrap().status.state;
            let expected = if canceled.is_ok() { TaskState::Canceled } else { TaskState::Completed };
            assert_eq!(state, expected);
            if let Err(error) = canceled {
                assert_eq!(error.kind, Kind::TaskNotCancelable);
            }
            if let Err(error) = completed {
                assert_eq!(error.kind, Kind::LeaseLost);
            }
        }
        assert_eq!(f.count("task_event").await, 40 * 3, "submitted, working and one end each");
        assert_eq!(f.count("work").await, 0);
    }
}
