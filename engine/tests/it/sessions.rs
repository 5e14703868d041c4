//! Sessions: who is seen, who is drained, who hears of what at once.

use std::time::Duration;

use engine::operation::ControlStream;
use engine::stream::Cut;
use engine::{Engine, Worker};
use serde_json::json;
use uuid::Uuid;
use wire::worker::{
    ControlEvent, DrainRequest, HeartbeatRequest, HeldLease, Lease, LeaseStatus, PollRequest, PollResponse,
    SessionRequest,
};
use wire::{Error, Kind, TaskState};

use crate::fixture::*;
use crate::on_every_store;

const LEASE: i64 = 30_000;
/// Longer than it takes a replica to read who drains.
const PATIENCE: Duration = Duration::from_secs(20);

async fn open(engine: &Engine) -> String {
    let request = SessionRequest { worker: "w".into(), agents: vec!["demo".into()] };
    engine.open_session(&Worker::default(), &request).await.unwrap().session
}

async fn poll_as(engine: &Engine, session: &str, max: i32, seconds: f64) -> Result<PollResponse, Error> {
    let request = PollRequest {
        session: session.into(),
        agents: vec!["demo".into()],
        max: Some(max),
        start: true,
        wait_seconds: Some(seconds),
    };
    engine.poll(&Worker::default(), request).await
}

async fn lease_as(engine: &Engine, session: &str) -> Lease {
    poll_as(engine, session, 1, 5.0).await.unwrap().leases.remove(0)
}

async fn beat_as(engine: &Engine, session: &str, leases: &[Lease]) -> Vec<LeaseStatus> {
    let held = leases.iter().map(|lease| HeldLease { lease: lease.lease.clone(), epoch: lease.epoch }).collect();
    let request = HeartbeatRequest { session: session.into(), leases: held };
    engine.heartbeat(&Worker::default(), request).await.unwrap().leases
}

async fn drain(engine: &Engine, session: &str, release: bool) -> Result<i32, Error> {
    engine.drain_session(&Worker::default(), session, DrainRequest { release }).await.map(|answer| answer.released)
}

async fn listen(engine: &Engine, session: &str) -> ControlStream {
    engine.control(&Worker::default(), session).await.unwrap()
}

async fn next(stream: &mut ControlStream) -> ControlEvent {
    tokio::time::timeout(PATIENCE, stream.next()).await.unwrap().unwrap()
}

fn of(lease: &Lease, kind: &str, state: TaskState) -> ControlEvent {
    ControlEvent { kind: kind.into(), lease: lease.lease.clone(), task_id: lease.task.id.clone(), state }
}

fn limited(agent: &str) -> Worker {
    Worker { agents: Some(vec![agent.into()]) }
}

