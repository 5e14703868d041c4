//! Tasks the platform gave up: listed for the operator, and sent again as new ones.

use std::sync::Arc;
use std::time::Duration;

use engine::operation::{Undelivered, UndeliveredFilter};
use engine::{Engine, Worker};
use serde_json::json;
use wire::worker::PollRequest;
use wire::{Kind, TaskState};

use crate::direct::pass;
use crate::fixture::*;
use crate::on_every_store;

const LEASE: i64 = 30_000;
const SESSION: &str = "0190a5c0-0000-7000-8000-000000000001";

/// Let every task there is be delivered too often, by one session.
async fn give_up(f: &Fixture, engine: &Engine, deliveries: usize) {
    for _ in 0..deliveries {
        let request = PollRequest {
            agents: vec!["demo".into()],
            session: SESSION.into(),
            max: Some(100),
            start: true,
            wait_seconds: Some(5.0),
        };
        assert!(!engine.poll(&Worker::default(), request).await.unwrap().leases.is_empty());
        match f.count("waiting_message").await {
            0 => f.clock.advance(LEASE + 1),
            _ => pass(f, LEASE / 1_000 + 2).await,
        }
    }
    assert!(poll_for(engine, 100, true, 1.5).await.is_empty());
}

async fn listed(engine: &Engine, filter: UndeliveredFilter) -> Vec<Undelivered> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = engine.undelivered(&filter, after, 2).await.unwrap();
        all.extend(page);
        match next {
            Some(_) => after = next,
            None => return all,
        }
    }
}

