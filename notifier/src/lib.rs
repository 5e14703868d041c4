//! Push notifications: what was written with a task's events is brought to the webhooks, in order per config, until it is delivered,
//! dead or cancelled.
//!
//! The rows are the truth: a hint only makes the loop look sooner, and once a second it looks anyway. What is leased is the *lane* (the
//! ordered line of one config), so that order, one request at a time and fencing come out of the same lease. A lane is claimed, its next
//! deliveries are read, the requests are made outside any transaction, and what became of them is written in batches.
//!
//! One tenant has a share of the slots, one of its receivers a part of that share: the claim passes over whoever has all that is theirs,
//! so a flood to a receiver that hangs delays nobody else.
//!
//! Where to look: [`run`] claims; `share` counts who has what; `lane` works off one lane; `attempt` makes one request; `schedule` says when to try again; `address`
//! says what may be dialled; `flush` writes results; `signer` has the keys. The statements are in [`engine::store::delivery`].

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::address::WebhookPolicy;
use engine::bus::Bus;
use engine::clock::Clock;
use engine::secret::SecretKey;
use engine::store::Store;
use engine::store::delivery::{self, Claimed};
use sea_orm::DbErr;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use uuid::Uuid;

mod address;
mod attempt;
mod flush;
mod lane;
pub mod schedule;
mod share;
mod signer;

pub use address::Names;
use attempt::Sender;
use flush::Flusher;
use lane::{Lease, Place};
pub use schedule::Schedule;
use share::{Seat, Shares};
use signer::Signers;

/// Lanes in one claim.
const CLAIM: usize = 64;
/// Hints and freed slots that come closer together than this share a claim; or than the last claim took, if that is longer.
const GATHER: Duration = Duration::from_millis(5);
/// How long the last results may take to be written once the work has stopped.
const LAST_WRITE: Duration = Duration::from_secs(4);

/// How notifications are delivered.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where receivers may be; default the public internet over https.
    pub webhooks: WebhookPolicy,
    /// What is asked for the addresses of a name; default the system.
    pub names: Names,
    /// Requests at once, at least 1; default 512.
    pub slots: usize,
    /// Requests of one tenant at once, of which at most 8 to one origin (scheme, host and port); default 0, a tenth of the slots but at
    /// least 8. Several notifiers count each for itself.
    pub tenant_slots: usize,
    /// When to try again; default as [`Schedule::default`].
    pub schedule: Schedule,
    /// How long a lane is held without a word of its holder; default 30 s. Longer than `total_timeout` by 2 s at least.
    pub lease: Duration,
    /// How often to look for what is due when no hint came; default 1 s.
    pub sweep: Duration,
    /// The longest a connection may take, looking up the name and TLS included; default 5 s.
    pub connect_timeout: Duration,
    /// The longest a request may take, the answer's body included; default 20 s.
    pub total_timeout: Duration,
    /// How long requests under way may go on once the notifier is told to stop; default 25 s.
    pub drain: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            webhooks: WebhookPolicy::default(),
            names: Names::of_system(),
            slots: 512,
            tenant_slots: 0,
            schedule: Schedule::default(),
            lease: Duration::from_secs(30),
            sweep: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(5),
            total_timeout: Duration::from_secs(20),
            drain: Duration::from_secs(25),
        }
    }
}

/// What a notifier works with.
#[derive(Debug, Clone)]
pub struct Notifier {
    /// Where lanes and deliveries are kept.
    pub store: Store,
    /// Where hints arrive. One notifier a bus: a hint wakes one.
    pub bus: Bus,
    /// The database's time.
    pub clock: Clock,
    /// What opens tokens and credentials, and the keys to sign with.
    pub secrets: Arc<SecretKey>,
    /// How to deliver.
    pub options: Options,
}

