//! One lane's work while it is held: its next deliveries, strictly in order, one request at a time.
//!
//! Before each request the lease is looked at: who saw it longer than [`FRESH`] ago asks the database again. A deletion moves the lane's
//! fence and then waits a little longer than that, so no request is dialled after it answered.

use std::error::Error as _;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::clock::Clock;
use engine::signing::SigningKey;
use engine::store::delivery::{Held, Line, Pending, READ, Step, Tried};
use entity::push_delivery::State;
use futures_util::FutureExt;
use uuid::Uuid;

use crate::attempt::{Class, Notification, Outcome, Poison, Sender, Target};
use crate::flush::Flusher;
use crate::schedule::Schedule;
use crate::signer::Signers;

/// How long the sight of one's own lease is good for dialling.
pub(crate) const FRESH: Duration = Duration::from_millis(1500);

/// When to look again for the keys of a tenant that could not be read.
const KEYLESS: Duration = Duration::from_secs(5);

/// What all lanes of a notifier work with.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) sender: Sender,
    pub(crate) signers: Signers,
    pub(crate) schedule: Schedule,
    pub(crate) clock: Clock,
    pub(crate) flusher: Flusher,
    pub(crate) lease: Duration,
    pub(crate) stopping: AtomicBool,
}

/// What a holder knows of its lane.
#[derive(Debug)]
pub(crate) struct Lease {
    held: Held,
    length: Duration,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    verified: Instant,
    lost: bool,
    head: i64,
    attempts: i32,
}