on_every_store! {
    /// What is given up is listed from the write on that fails it, newest first, by tenant and agent.
    async fn what_is_given_up_is_listed(f: Fixture) {
        assert!(listed(&f.engine, UndeliveredFilter::default()).await.is_empty());
        let mut tasks = Vec::new();
        for tenant in ["", "acme", "acme", "", "beta"] {
            tasks.push(send(&f.engine, tenant, say("poison")).await.unwrap().id);
            f.clock.advance(1);
        }
        give_up(&f, &f.engine, 5).await;
        let done = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &lease, json!([{"fail": {}}])).await.unwrap();
        let all = listed(&f.engine, UndeliveredFilter::default()).await;
        assert_eq!(all.len(), 5);
        assert!(all.is_sorted_by(|one, next| (one.failed_at, &one.task) >= (next.failed_at, &next.task)));
        assert!(all.iter().all(|one| tasks.contains(&one.task) && one.task != done.id));
        for one in &all {
            assert_eq!((one.deliveries, one.worker.as_deref(), one.agent.as_str()), (5, Some(SESSION), "demo"));
            assert_eq!((one.failed_at.is_some(), one.resent_as.as_ref()), (true, None));
            let failed = get(&f.engine, &one.tenant, &one.task).await.unwrap();
            assert_eq!((failed.status.state, failed.status.timestamp), (TaskState::Failed, one.failed_at));
        }
        for (tenant, count) in [("", 2), ("acme", 2), ("beta", 1), ("other", 0)] {
            let filter = UndeliveredFilter { tenant: Some(tenant.into()), ..Default::default() };
            assert_eq!(listed(&f.engine, filter).await.len(), count, "{tenant:?}");
        }
        for (agent, count) in [("demo", 5), ("another", 0)] {
            let filter = UndeliveredFilter { agent: Some(agent.into()), ..Default::default() };
            assert_eq!(listed(&f.engine, filter).await.len(), count);
        }
        f.engine.resend_undelivered(&tasks[0]).await.unwrap();
        let open = UndeliveredFilter { open: true, ..Default::default() };
        assert_eq!(listed(&f.engine, open).await.len(), 4);
        assert_eq!(listed(&f.engine, UndeliveredFilter::default()).await.len(), 5);
    }

    /// What is sent again is a new task with everything the old one was told; the old one stays as it is.
    async fn what_is_sent_again_is_a_new_task(f: Fixture) {
        let first = request(json!({
            "message": {"messageId": "1", "role": "ROLE_USER", "contextId": "c", "parts": [{"text": "one"}],
                "referenceTaskIds": ["elsewhere"]},
            "configuration": {"returnImmediately": true, "acceptedOutputModes": ["text/plain"]},
            "metadata": {"n": 1},
        }));
        let old = send(&f.engine, "acme", first).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let asks = json!([{"requireInput": {"statusMessage": {"messageId": "q", "parts": [{"text": "which?"}]}}}]);
        apply(&f.engine, &lease, asks).await.unwrap();
        send(&f.engine, "acme", say_to(&old.id, "this")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        apply(&f.engine, &lease, json!([{"work": {"statusMessage": {"parts": [{"text": "on it"}]}}}])).await.unwrap();
        // A move starts the count of deliveries anew.
        f.clock.advance(LEASE + 1);
        give_up(&f, &f.engine, 5).await;
        let old = get(&f.engine, "acme", &old.id).await.unwrap();
        assert_eq!(old.status.state, TaskState::Failed);

        let sent = f.engine.resend_undelivered(&old.id).await.unwrap();
        assert!(sent.made);
        let new = get(&f.engine, "acme", &sent.task).await.unwrap();
        assert_eq!((new.status.state, new.context_id.as_str()), (TaskState::Submitted, "c"));
        assert_eq!(new.metadata, old.metadata);
        let said: Vec<String> = new.history.iter().map(text).collect();
        assert_eq!(said, old.history.iter().map(text).collect::<Vec<_>>());
        assert_eq!(said, ["one", "this", "which?", "on it"]);
        assert!(new.history.iter().all(|message| message.task_id == new.id && message.context_id == "c"));
        let names: Vec<&[String]> = new.history.iter().map(|message| message.reference_task_ids.as_slice()).collect();
        assert_eq!(names, [&["elsewhere".to_owned()][..], std::slice::from_ref(&old.id), &[], &[]]);
        assert_eq!(get(&f.engine, "acme", &old.id).await.unwrap(), old);

        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!((lease.task.id.as_str(), lease.tenant.as_str(), lease.attempt), (new.id.as_str(), "acme", 1));
        assert_eq!(lease.messages.iter().map(text).collect::<Vec<_>>(), ["one", "this"]);
        assert_eq!((lease.history_cursor, lease.accepted_output_modes.as_slice()), (4, &["text/plain".to_owned()][..]));
        apply(&f.engine, &lease, json!([{"complete": {}}])).await.unwrap();
        assert_eq!(get(&f.engine, "acme", &new.id).await.unwrap().status.state, TaskState::Completed);
        assert!(get(&f.engine, "beta", &new.id).await.is_err());
    }

    /// Whoever sends one again twice, or at the same time, is told one new task.
    async fn sending_again_is_done_once(f: Fixture) {
        let old = send(&f.engine, "", say("x")).await.unwrap();
        give_up(&f, &f.engine, 5).await;
        let other = f.replica(|_| {});
        let (one, two) =
            tokio::join!(f.engine.resend_undelivered(&old.id), other.resend_undelivered(&old.id));
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!((&one.task, one.made != two.made), (&two.task, true));
        let again = other.resend_undelivered(&old.id).await.unwrap();
        assert_eq!((&again.task, again.made), (&one.task, false));
        assert_eq!((f.count("task").await, f.count("work").await), (2, 1));
        let told = listed(&other, UndeliveredFilter::default()).await.remove(0);
        assert_eq!(told.resent_as, Some(one.task));
        for unknown in ["nonsense", &uuid::Uuid::nil().to_string(), &again.task] {
            let refused = f.engine.resend_undelivered(unknown).await.unwrap_err();
            assert_eq!((refused.kind, refused.violations[0].field.as_str()), (Kind::InvalidParams, "task"), "{unknown}");
        }
    }

    /// A new task takes its place in the tenant's allowance, and where there is none nothing is sent.
    async fn sending_again_takes_a_place(f: Fixture) {
        let small = f.replica(|settings| settings.tasks_per_tenant = 2);
        let old = send(&small, "", say("x")).await.unwrap();
        give_up(&f, &small, 5).await;
        send(&small, "", say("y")).await.unwrap();
        let refused = small.resend_undelivered(&old.id).await.unwrap_err();
        assert_eq!(refused.kind, Kind::ResourceExhausted);
        assert_eq!(f.count("task").await, 2);
        assert_eq!(listed(&small, UndeliveredFilter::default()).await.remove(0).resent_as, None);
    }

    /// The sweep fails it when its last lease ends, also where no worker is left to poll.
    async fn nobody_has_to_poll_for_it(f: Fixture) {
        let once = f.replica(|settings| {
            Arc::make_mut(settings.agents.get_mut("demo").unwrap()).max_deliveries = 1;
        });
        let old = send(&once, "", say("x")).await.unwrap();
        let held = poll(&once, 1, true).await.remove(0);
        assert_eq!(once.fail_spent().await.unwrap(), 0, "its worker may still finish");
        f.clock.advance(LEASE + 1);
        let other = f.replica(|settings| {
            Arc::make_mut(settings.agents.get_mut("demo").unwrap()).max_deliveries = 1;
        });
        let (one, two) = tokio::join!(once.fail_spent(), other.fail_spent());
        assert_eq!(one.unwrap() + two.unwrap(), 1, "by one of two sweeps");
        let failed = get(&once, "", &old.id).await.unwrap();
        assert_eq!((failed.status.state, held.task.id), (TaskState::Failed, old.id.clone()));
        assert!(text(failed.status.message.as_ref().unwrap()).contains("once"));
        assert_eq!(listed(&once, UndeliveredFilter::default()).await.len(), 1);
        assert_eq!((f.count("work").await, once.fail_spent().await.unwrap()), (0, 0));
    }

    /// A message that waits for a direct answer and is delivered too often becomes a task, and fails like one.
    async fn a_waiting_message_is_given_up_alike(f: Fixture) {
        let direct = f.replica(|settings| {
            settings.sweep = Duration::from_millis(100);
            let agent = Arc::make_mut(settings.agents.get_mut("demo").unwrap());
            (agent.direct, agent.max_deliveries) = (Some(Duration::from_secs(600)), 2);
        });
        let mut request = say("poison");
        request.configuration = None;
        let sender = tokio::spawn({
            let direct = direct.clone();
            async move { send(&direct, "", request).await.unwrap() }
        });
        give_up(&f, &direct, 2).await;
        let failed = sender.await.unwrap();
        assert_eq!(failed.status.state, TaskState::Failed);
        assert!(text(failed.status.message.as_ref().unwrap()).contains("2 times"));
        let told = listed(&direct, UndeliveredFilter::default()).await;
        assert_eq!(told.iter().map(|one| (&one.task, one.deliveries)).collect::<Vec<_>>(), [(&failed.id, 2)]);
        let sent = direct.resend_undelivered(&failed.id).await.unwrap();
        let lease = poll(&direct, 1, true).await.remove(0);
        assert_eq!((lease.task.id, lease.direct), (sent.task, false));
    }
}
