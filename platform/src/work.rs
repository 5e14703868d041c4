//! `taskyard worker`: the built-in agents on the public worker surface. It needs a URL, and no database.

use crate::cli::refuse;
use crate::config::Run;
use crate::{Config, Failure, Shutdown};
use worker::builtin::{Demo, Exec, Http};
use worker::{Options, Roster, Worker};

/// Pulls tasks until it is told to stop, then finishes what it holds.
///
/// # Errors
/// There is nothing to run, it cannot be run, or the platform refuses the worker.
pub async fn run(config: Config, shutdown: Shutdown) -> Result<(), Failure> {
    let Some((worker, agents)) = worker(&config, &config.worker.url)? else {
        return Err(refuse(
            "there is no agent to work for: name one with --agents, with --exec or --http if it is not to echo, \
             or say in its table how it runs ([agent.run])"
                .to_owned(),
        ));
    };
    let Config { worker: config, .. } = config;
    tracing::info!(url = config.url, agents = agents.names().join(","), concurrency = config.concurrency, "working");
    worker.run(agents, async move { shutdown.requested().await }).await?;
    Ok(())
}

/// A worker of the platform at `url`, and what it runs; nothing where no agent is to be run.
pub(crate) fn worker(config: &Config, url: &str) -> Result<Option<(Worker, Roster)>, Failure> {
    let mut roster = Roster::default();
    for (name, run) in &config.worker.agents {
        let wrong = |error: worker::Error| refuse(format!("the agent `{name}`: {error}"));
        roster = match run.clone() {
            Run::Echo => roster.with(name, Demo),
            Run::Exec { command, timeout, grace, messages } => {
                let mut exec = Exec::new(command).map_err(wrong)?.with_grace(grace);
                if let Some(timeout) = timeout {
                    exec = exec.with_timeout(timeout);
                }
                roster.with(name, if messages { exec.with_messages() } else { exec })
            }
            Run::Http { url, timeout } => roster.with(name, Http::new(&url, timeout).map_err(wrong)?),
        };
    }
    let agents = roster.names();
    if agents.is_empty() {
        return Ok(None);
    }
    let key = config.worker.key.as_ref().map(|key| key.reveal().clone());
    let concurrency = config.worker.concurrency;
    let options = Options { url: url.to_owned(), key, agents, concurrency, ..Options::default() };
    Ok(Some((Worker::new(options)?, roster)))
}
