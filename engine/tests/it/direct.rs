//! Direct answers: a message that waits is no task, a reply is all of the answer, and everything else makes a task of it.

use std::sync::Arc;
use std::time::Duration;

use engine::{Caller, Engine, LeaseClaim};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use wire::worker::{HeartbeatRequest, HeldLease, Lease, ReleaseRequest, Replied, ReplyRequest};
use wire::{Error, Kind, Message, SendMessageRequest, SendMessageResponse, StreamResponse, TaskState};

use crate::fixture::*;
use crate::on_every_store;

/// Long enough that only a failing test reaches it.
const LONG: Duration = Duration::from_secs(60);

fn direct(f: &Fixture, limit: Duration) -> Engine {
    tuned(f, limit, |_| {})
}

fn tuned(f: &Fixture, limit: Duration, change: impl FnOnce(&mut engine::Settings)) -> Engine {
    f.replica(|settings| {
        Arc::make_mut(settings.agents.get_mut("demo").unwrap()).direct = Some(limit);
        settings.sweep = Duration::from_millis(100);
        change(settings);
    })
}

/// A message whose sender waits for the answer.
fn asking(text: &str) -> SendMessageRequest {
    SendMessageRequest { configuration: None, ..say(text) }
}

type Answer = Result<SendMessageResponse, Error>;

fn ask_as(engine: &Engine, caller: Caller, key: Option<&str>, request: SendMessageRequest) -> JoinHandle<Answer> {
    let (engine, key) = (engine.clone(), key.map(str::to_owned));
    tokio::spawn(async move { engine.send_message(&caller, key, request).await })
}

fn ask(engine: &Engine, key: Option<&str>, text: &str) -> JoinHandle<Answer> {
    ask_as(engine, caller(engine, "acme"), key, asking(text))
}

async fn message_of(answer: JoinHandle<Answer>) -> Message {
    match answer.await.unwrap().unwrap() {
        SendMessageResponse::Message(message) => message,
        SendMessageResponse::Task(task) => panic!("a message was to be answered, not {task:?}"),
    }
}

async fn lease_one(engine: &Engine) -> Lease {
    let lease = poll(engine, 1, true).await.remove(0);
    assert!(lease.direct);
    assert_eq!(lease.task.status.state, TaskState::Submitted, "starting opens no task");
    lease
}

async fn reply_as(engine: &Engine, task: &str, claim: Option<LeaseClaim>, message: Value) -> Result<Replied, Error> {
    let request: ReplyRequest = serde_json::from_value(json!({ "message": message })).unwrap();
    engine.reply(&engine::Worker::default(), task, claim, None, request).await
}

async fn reply(engine: &Engine, lease: &Lease, text: &str) -> Result<Replied, Error> {
    reply_as(engine, &lease.task.id, Some(claim_of(lease)), json!({"parts": [{"text": text}]})).await
}

