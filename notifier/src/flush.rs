//! Results go to the database in batches: whoever delivered hands in a step, and one task writes what has gathered.
//!
//! While a batch is being written the next one gathers, so the busier the notifier, the fewer the commits a delivery costs. A lane need
//! not wait for its step: several steps of one lane become one row. It does wait where it has to know, before it dials on an older sight
//! of its lease and when it lets go.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::store::Store;
use engine::store::delivery::{self, Step, Stepped, Tried};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::lane::Lease;

/// Lanes in one write.
const BATCH: usize = 64;
/// How long a step waits for others.
const GATHER: Duration = Duration::from_millis(2);
/// After passing over a lane this often because of an event being written into it, wait for it.
const PATIENCE: u32 = 8;
const AFTER_ERROR: Duration = Duration::from_millis(250);

/// A step to record.
pub(crate) struct Item {
    pub(crate) lease: Arc<Lease>,
    pub(crate) step: Step,
    pub(crate) tried: Option<Tried>,
    /// Told once it is recorded: when the lane is due again.
    pub(crate) done: Option<oneshot::Sender<Option<i64>>>,
}

/// Where steps are handed in. It never makes a lane wait for room, which would part a step from what the lane knows of itself; there are
/// never more steps than lanes held times what each has read.
#[derive(Debug, Clone)]
pub(crate) struct Flusher(mpsc::UnboundedSender<Item>);

impl Flusher {
    /// The two ends.
    pub(crate) fn new() -> (Flusher, mpsc::UnboundedReceiver<Item>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Flusher(sender), receiver)
    }

    /// Hand in a step without waiting.
    pub(crate) fn hand_in(&self, lease: &Arc<Lease>, step: Step, tried: Option<Tried>) {
        let _stopped = self.0.send(Item { lease: lease.clone(), step, tried, done: None });
    }

    /// Hand in a step and wait until it is recorded or can no longer be. The answer is when the lane is due again, if that is known.
    pub(crate) async fn record(&self, lease: &Arc<Lease>, step: Step, tried: Option<Tried>) -> Option<i64> {
        let (done, recorded) = oneshot::channel();
        let item = Item { lease: lease.clone(), step, tried, done: Some(done) };
        if self.0.send(item).is_err() {
            return None;
        }
        recorded.await.unwrap_or_default()
    }
}

/// What a lane has handed in since its last write.
struct Entry {
    lease: Arc<Lease>,
    step: Step,
    tried: Vec<Tried>,
    done: Vec<oneshot::Sender<Option<i64>>>,
    passed_over: u32,
}

impl Entry {
    fn answer(self, due_at: Option<i64>) {
        for done in self.done {
            let _nobody_waits = done.send(due_at);
        }
    }
}

/// Write what is handed in until every [`Flusher`] is gone and all of it is written.
pub(crate) async fn run(store: Store, mut items: mpsc::UnboundedReceiver<Item>) {
    let mut entries: HashMap<Uuid, Entry> = HashMap::new();
    let mut held_back: Option<Item> = None;
    loop {
        if let Some(item) = held_back.take() {
            held_back = add(&mut entries, item);
        }
        if entries.is_empty() {
            match items.recv().await {
                Some(item) => held_back = add(&mut entries, item),
                None => return,
            }
        }
        let until = tokio::time::Instant::now() + GATHER;
        while entries.len() < BATCH && held_back.is_none() {
            match tokio::time::timeout_at(until, items.recv()).await {
                Ok(Some(item)) => held_back = add(&mut entries, item),
                Ok(None) | Err(_) => break,
            }
        }
        write(&store, &mut entries).await;
    }
}

/// Join a step to what its lane has handed in before. One that comes from another holder of the same lane is given back: it is for the
/// next write.
fn add(entries: &mut HashMap<Uuid, Entry>, item: Item) -> Option<Item> {
    let Some(entry) = entries.get_mut(&item.step.lane) else {
        let Item { lease, step, tried, done } = item;
        let (tried, done) = (tried.into_iter().collect(), done.into_iter().collect());
        entries.insert(step.lane, Entry { lease, step, tried, done, passed_over: 0 });
        return None;
    };
    if entry.step.holder != item.step.holder {
        return Some(item);
    }
    entry.step = item.step;
    entry.tried.extend(item.tried);
    entry.done.extend(item.done);
    None
}

/// Write all of it, and keep what was passed over or failed.
async fn write(store: &Store, entries: &mut HashMap<Uuid, Entry>) {
    let patient = entries.values().find(|entry| entry.passed_over >= PATIENCE).map(|entry| entry.step.lane);
    let chosen = |entry: &&Entry| patient.is_none_or(|lane| lane == entry.step.lane);
    let steps: Vec<Step> = entries.values().filter(chosen).map(|entry| entry.step).collect();
    let tried: Vec<Tried> = entries.values().filter(chosen).flat_map(|entry| entry.tried.iter().cloned()).collect();
    let began = Instant::now();
    match delivery::record(store, &steps, &tried, patient.is_some()).await {
        Ok(stepped) => {
            for (lane, stepped) in stepped {
                settle(entries, lane, stepped, began);
            }
        }
        Err(error) => {
            tracing::warn!(%error, lanes = steps.len(), "recording deliveries; trying again");
            entries.retain(|_, entry| !entry.lease.over());
            tokio::time::sleep(AFTER_ERROR).await;
        }
    }
}

fn settle(entries: &mut HashMap<Uuid, Entry>, lane: Uuid, stepped: Stepped, began: Instant) {
    match stepped {
        Stepped::Busy => {
            if let Some(entry) = entries.get_mut(&lane) {
                entry.passed_over += 1;
            }
        }
        Stepped::Held { due_at } => {
            if let Some(entry) = entries.remove(&lane) {
                entry.lease.verified(began);
                entry.answer(due_at);
            }
        }
        Stepped::Lost => {
            if let Some(entry) = entries.remove(&lane) {
                entry.lease.lose();
                entry.answer(None);
            }
        }
    }
}
