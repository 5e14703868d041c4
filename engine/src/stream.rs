//! Streams of a task's events: the same events in the same order to everybody, on whichever replica they stand.
//!
//! Events are rows; a stream is a reader of them. In each process one source a task reads what is new, when a hint or the sweep says so,
//! and hands it to every subscriber there. A subscriber attaches to the source first and reads its beginning (a snapshot, or the events
//! since its last one) afterwards, so that nothing falls between; what comes twice it drops by number. One that does not keep up is cut
//! off, and resumes by number: it never slows another, and nothing is kept for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entity::task_event;
use tokio::sync::{Notify, broadcast};
use uuid::Uuid;
use wire::{Error, StreamResponse, TaskState};

use crate::change::from_text;
use crate::{Engine, database, store};

/// Events a subscriber may fall behind before it is cut off.
const BEHIND: usize = 128;
/// Events read in one statement.
const PAGE: u64 = 128;

/// One item of a stream.
#[derive(Debug, Clone)]
pub struct Item {
    /// The event's number; of a snapshot, that of the last event in it.
    pub generation: i64,
    /// The `StreamResponse` as JSON.
    pub body: Arc<str>,
    /// The state it tells of, if it is a status.
    state: Option<TaskState>,
}

impl Item {
    /// An item that is no stored event: the snapshot a stream begins with.
    pub(crate) fn snapshot(generation: i64, body: String) -> Item {
        Item { generation, body: body.into(), state: None }
    }

    fn of(event: task_event::Model) -> Result<Item, Error> {
        let state = match from_text(&event.body)? {
            StreamResponse::StatusUpdate(update) => Some(update.status.state),
            StreamResponse::Task(_) | StreamResponse::Message(_) | StreamResponse::ArtifactUpdate(_) => None,
        };
        Ok(Item { generation: event.generation, body: event.body.into(), state })
    }
}

/// Why a stream ended before its task did. The client resumes after the last item it has.
#[derive(Debug)]
pub enum Cut {
    /// The reader did not keep up.
    Slow,
    /// This replica is shutting down.
    Closing,
    /// The events could not be read.
    Failed(Error),
}

/// After which status a stream ends (§3.1.2, §11.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// A subscription: when the task is finished.
    Finished,
    /// A send's stream: also when the agent asks for input.
    InputRequired,
}

impl Ends {
    fn after(self, state: TaskState) -> bool {
        state.is_terminal() || (self == Ends::InputRequired && state == TaskState::InputRequired)
    }
}

/// The live sources of this process.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    tasks: Mutex<HashMap<Uuid, Arc<Source>>>,
}

/// What reads one task's events for everybody here.
#[derive(Debug)]
struct Source {
    /// Events up to here have been handed out.
    cursor: Mutex<Option<i64>>,
    moved: Notify,
    events: broadcast::Sender<Result<Item, Arc<str>>>,
}

fn open<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave either of them half written.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Source {
    /// Somebody here has seen everything up to `generation` and wants what follows.
    fn want_after(&self, generation: i64) {
        let mut cursor = open(&self.cursor);
        if cursor.is_none_or(|cursor| generation < cursor) {
            *cursor = Some(generation);
            self.moved.notify_one();
        }
    }

    /// Handed out `from..=to`, unless somebody wants earlier ones since.
    fn advance(&self, from: i64, to: i64) {
        let mut cursor = open(&self.cursor);
        if *cursor == Some(from) {
            *cursor = Some(to);
        } else {
            self.moved.notify_one();
        }
    }
}

/// A stream of one task's events. Dropping it is how a client leaves; the task does not notice.
#[derive(Debug)]
pub struct EventStream {
    engine: Engine,
    /// Holds the source.
    source: Arc<Source>,
    live: broadcast::Receiver<Result<Item, Arc<str>>>,
    task: Uuid,
    ends: Ends,
    /// What is handed out first.
    ready: std::collections::VecDeque<Item>,
    /// Stored events after this number are still to be read before live ones count.
    replay_after: Option<i64>,
    /// No live item has come since stored ones were read: what the source handed out meanwhile is stored too.
    catching_up: bool,
    last: i64,
    done: bool,
}

/// A place at a task's source, taken before anything is read.
pub(crate) struct Attached {
    source: Arc<Source>,
    live: broadcast::Receiver<Result<Item, Arc<str>>>,
    task: Uuid,
}

impl Engine {
    /// Attach to the live source of `task`; it is started if there is none.
    pub(crate) fn attach(&self, task: Uuid) -> Attached {
        let mut tasks = open(&self.inner.sources.tasks);
        let source = tasks.entry(task).or_insert_with(|| {
            let (events, _) = broadcast::channel(BEHIND);
            let source = Arc::new(Source { cursor: Mutex::new(None), moved: Notify::new(), events });
            tokio::spawn(read(self.clone(), task, source.clone()));
            source
        });
        // Under the lock, so that the source cannot end between.
        let live = source.events.subscribe();
        Attached { source: source.clone(), live, task }
    }
}

