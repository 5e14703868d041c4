//! Calls whose answers are lost are made again under the same key, and nothing is told twice.

use serde_json::json;
use wire::Part;
use worker::{Context, Outcome, agent_fn};

use crate::agents::Streaming;
use crate::surface::{Answer, Surface};
use crate::{Running, options};

#[tokio::test]
async fn an_append_whose_answer_was_lost_is_repeated_under_its_key() {
    for lost in [Answer::Broken, Answer::Of(500, json!({})), Answer::Of(200, json!("cut"))] {
        let surface = Surface::start().await;
        surface.plan_applies([lost.clone()]);
        let worker = Running::start(options(&surface.url), Streaming);
        surface.queue("a", "TASK_STATE_WORKING", &["anything"]);
        surface.until("the end", |book| book.updates("a").len() == 4).await;
        worker.stop().await;
        surface.look(|book| {
            let calls = book.of(":apply");
            let keys: Vec<_> = calls.iter().map(|call| call.key.as_deref()).collect();
            assert_eq!(keys, [Some("1"), Some("1"), Some("2"), None], "the end shows by itself");
            assert_eq!(calls[0].body, calls[1].body);
            assert!(book.of(":release").is_empty());
        });
    }
}

/// What an agent does not wait for is told all the same, once and in order.
#[tokio::test]
async fn a_report_that_is_dropped_is_brought_to_its_end_by_the_next() {
    let surface = Surface::start().await;
    surface.plan_applies([Answer::Stuck]);
    let agent = agent_fn(|ctx: Context| async move {
        ctx.then().begin(worker::artifact("stream", "one "));
        // Dropped on its way: the platform may have it, or not.
        tokio::select! {
            sent = ctx.append("stream", vec![Part::text("two ")], false) => sent?,
            _ = ctx.next_message() => {}
        }
        ctx.append("stream", vec![Part::text("three")], true).await?;
        Ok(Outcome::complete())
    });
    let worker = Running::start(options(&surface.url), agent);
    surface.queue("a", "TASK_STATE_WORKING", &["anything"]);
    surface.until("the first call", |book| book.updates("a").len() == 1).await;
    let message = json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "enough"}]});
    surface.plan_beats("lease-a", json!({"messages": [message]}));
    surface.until("the end", |book| book.updates("a").len() == 4).await;
    worker.stop().await;
    surface.look(|book| {
        let calls = book.of(":apply");
        let keys: Vec<_> = calls.iter().map(|call| call.key.as_deref()).collect();
        assert_eq!(keys, [Some("1"), Some("1"), Some("2"), None]);
        assert_eq!(calls[0].body, calls[1].body);
        let text = &calls[2].body["updates"][0]["artifact"]["artifact"]["parts"][0]["text"];
        assert_eq!(*text, json!("three"));
    });
}