on_every_store! {
    /// What has another shape than the platform's ids is refused; what is forgotten is there again once it polls.
    async fn a_session_is_the_platforms(f: Fixture) {
        for bad in ["s", "00000000000000000000000000000000", "{00000000-0000-0000-0000-000000000000}"] {
            let refused = poll_as(&f.engine, bad, 1, 0.0).await.unwrap_err();
            assert_eq!((refused.kind, refused.violations[0].field.as_str()), (Kind::InvalidParams, "session"), "{bad}");
            let request = HeartbeatRequest { session: bad.into(), leases: vec![] };
            let refused = f.engine.heartbeat(&Worker::default(), request).await.unwrap_err();
            assert_eq!((refused.kind, refused.violations[0].field.as_str()), (Kind::InvalidParams, "session"), "{bad}");
            assert_eq!(drain(&f.engine, bad, true).await.unwrap_err().kind, Kind::SessionNotFound, "{bad}");
        }
        let unknown = Uuid::now_v7().to_string();
        assert_eq!(drain(&f.engine, &unknown, false).await.unwrap_err().kind, Kind::SessionNotFound);
        let stream = f.engine.control(&Worker::default(), &unknown).await;
        assert_eq!(stream.unwrap_err().kind, Kind::SessionNotFound);
        assert!(beat_as(&f.engine, &unknown, &[]).await.is_empty());
        assert_eq!(f.count("worker_session").await, 0);

        let session = open(&f.engine).await;
        f.run("DELETE FROM worker_session").await;
        poll_as(&f.engine, &session, 1, 0.0).await.unwrap();
        // It is drained also where its row has gone.
        assert_eq!(drain(&f.engine, &session, true).await.unwrap(), 0);
        assert_eq!(f.count("worker_session WHERE draining AND agents = '[\"demo\"]'").await, 1);
        let elsewhere = f.replica(|_| {});
        assert!(poll_as(&elsewhere, &session, 1, 5.0).await.unwrap().drain);
    }

    /// Polls and heartbeats are noted within seconds, all of a replica's in one statement; who is quiet for a day is forgotten.
    async fn who_is_heard_of_is_noted(f: Fixture) {
        let (quiet, heard) = (open(&f.engine).await, open(&f.engine).await);
        f.clock.advance(24 * 3_600_000 - 1_000);
        let _listening = listen(&f.engine, &heard).await;
        let seen = format!("worker_session WHERE id = '{heard}' AND seen_at > {START}");
        let noted = async { while f.count(&seen).await == 0 { tokio::time::sleep(Duration::from_millis(50)).await } };
        tokio::time::timeout(PATIENCE, noted).await.unwrap();
        f.clock.advance(2_000);
        let gone = format!("worker_session WHERE id = '{quiet}'");
        let forgotten = async { while f.count(&gone).await == 1 { tokio::time::sleep(Duration::from_millis(50)).await } };
        // Another process begins with it, so that nobody has to wait for a minute.
        let _other = f.replica(|_| {});
        tokio::time::timeout(PATIENCE, forgotten).await.unwrap();
        assert_eq!(f.count("worker_session").await, 1);
    }

    /// A drained session gets nothing more, and hears of it wherever it asks, also without a hint.
    async fn a_drain_holds_on_every_replica(f: Fixture) {
        let other = f.replica(|_| {});
        let session = open(&f.engine).await;
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = lease_as(&f.engine, &session).await;
        let waits = |engine: &Engine| {
            let (engine, session) = (engine.clone(), session.clone());
            tokio::spawn(async move { poll_as(&engine, &session, 1, 30.0).await.unwrap() })
        };
        let open_polls = [waits(&f.engine), waits(&other)];
        let (mut here, mut there) = (listen(&f.engine, &session).await, listen(&other, &session).await);
        assert_eq!(drain(&f.engine, &session, false).await.unwrap(), 0);
        for poll in open_polls {
            let answer = tokio::time::timeout(PATIENCE, poll).await.unwrap().unwrap();
            assert_eq!((answer.drain, answer.leases.len()), (true, 0));
        }
        assert_eq!((next(&mut here).await.kind, next(&mut there).await.kind), ("drain".to_owned(), "drain".to_owned()));
        assert_eq!(next(&mut listen(&other, &session).await).await.kind, "drain", "what already is comes first");
        send(&f.engine, "", say("y")).await.unwrap();
        for engine in [&f.engine, &other, &f.replica(|_| {})] {
            let answer = poll_as(engine, &session, 1, 5.0).await.unwrap();
            assert_eq!((answer.drain, answer.leases.len()), (true, 0));
            let status = beat_as(engine, &session, std::slice::from_ref(&lease)).await.remove(0);
            assert_eq!((status.held, status.drain), (true, true));
        }
        // Its lease is good until it is done.
        apply(&f.engine, &lease, json!([{"complete": {}}])).await.unwrap();
        assert_eq!(poll(&f.engine, 1, true).await.len(), 1, "others go on");
    }

    /// With `release` all that a session holds is ready at once, its deliveries uncounted, and nothing of anybody else's.
    async fn a_drain_releases_what_is_held(f: Fixture) {
        let (session, other) = (open(&f.engine).await, open(&f.engine).await);
        for n in 0..120 {
            send(&f.engine, "", say(&n.to_string())).await.unwrap();
        }
        let mut held = Vec::new();
        while held.len() < 110 {
            held.extend(poll_as(&f.engine, &session, 100.min(110 - held.len() as i32), 5.0).await.unwrap().leases);
        }
        let mut rest = Vec::new();
        while rest.len() < 10 {
            rest.extend(poll_as(&f.engine, &other, 10, 5.0).await.unwrap().leases);
        }
        let mut control = listen(&f.engine, &session).await;
        assert_eq!(drain(&f.engine, &session, true).await.unwrap(), 110);
        assert_eq!(next(&mut control).await.kind, "drain");
        assert_eq!(next(&mut control).await.kind, "lost");
        assert_eq!(drain(&f.engine, &session, true).await.unwrap(), 0);
        let lost = apply(&f.engine, &held[7], json!([{"complete": {}}])).await.unwrap_err();
        assert_eq!((lost.kind, lost.metadata["state"].as_str()), (Kind::LeaseLost, "TASK_STATE_WORKING"));
        let status = beat_as(&f.engine, &session, &held[..1]).await.remove(0);
        assert_eq!((status.held, status.reason.as_str(), status.state), (false, "ended", TaskState::Working));
        let mut again = Vec::new();
        while again.len() < 110 {
            again.extend(poll_as(&f.engine, &other, 100, 5.0).await.unwrap().leases);
        }
        assert!(again.iter().all(|lease| lease.attempt == 1));
        assert!(poll_as(&f.engine, &other, 1, 0.0).await.unwrap().leases.is_empty());
    }

    /// What is held of waiting messages is released too.
    async fn a_drain_releases_messages_that_wait(f: Fixture) {
        let direct = |settings: &mut engine::Settings| {
            let agent = std::sync::Arc::make_mut(settings.agents.get_mut("demo").unwrap());
            agent.direct = Some(Duration::from_secs(60));
        };
        let engine = f.replica(direct);
        let session = open(&engine).await;
        let sender = tokio::spawn({
            let engine = engine.clone();
            let mut request = say("hello");
            request.configuration = None;
            async move { engine.send_message(&caller(&engine, ""), None, request).await }
        });
        let lease = lease_as(&engine, &session).await;
        assert!(lease.direct);
        assert_eq!(drain(&engine, &session, true).await.unwrap(), 1);
        let again = poll(&engine, 1, false).await.remove(0);
        assert_eq!((again.direct, again.attempt, &again.task.id), (true, 1, &lease.task.id));
        sender.abort();
    }

    /// A replica that ends is no reason to stop: others go on.
    async fn a_replica_that_ends_drains_nobody(f: Fixture) {
        let session = open(&f.engine).await;
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = lease_as(&f.engine, &session).await;
        let mut control = listen(&f.engine, &session).await;
        let waiting = tokio::spawn({
            let (engine, session) = (f.engine.clone(), session.clone());
            async move { poll_as(&engine, &session, 1, 30.0).await.unwrap() }
        });
        tokio::task::yield_now().await;
        f.engine.close();
        let answer = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
        assert_eq!((answer.drain, answer.leases.len()), (false, 0));
        assert!(matches!(control.next().await, Err(Cut::Closing)));
        let status = beat_as(&f.engine, &session, &[lease]).await.remove(0);
        assert_eq!((status.held, status.drain), (true, false));
    }

    /// Whoever holds a task hears at once what others do to it, and nothing of what it does itself.
    async fn a_control_stream_says_what_others_do(f: Fixture) {
        let (session, other) = (open(&f.engine).await, open(&f.engine).await);
        let mut control = listen(&f.engine, &session).await;
        let mut second = listen(&f.engine, &session).await;
        let mut others = listen(&f.engine, &other).await;

        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = lease_as(&f.engine, &session).await;
        apply(&f.engine, &lease, json!([{"progress": {"statusMessage": {"parts": [{"text": "on it"}]}}}])).await.unwrap();
        send(&f.engine, "", say_to(&task.id, "more")).await.unwrap();
        assert_eq!(next(&mut control).await, of(&lease, "message", TaskState::Working));
        assert_eq!(beat_as(&f.engine, &session, std::slice::from_ref(&lease)).await[0].messages.len(), 1);
        cancel(&f.engine, "", &task.id).await.unwrap();
        assert_eq!(next(&mut control).await, of(&lease, "cancel", TaskState::Canceled));
        assert!(beat_as(&f.engine, &session, std::slice::from_ref(&lease)).await[0].cancel);

        // Given back by its holder, and taken over when it has expired.
        send(&f.engine, "", say("y")).await.unwrap();
        let lease = lease_as(&f.engine, &session).await;
        f.engine.release(&Worker::default(), &lease.lease, lease.epoch, None, Default::default()).await.unwrap();
        let lease = lease_as(&f.engine, &session).await;
        f.clock.advance(LEASE + 1);
        let theirs = lease_as(&f.engine, &other).await;
        assert_eq!(next(&mut control).await, of(&lease, "lost", TaskState::Working));
        // A move by nobody fences an expired lease off.
        f.clock.advance(LEASE + 1);
        apply_as(&f.engine, &theirs.task.id, None, json!([{"requireInput": {}}])).await.unwrap();
        assert_eq!(next(&mut others).await, of(&theirs, "lost", TaskState::InputRequired));
        // A message to a task that nobody holds nudges nobody.
        send(&f.engine, "", say_to(&theirs.task.id, "here")).await.unwrap();
        let lease = lease_as(&f.engine, &session).await;
        cancel(&f.engine, "", &lease.task.id).await.unwrap();
        assert_eq!(next(&mut control).await, of(&lease, "cancel", TaskState::Canceled));

        let kinds = async { let mut kinds = Vec::new(); for _ in 0..4 { kinds.push(next(&mut second).await.kind) } kinds };
        assert_eq!(kinds.await, ["message", "cancel", "lost", "cancel"]);
    }

    /// A worker of some agents neither sees nor drains a session of others.
    async fn a_session_belongs_to_its_agents(f: Fixture) {
        let session = open(&f.engine).await;
        let request = || PollRequest { session: session.clone(), agents: vec!["demo".into()], wait_seconds: Some(0.0), ..PollRequest::default() };
        f.engine.poll(&limited("demo"), request()).await.unwrap();
        let engine = f.replica(|settings| {
            let other = engine::Agent::named("other");
            settings.agents.insert("other".into(), other.into());
        });
        for stranger in [limited("other"), Worker { agents: Some(vec![]) }] {
            for engine in [&engine, &f.engine] {
                let drained = engine.drain_session(&stranger, &session, DrainRequest::default()).await;
                assert_eq!(drained.unwrap_err().kind, Kind::SessionNotFound);
                assert_eq!(engine.control(&stranger, &session).await.unwrap_err().kind, Kind::SessionNotFound);
                let beat = HeartbeatRequest { session: session.clone(), leases: vec![] };
                let refused = engine.heartbeat(&stranger, beat).await.unwrap_err();
                assert_eq!(refused.violations[0].field, "session");
            }
        }
        let foreign = PollRequest { agents: vec!["other".into()], ..request() };
        assert_eq!(engine.poll(&limited("other"), foreign).await.unwrap_err().violations[0].field, "session");
        assert!(!poll_as(&f.engine, &session, 1, 0.0).await.unwrap().drain);
    }

    /// A heartbeat of many leases, nearly every one with a message, sends as many statements as one of two.
    async fn a_heartbeat_costs_the_same_however_many_leases(f: Fixture) {
        let session = open(&f.engine).await;
        for n in 0..40 {
            send(&f.engine, "", say(&n.to_string())).await.unwrap();
        }
        let mut held = Vec::new();
        while held.len() < 40 {
            held.extend(poll_as(&f.engine, &session, 40, 5.0).await.unwrap().leases);
        }
        let mut costs = Vec::new();
        for some in [&held[..2], &held[2..]] {
            // One more that hears of nothing, so that both kinds of renewal are there.
            for lease in &some[1..] {
                for text in ["one", "two"] {
                    send(&f.engine, "", say_to(&lease.task.id, text)).await.unwrap();
                }
            }
            let quiet = f.quiet().await;
            let began = quiet.store().statements();
            let statuses = beat_as(&quiet, &session, some).await;
            let before = quiet.store().statements();
            let again = beat_as(&quiet, &session, some).await;
            assert!(again.iter().all(|status| status.held && status.messages.is_empty()));
            let cost = (before - began, quiet.store().statements() - before);
            let texts: Vec<Vec<String>> =
                statuses.iter().map(|status| status.messages.iter().map(text).collect()).collect();
            assert!(texts[0].is_empty());
            assert!(texts[1..].iter().all(|texts| texts == &["one", "two"]), "{texts:?}");
            costs.push(cost);
            quiet.store().close().await;
        }
        println!("statements of a heartbeat with news and of one without: {:?}", costs[0]);
        assert_eq!(costs[0], costs[1]);
        let mut many = HeartbeatRequest::default();
        many.leases.resize(1_001, HeldLease { lease: held[0].lease.clone(), epoch: held[0].epoch });
        let refused = f.engine.heartbeat(&Worker::default(), many.clone()).await.unwrap_err();
        assert_eq!((refused.kind, refused.violations[0].field.as_str()), (Kind::InvalidParams, "leases"));
        many.leases.truncate(1_000);
        assert!(f.engine.heartbeat(&Worker::default(), many).await.unwrap().leases.iter().all(|status| status.held));
    }

    /// A lease that expired is renewed by a heartbeat as long as nobody has claimed the task.
    async fn an_expired_lease_is_renewed_by_its_heartbeat(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        f.clock.advance(LEASE + 1);
        let status = beat_as(&f.engine, "", std::slice::from_ref(&lease)).await.remove(0);
        assert_eq!((status.held, status.seconds_left, status.state), (true, 30.0, TaskState::Working));
        assert!(poll_for(&f.engine, 1, true, 0.0).await.is_empty());
        f.clock.advance(LEASE + 1);
        poll(&f.engine, 1, true).await.remove(0);
        let status = beat_as(&f.engine, "", std::slice::from_ref(&lease)).await.remove(0);
        assert_eq!((status.held, status.reason.as_str(), status.cancel), (false, "claimed", false));
        assert_eq!((status.seconds_left, status.state), (0.0, TaskState::Working));
    }

    /// A thousand idle workers, whose polls end and begin again all the time, cost next to nothing.
    async fn a_thousand_idle_polls_are_five_statements_a_second(f: Fixture) {
        let mut pollers = tokio::task::JoinSet::new();
        for _ in 0..1_000 {
            let (engine, session) = (f.engine.clone(), open(&f.engine).await);
            pollers.spawn(async move {
                loop {
                    assert!(poll_as(&engine, &session, 1, 2.0).await.unwrap().leases.is_empty());
                }
            });
        }
        let store = f.engine.store();
        let (before, began) = (store.statements(), std::time::Instant::now());
        tokio::time::sleep(Duration::from_secs(11)).await;
        let rate = (store.statements() - before) as f64 / began.elapsed().as_secs_f64();
        println!("1,000 idle pollers: {rate:.2} statements a second");
        assert!(rate > 0.0 && rate <= 5.0, "{rate}");
        assert_eq!(f.count(&format!("worker_session WHERE seen_at >= {START}")).await, 1_000);
        pollers.shutdown().await;
    }
}
