//! `taskyard worker`: the built-in agents on the public worker surface. It needs a URL, and no database.

use crate::{Config, Failure, Shutdown};
use worker::builtin::Demo;
use worker::{Options, Worker};

/// Pulls tasks until it is told to stop, then finishes what it holds.
///
/// # Errors
/// The worker could not be built, or the platform refuses it.
pub async fn run(config: Config, shutdown: Shutdown) -> Result<(), Failure> {
    let config = config.worker;
    tracing::info!(url = config.url, agents = config.agents.join(","), concurrency = config.concurrency, "working");
    demo(config.url, config.agents, config.concurrency)?.run(Demo, async move { shutdown.requested().await }).await?;
    Ok(())
}

/// A worker that answers for `agents` with the demo agent.
pub(crate) fn demo(url: String, agents: Vec<String>, concurrency: usize) -> Result<Worker, Failure> {
    Ok(Worker::new(Options { url, agents, concurrency, ..Options::default() })?)
}
