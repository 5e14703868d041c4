//! What the demo agent does, seen from the platform.

use serde_json::{Value, json};
use worker::builtin::Demo;

use crate::surface::{Answer, Surface, refusal};
use crate::{Running, options};

/// The updates of every call the demo makes for a task in `state` with these client messages.
async fn calls(state: &str, texts: &[&str], ends: &str) -> Vec<Value> {
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Demo);
    surface.queue("a", state, texts);
    surface
        .until("the end", |book| {
            let updates = book.updates("a");
            updates.last().and_then(|call| call.as_array()?.last()?.get(ends)).is_some()
        })
        .await;
    worker.stop().await;
    surface.look(|book| book.updates("a"))
}

fn text(update: &Value) -> &Value {
    &update["artifact"]["artifact"]["parts"][0]["text"]
}

#[tokio::test]
async fn a_stream_of_chunks_ends_with_its_last_one() {
    let calls = calls("TASK_STATE_WORKING", &["stream 3"], "complete").await;
    assert_eq!(calls.len(), 3);
    assert_eq!(*text(&calls[0][0]), json!("chunk 1 of 3\n"));
    assert_eq!(calls[0][0]["artifact"].get("append"), None);
    assert_eq!(calls[1][0]["artifact"]["append"], json!(true));
    assert_eq!(calls[1][0]["artifact"].get("lastChunk"), None);
    assert_eq!(*text(&calls[2][0]), json!("chunk 3 of 3\n"));
    assert_eq!(calls[2][0]["artifact"]["append"], json!(true));
    assert_eq!(calls[2][0]["artifact"]["lastChunk"], json!(true));
    assert_eq!(calls[2][1], json!({"complete": {}}));
}

#[tokio::test]
async fn a_report_on_a_task_that_is_not_working_yet_starts_it_in_the_same_call() {
    let calls = calls("TASK_STATE_SUBMITTED", &["stream 3"], "complete").await;
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0][0], json!({"work": {}}));
    assert_eq!(*text(&calls[0][1]), json!("chunk 1 of 3\n"));
    assert_eq!(calls[1].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn waiting_tells_how_far_it_is() {
    let calls = calls("TASK_STATE_INPUT_REQUIRED", &["wait 0.1"], "complete").await;
    assert_eq!(calls.len(), 2);
    assert!(calls[0][0]["work"]["statusMessage"]["parts"][0]["text"].is_string());
}

#[tokio::test]
async fn a_question_is_asked_once_and_its_answer_given_back() {
    let asked = calls("TASK_STATE_WORKING", &["ask"], "requireInput").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0][0]["requireInput"]["statusMessage"]["role"], json!("ROLE_AGENT"));
    let answered = calls("TASK_STATE_INPUT_REQUIRED", &["ask", "this"], "complete").await;
    assert_eq!(answered.len(), 1);
    assert_eq!(*text(&answered[0][0]), json!("this"));
}

#[tokio::test]
async fn what_authorizes_is_not_given_back() {
    let asked = calls("TASK_STATE_WORKING", &["auth"], "requireAuth").await;
    assert_eq!(asked.len(), 1);
    let answered = calls("TASK_STATE_AUTH_REQUIRED", &["auth", "my-token"], "complete").await;
    assert!(!answered[0].to_string().contains("my-token"));
}

#[tokio::test]
async fn it_fails_and_rejects_as_asked() {
    let failed = calls("TASK_STATE_WORKING", &["fail no luck"], "fail").await;
    let words = &failed[0][0]["fail"]["statusMessage"]["parts"];
    assert_eq!(*words, json!([{"text": "no luck"}]));
    let rejected = calls("TASK_STATE_WORKING", &["reject"], "reject").await;
    assert_eq!(rejected[0].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn it_replies_where_there_is_no_task_yet() {
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Demo);
    let direct = |lease: &mut Value| lease["direct"] = json!(true);
    surface.queue_changed("a", "TASK_STATE_SUBMITTED", &["say hello there"], direct);
    surface.until("the reply", |book| book.of("/tasks/a:reply").len() == 1).await;
    // Anywhere else the words are the task's last.
    surface.queue("b", "TASK_STATE_SUBMITTED", &["say hello there"]);
    surface.until("the end", |book| book.updates("b").len() == 1).await;
    // What is no reply makes the task.
    surface.queue_changed("c", "TASK_STATE_SUBMITTED", &["hello"], direct);
    surface.until("the end", |book| book.updates("c").len() == 1).await;
    worker.stop().await;
    surface.look(|book| {
        let reply = book.of("/tasks/a:reply")[0];
        assert_eq!((reply.lease.as_deref(), reply.epoch.as_deref()), (Some("lease-a"), Some("7")));
        assert_eq!(reply.body["message"]["parts"], json!([{"text": "hello there"}]));
        let ended = &book.updates("b")[0][0]["complete"];
        assert_eq!(ended["statusMessage"]["parts"], json!([{"text": "hello there"}]));
        assert_eq!(book.updates("c")[0].as_array().map(Vec::len), Some(2));
        assert!(book.of(":release").is_empty());
    });
}

/// A reply whose answer is lost is made again; that there is nothing to reply to any more says that it arrived.
#[tokio::test]
async fn a_reply_ends_the_turn_whether_it_is_heard_of_or_not() {
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Demo);
    let direct = |lease: &mut Value| lease["direct"] = json!(true);
    let gone = || refusal(404, "TASK_NOT_FOUND", "");
    surface.plan_applies([Answer::Broken, gone(), gone()]);
    surface.queue_changed("a", "TASK_STATE_SUBMITTED", &["say hello"], direct);
    surface.until("a second try", |book| book.of("/tasks/a:reply").len() == 2).await;
    surface.queue_changed("b", "TASK_STATE_SUBMITTED", &["say hello"], direct);
    surface.until("a try", |book| book.of("/tasks/b:reply").len() == 1).await;
    surface.queue_changed("c", "TASK_STATE_SUBMITTED", &["say hello"], direct);
    surface.until("another", |book| book.of("/tasks/c:reply").len() == 1).await;
    worker.stop().await;
    surface.look(|book| {
        assert!(book.of(":release").is_empty() && book.of(":apply").is_empty());
        assert_eq!(book.of(":reply").len(), 4);
    });
}
