//! One turn: a claimed task, run by its agent, brought to an end whatever happens.
//!
//! However the run ends, the lease ends with it: by the agent's move, by a failure reported in its
//! stead, or given back. Only a lease that is lost already needs nothing.

use std::error::Error as StdError;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::timeout;
use tracing::{Instrument as _, debug, error, info, info_span, warn};
use wire::worker::{Lease, ReleaseRequest, StatusChange};

use crate::agent::{Agent, End, Ending, Outcome};
use crate::client::{Client, LeaseKey};
use crate::context::Context;
use crate::error::{Error, chain};
use crate::lease::{Held, Leases, Standing};
use crate::text::message;

/// How long an agent may clean up after it was told that its lease is lost, or that the worker stops now.
const CLEAN_UP: Duration = Duration::from_secs(1);

/// How a run came to its end.
enum Run {
    Ended(Box<crate::agent::Result>),
    Panicked,
    /// The work is to be given back; why.
    Stopped(&'static str),
    Lost,
}

/// Works one lease from claim to end.
pub(crate) async fn work(client: Client, leases: Arc<Leases>, agent: Arc<dyn Agent>, lease: Lease) {
    let key = LeaseKey { lease: lease.lease.clone(), epoch: lease.epoch };
    let held = leases.hold(key, &lease.task.id, lease.seconds_left);
    let context = Context::new(client.clone(), lease, held.clone());
    debug!(task.id = held.task, attempt = context.lease().attempt, "working");
    let run = run(agent, &context, &held).await;
    let ended = end(&context, &held, run).await;
    if let Err(reason) = ended {
        give_back(&client, &held.key, &held.task, reason).await;
    }
    leases.let_go(&held);
    held.lose("the turn is over", None);
}

async fn run(agent: Arc<dyn Agent>, context: &Context, held: &Held) -> Run {
    let trace = context.trace_context().map(|trace| trace.traceparent.as_str());
    let span = info_span!("task", id = held.task, agent = context.agent(), attempt = context.attempt(), trace);
    let work = async { agent.run(context.clone()).await }.instrument(span);
    let mut work = std::pin::pin!(AssertUnwindSafe(work).catch_unwind().map(|ended| match ended {
        Ok(result) => Run::Ended(Box::new(result)),
        Err(_) => Run::Panicked,
    }));
    let standing = tokio::select! {
        biased;
        ended = &mut work => return ended,
        standing = held.end() => standing,
        never = context.keep_flowing() => match never {},
    };
    // The agent heard it too, and may have something to put away.
    match standing {
        Standing::Held | Standing::Stopping { .. } => {
            let reason = if let Standing::Stopping { reason } = standing { reason } else { "the worker is stopping" };
            timeout(CLEAN_UP, work).await.unwrap_or(Run::Stopped(reason))
        }
        Standing::Lost { reason, .. } => {
            info!(task.id = held.task, reason, "the lease is lost, the agent stops");
            // What it says now is moot.
            let _ = timeout(CLEAN_UP, work).await;
            Run::Lost
        }
    }
}

/// Reports how the run ended; `Err` with a reason asks for the lease to be given back.
async fn end(context: &Context, held: &Held, run: Run) -> Result<(), String> {
    match run {
        Run::Lost => Ok(()),
        Run::Stopped(reason) => Err(reason.to_owned()),
        Run::Ended(result) => match *result {
            Ok(outcome) => conclude(context, held, outcome).await,
            Err(error) => break_off(context, held, error).await,
        },
        Run::Panicked => {
            error!(task.id = held.task, agent = context.agent(), "the agent panicked");
            fail(context, held, "the agent broke off: it has a fault".to_owned()).await
        }
    }
}

/// Ends the turn as the agent said.
async fn conclude(context: &Context, held: &Held, outcome: Outcome) -> Result<(), String> {
    if let Err(error) = context.check() {
        return break_off(context, held, Box::new(error)).await;
    }
    let (to, body) = match outcome.0 {
        End::Move { to, message, metadata } => (to, StatusChange { status_message: message, metadata }),
        // Nothing was reported and nothing is gathered: there may be no task to complete.
        End::Reply(message) if context.is_untouched() => {
            return concluded(context, held, context.reports().reply(message).await).await;
        }
        End::Reply(message) => (Ending::Complete, StatusChange { status_message: Some(message), metadata: None }),
        End::Release { delay, reason, failed } => {
            if let Err(error) = context.flush().await {
                return without(held, error);
            }
            held.close();
            let delay_seconds = (!delay.is_zero()).then_some(delay.as_secs_f64());
            let request = ReleaseRequest { delay_seconds, reason, failed, ..ReleaseRequest::default() };
            release(context.client(), &held.key, &held.task, request).await;
            return Ok(());
        }
    };
    let last = to.update(body);
    let updates = || context.take_gathered().into_iter().chain([last]).collect();
    concluded(context, held, context.reports().finish(updates, to.target()).await).await
}

async fn concluded(context: &Context, held: &Held, reported: Result<(), Error>) -> Result<(), String> {
    match reported {
        Ok(()) => Ok(()),
        Err(error) => match error.refusal().filter(|_| !error.is_passing()) {
            Some(refusal) => {
                warn!(task.id = held.task, error = error.chain(), "the end of the run was refused");
                fail(context, held, format!("the agent's answer was refused: {}", refusal.message)).await
            }
            None => without(held, error),
        },
    }
}

/// Ends the turn of an agent that returned an error: its own, or one that a report ran into.
async fn break_off(context: &Context, held: &Held, error: Box<dyn StdError + Send + Sync>) -> Result<(), String> {
    match error.downcast::<Error>() {
        Ok(error) => match error.refusal().filter(|_| !error.is_passing()) {
            Some(refusal) => {
                warn!(task.id = held.task, error = error.chain(), "a report of the agent was refused");
                fail(context, held, format!("the agent's report was refused: {}", refusal.message)).await
            }
            None => without(held, *error),
        },
        Err(error) => {
            info!(task.id = held.task, error = chain(&*error), "the agent failed the task");
            fail(context, held, error.to_string()).await
        }
    }
}

/// Fails the task, leaving out whatever was gathered: it may be what went wrong.
async fn fail(context: &Context, held: &Held, why: String) -> Result<(), String> {
    let body = StatusChange { status_message: Some(message(why)), metadata: None };
    match context.reports().break_off(Ending::Fail.update(body), Ending::Fail.target()).await {
        Ok(()) => Ok(()),
        Err(error) => without(held, error),
    }
}

/// What follows when the end could not be reported.
fn without(held: &Held, error: Error) -> Result<(), String> {
    if let Error::Lost { reason, .. } = &error {
        info!(task.id = held.task, reason, "the lease was lost before the end was reported");
        return Ok(());
    }
    warn!(task.id = held.task, error = error.chain(), "giving the task back");
    Err(error.to_string())
}

/// Releases a lease. That is a courtesy: what does not arrive ends with the lease.
pub(crate) async fn give_back(client: &Client, key: &LeaseKey, task: &str, reason: String) {
    release(client, key, task, ReleaseRequest { reason, ..ReleaseRequest::default() }).await;
}

/// Fails a task that no other try would help. A release for another try would bring it back at once.
pub(crate) async fn give_up(client: &Client, key: &LeaseKey, task: &str, reason: String) {
    release(client, key, task, ReleaseRequest { reason, retryable: Some(false), ..ReleaseRequest::default() }).await;
}

async fn release(client: &Client, key: &LeaseKey, task: &str, request: ReleaseRequest) {
    match client.release(key, &request).await {
        Ok(()) => debug!(task.id = task, "released"),
        Err(error) if error.refusal().is_some_and(|refusal| refusal.status < 500) => {
            debug!(task.id = task, error = error.chain(), "the lease had ended");
        }
        Err(error) => warn!(task.id = task, error = error.chain(), "the lease was not released"),
    }
}
