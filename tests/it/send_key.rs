//! A send with an `Idempotency-Key` happens once, however often and wherever it is sent.

use e2e::{Binding, Failure, Platform, Setup, eventually, said, text};
use futures_util::future::join_all;
use serde_json::{Value, json};

on_both!(
    a_hundred_sends_with_one_key_make_one_task,
    a_key_is_bound_to_its_request,
    a_key_counts_for_one_agent_of_one_tenant
);

async fn a_hundred_sends_with_one_key_make_one_task(setup: Setup) {
    let platform = Platform::start(setup).await;
    let client = platform.client();
    let sends = (0..100).map(|n| {
        // Both bindings, waiting or not, each with a message id of its own: it is the same request.
        let client = client.over(Binding::ALL[n % 2]);
        async move {
            let mut params = text("once");
            params["configuration"] = json!({"returnImmediately": n % 3 == 0});
            client.call("SendMessage", &params, Some("the-key")).await
        }
    });
    let answers = join_all(sends).await;
    let ids: Vec<Value> = answers
        .into_iter()
        .map(|answer| answer.unwrap_or_else(|failure| panic!("{failure:?}"))["task"]["id"].take())
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0] && id.is_string()), "{ids:?}");
    let tasks = platform.worker().all_tasks().await;
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(tasks[0]["history"].as_array().map(Vec::len), Some(1), "{}", tasks[0]);
}

async fn a_key_is_bound_to_its_request(setup: Setup) {
    let platform = Platform::start(setup).await;
    let client = platform.client();
    let first = client.call("SendMessage", &text("this"), Some("k")).await.expect("a first send");
    for binding in Binding::ALL {
        let client = client.over(binding);
        let again = client.call("SendMessage", &text("this"), Some("k")).await.expect("the same send");
        assert_eq!(again["task"]["id"], first["task"]["id"]);
        let refusal = client.refused_under("SendMessage", text("that"), Some("k")).await;
        assert_eq!(refusal.reason, "INVALID_PARAMS");
        assert_eq!(refusal.fields, [("Idempotency-Key".to_owned(), Some("IDEMPOTENCY_KEY_REUSED".to_owned()))]);
        for unusable in [" ".repeat(0), "k".repeat(257)] {
            let refusal = client.refused_under("SendMessage", text("this"), Some(&unusable)).await;
            assert_eq!((refusal.reason.as_str(), refusal.fields[0].0.as_str()), ("INVALID_PARAMS", "Idempotency-Key"));
        }
    }
    assert_eq!(platform.worker().all_tasks().await.len(), 1);
}

async fn a_key_counts_for_one_agent_of_one_tenant(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let client = platform.client();
    let mut ids = Vec::new();
    for (tenant, agent) in [("", ""), ("", "raw"), ("acme", ""), ("zeta", "")] {
        let mut params = text("hello");
        params["configuration"] = json!({"returnImmediately": true});
        let sent = client.of(tenant, agent).call("SendMessage", &params, Some("k")).await.expect("a send");
        ids.push(sent["task"]["id"].to_string());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

/// The client cannot know whether its send was committed when its replica died. The key finds out, on another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_after_a_crash_between_commit_and_answer_finds_the_task() {
    let Some(setup) = Setup::replicas(2, 0, 1) else { return };
    let platform = Platform::start(setup.agent("raw", "")).await;
    let client = platform.client().of("", "raw");
    // Nobody works yet: the send is committed, and its answer is still owed when the replica dies.
    let owed = tokio::spawn({
        let client = client.at(0);
        async move { client.call("SendMessage", &text("work"), Some("k")).await }
    });
    let worker = platform.worker();
    let made = eventually("the task", async || worker.all_tasks().await.pop()).await;
    platform.kill("api-0");
    let broken = owed.await.expect("the send's end");
    assert!(matches!(broken, Err(Failure::Broken(_))), "{broken:?}");

    let other = client.at(1);
    let again = tokio::spawn({
        let other = other.clone();
        async move { other.call("SendMessage", &text("work"), Some("k")).await }
    });
    platform.restart("api-0");
    platform.healthy().await;
    let lease = worker.lease("raw").await;
    assert_eq!(*lease.task(), made["id"]);
    let updates =
        json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "done"}]}}}, {"complete": {}}]);
    worker.apply(lease.task(), Some(&lease.held()), updates).await.expect("the end");
    let answered = again.await.expect("the retry's end").expect("an answer");
    assert_eq!(answered["task"]["id"], made["id"]);
    assert_eq!(said(&answered["task"]["artifacts"][0]), "done");
    assert_eq!(worker.all_tasks().await.len(), 1);
}

/// The same when there is only one process, and it comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_after_a_restart_finds_the_task() {
    let platform = Platform::start(Setup::embedded().agent("raw", "")).await;
    let client = platform.client().of("", "raw");
    let owed = tokio::spawn({
        let client = client.clone();
        async move { client.call("SendMessage", &text("work"), Some("k")).await }
    });
    let worker = platform.worker();
    let made = eventually("the task", async || worker.all_tasks().await.pop()).await;
    platform.kill("dev");
    assert!(matches!(owed.await.expect("the send's end"), Err(Failure::Broken(_))));
    platform.restart("dev");
    platform.healthy().await;
    let mut params = text("work");
    params["configuration"] = json!({"returnImmediately": true});
    let again = client.call("SendMessage", &params, Some("k")).await.expect("an answer");
    assert_eq!(again["task"]["id"], made["id"]);
    assert_eq!(platform.worker().all_tasks().await.len(), 1);
}