/// Read a task's events for as long as somebody here wants them.
async fn read(engine: Engine, task: Uuid, source: Arc<Source>) {
    let mut news = engine.bus().hub().watch.begin(task);
    loop {
        let from = *open(&source.cursor);
        if let Some(from) = from
            && hand_out(&engine, task, &source, from).await
        {
            continue;
        }
        tokio::select! {
            _ = news.next() => {}
            () = source.moved.notified() => {}
            () = source.events.closed() => {
                let mut tasks = open(&engine.inner.sources.tasks);
                if source.events.receiver_count() == 0 {
                    tasks.remove(&task);
                    return;
                }
            }
        }
    }
}

/// Hand out a page of what follows `from`; whether there may be more at once.
async fn hand_out(engine: &Engine, task: Uuid, source: &Source, from: i64) -> bool {
    let rows = store::event::after(engine.store().read(), task, from, PAGE).await;
    let full = rows.as_ref().is_ok_and(|rows| rows.len() as u64 == PAGE);
    let items = rows
        .map_err(database("reading a task's events"))
        .and_then(|rows| rows.into_iter().map(Item::of).collect::<Result<Vec<_>, _>>());
    match items {
        Ok(items) => {
            let to = items.last().map_or(from, |item| item.generation);
            for item in items {
                // Nobody there is no failure: the source ends then.
                let _nobody = source.events.send(Ok(item));
            }
            source.advance(from, to);
        }
        Err(error) => {
            tracing::warn!(task.id = %task, error = &error as &dyn std::error::Error, "a stream's source failed");
            let _nobody = source.events.send(Err(error.message.as_str().into()));
        }
    }
    full
}

impl Attached {
    /// A stream that begins with `first` and goes on with everything after it.
    pub(crate) fn begin_with(self, engine: &Engine, first: Item, ends: Ends, finished: bool) -> EventStream {
        let last = first.generation;
        self.source.want_after(last);
        let mut stream = self.stream(engine, ends, last);
        stream.ready.push_back(first);
        // A snapshot of a finished task is all there is.
        stream.done = finished;
        stream
    }

    /// A stream of everything after number `last`, stored events first. The first of them are read at once, so that a database which
    /// does not answer is heard of before anything is streamed.
    ///
    /// # Errors
    /// When the events cannot be read.
    pub(crate) async fn after(self, engine: &Engine, last: i64, ends: Ends) -> Result<EventStream, Error> {
        let mut stream = self.stream(engine, ends, last);
        stream.replay(last).await?;
        Ok(stream)
    }

    fn stream(self, engine: &Engine, ends: Ends, last: i64) -> EventStream {
        EventStream {
            engine: engine.clone(),
            source: self.source,
            live: self.live,
            task: self.task,
            ends,
            ready: Default::default(),
            replay_after: None,
            catching_up: true,
            last,
            done: false,
        }
    }
}

impl EventStream {
    /// The number of the last item that was handed out, to resume after.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// The number of the item that comes next; each further one has one more.
    pub fn next_number(&self) -> i64 {
        self.ready.front().map_or(self.last + 1, |item| item.generation)
    }

    /// The next item; nothing when the stream has ended as it should.
    ///
    /// # Errors
    /// [`Cut`] when it ends early.
    pub async fn next(&mut self) -> Result<Option<Item>, Cut> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.last = item.generation;
                if item.state.is_some_and(|state| self.ends.after(state)) {
                    self.ready.clear();
                    self.replay_after = None;
                    self.done = true;
                }
                return Ok(Some(item));
            }
            if self.done {
                return Ok(None);
            }
            if let Some(after) = self.replay_after {
                self.replay(after).await.map_err(Cut::Failed)?;
                continue;
            }
            let received = tokio::select! {
                received = self.live.recv() => received,
                () = self.engine.closed() => return Err(Cut::Closing),
            };
            match received {
                Ok(Ok(item)) if item.generation <= self.last => {}
                Ok(Ok(item)) if item.generation == self.last + 1 => {
                    self.catching_up = false;
                    self.ready.push_back(item);
                }
                // The source began after this stream's beginning: what lies between is stored.
                Ok(Ok(_)) => self.replay_after = Some(self.last),
                Ok(Err(message)) => return Err(Cut::Failed(Error::unavailable(&*message))),
                Err(broadcast::error::RecvError::Lagged(_)) if self.catching_up => self.replay_after = Some(self.last),
                Err(broadcast::error::RecvError::Lagged(_)) => return Err(Cut::Slow),
                Err(broadcast::error::RecvError::Closed) => return Err(Cut::Closing),
            }
        }
    }

    /// Read stored events, a page at a time, until the source takes over.
    async fn replay(&mut self, after: i64) -> Result<(), Error> {
        let rows = store::event::after(self.engine.store().read(), self.task, after, PAGE)
            .await
            .map_err(database("reading a task's events"))?;
        let full = rows.len() as u64 == PAGE;
        for row in rows {
            self.ready.push_back(Item::of(row)?);
        }
        let last = self.ready.back().map_or(after, |item| item.generation);
        self.replay_after = full.then_some(last);
        self.catching_up = true;
        if !full {
            self.source.want_after(last);
        }
        Ok(())
    }
}