/// Why a notifier did not start. Once it runs, it goes on through every failure of the database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options contradict each other or themselves; the text says how.
    #[error("notifier options: {0}")]
    Options(&'static str),
    /// The HTTP client could not be made.
    #[error("making the HTTP client that notifies")]
    Client(#[source] reqwest::Error),
}

/// Deliver until `shutdown` is ready: then claim nothing more, let requests under way finish within [`Options::drain`], give back the
/// rest, and return.
///
/// # Errors
/// Before anything is claimed, when the options are wrong or the HTTP client cannot be made.
pub async fn run(notifier: Notifier, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    let Notifier { store, bus, clock, secrets, options } = notifier;
    check(&options)?;
    let sender = Sender::new(&options, secrets.clone()).map_err(Error::Client)?;
    let signers = Signers::new(store.clone(), secrets);
    let (flusher, items) = Flusher::new();
    let flushing = tokio::spawn(flush::run(store.clone(), items));
    let Options { schedule, lease, slots, tenant_slots, sweep, drain, .. } = options;
    let stopping = AtomicBool::new(false);
    let place = Arc::new(Place { sender, signers, schedule, clock, flusher, lease, stopping });
    let mut work = Work {
        store,
        place,
        slots,
        sweep,
        shares: Shares::new(slots, tenant_slots),
        lanes: JoinSet::new(),
        leases: HashMap::new(),
        dues: BTreeSet::new(),
        gather: GATHER,
    };
    work.until(&bus, shutdown).await;
    work.stop(drain).await;
    drop(work);
    if tokio::time::timeout(LAST_WRITE, flushing).await.is_err() {
        tracing::warn!("the last results could not be written; what they were about will be delivered again");
    }
    Ok(())
}

fn check(options: &Options) -> Result<(), Error> {
    if options.slots == 0 {
        return Err(Error::Options("slots must be at least 1"));
    }
    if options.schedule.attempts() == 0 {
        return Err(Error::Options("the schedule must have at least one attempt"));
    }
    if options.sweep.is_zero() {
        return Err(Error::Options("the sweep's period must not be zero"));
    }
    if options.lease < options.total_timeout + Duration::from_secs(2) {
        return Err(Error::Options("the lease must be longer than the total timeout by at least 2 s"));
    }
    Ok(())
}

/// The lanes this notifier holds, and when those it let go are due again, if that is before the next sweep.
struct Work {
    store: Store,
    place: Arc<Place>,
    slots: usize,
    sweep: Duration,
    /// A task a lane: its slot is its place here, and comes back however it ends.
    lanes: JoinSet<Option<i64>>,
    leases: HashMap<Id, (Arc<Lease>, Seat)>,
    shares: Shares,
    dues: BTreeSet<i64>,
    /// How long after a claim the next one may begin: a long line of what has to be passed over costs half of the time at most.
    gather: Duration,
}

impl Work {
    /// Claim and spawn until `shutdown`.
    async fn until(&mut self, bus: &Bus, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut looked = Instant::now();
        let mut look_at = looked;
        let mut failing = false;
        loop {
            let free = self.slots - self.lanes.len();
            tokio::select! {
                biased;
                () = &mut shutdown => return,
                Some(ended) = self.lanes.join_next_with_id() => {
                    if self.ended(ended) {
                        look_at = look_at.min(looked + self.gather);
                    }
                    look_at = look_at.min(self.next_due(looked));
                    continue;
                }
                () = tokio::time::sleep_until(look_at), if free > 0 => {}
                () = bus.hub().delivery.notified(), if free > 0 && look_at > looked + self.gather => {
                    look_at = looked + self.gather;
                    continue;
                }
            }
            let began = Instant::now();
            let claimed = self.claim(free.min(CLAIM)).await;
            looked = Instant::now();
            look_at = looked + self.sweep;
            self.gather = (looked - began).max(GATHER);
            match claimed {
                Ok(more) => {
                    if failing {
                        tracing::info!("deliveries can be claimed again");
                    }
                    failing = false;
                    look_at = if more { looked } else { look_at.min(self.next_due(looked)) };
                }
                Err(error) if failing => tracing::debug!(%error, "claiming deliveries"),
                Err(error) => {
                    tracing::warn!(%error, "claiming deliveries; trying again every sweep");
                    failing = true;
                }
            }
        }
    }

    /// When the next lane that this process let go is due.
    fn next_due(&self, looked: Instant) -> Instant {
        let Some(due) = self.dues.first() else { return looked + Duration::from_secs(3600) };
        let wait = u64::try_from(due - self.place.clock.now()).unwrap_or_default();
        (Instant::now() + Duration::from_millis(wait)).max(looked + self.gather)
    }

    /// Claim what is due and set to work on it. The answer is whether there may be more.
    async fn claim(&mut self, limit: usize) -> Result<bool, DbErr> {
        let began = std::time::Instant::now();
        let now = self.place.clock.now();
        self.dues = self.dues.split_off(&(now + 1));
        let until = now.saturating_add(self.place.lease.as_millis() as i64);
        let rooms = self.shares.rooms();
        let Claimed { held, full } = delivery::claim(&self.store, Uuid::now_v7(), now, until, limit, &rooms).await?;
        if held.is_empty() {
            return Ok(false);
        }
        let mut lines = match delivery::read(&self.store, &held).await {
            Ok(lines) => lines,
            Err(error) => {
                for held in held {
                    let lease = Lease::new(held, self.place.lease, began);
                    self.place.flusher.hand_in(&lease, lease.step(now, true), None);
                }
                return Err(error);
            }
        };
        // Whoever has all that is theirs now may have been given less than the statement looked at.
        let mut more = full;
        let (mut gone, mut empty) = (Vec::new(), Vec::new());
        for held in held {
            let line = lines.remove(&held.lane).unwrap_or_default();
            let origin = line.receiver.as_ref().map(|receiver| receiver.origin.clone()).unwrap_or_default();
            let seat = Seat { tenant: held.tenant.clone(), origin };
            more |= self.shares.take(&seat);
            if held.closed || line.receiver.is_none() {
                gone.push(held);
                empty.push(seat);
                continue;
            }
            let lease = Lease::new(held, self.place.lease, began);
            let task = self.lanes.spawn(lane::work(self.place.clone(), lease.clone(), line));
            self.leases.insert(task.id(), (lease, seat));
        }
        if !gone.is_empty() {
            for seat in &empty {
                self.shares.give_back(seat);
            }
            tracing::info!(lanes = gone.len(), "configs are gone; what they had yet to hear is cancelled");
            delivery::cancel(&self.store, &gone, self.place.clock.now()).await?;
        }
        Ok(more)
    }

    /// A lane's task is over. The answer is whether others may have been passed over for want of its slot.
    fn ended(&mut self, ended: Result<(Id, Option<i64>), tokio::task::JoinError>) -> bool {
        let id = ended.as_ref().map_or_else(tokio::task::JoinError::id, |(id, _)| *id);
        let Some((lease, seat)) = self.leases.remove(&id) else { return false };
        match ended {
            Ok((_, due)) => {
                let sweep = self.place.clock.now().saturating_add(self.sweep.as_millis() as i64);
                self.dues.extend(due.filter(|due| *due <= sweep));
            }
            Err(error) => {
                if error.is_panic() {
                    tracing::error!("a lane's task panicked; its lane is due again");
                }
                let now = self.place.clock.now();
                self.place.flusher.hand_in(&lease, lease.step(now, true), None);
            }
        }
        self.shares.give_back(&seat)
    }

    /// Let what is under way finish, and give back the rest.
    async fn stop(&mut self, drain: Duration) {
        self.place.stopping.store(true, Ordering::Relaxed);
        let until = Instant::now() + drain;
        while let Ok(Some(ended)) = tokio::time::timeout_at(until, self.lanes.join_next_with_id()).await {
            self.ended(ended);
        }
        self.lanes.abort_all();
        while let Some(ended) = self.lanes.join_next_with_id().await {
            self.ended(ended);
        }
    }
}
