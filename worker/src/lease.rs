//! The leases this worker holds, and what is known of each.
//!
//! What a heartbeat brings back (the lease is gone, the client cancelled or wrote again, the platform wants to drain) is left with
//! the lease, where the agent's context and the turn that runs it look.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use wire::worker::LeaseStatus;
use wire::{Message, TaskState};

use crate::client::LeaseKey;
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
    /// Until when the lease lives without another heartbeat, as far as the platform told.
    until: Mutex<Instant>,
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

    /// Until when the lease lives without another heartbeat.
    pub(crate) fn until(&self) -> Instant {
        *locked(&self.until)
    }

    /// Asks for the work to be given back.
    pub(crate) fn stop(&self, reason: &'static str) {
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
    pub(crate) fn hear(&self, answer: LeaseStatus) {
        let state = Some(answer.state).filter(|state| *state != TaskState::Unspecified);
        if answer.cancel {
            self.lose("the task was canceled", state.or(Some(TaskState::Canceled)));
        } else if !answer.held {
            if !self.closing.load(Ordering::Relaxed) {
                let reason = Some(answer.reason.as_str()).filter(|reason| !reason.is_empty());
                self.lose(reason.unwrap_or("the platform took it back"), state);
            }
        } else {
            *locked(&self.until) = Instant::now() + seconds(answer.seconds_left);
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
    /// Which of them are to be asked after at once.
    stirred: Mutex<HashSet<String>>,
    stir: Notify,
}

impl Leases {
    /// Takes up a lease that was just claimed.
    pub(crate) fn hold(&self, key: LeaseKey, task: &str, seconds_left: f64) -> Arc<Held> {
        let now = Instant::now();
        let held = Arc::new(Held {
            task: task.to_owned(),
            since: now,
            until: Mutex::new(now + seconds(seconds_left)),
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

    /// Those that are at least so old, or were stirred.
    pub(crate) fn due(&self, age: Duration) -> Vec<Arc<Held>> {
        let stirred = std::mem::take(&mut *locked(&self.stirred));
        let due = |held: &&Arc<Held>| held.since.elapsed() >= age || stirred.contains(&held.key.lease);
        locked(&self.held).values().filter(due).cloned().collect()
    }

    /// Asks after these leases at the next heartbeat, however young they are. Strangers' are left out.
    pub(crate) fn mark(&self, leases: impl IntoIterator<Item = String>) -> bool {
        let held = locked(&self.held);
        let mut stirred = locked(&self.stirred);
        stirred.extend(leases.into_iter().filter(|lease| held.contains_key(lease)));
        !stirred.is_empty()
    }

    /// Asks after a lease now.
    pub(crate) fn stir(&self, lease: &str) {
        if self.mark([lease.to_owned()]) {
            self.stir.notify_one();
        }
    }

    /// Asks after every lease now.
    pub(crate) fn stir_all(&self) {
        let all: Vec<String> = locked(&self.held).keys().cloned().collect();
        if self.mark(all) {
            self.stir.notify_one();
        }
    }

    /// Waits until leases are to be asked after at once.
    pub(crate) async fn stirred(&self) {
        self.stir.notified().await;
    }
}

/// A time of the platform's; one that makes no sense is none.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default().min(Duration::from_secs(86_400))
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
