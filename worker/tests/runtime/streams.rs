//! Artifacts that are written in pieces.

use std::time::Duration;

use serde_json::{Value, json};
use wire::Part;
use worker::{Context, Outcome, agent_fn};

use crate::surface::{Surface, refusal};
use crate::{Running, options};

const WORKING: &str = "TASK_STATE_WORKING";

/// The chunks of an update, each as its text, whether it extends and whether it is the last.
fn chunks(calls: &[Value]) -> Vec<(String, bool, bool)> {
    let updates = calls.iter().flat_map(|call| call.as_array().unwrap());
    let artifacts = updates.filter_map(|update| update.get("artifact"));
    let is = |value: &Value, name: &str| value.get(name) == Some(&json!(true));
    artifacts
        .map(|chunk| {
            let text = chunk["artifact"]["parts"][0]["text"].as_str().unwrap().to_owned();
            (text, is(chunk, "append"), is(chunk, "lastChunk"))
        })
        .collect()
}

fn chunk(text: &str, append: bool, last: bool) -> (String, bool, bool) {
    (text.to_owned(), append, last)
}

#[tokio::test]
async fn pieces_travel_together_and_with_the_end() {
    let surface = Surface::start().await;
    let agent = agent_fn(|ctx: Context| async move {
        let mut words = ctx.stream("words").named("Words").batched(1_000, Duration::from_secs(60));
        for _ in 0..150 {
            words.text("0123456789").await?;
        }
        words.text("end").await?;
        words.finish_later();
        Ok(Outcome::complete())
    });
    let worker = Running::start(options(&surface.url), agent);
    surface.queue("a", WORKING, &["go"]);
    surface.until("the end", |book| book.updates("a").len() == 2).await;
    worker.stop().await;
    let calls = surface.look(|book| book.updates("a"));
    assert_eq!(calls[0][0]["artifact"]["artifact"]["name"], json!("Words"));
    assert_eq!(calls[1][1], json!({"complete": {}}));
    let tens = "0123456789";
    let all = [chunk(&tens.repeat(100), false, false), chunk(&format!("{}end", tens.repeat(50)), true, true)];
    assert_eq!(chunks(&calls), all);
}

#[tokio::test]
async fn a_piece_is_sent_when_it_is_old_whatever_the_agent_waits_for() {
    let surface = Surface::start().await;
    let agent = agent_fn(|ctx: Context| async move {
        let mut words = ctx.stream("words").batched(1_000, Duration::from_millis(20));
        words.text("one ").await?;
        words.text("two ").await?;
        ctx.next_message().await;
        words.text("three").await?;
        // What is reported meanwhile comes after what was written before.
        ctx.progress("soon").await?;
        words.finish().await?;
        Ok(Outcome::complete())
    });
    let worker = Running::start(options(&surface.url), agent);
    surface.queue("a", WORKING, &["go"]);
    surface.until("the first chunk", |book| book.updates("a").len() == 1).await;
    let message = json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "more"}]});
    surface.plan_beats("lease-a", json!({"messages": [message]}));
    surface.until("the end", |book| book.updates("a").len() == 4).await;
    worker.stop().await;
    let calls = surface.look(|book| book.updates("a"));
    let all = [chunk("one two ", false, false), chunk("three", true, false), chunk("", true, true)];
    assert_eq!(chunks(&calls), all);
    assert!(calls[1][0].get("artifact").is_some() && calls[1][1].get("progress").is_some());
}

#[tokio::test]
async fn an_unfinished_artifact_begins_anew_or_goes_on() {
    let surface = Surface::start().await;
    let agent = agent_fn(|ctx: Context| async move {
        let mut anew = ctx.stream("anew");
        anew.text("all of it").await?;
        anew.finish_later();
        let left = ctx.unfinished("on").map(|left| left.chunks);
        let mut on = ctx.stream("on").resumed();
        on.text(format!("after {left:?}")).await?;
        on.finish_later();
        let mut other = ctx.stream("other").resumed();
        other.part(Part::text("new")).await?;
        other.finish_later();
        Ok(Outcome::complete())
    });
    let worker = Running::start(options(&surface.url), agent);
    let left = json!([
        {"artifactId": "anew", "chunks": 2, "bytes": 20},
        {"artifactId": "on", "chunks": 3, "bytes": "30"},
    ]);
    surface.queue_changed("a", WORKING, &["go"], |lease| lease["unfinishedArtifacts"] = left);
    surface.until("the end", |book| book.updates("a").len() == 1).await;
    worker.stop().await;
    let all = [chunk("all of it", false, true), chunk("after Some(3)", true, true), chunk("new", false, true)];
    assert_eq!(chunks(&surface.look(|book| book.updates("a"))), all);
}

#[tokio::test]
async fn a_chunk_that_is_refused_meanwhile_fails_the_task() {
    let surface = Surface::start().await;
    surface.plan_applies([refusal(400, "INVALID_PARAMS", "")]);
    let agent = agent_fn(|ctx: Context| async move {
        let mut words = ctx.stream("words").batched(1_000, Duration::from_millis(1));
        words.text("too much").await?;
        // Whatever it waits for; the refusal comes meanwhile.
        ctx.next_message().await;
        Ok(Outcome::complete())
    });
    let worker = Running::start(options(&surface.url), agent);
    surface.queue("a", WORKING, &["go"]);
    surface.until("the refused chunk", |book| book.updates("a").len() == 1).await;
    let message = json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "more"}]});
    surface.plan_beats("lease-a", json!({"messages": [message]}));
    surface.until("the failure", |book| book.updates("a").len() == 2).await;
    worker.stop().await;
    let failed = &surface.look(|book| book.updates("a"))[1][0]["fail"];
    assert!(failed.to_string().contains("refused: INVALID_PARAMS"), "{failed}");
}
