//! Whole tasks whose worker reports at once, against the same whose worker reports step by step: what a batch saves.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::platform::Platform;
use crate::worker::{Held, Worker};

/// How a worker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// One `:apply`.
    Batch,
    /// `:work`, an `:update_artifact` for each artifact, `:complete`.
    Steps,
}

impl Way {
    /// What such a run measures, for people.
    pub(crate) fn note(self, artifacts: usize) -> String {
        let calls = match self {
            Way::Batch => "one `:apply`".to_owned(),
            Way::Steps => format!("`:work`, {artifacts} times `:update_artifact`, `:complete`"),
        };
        format!("send, claim and {calls}, by the same client")
    }
}

/// Artifacts of a task, and how its runs are called.
pub(crate) const SIZES: [(usize, &str, &str); 2] =
    [(1, "batch of 1", "steps of 1"), (10, "batch of 10", "steps of 10")];

/// One client, which is its task's worker too: a call sends a message, claims a task and works on it to its end.
///
/// # Errors
/// The platform refuses the worker.
pub(crate) async fn client(
    platform: Rc<Platform>,
    number: usize,
    agent: &str,
    artifacts: usize,
    way: Way,
) -> Result<impl AsyncFnMut() -> Result<(), String> + 'static, String> {
    let worker = Worker::introduce(platform, number, agent).await?;
    let artifacts: Rc<[Value]> = (0..artifacts).map(artifact).collect();
    Ok(async move || {
        worker.send("updates").await?;
        // Perhaps another client's; then that one gets this one's.
        for held in worker.poll(1, false).await? {
            report(&held, &artifacts, way).await?;
        }
        Ok(())
    })
}

async fn report(held: &Held, artifacts: &[Value], way: Way) -> Result<(), String> {
    match way {
        Way::Batch => {
            let updates = artifacts.iter().map(|artifact| json!({"artifact": artifact}));
            let updates = std::iter::once(json!({"work": {}})).chain(updates).chain([json!({"complete": {}})]);
            held.apply(updates.collect()).await
        }
        Way::Steps => {
            held.call("work", &json!({})).await?;
            for artifact in artifacts {
                held.call("update_artifact", artifact).await?;
            }
            held.call("complete", &json!({})).await
        }
    }
}

fn artifact(number: usize) -> Value {
    let artifact = json!({"artifactId": format!("artifact-{number}"), "parts": [{"text": "about as long as a short line of text"}]});
    json!({"artifact": artifact, "lastChunk": true})
}