/// Let so many seconds go by, in steps in which the sender of the one message is seen to wait for it.
pub(crate) async fn pass(f: &Fixture, seconds: i64) {
    for _ in 0..seconds / 4 {
        f.clock.advance(4_000);
        let waited_for = format!("waiting_message WHERE until >= {}", f.clock.now() + 10_000);
        while f.count(&waited_for).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn nothing_is_left(f: &Fixture) {
    for table in ["waiting_message", "task", "task_message", "task_event", "work", "push_config", "push_lane"] {
        let none = async || f.count(table).await == 0;
        for _ in 0..100 {
            if none().await {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(none().await, "{table}");
    }
}

on_every_store! {
    /// While a message waits nobody sees a task; the reply answers it and leaves nothing.
    async fn a_reply_is_all_of_the_answer(f: Fixture) {
        let engine = tuned(&f, LONG, |settings| settings.tasks_per_tenant = 1);
        for n in 0..3 {
            let mut request = asking("hi");
            request.message.as_mut().unwrap().context_id = "mine".into();
            let sender = ask_as(&engine, caller(&engine, "acme"), None, request);
            let lease = lease_one(&engine).await;
            assert_eq!((text(&lease.messages[0]), text(&lease.task.history[0])), ("hi".into(), "hi".into()));
            assert_eq!((lease.tenant.as_str(), lease.attempt, lease.epoch), ("acme", 1, 1));
            let id = lease.task.id.clone();
            assert_eq!(get(&engine, "acme", &id).await.unwrap_err().kind, Kind::TaskNotFound);
            assert_eq!(cancel(&engine, "acme", &id).await.unwrap_err().kind, Kind::TaskNotFound);
            assert_eq!(send(&engine, "acme", say_to(&id, "more")).await.unwrap_err().kind, Kind::TaskNotFound);
            assert_eq!(list(&engine, "acme", json!({})).await.unwrap().response.total_size, 0);
            assert_eq!((f.count("waiting_message").await, f.count("task").await), (1, 0));
            let replied = reply(&engine, &lease, &format!("hi {n}")).await.unwrap();
            assert!(replied.direct && replied.applied.is_none());
            let message = message_of(sender).await;
            assert_eq!((text(&message), message.context_id.as_str()), (format!("hi {n}"), "mine"));
            assert_eq!((message.role, message.task_id.as_str()), (wire::Role::Agent, ""));
            assert!(!message.message_id.is_empty());
            nothing_is_left(&f).await;
            // Whoever comes late is told so.
            assert_eq!(reply(&engine, &lease, "again").await.unwrap_err().kind, Kind::TaskNotFound);
        }
        // Three messages took nothing of an allowance of one.
        send(&engine, "acme", say("a task")).await.unwrap();
        assert_eq!(send(&engine, "acme", say("another")).await.unwrap_err().kind, Kind::ResourceExhausted);
    }

    /// The first thing a worker does but reply makes the task, under the lease it has; the sender waits for the task's end.
    async fn the_first_update_opens_the_task(f: Fixture) {
        let engine = direct(&f, LONG);
        let sender = ask(&engine, None, "hi");
        let lease = lease_one(&engine).await;
        // What is refused opens nothing.
        let unknown = json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "append": true}}]);
        assert_eq!(apply(&engine, &lease, unknown).await.unwrap_err().kind, Kind::InvalidParams);
        assert_eq!(apply(&engine, &lease, json!([{"progress": {"statusMessage": {"parts": [{"text": "x"}]}}}])).await.unwrap_err().kind, Kind::TaskStateConflict);
        assert_eq!((f.count("waiting_message").await, f.count("task").await), (1, 0));
        let applied = apply(&engine, &lease, json!([{"work": {}}])).await.unwrap();
        assert_eq!((applied.state, applied.generation, applied.lease_held), (TaskState::Working, 2, true));
        assert_eq!((f.count("waiting_message").await, f.count("task").await), (0, 1));
        assert_eq!(get(&engine, "acme", &lease.task.id).await.unwrap().status.state, TaskState::Working);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!sender.is_finished());
        apply(&engine, &lease, json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}, {"complete": {}}])).await.unwrap();
        let task = task_of(sender.await.unwrap().unwrap());
        assert_eq!((task.id, task.status.state, task.artifacts.len()), (lease.task.id, TaskState::Completed, 1));
        assert_eq!(text(&task.history[0]), "hi");
    }

    /// A reply where there is a task is its last word, whatever the agent.
    async fn a_reply_on_a_task_completes_it(f: Fixture) {
        let engine = direct(&f, LONG);
        let sender = ask(&engine, None, "hi");
        let lease = lease_one(&engine).await;
        apply(&engine, &lease, json!([{"work": {}}])).await.unwrap();
        let replied = reply(&engine, &lease, "bye").await.unwrap();
        assert_eq!(replied.applied.map(|applied| applied.state), Some(TaskState::Completed));
        let task = task_of(sender.await.unwrap().unwrap());
        assert_eq!(text(&task.status.message.unwrap()), "bye");

        let task = send(&f.engine, "", say("hi")).await.unwrap();
        let lease = poll(&f.engine, 1, false).await.remove(0);
        assert!(!lease.direct);
        assert!(!reply(&f.engine, &lease, "bye").await.unwrap().direct);
        let task = get(&f.engine, "", &task.id).await.unwrap();
        assert_eq!((task.status.state, text(&task.status.message.unwrap())), (TaskState::Completed, "bye".into()));
        assert_eq!(reply(&f.engine, &lease, "again").await.unwrap_err().kind, Kind::LeaseLost);
    }

    /// What is not answered within the agent's limit becomes a task, and so does what does not wait. The lease stays.
    async fn the_limit_makes_a_task(f: Fixture) {
        let engine = direct(&f, Duration::from_secs(3));
        let sender = ask(&engine, None, "hi");
        let lease = lease_one(&engine).await;
        let mut seen = None;
        for _ in 0..1_000 {
            seen = get(&engine, "acme", &lease.task.id).await.ok();
            if seen.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(seen.unwrap().status.state, TaskState::Submitted);
        assert!(!sender.is_finished(), "it is not over");
        assert_eq!(f.count("waiting_message").await, 0);
        assert!(!reply(&engine, &lease, "late").await.unwrap().direct);
        let task = task_of(sender.await.unwrap().unwrap());
        assert_eq!((task.id.as_str(), text(&task.status.message.unwrap())), (lease.task.id.as_str(), "late".into()));
        let task = send(&engine, "acme", say("now")).await.unwrap();
        assert_eq!(task.status.state, TaskState::Submitted);
        assert!(!poll(&engine, 1, false).await.remove(0).direct);
    }

    /// A sender that goes away takes its message along.
    async fn a_sender_that_goes_away_leaves_nothing(f: Fixture) {
        let engine = direct(&f, LONG);
        let sender = ask(&engine, None, "hi");
        let lease = lease_one(&engine).await;
        sender.abort();
        nothing_is_left(&f).await;
        assert_eq!(reply(&engine, &lease, "hello?").await.unwrap_err().kind, Kind::TaskNotFound);
        assert_eq!(apply(&engine, &lease, json!([{"work": {}}])).await.unwrap_err().kind, Kind::TaskNotFound);
        let held = HeldLease { lease: lease.lease.clone(), epoch: lease.epoch };
        let request = HeartbeatRequest { leases: vec![held], ..HeartbeatRequest::default() };
        let status = engine.heartbeat(&engine::Worker::default(), request).await.unwrap().leases.remove(0);
        assert_eq!((status.held, status.reason.as_str()), (false, "unknown"));
        assert!(poll_for(&engine, 1, false, 0.0).await.is_empty());
        // A stopping replica answers its senders first.
        let sender = ask(&engine, None, "hi");
        lease_one(&engine).await;
        engine.close();
        assert_eq!(sender.await.unwrap().unwrap_err().kind, Kind::Unavailable);
        nothing_is_left(&f).await;
    }

    /// One key is one message and one answer, at whichever replica it is asked for and answered, without a hint between them.
    async fn a_key_finds_the_message_and_the_answer(f: Fixture) {
        let (here, there) = (direct(&f, LONG), direct(&f, LONG));
        let first = ask(&here, Some("k"), "hi");
        let lease = lease_one(&there).await;
        let again = ask(&there, Some("k"), "hi");
        let other = ask(&there, Some("k"), "ho");
        assert_eq!(other.await.unwrap().unwrap_err().kind, Kind::InvalidParams);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!((f.count("waiting_message").await, f.count("send_key").await), (1, 1));
        reply(&there, &lease, "bye").await.unwrap();
        let (first, again) = (message_of(first).await, message_of(again).await);
        assert_eq!((text(&first), &first), ("bye".into(), &again));
        // Also for those who would not wait, and in a stream.
        let mut request = asking("hi");
        request.configuration = say("hi").configuration;
        assert_eq!(message_of(ask_as(&here, caller(&here, "acme"), Some("k"), request)).await, first);
        let mut stream = here.send_streaming_message(&caller(&here, "acme"), Some("k".into()), asking("hi"), Some(0)).await.unwrap();
        let item = stream.next().await.unwrap().unwrap();
        assert_eq!(serde_json::from_str::<StreamResponse>(&item.body).unwrap(), StreamResponse::Message(first));
        assert!(stream.next().await.unwrap().is_none());
        nothing_is_left(&f).await;
        assert_eq!(f.count("send_key").await, 1);
    }

    /// Who has a key may come back; what nobody comes back for is swept, and the key sends anew.
    async fn a_key_outlives_its_sender_for_a_while(f: Fixture) {
        let engine = direct(&f, LONG);
        let sender = ask(&engine, Some("k"), "hi");
        let lease = lease_one(&engine).await;
        sender.abort();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(f.count("waiting_message").await, 1);
        let sender = ask(&engine, Some("k"), "hi");
        // Somebody waits, so it stays however long it takes.
        pass(&f, 24).await;
        assert!(!sender.is_finished());
        sender.abort();
        assert!(sender.await.is_err());
        f.clock.advance(16_000);
        nothing_is_left(&f).await;
        assert_eq!(f.count("send_key").await, 0);
        let sender = ask(&engine, Some("k"), "hi");
        let anew = lease_one(&engine).await;
        assert_ne!(anew.task.id, lease.task.id);
        assert_eq!(reply(&engine, &lease, "old").await.unwrap_err().kind, Kind::TaskNotFound);
        reply(&engine, &anew, "new").await.unwrap();
        assert_eq!(text(&message_of(sender).await), "new");
    }

    /// With its key, a repeat that does not want to wait makes a task of the message, and the first sender gets that task's end.
    async fn a_repeat_that_does_not_wait_opens_the_task(f: Fixture) {
        let engine = direct(&f, LONG);
        let first = ask(&engine, Some("k"), "hi");
        let lease = lease_one(&engine).await;
        let task = engine.send_message(&caller(&engine, "acme"), Some("k".into()), say("hi")).await.map(task_of).unwrap();
        assert_eq!((task.id.as_str(), task.status.state), (lease.task.id.as_str(), TaskState::Submitted));
        apply(&engine, &lease, json!([{"complete": {}}])).await.unwrap();
        assert_eq!(task_of(first.await.unwrap().unwrap()).status.state, TaskState::Completed);
        let again = engine.send_message(&caller(&engine, "acme"), Some("k".into()), asking("hi")).await.map(task_of).unwrap();
        assert_eq!(again.id, task.id);
    }

    /// Leases on messages are leases: fenced, renewed, released, expiring, and given up in the end.
    async fn a_message_is_leased_as_a_task_is(f: Fixture) {
        let engine = direct(&f, LONG);
        let sender = ask(&engine, None, "hi");
        let lease = lease_one(&engine).await;
        let id = lease.task.id.clone();
        let words = json!({"parts": [{"text": "x"}]});
        assert_eq!(reply_as(&engine, &id, None, words.clone()).await.unwrap_err().kind, Kind::LeaseRequired);
        let stale = LeaseClaim { epoch: lease.epoch + 1, ..claim_of(&lease) };
        assert_eq!(reply_as(&engine, &id, Some(stale), words.clone()).await.unwrap_err().kind, Kind::LeaseLost);
        let wrong = json!({"parts": [{"text": "x"}], "taskId": id});
        assert_eq!(reply_as(&engine, &id, Some(claim_of(&lease)), wrong).await.unwrap_err().kind, Kind::InvalidParams);
        // A heartbeat keeps it.
        pass(&f, 20).await;
        let held = HeldLease { lease: lease.lease.clone(), epoch: lease.epoch };
        let request = HeartbeatRequest { leases: vec![held], ..HeartbeatRequest::default() };
        let status = engine.heartbeat(&engine::Worker::default(), request).await.unwrap().leases.remove(0);
        assert_eq!((status.held, status.state), (true, TaskState::Submitted));
        pass(&f, 20).await;
        assert!(poll_for(&engine, 1, false, 0.0).await.is_empty());
        // A release hands it to another.
        engine.release(&engine::Worker::default(), &lease.lease, lease.epoch, None, ReleaseRequest::default()).await.unwrap();
        let next = lease_one(&engine).await;
        assert_eq!((next.task.id.as_str(), next.epoch, next.attempt), (id.as_str(), lease.epoch + 1, 1));
        assert_eq!(reply(&engine, &lease, "late").await.unwrap_err().kind, Kind::LeaseLost);
        // And so does an end without one, until the platform fails it.
        let mut last = next;
        for attempt in 2..=5 {
            pass(&f, 32).await;
            let next = lease_one(&engine).await;
            assert_eq!((next.attempt, next.epoch), (attempt, last.epoch + 1));
            last = next;
        }
        pass(&f, 32).await;
        assert!(poll_for(&engine, 1, false, 0.5).await.is_empty());
        let task = task_of(sender.await.unwrap().unwrap());
        assert_eq!((task.id, task.status.state), (id, TaskState::Failed));
    }

    /// A worker that gives up for good fails the task the message becomes.
    async fn a_release_for_good_is_a_failed_task(f: Fixture) {
        let engine = direct(&f, LONG);
        let sender = ask(&engine, None, "hi");
        let lease = lease_one(&engine).await;
        let request = ReleaseRequest { retryable: Some(false), reason: "no".into(), ..ReleaseRequest::default() };
        engine.release(&engine::Worker::default(), &lease.lease, lease.epoch, None, request).await.unwrap();
        assert_eq!(task_of(sender.await.unwrap().unwrap()).status.state, TaskState::Failed);
    }

    /// Where there is no place for a task, worker and client are told, and nothing is stored.
    async fn a_message_takes_its_place_when_it_becomes_a_task(f: Fixture) {
        let engine = tuned(&f, LONG, |settings| settings.tasks_per_tenant = 0);
        let sender = ask(&engine, Some("k"), "hi");
        let lease = lease_one(&engine).await;
        assert_eq!(apply(&engine, &lease, json!([{"work": {}}])).await.unwrap_err().kind, Kind::ResourceExhausted);
        assert_eq!(sender.await.unwrap().unwrap_err().kind, Kind::ResourceExhausted);
        nothing_is_left(&f).await;
        assert_eq!(f.count("send_key").await, 0);
        let quick = tuned(&f, Duration::from_millis(50), |settings| settings.tasks_per_tenant = 0);
        assert_eq!(ask(&quick, None, "hi").await.unwrap().unwrap_err().kind, Kind::ResourceExhausted);
        nothing_is_left(&f).await;
    }

    /// One that was delivered too often, where there is no place for the failed task either: its sender is told, and others are served.
    async fn a_message_given_up_without_a_place_holds_up_nobody(f: Fixture) {
        let engine = tuned(&f, LONG, |settings| {
            settings.tasks_per_tenant = 1;
            Arc::make_mut(settings.agents.get_mut("demo").unwrap()).max_deliveries = 1;
        });
        send(&engine, "acme", say("all that the tenant may hold")).await.unwrap();
        assert!(!poll(&engine, 1, true).await.remove(0).direct);
        let full = ask(&engine, None, "given up");
        lease_one(&engine).await;
        pass(&f, 32).await;
        let other = ask_as(&engine, caller(&engine, "globex"), None, asking("served"));
        let lease = loop {
            // The task's lease has ended, too.
            let lease = poll(&engine, 1, true).await.remove(0);
            if lease.direct {
                break lease;
            }
        };
        assert_eq!(lease.tenant, "globex");
        assert_eq!(full.await.unwrap().unwrap_err().kind, Kind::ResourceExhausted);
        reply(&engine, &lease, "served").await.unwrap();
        message_of(other).await;
        while f.count("waiting_message").await > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(f.count("task").await, 1);
    }

    /// An inline config is kept sealed while its message waits, and is the task's from the first event on.
    async fn an_inline_config_waits_sealed(f: Fixture) {
        let engine = direct(&f, LONG);
        let mut body = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
        body["configuration"] = json!({"taskPushNotificationConfig": {"url": "http://127.0.0.1:2/", "token": "hush"}});
        let sender = ask_as(&engine, caller(&engine, "acme"), None, request(body.clone()));
        let lease = lease_one(&engine).await;
        assert_eq!(f.count("push_config").await, 0);
        assert_eq!(f.count("waiting_message WHERE length(push_config) > 40").await, 1);
        apply(&engine, &lease, json!([{"work": {}}, {"complete": {}}])).await.unwrap();
        let task = task_of(sender.await.unwrap().unwrap());
        assert_eq!((f.count("push_config").await, f.count("push_delivery").await), (1, 3));
        let listed = engine.list_push_configs(&caller(&engine, "acme"), serde_json::from_value(json!({"taskId": task.id})).unwrap()).await.unwrap();
        assert_eq!(listed.configs[0].url, "http://127.0.0.1:2/");
        // It means nothing for an answer that is a message.
        let sender = ask_as(&engine, caller(&engine, "acme"), None, request(body));
        let lease = lease_one(&engine).await;
        reply(&engine, &lease, "bye").await.unwrap();
        message_of(sender).await;
        assert_eq!((f.count("push_config").await, f.count("push_delivery").await), (1, 3));
    }

    /// A stream is the one message, or the task from its first event on.
    async fn a_stream_is_one_message_or_a_task(f: Fixture) {
        let engine = direct(&f, LONG);
        let open = |engine: Engine| tokio::spawn(async move {
            engine.send_streaming_message(&caller(&engine, "acme"), None, say("hi"), None).await
        });
        let opened = open(engine.clone());
        let lease = lease_one(&engine).await;
        reply(&engine, &lease, "bye").await.unwrap();
        let mut stream = opened.await.unwrap().unwrap();
        assert_eq!(stream.next_number(), 0);
        let item = stream.next().await.unwrap().unwrap();
        let StreamResponse::Message(message) = serde_json::from_str(&item.body).unwrap() else { panic!("{}", item.body) };
        assert_eq!((text(&message), message.context_id), ("bye".into(), lease.task.context_id));
        assert!(stream.next().await.unwrap().is_none());
        nothing_is_left(&f).await;

        let opened = open(engine.clone());
        let lease = lease_one(&engine).await;
        apply(&engine, &lease, json!([{"work": {}}, {"complete": {}}])).await.unwrap();
        let mut stream = opened.await.unwrap().unwrap();
        let first = stream.next().await.unwrap().unwrap();
        let StreamResponse::Task(task) = serde_json::from_str(&first.body).unwrap() else { panic!("{}", first.body) };
        assert_eq!((first.generation, task.id, task.status.state), (1, lease.task.id, TaskState::Submitted));
        let mut numbers = Vec::new();
        while let Some(item) = stream.next().await.unwrap() {
            numbers.push(item.generation);
        }
        assert_eq!(numbers, [2, 3]);
    }

    /// A claim hands out what is due of both kinds, oldest first.
    async fn messages_and_tasks_stand_in_one_line(f: Fixture) {
        let engine = direct(&f, LONG);
        let mut senders = Vec::new();
        for n in 0..6 {
            if n % 2 == 0 {
                senders.push(ask(&engine, None, &n.to_string()));
                while f.count("waiting_message").await < n / 2 + 1 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } else {
                send(&engine, "acme", say(&n.to_string())).await.unwrap();
            }
            f.clock.advance(10);
        }
        let leases = [poll(&engine, 4, true).await, poll(&engine, 4, true).await].concat();
        let said: Vec<String> = leases.iter().map(|lease| text(&lease.messages[0])).collect();
        assert_eq!(said, ["0", "1", "2", "3", "4", "5"]);
        assert!(leases.iter().all(|lease| lease.direct == (lease.task.status.state == TaskState::Submitted)));
        for lease in leases.iter().filter(|lease| lease.direct) {
            reply(&engine, lease, &text(&lease.messages[0])).await.unwrap();
        }
        for (sender, n) in senders.into_iter().zip(["0", "2", "4"]) {
            assert_eq!(text(&message_of(sender).await), n);
        }
    }
}
