//! Keeps the leases: heartbeats, and the control stream that makes some of them come earlier.
//!
//! It runs on a thread of its own, with connections of its own, so that no agent can keep it from its work: neither one that is
//! always busy nor one that blocks every thread of the runtime. All due leases share one call. A lease younger than half a heartbeat
//! is left out: quick tasks, which are most, never cost a heartbeat.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tracing::instrument::WithSubscriber as _;
use tracing::{debug, info, warn};
use wire::worker::{HeartbeatRequest, HeldLease, LeaseStatus};

use crate::backoff::Backoff;
use crate::client::Client;
use crate::control::listen;
use crate::error::Error;
use crate::lease::{Held, Leases};

/// What the platform dictated when the session was opened; the session is empty until then.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pace {
    pub(crate) session: String,
    pub(crate) heartbeat: Duration,
}

/// The thread that keeps the leases. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    _stop: oneshot::Sender<()>,
}

impl Keeper {
    /// Starts it. `client` is its own: connections of another runtime stand still with that.
    pub(crate) fn start(client: Client, leases: Arc<Leases>, pace: watch::Receiver<Pace>) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Options(format!("starting the thread for heartbeats: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let work = async move {
            tokio::select! {
                _ = stopped => {}
                () = keep(&client, &leases, pace.clone()) => {}
                () = listen(&client, &leases, pace) => {}
            }
        };
        let work = work.with_current_subscriber();
        std::thread::Builder::new()
            .name("taskyard-keeper".to_owned())
            .spawn(move || runtime.block_on(work))
            .map_err(failed)?;
        Ok(Self { _stop: stop })
    }
}

/// Sends heartbeats as long as there is somebody who opens sessions.
async fn keep(client: &Client, leases: &Leases, mut pace: watch::Receiver<Pace>) {
    // Failures are retried sooner than the next beat would come, so that one lost answer or one
    // restarting replica costs no lease.
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
    let mut last = Instant::now();
    let mut retry = None;
    loop {
        let Pace { session, heartbeat } = pace.borrow_and_update().clone();
        let next = retry.map_or(last + heartbeat, |retry: Instant| retry.min(last + heartbeat));
        tokio::select! {
            () = sleep_until(next) => last = Instant::now(),
            () = leases.stirred() => {}
            changed = pace.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        }
        retry = None;
        let due = leases.due(heartbeat / 2);
        if due.is_empty() {
            backoff.reset();
            continue;
        }
        match beat(client, session, &due).await {
            Ok(()) => {
                if backoff.failures() > 0 {
                    info!(leases = due.len(), "heartbeats go through again");
                }
                backoff.reset();
            }
            Err(error) => {
                leases.mark(due.iter().map(|held| held.key.lease.clone()));
                retry = Some(Instant::now() + backoff.next());
                warn!(leases = due.len(), error = error.chain(), "heartbeats did not go through");
            }
        }
    }
}

async fn beat(client: &Client, session: String, due: &[Arc<Held>]) -> Result<(), Error> {
    let leases = due.iter().map(|held| HeldLease { lease: held.key.lease.clone(), epoch: held.key.epoch }).collect();
    let answer = client.heartbeat(&HeartbeatRequest { leases, session }).await?;
    debug!(leases = due.len(), "sent heartbeats");
    let mut said: HashMap<String, LeaseStatus> =
        answer.leases.into_iter().map(|lease| (lease.lease.clone(), lease)).collect();
    for unreadable in answer.unreadable {
        let lease = unreadable.key.map(|key| key.lease).unwrap_or_default();
        warn!(lease, error = unreadable.error, "what a heartbeat brought cannot be read, giving the task back");
        // A cancel may be in it, or a message that comes with no other heartbeat; the next lease has all of it.
        if let Some(held) = due.iter().find(|held| held.key.lease == lease) {
            held.stop("the worker cannot read what became of the lease");
        }
    }
    for held in due {
        if let Some(answer) = said.remove(&held.key.lease) {
            held.hear(answer);
        }
    }
    Ok(())
}
