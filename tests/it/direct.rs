//! Direct answers: a message comes back and there is no task, on whichever replica who stands.

use e2e::{Binding, Failure, Next, Platform, Setup, eventually, said, text};
use futures_util::future::join_all;
use serde_json::{Value, json};

on_both!(fifty_messages_are_answered_and_leave_no_task, only_what_becomes_a_task_is_one);

/// By the demo agent, over the worker runtime.
async fn fifty_messages_are_answered_and_leave_no_task(setup: Setup) {
    let platform = Platform::start(setup.counts((2, 2, 1)).agent("demo", "default = true\ndirect = true")).await;
    let client = platform.client();
    let sends = (0..50).map(|n| {
        let client = client.over(Binding::ALL[n % 2]).of(if n % 3 == 0 { "acme" } else { "" }, "");
        async move {
            let mut params = text(&format!("say word {n}"));
            params["message"]["contextId"] = json!(format!("context-{n}"));
            let key = format!("key-{n}");
            // Each a second time, at the other replica.
            let first = client.call("SendMessage", &params, Some(&key)).await;
            let again = client.call("SendMessage", &params, Some(&key)).await;
            (n, first, again)
        }
    });
    for (n, first, again) in join_all(sends).await {
        let message = &first.as_ref().unwrap_or_else(|failure| panic!("{failure:?}"))["message"];
        assert_eq!(said(message), format!("word {n}"));
        assert_eq!(
            (&message["role"], &message["contextId"], &message["taskId"]),
            (&json!("ROLE_AGENT"), &json!(format!("context-{n}")), &Value::Null)
        );
        assert_eq!(first, again);
    }
    let mut stream = client.stream("SendStreamingMessage", &text("say it"), None).await.expect("a stream");
    let Ok(Next::Event(event)) = stream.next().await else { panic!("a stream without a message") };
    assert_eq!((said(&event.body["message"]), event.id.as_str()), ("it", ""));
    assert_eq!(stream.next().await, Ok(Next::Ended));

    assert!(platform.worker().all_tasks().await.is_empty());
    for tenant in ["", "acme"] {
        let listed = client.of(tenant, "").ask("ListTasks", json!({})).await;
        assert_eq!((&listed["totalSize"], &listed["tasks"]), (&json!(0), &json!([])));
    }
    let database = platform.database().await;
    for table in ["task", "task_event", "work", "waiting_message"] {
        assert_eq!(database.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
    // The same agent still makes tasks of what it does not answer directly.
    let task = client.send(text("hello")).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let task = client.start(text("say no more")).await;
    let task = client.task_in(&task["id"], "TASK_STATE_COMPLETED").await;
    assert_eq!(said(&task["status"]["message"]), "no more");
}

/// By a worker at the other replica: one sender goes away, one waits too long, one is answered.
async fn only_what_becomes_a_task_is_one(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "direct = true\ndirect_limit_seconds = 2")).await;
    let client = platform.client().of("", "raw").at(0);
    let worker = platform.worker().at(1);
    let database = platform.database().await;
    let waiting = async || database.number("SELECT count(*) FROM waiting_message").await;
    let send = |words: &'static str| {
        let client = client.clone();
        tokio::spawn(async move { client.call("SendMessage", &text(words), None).await })
    };

    let gone = send("never mind");
    let lease = worker.lease("raw").await;
    assert_eq!((&lease.body["direct"], waiting().await), (&json!(true), 1));
    assert_eq!(client.refused("GetTask", json!({"id": lease.task()})).await.reason, "TASK_NOT_FOUND");
    gone.abort();
    eventually("the message's end", async || (waiting().await == 0).then_some(())).await;
    let refusal = worker.step(lease.task(), "reply", Some(&lease.held()), &reply("late")).await.expect_err("nobody");
    assert_eq!((refusal.http, refusal.reason.as_str()), (404, "TASK_NOT_FOUND"));

    let answered = send("quick");
    let lease = worker.lease("raw").await;
    let replied = worker.step(lease.task(), "reply", Some(&lease.held()), &reply("done")).await.expect("a reply");
    assert_eq!(replied, json!({"direct": true}));
    assert_eq!(said(&answered.await.expect("the send's end").expect("an answer")["message"]), "done");
    assert!(platform.worker().all_tasks().await.is_empty());

    let slow = send("slow");
    let lease = worker.lease("raw").await;
    let task = eventually("the task", async || worker.all_tasks().await.pop()).await;
    assert_eq!((&task["id"], &task["state"]), (lease.task(), &json!("TASK_STATE_SUBMITTED")));
    let replied = worker.step(lease.task(), "reply", Some(&lease.held()), &reply("at last")).await.expect("a reply");
    assert_eq!(replied["applied"]["state"], "TASK_STATE_COMPLETED");
    let answered = slow.await.expect("the send's end").expect("an answer");
    assert_eq!((&answered["task"]["id"], said(&answered["task"]["status"]["message"])), (lease.task(), "at last"));
    assert_eq!(client.ask("ListTasks", json!({})).await["totalSize"], 1);
    assert_eq!((worker.all_tasks().await.len(), waiting().await), (1, 0));
}

fn reply(words: &str) -> Value {
    json!({"message": {"parts": [{"text": words}]}})
}

/// What a dead replica waited for is waited for by nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_messages_of_a_killed_replica_are_swept() {
    let Some(setup) = Setup::replicas(2, 0, 1) else { return };
    let platform = Platform::start(setup.agent("raw", "direct = true\ndirect_limit_seconds = 600")).await;
    let client = platform.client().of("", "raw");
    let database = platform.database().await;
    let waiting = async || database.number("SELECT count(*) FROM waiting_message").await;
    let sends: Vec<_> = (0..4)
        .map(|n| {
            let client = client.at(0);
            let key = (n % 2 == 0).then(|| format!("key-{n}"));
            tokio::spawn(async move { client.call("SendMessage", &text("hello"), key.as_deref()).await })
        })
        .collect();
    eventually("four messages", async || (waiting().await == 4).then_some(())).await;
    platform.kill("api-0");
    for send in sends {
        assert!(matches!(send.await.expect("the send's end"), Err(Failure::Broken(_))));
    }
    // One comes back with its key, and finds its message.
    let back = client.at(1);
    let back = tokio::spawn(async move { back.call("SendMessage", &text("hello"), Some("key-0")).await });
    eventually("the end of the others", async || (waiting().await == 1).then_some(())).await;
    let worker = platform.worker().at(1);
    let lease = worker.lease("raw").await;
    worker.step(lease.task(), "reply", Some(&lease.held()), &reply("here")).await.expect("a reply");
    assert_eq!(said(&back.await.expect("the send's end").expect("an answer")["message"]), "here");
    assert!(worker.poll("raw", 4, 0.0, false).await.is_empty());
    assert_eq!((waiting().await, database.number("SELECT count(*) FROM task").await), (0, 0));
}
