//! The leases this worker holds, and the one task that keeps them.
//!
//! Heartbeats run apart from the agents, so that a busy agent does not lose its lease, and all due
//! leases share one call. What a heartbeat brings back (the lease is gone, the client cancelled or
//! wrote again, the platform wants to drain) is left with the lease, where the agent's context and
//! the turn that runs it look. A lease younger than half a heartbeat is left out: quick tasks,
//! which are most, never cost a heartbeat.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tracing::{debug, info, warn};
use wire::worker::{HeartbeatRequest, HeldLease, LeaseStatus};
use wire::{Message, TaskState};

use crate::backoff::Backoff;
use crate::client::{Client, LeaseKey};
use crate::error::Error;

/// How a lease stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Standing {
    /// Ours.
    Held,
    /// Ours, but the work is to be given back; why.
    Stopping { reason: &'static str },
    /// Not ours any more; why, and the task's state where known.
    Lost { reason: String, state: Option<TaskState> },
}

/// One lease.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) key: LeaseKey,
    pub(crate) task: String,
    since: Instant,
    standing: watch::Sender<Standing>,
    drain: watch::Sender<bool>,
    /// Set once the last call of the lease is on its way: that the lease ends is then no news.
    closing: AtomicBool,
    inbox: Mutex<VecDeque<Message>>,
    arrival: Notify,
}

impl Held {
    /// The error that says the lease is gone, once it is.
    pub(crate) fn lost(&self) -> Option<Error> {
        match &*self.standing.borrow() {
            Standing::Lost { reason, state } => {
                Some(Error::Lost { task: self.task.clone(), reason: reason.clone(), state: *state })
            }
            Standing::Held | Standing::Stopping { .. } => None,
        }
    }

    /// Notes that the lease is gone. The first reason stays.
    pub(crate) fn lose(&self, reason: &str, state: Option<TaskState>) {
        self.standing.send_if_modified(|standing| {
            if matches!(standing, Standing::Lost { .. }) {
                return false;
            }
            *standing = Standing::Lost { reason: reason.to_owned(), state };
            true
        });
    }

    /// Asks for the work to be given back.
    fn stop(&self, reason: &'static str) {
        self.standing.send_if_modified(|standing| {
            let held = *standing == Standing::Held;
            if held {
                *standing = Standing::Stopping { reason };
            }
            held
        });
    }

    /// Notes that the lease's last call is on its way.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Waits until the lease stands otherwise than held, and tells how.
    pub(crate) async fn end(&self) -> Standing {
        when(&self.standing, |standing| *standing != Standing::Held).await
    }

    /// Waits until the lease is lost.
    pub(crate) async fn gone(&self) {
        when(&self.standing, |standing| matches!(standing, Standing::Lost { .. })).await;
    }

    /// Whether the work should come to an end soon.
    pub(crate) fn is_draining(&self) -> bool {
        *self.drain.borrow()
    }

    /// Waits until the work should come to an end soon.
    pub(crate) async fn drained(&self) {
        when(&self.drain, |drain| *drain).await;
    }

    fn deliver(&self, messages: Vec<Message>) {
        if messages.is_empty() {
            return;
        }
        locked(&self.inbox).extend(messages);
        self.arrival.notify_waiters();
    }

    /// The messages that arrived since the last look.
    pub(crate) fn take_messages(&self) -> Vec<Message> {
        locked(&self.inbox).drain(..).collect()
    }

    /// Waits for the client's next message.
    pub(crate) async fn next_message(&self) -> Message {
        loop {
            let mut arrival = std::pin::pin!(self.arrival.notified());
            arrival.as_mut().enable();
            if let Some(message) = locked(&self.inbox).pop_front() {
                return message;
            }
            arrival.await;
        }
    }

    /// What a heartbeat said of this lease.
    fn hear(&self, answer: LeaseStatus) {
        let state = Some(answer.state).filter(|state| *state != TaskState::Unspecified);
        if answer.cancel {
            self.lose("the task was canceled", state.or(Some(TaskState::Canceled)));
        } else if !answer.held {
            if !self.closing.load(Ordering::Relaxed) {
                let reason = Some(answer.reason.as_str()).filter(|reason| !reason.is_empty());
                self.lose(reason.unwrap_or("the platform took it back"), state);
            }
        } else {
            self.deliver(answer.messages);
            if answer.drain {
                self.drain.send_replace(true);
            }
        }
    }
}

/// Every lease held at the moment.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    held: Mutex<HashMap<String, Arc<Held>>>,
}

impl Leases {
    /// Takes up a lease that was just claimed.
    pub(crate) fn hold(&self, key: LeaseKey, task: &str) -> Arc<Held> {
        let held = Arc::new(Held {
            task: task.to_owned(),
            since: Instant::now(),
            standing: watch::Sender::new(Standing::Held),
            drain: watch::Sender::new(false),
            closing: AtomicBool::new(false),
            inbox: Mutex::default(),
            arrival: Notify::new(),
            key,
        });
        locked(&self.held).insert(held.key.lease.clone(), held.clone());
        held
    }

    /// Lets go of a lease.
    pub(crate) fn let_go(&self, held: &Held) {
        locked(&self.held).remove(&held.key.lease);
    }

    /// How many are held.
    pub(crate) fn len(&self) -> usize {
        locked(&self.held).len()
    }

    /// Tells every agent that its work should come to an end soon.
    pub(crate) fn drain(&self) {
        locked(&self.held).values().for_each(|held| {
            held.drain.send_replace(true);
        });
    }

    /// Asks for all work to be given back now.
    pub(crate) fn stop(&self) {
        locked(&self.held).values().for_each(|held| held.stop("the worker is stopping"));
    }

    fn due(&self, age: Duration) -> Vec<Arc<Held>> {
        let held = locked(&self.held);
        held.values().filter(|held| held.since.elapsed() >= age).cloned().collect()
    }
}

/// What the platform dictated when the session was opened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pace {
    pub(crate) session: String,
    pub(crate) heartbeat: Duration,
}

/// Keeps the leases until the future is dropped.
pub(crate) async fn keep(client: Client, leases: Arc<Leases>, mut pace: watch::Receiver<Pace>) {
    // Failures are retried sooner than the next beat would come, so that one lost answer or one
    // restarting replica costs no lease.
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
    let mut retry = None;
    loop {
        let Pace { session, heartbeat } = pace.borrow_and_update().clone();
        tokio::select! {
            () = tokio::time::sleep(retry.take().unwrap_or(heartbeat).min(heartbeat)) => {}
            changed = pace.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        }
        let due = leases.due(heartbeat / 2);
        if due.is_empty() {
            backoff.reset();
            continue;
        }
        match beat(&client, session, &due).await {
            Ok(()) => {
                if backoff.failures() > 0 {
                    info!(leases = due.len(), "heartbeats go through again");
                }
                backoff.reset();
            }
            Err(error) => {
                retry = Some(backoff.next());
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

/// Waits for a value of that kind.
async fn when<T: Clone>(value: &watch::Sender<T>, kind: impl FnMut(&T) -> bool) -> T {
    let found = value.subscribe().wait_for(kind).await.map(|value| value.clone());
    match found {
        Ok(value) => value,
        // The sender is borrowed here, so it cannot have gone.
        Err(_) => std::future::pending().await,
    }
}

/// The lock's content, also after a panic elsewhere: what it guards is whole at every step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
