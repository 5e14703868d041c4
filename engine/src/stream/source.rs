//! What reads one task's events for everybody in this process.
//!
//! The events of the last moment are kept once, for all subscribers; each of them knows the number it is at and takes the next one.
//! Nothing is queued for anybody, so a subscriber costs what it is and not what it may fall behind by: who wants an event that is no
//! longer here reads it from the store.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, futures::Notified};
use uuid::Uuid;

use super::{Item, PAGE};
use crate::watch::Watcher;
use crate::{Engine, database, store};

/// Events kept at most: what one reading brings, beside what the one before it brought.
const KEPT: usize = 2 * PAGE as usize;
/// Bytes of them kept at most, unless one event alone is longer.
const KEPT_BYTES: usize = 4 << 20;
/// How long they are kept once nothing more comes.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// The live sources of this process.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    tasks: Mutex<HashMap<Uuid, Arc<Source>>>,
}

/// What reads one task's events for everybody here.
#[derive(Debug, Default)]
struct Source {
    state: Mutex<State>,
    /// Wakes the source: there is a subscriber for it to read for, or none any more.
    moved: Notify,
    /// Wakes the subscribers.
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    seats: usize,
    /// Events up to here have been handed out. Nothing until somebody says from where on they are wanted.
    cursor: Option<i64>,
    /// The last of them, without a gap.
    recent: VecDeque<Item>,
    bytes: usize,
    failures: u64,
    failure: Arc<str>,
}

fn open<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave either of them half written.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn push(&mut self, item: Item) {
        self.bytes += item.body.len();
        self.recent.push_back(item);
        while self.recent.len() > KEPT || (self.bytes > KEPT_BYTES && self.recent.len() > 1) {
            self.bytes -= self.recent.pop_front().map_or(0, |oldest| oldest.body.len());
        }
    }

    fn forget(&mut self) {
        self.recent = VecDeque::new();
        self.bytes = 0;
    }

    fn find(&self, number: i64) -> Option<&Item> {
        let place = number.checked_sub(self.recent.front()?.generation)?;
        self.recent.get(usize::try_from(place).ok()?).filter(|item| item.generation == number)
    }
}

/// A subscriber's place at its task's source. The source ends when the last of them is gone.
#[derive(Debug)]
pub(super) struct Seat {
    source: Arc<Source>,
    /// Failures before this one was there.
    failures: u64,
}

/// What a source has for a subscriber.
#[derive(Debug)]
pub(super) enum Found {
    /// The event that was asked for.
    Item(Item),
    /// It has been handed out, up to so many events ago, and is only in the store now.
    Past { behind: i64 },
    /// It has not happened yet.
    Nothing,
    /// The events could not be read.
    Failed(Arc<str>),
}

impl Seat {
    /// A place at no source, for what no task's events follow.
    pub(super) fn at_none() -> Seat {
        let source = Source::default();
        open(&source.state).seats = 1;
        Seat { source: Arc::new(source), failures: 0 }
    }

    /// Everything up to `generation` is known and what follows it wanted: where the source begins if it has not yet.
    pub(super) fn want_after(&self, generation: i64) {
        let mut state = open(&self.source.state);
        if state.cursor.is_none() {
            state.cursor = Some(generation);
            self.source.moved.notify_one();
        }
    }

    /// Resolves with the next news; to be made before looking.
    pub(super) fn news(&self) -> Notified<'_> {
        self.source.news.notified()
    }

    /// What there is of the event after `last`.
    pub(super) fn find_after(&self, last: i64) -> Found {
        let state = open(&self.source.state);
        if state.failures > self.failures {
            return Found::Failed(state.failure.clone());
        }
        let cursor = state.cursor.unwrap_or(last);
        match state.find(last + 1) {
            Some(item) => Found::Item(item.clone()),
            None if cursor > last => Found::Past { behind: cursor - last },
            None => Found::Nothing,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = open(&self.source.state);
        state.seats -= 1;
        if state.seats == 0 {
            self.source.moved.notify_one();
        }
    }
}

impl Engine {
    /// Take a place at the live source of `task`; it is started if there is none.
    pub(super) fn take_seat(&self, task: Uuid) -> Seat {
        let mut tasks = open(&self.inner.sources.tasks);
        let source = tasks.entry(task).or_insert_with(|| {
            let source = Arc::new(Source::default());
            // Before the subscriber reads where it begins, so that whatever happens after that is heard of.
            let news = self.bus().hub().watch.begin(task);
            tokio::spawn(read(self.clone(), task, source.clone(), news));
            source
        });
        // Under the lock of all sources, so that this one cannot end between.
        let mut state = open(&source.state);
        state.seats += 1;
        Seat { source: source.clone(), failures: state.failures }
    }
}

/// Read a task's events for as long as somebody here wants them.
async fn read(engine: Engine, task: Uuid, source: Arc<Source>, mut news: Watcher) {
    while !ended(&engine, task, &source) {
        // Where nothing was heard of there is nothing to read: a subscriber of an idle task costs no statement.
        let wanted = open(&source.state).cursor.filter(|cursor| news.latest().generation > *cursor);
        if let Some(from) = wanted
            // Apart, as what an idle source need not have room for.
            && Box::pin(hand_out(&engine, task, &source, from)).await
        {
            continue;
        }
        let mut woken = async || {
            tokio::select! {
                _ = news.next() => {}
                () = source.moved.notified() => {}
            }
        };
        let keeps = !open(&source.state).recent.is_empty();
        if keeps && tokio::time::timeout(KEPT_FOR, woken()).await.is_ok() {
            continue;
        }
        open(&source.state).forget();
        woken().await;
    }
}

/// Whether nobody is left to read for; then the source is no longer found either.
fn ended(engine: &Engine, task: Uuid, source: &Source) -> bool {
    if open(&source.state).seats > 0 {
        return false;
    }
    let mut tasks = open(&engine.inner.sources.tasks);
    let ended = open(&source.state).seats == 0;
    if ended {
        tasks.remove(&task);
    }
    ended
}

/// Hand out a page of what follows `from`; whether there may be more at once.
async fn hand_out(engine: &Engine, task: Uuid, source: &Source, from: i64) -> bool {
    let rows = store::event::after(engine.store().read(), task, from, PAGE).await;
    let full = rows.as_ref().is_ok_and(|rows| rows.len() as u64 == PAGE);
    let items = rows
        .map_err(database("reading a task's events"))
        .and_then(|rows| rows.into_iter().map(Item::of).collect::<Result<Vec<_>, _>>());
    let mut state = open(&source.state);
    match items {
        Ok(items) if items.is_empty() => return false,
        Ok(items) => items.into_iter().for_each(|item| {
            state.cursor = Some(item.generation);
            state.push(item);
        }),
        Err(error) => {
            tracing::warn!(task.id = %task, error = &error as &dyn std::error::Error, "a stream's source failed");
            state.failures += 1;
            state.failure = error.message.as_str().into();
        }
    }
    drop(state);
    source.news.notify_waiters();
    full
}