impl Lease {
    /// A lane that was claimed by a statement begun at `claimed`.
    pub(crate) fn new(held: Held, length: Duration, claimed: Instant) -> Arc<Lease> {
        let inner = Inner { verified: claimed, lost: false, head: held.head, attempts: held.attempts };
        Arc::new(Lease { held, length, inner: Mutex::new(inner) })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A statement begun at `began` found the lane held.
    pub(crate) fn verified(&self, began: Instant) {
        self.inner().verified = began;
    }

    /// The lane is somebody else's, or closed.
    pub(crate) fn lose(&self) {
        self.inner().lost = true;
    }

    /// Whether the lease has certainly ended.
    pub(crate) fn over(&self) -> bool {
        self.inner().verified.elapsed() > self.length
    }

    fn fresh(&self) -> bool {
        let inner = self.inner();
        !inner.lost && inner.verified.elapsed() < FRESH
    }

    fn lost(&self) -> bool {
        self.inner().lost
    }

    fn move_to(&self, head: i64, attempts: i32) {
        let mut inner = self.inner();
        (inner.head, inner.attempts) = (head, attempts);
    }

    /// Where the lane stands, for the database.
    pub(crate) fn step(&self, due: i64, release: bool) -> Step {
        let Held { lane, holder, fence, .. } = self.held;
        let inner = self.inner();
        Step { lane, holder, fence, head: inner.head, attempts: inner.attempts, due, release }
    }
}

/// Bring what stands in `line`, and let go of the lane. The answer is when it is due again, if it is and that is known.
pub(crate) async fn work(place: Arc<Place>, lease: Arc<Lease>, line: Line) -> Option<i64> {
    let lane = lease.held.lane;
    let Some(receiver) = &line.receiver else { return None };
    let target = place.sender.target(lane, receiver);
    let keys = match place.signers.of(&lease.held.tenant, place.clock.now()).await {
        Ok(keys) => keys,
        Err(error) => {
            // Nothing goes out unsigned, and no attempt is spent on what is not the receiver's fault.
            tracing::warn!(%lane, %error, cause = error.source(), "notifications cannot be signed; looking again in a moment");
            let due = place.clock.now().saturating_add(KEYLESS.as_millis() as i64);
            return place.flusher.record(&lease, lease.step(due, true), None).await;
        }
    };
    if line.pending.is_empty() && lease.held.tail >= lease.held.head {
        tracing::error!(%lane, head = lease.held.head, "no delivery stands where the lane says; going on after the gap");
        lease.move_to((lease.held.head + READ).min(lease.held.tail + 1), 0);
    }
    let mut pending = line.pending.into_iter().peekable();
    while let Some(next) = pending.next() {
        let head = lease.inner().head;
        if next.sequence != head {
            tracing::error!(%lane, head, sequence = next.sequence, "deliveries are missing; going on after the gap");
            lease.move_to(next.sequence, 0);
        }
        if next.ended {
            lease.move_to(next.sequence + 1, 0);
            continue;
        }
        if place.stopping.load(Ordering::Relaxed) || !ensure(&place, &lease).await {
            break;
        }
        let sequence = next.sequence;
        let (tried, retry) = match AssertUnwindSafe(deliver(&place, &lease, &target, &keys, next)).catch_unwind().await
        {
            Ok(done) => done,
            Err(_) => {
                tracing::error!(%lane, sequence, "an attempt panicked");
                panicked(&place, &lease, sequence)
            }
        };
        if let Some(due) = retry {
            return place.flusher.record(&lease, lease.step(due, true), Some(tried)).await;
        }
        lease.move_to(sequence + 1, 0);
        if pending.peek().is_none() {
            return place.flusher.record(&lease, lease.step(place.clock.now(), true), Some(tried)).await;
        }
        place.flusher.hand_in(&lease, lease.step(until(&place), false), Some(tried));
    }
    place.flusher.record(&lease, lease.step(place.clock.now(), true), None).await
}

fn until(place: &Place) -> i64 {
    place.clock.now().saturating_add(place.lease.as_millis() as i64)
}

/// Make sure that the lane is held, and was seen to be a moment ago.
async fn ensure(place: &Place, lease: &Arc<Lease>) -> bool {
    while !lease.fresh() {
        if lease.lost() || lease.over() {
            return false;
        }
        // A step that goes nowhere makes the lease longer, and says whether there still is one.
        place.flusher.record(lease, lease.step(until(place), false), None).await;
    }
    true
}

/// One attempt at one delivery: what to record, and when to try again unless the delivery has ended.
async fn deliver(
    place: &Place,
    lease: &Lease,
    target: &Result<Target, Poison>,
    keys: &[SigningKey],
    pending: Pending,
) -> (Tried, Option<i64>) {
    let Pending { sequence, generation, body, .. } = pending;
    let lane = lease.held.lane;
    let at = place.clock.now();
    let attempt = lease.inner().attempts.saturating_add(1);
    let ready = target.as_ref().map_err(|poison| *poison).and_then(|target| Ok((target, target.body(body)?)));
    let (target, body) = match ready {
        Ok(ready) => ready,
        Err(poison) => {
            tracing::error!(%lane, sequence, %poison, "a notification cannot be sent; it is dead");
            return (tried(lane, sequence, attempt, at, internal(), State::Dead), None);
        }
    };
    let outcome = place.sender.send(target, Notification { lane, sequence, generation, body }, keys, at).await;
    if outcome.class == Class::Delivered {
        return (ended(place, tried(lane, sequence, attempt, at, outcome, State::Delivered)), None);
    }
    let wait = match outcome.class {
        Class::LiteralRefused => None,
        _ => place.schedule.after(attempt, outcome.hint),
    };
    tracing::debug!(%lane, sequence, attempt, outcome = outcome.class.as_str(), status = outcome.status, ?wait, "not delivered");
    failed(place, lease, tried(lane, sequence, attempt, at, outcome, State::Pending), wait)
}

/// An attempt whose code panicked has failed; the jitter may be what panicked, so the wait goes without.
fn panicked(place: &Place, lease: &Lease, sequence: i64) -> (Tried, Option<i64>) {
    let attempt = lease.inner().attempts.saturating_add(1);
    let at = place.clock.now();
    let tried = tried(lease.held.lane, sequence, attempt, at, internal(), State::Pending);
    failed(place, lease, tried, place.schedule.plain(attempt))
}

fn failed(place: &Place, lease: &Lease, tried: Tried, wait: Option<Duration>) -> (Tried, Option<i64>) {
    let Some(wait) = wait else {
        tracing::warn!(lane = %tried.lane, sequence = tried.sequence, attempts = tried.attempt, "a notification is dead");
        return (ended(place, Tried { state: State::Dead, ..tried }), None);
    };
    lease.move_to(tried.sequence, tried.attempt);
    let due = place.clock.now().saturating_add(wait.as_millis() as i64);
    (tried, Some(due))
}

fn internal() -> Outcome {
    Outcome { class: Class::Internal, status: None, hint: None, took: Duration::ZERO }
}

fn tried(lane: Uuid, sequence: i64, attempt: i32, at: i64, outcome: Outcome, state: State) -> Tried {
    Tried {
        id: Uuid::now_v7(),
        lane,
        sequence,
        attempt,
        outcome: outcome.class.as_str(),
        status: outcome.status.and_then(|status| i16::try_from(status).ok()),
        duration_ms: i32::try_from(outcome.took.as_millis()).unwrap_or(i32::MAX),
        at,
        state,
        ended_at: (state != State::Pending).then_some(at),
    }
}

fn ended(place: &Place, tried: Tried) -> Tried {
    Tried { ended_at: Some(place.clock.now()), ..tried }
}
