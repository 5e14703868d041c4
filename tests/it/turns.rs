//! Blocked sends, and tasks of several turns.

use e2e::{Binding, Platform, Setup, said, text};
use serde_json::json;

on_both!(
    a_send_waits_for_the_end,
    a_question_is_answered_on_the_same_task,
    a_send_that_does_not_wait_is_answered_at_once,
    the_agent_can_fail_and_reject,
    a_message_during_work_is_answered_before_the_task_rests,
);

fn to(task: &serde_json::Value, words: &str) -> serde_json::Value {
    let mut params = text(words);
    params["message"]["taskId"] = task["id"].clone();
    params
}

async fn a_send_waits_for_the_end(setup: Setup) {
    let platform = Platform::start(setup).await;
    for binding in Binding::ALL {
        let client = platform.client().over(binding);
        let task = client.send(text("stream 3")).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        let artifacts = task["artifacts"].as_array().expect("artifacts");
        assert_eq!(artifacts.len(), 1);
        let words: String = artifacts[0]["parts"]
            .as_array()
            .expect("parts")
            .iter()
            .map(|part| part["text"].as_str().unwrap_or_default())
            .collect();
        assert_eq!(words, "chunk 1 of 3\nchunk 2 of 3\nchunk 3 of 3\n");
        assert_eq!(client.task(&task["id"]).await, task);
    }
}

async fn a_question_is_answered_on_the_same_task(setup: Setup) {
    let platform = Platform::start(setup).await;
    for (binding, command, state) in
        [(Binding::Rest, "ask", "TASK_STATE_INPUT_REQUIRED"), (Binding::JsonRpc, "auth", "TASK_STATE_AUTH_REQUIRED")]
    {
        let client = platform.client().over(binding);
        let asked = client.send(text(command)).await;
        assert_eq!(asked["status"]["state"], state);
        let question = said(&asked["status"]["message"]).to_owned();
        assert!(!question.is_empty(), "{asked}");

        let done = client.send(to(&asked, "the answer")).await;
        assert_eq!(done["id"], asked["id"]);
        assert_eq!(done["contextId"], asked["contextId"]);
        assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
        // The question moved into history when the status changed, between what the client said.
        let history: Vec<&str> = done["history"].as_array().expect("history").iter().map(said).collect();
        assert_eq!(history.len(), 3);
        assert!(history.contains(&question.as_str()), "{history:?}");
        assert!(history.contains(&"the answer"), "{history:?}");

        let refusal = client.refused("SendMessage", to(&done, "more")).await;
        assert_eq!(refusal.reason, "UNSUPPORTED_OPERATION");
        let mut elsewhere = to(&asked, "more");
        elsewhere["message"]["contextId"] = json!("another-context");
        // The end is found first.
        assert_eq!(client.refused("SendMessage", elsewhere).await.reason, "UNSUPPORTED_OPERATION");
    }
    let client = platform.client();
    let asked = client.send(text("ask")).await;
    let mut elsewhere = to(&asked, "more");
    elsewhere["message"]["contextId"] = json!("another-context");
    let refusal = client.refused("SendMessage", elsewhere).await;
    assert_eq!(refusal.fields, [("message.contextId".to_owned(), Some("CONTEXT_MISMATCH".to_owned()))]);
}

async fn a_send_that_does_not_wait_is_answered_at_once(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    // Nobody works for `raw`, so only an answer that does not wait can come.
    let client = platform.client().of("", "raw");
    let task = client.start(text("hello")).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!(said(&task["history"][0]), "hello");
    let again = client.start(to(&task, "and more")).await;
    assert_eq!(again["id"], task["id"]);
    let lease = platform.worker().lease("raw").await;
    let words: Vec<&str> = lease.body["messages"].as_array().expect("messages").iter().map(said).collect();
    assert_eq!(words, ["hello", "and more"]);
}

async fn the_agent_can_fail_and_reject(setup: Setup) {
    let platform = Platform::start(setup).await;
    let client = platform.client();
    for (command, state) in [("fail no luck", "TASK_STATE_FAILED"), ("reject no luck", "TASK_STATE_REJECTED")] {
        let task = client.send(text(command)).await;
        assert_eq!(task["status"]["state"], state);
        assert_eq!(said(&task["status"]["message"]), "no luck");
    }
}

/// A message that comes while a worker asks is not lost, and a send is answered only by who has seen its message.
async fn a_message_during_work_is_answered_before_the_task_rests(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("one")).await;
    let first = worker.lease("raw").await;
    let second = tokio::spawn({
        let (client, params) = (client.clone(), to(&task, "two"));
        async move { client.send(params).await }
    });
    e2e::eventually("the second message", async || {
        let seen = client.task(&task["id"]).await;
        (seen["history"].as_array().map(Vec::len) == Some(2)).then_some(())
    })
    .await;
    // The worker has not seen it, so its question does not answer it, and the task is ready again at once.
    worker.step(&task["id"], "require_input", Some(&first.held()), &json!({})).await.expect("the question");
    let next = worker.lease("raw").await;
    assert_eq!(next.task(), &task["id"]);
    let words: Vec<&str> = next.body["messages"].as_array().expect("messages").iter().map(said).collect();
    assert!(words.contains(&"two"), "{words:?}");
    assert!(!second.is_finished(), "the send was answered by who had not seen its message");
    worker.apply(&task["id"], Some(&next.held()), json!([{"complete": {}}])).await.expect("the end");
    assert_eq!(second.await.expect("an answer")["status"]["state"], "TASK_STATE_COMPLETED");
}
