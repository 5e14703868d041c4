//! Streams of a task's events: the same events in the same order to everybody, on whichever replica they stand.
//!
//! Events are rows; a stream is a reader of them. In each process one source a task (`stream/source.rs`) reads what is new, when a hint
//! or the sweep says so, and has it for every subscriber there. A subscriber attaches to the source first and reads its beginning (a
//! snapshot, or the events since its last one) afterwards, so that nothing falls between; from then on it takes event after event by
//! number, from the source or, where the source has gone ahead of it, from the store. One that was away for long and is far behind is cut
//! off, and resumes by number: it never slows another, and nothing is kept for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::task_event;
use uuid::Uuid;
use wire::{Error, StreamResponse, TaskState};

use crate::change::from_text;
use crate::{Engine, database, store};

mod source;
pub(crate) use source::Sources;
use source::{Found, Seat};

/// Events a subscriber may fall behind, and how long it may stay away, before it is cut off. It takes both: a source that reads pages of
/// them at once leaves everybody behind for a moment, and who comes back late may have missed little.
const BEHIND: i64 = 128;
const AWAY: Duration = Duration::from_secs(1);
/// Events read in one statement.
const PAGE: u64 = 128;

/// One item of a stream.
#[derive(Debug, Clone)]
pub struct Item {
    /// The event's number; of a snapshot, that of the last event in it; 0 of a message, which is no event.
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
    /// The reader did not keep up, or what it missed is no longer kept.
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

/// A stream of one task's events. Dropping it is how a client leaves; the task does not notice.
#[derive(Debug)]
pub struct EventStream {
    engine: Engine,
    /// Holds the source.
    seat: Seat,
    task: Uuid,
    ends: Ends,
    /// What is handed out first.
    ready: VecDeque<Item>,
    /// The events after [`last`](Self::last) are to be read from the store, and more of them than are ready.
    replaying: bool,
    last: i64,
    /// Since when nobody has asked for the next item.
    left: Option<Instant>,
    done: bool,
}

/// A place at a task's source, taken before anything is read.
pub(crate) struct Attached {
    seat: Seat,
    task: Uuid,
}

impl Engine {
    /// Attach to the live source of `task`; it is started if there is none.
    pub(crate) fn attach(&self, task: Uuid) -> Attached {
        Attached { seat: self.take_seat(task), task }
    }
}

impl Attached {
    /// A stream that begins with `first` and goes on with everything after it.
    pub(crate) fn begin_with(self, engine: &Engine, first: Item, ends: Ends, finished: bool) -> EventStream {
        let last = first.generation;
        self.seat.want_after(last);
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
        stream.replay().await?;
        Ok(stream)
    }

    fn stream(self, engine: &Engine, ends: Ends, last: i64) -> EventStream {
        EventStream {
            engine: engine.clone(),
            seat: self.seat,
            task: self.task,
            ends,
            ready: VecDeque::new(),
            replaying: false,
            last,
            left: None,
            done: false,
        }
    }
}

impl EventStream {
    /// A stream of one message that is all of the answer.
    pub(crate) fn lone(engine: &Engine, body: String) -> EventStream {
        let attached = Attached { seat: Seat::at_none(), task: Uuid::nil() };
        let mut stream = attached.stream(engine, Ends::InputRequired, 0);
        stream.ready.push_back(Item::snapshot(0, body));
        stream.done = true;
        stream
    }

    /// The task it is of; none of a message that is all of the answer.
    pub fn task(&self) -> Option<Uuid> {
        Some(self.task).filter(|task| !task.is_nil())
    }

    /// The operation that it answers.
    pub fn operation(&self) -> &'static str {
        match self.ends {
            Ends::Finished => "SubscribeToTask",
            Ends::InputRequired => "SendStreamingMessage",
        }
    }

    /// The number of the last item that was handed out, to resume after.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// The number of the item that comes next; each further one has one more. 0 where the items have none.
    pub fn next_number(&self) -> i64 {
        self.ready.front().map_or(self.last + 1, |item| item.generation)
    }

    /// The next item; nothing when the stream has ended as it should.
    ///
    /// # Errors
    /// [`Cut`] when it ends early.
    pub async fn next(&mut self) -> Result<Option<Item>, Cut> {
        let away = self.left.take().is_some_and(|left| left.elapsed() > AWAY);
        let item = self.take(away).await?;
        self.left = Some(Instant::now());
        Ok(item)
    }

    async fn take(&mut self, away: bool) -> Result<Option<Item>, Cut> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                if self.ready.is_empty() {
                    // Most streams are idle; a page's room is not kept for them.
                    self.ready = VecDeque::new();
                }
                return Ok(Some(self.hand_out(item)));
            }
            if self.done {
                return Ok(None);
            }
            if self.replaying {
                // Apart, as what an idle stream need not have room for.
                Box::pin(self.replay()).await.map_err(Cut::Failed)?;
                self.check_next()?;
                continue;
            }
            let found = {
                let news = self.seat.news();
                tokio::pin!(news);
                news.as_mut().enable();
                match self.seat.find_after(self.last) {
                    Found::Nothing => {
                        tokio::select! {
                            () = news => continue,
                            () = self.engine.closed() => return Err(Cut::Closing),
                        }
                    }
                    found => found,
                }
            };
            match found {
                Found::Item(item) => return Ok(Some(self.hand_out(item))),
                Found::Past { behind } if away && behind > BEHIND => return Err(Cut::Slow),
                Found::Past { .. } => {
                    Box::pin(self.replay()).await.map_err(Cut::Failed)?;
                    if self.ready.is_empty() {
                        return Err(Cut::Slow);
                    }
                    self.check_next()?;
                }
                Found::Failed(message) => return Err(Cut::Failed(Error::unavailable(&*message))),
                Found::Nothing => {}
            }
        }
    }

    /// What comes next follows what was last, or it is no longer kept.
    fn check_next(&self) -> Result<(), Cut> {
        match self.ready.front() {
            Some(next) if next.generation != self.last + 1 => Err(Cut::Slow),
            _ => Ok(()),
        }
    }

    fn hand_out(&mut self, item: Item) -> Item {
        self.last = item.generation;
        if item.state.is_some_and(|state| self.ends.after(state)) {
            self.ready.clear();
            self.replaying = false;
            self.done = true;
        }
        item
    }

    /// Read a page of stored events; the source takes over after the last one.
    async fn replay(&mut self) -> Result<(), Error> {
        let rows = store::event::after(self.engine.store().read(), self.task, self.last, PAGE)
            .await
            .map_err(database("reading a task's events"))?;
        self.replaying = rows.len() as u64 == PAGE;
        for row in rows {
            self.ready.push_back(Item::of(row)?);
        }
        if !self.replaying {
            self.seat.want_after(self.ready.back().map_or(self.last, |item| item.generation));
        }
        Ok(())
    }
}
