//! The sessions this process has heard of: who is there, who is to stop, and who wants to be told at once.
//!
//! A poll or a heartbeat only marks its session here. What is marked is written in one statement every few seconds
//! (`operation/session.rs`), which also reads back who drains, so that a thousand idle workers cost what one does. Whoever listens on a
//! control stream is told by hints, through a queue of a few places: one that is full ends its stream, since what was lost is told by
//! heartbeats anyway.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use uuid::Uuid;

use crate::operation::lease::LeaseName;

/// Nudges that wait for one control stream to be read.
const WAITING: usize = 64;
/// Control streams of one session; the oldest ends when another comes: its connection is most likely dead.
const STREAMS: usize = 4;
/// A session that has been quiet for so long is forgotten here; its row is not.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// What a worker may want to know of a lease at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    /// The client canceled the task.
    Cancel,
    /// The client wrote.
    Message,
    /// The lease has ended, and not by its holder.
    Lost,
}

impl Turn {
    /// Its word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Turn::Cancel => "cancel",
            Turn::Message => "message",
            Turn::Lost => "lost",
        }
    }
}

/// What a control stream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nudge {
    /// Something happened to a lease.
    Lease {
        /// What.
        turn: Turn,
        /// To which one.
        lease: LeaseName,
        /// The proto's number of the task's state.
        state: i16,
    },
    /// Finish and take no more.
    Drain,
}

/// `drain`, or `cancel LEASE STATE` and so on: how it travels.
impl fmt::Display for Nudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nudge::Drain => f.write_str("drain"),
            Nudge::Lease { turn, lease, state } => write!(f, "{} {lease} {state}", turn.name()),
        }
    }
}

/// The text is no nudge that this release knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotANudge;

impl FromStr for Nudge {
    type Err = NotANudge;

    fn from_str(text: &str) -> Result<Nudge, NotANudge> {
        let mut words = text.split(' ');
        let turn = match words.next() {
            Some("drain") => return Ok(Nudge::Drain),
            Some("cancel") => Turn::Cancel,
            Some("message") => Turn::Message,
            Some("lost") => Turn::Lost,
            _ => return Err(NotANudge),
        };
        let lease = words.next().and_then(|lease| lease.parse().ok()).ok_or(NotANudge)?;
        let state = words.next().and_then(|state| state.parse().ok()).ok_or(NotANudge)?;
        Ok(Nudge::Lease { turn, lease, state })
    }
}

/// What is written of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    /// What the worker calls itself.
    pub(crate) worker: String,
    pub(crate) agents: Arc<[String]>,
    pub(crate) created_at: i64,
    pub(crate) draining: bool,
}

/// Every session heard of lately.
#[derive(Debug, Default, Clone)]
pub struct Sessions {
    known: Arc<Mutex<HashMap<Uuid, Known>>>,
}

#[derive(Debug)]
struct Known {
    worker: String,
    agents: Arc<[String]>,
    created_at: i64,
    /// Since it was written last.
    heard: bool,
    heard_at: Instant,
    /// Its polls and streams.
    open: usize,
    drains: watch::Sender<bool>,
    streams: VecDeque<mpsc::Sender<Nudge>>,
}

/// A session that is there: while this lives, it is seen.
#[derive(Debug)]
pub(crate) struct Present {
    pub(crate) id: Uuid,
    pub(crate) agents: Arc<[String]>,
    drains: watch::Receiver<bool>,
    sessions: Sessions,
}

impl Present {
    /// Whether it is to get no more work.
    pub(crate) fn is_draining(&self) -> bool {
        *self.drains.borrow()
    }

    /// Resolves once it is to get no more work.
    pub(crate) async fn drained(&mut self) {
        if self.drains.wait_for(|drains| *drains).await.is_err() {
            // Forgotten, which a session that is present is not: nobody will say it any more.
            std::future::pending::<()>().await;
        }
    }

    /// What is to be said on a control stream from now on; ends when it is not read.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Nudge> {
        let (sender, receiver) = mpsc::channel(WAITING);
        if let Some(known) = self.sessions.open().get_mut(&self.id) {
            known.streams.retain(|stream| !stream.is_closed());
            while known.streams.len() >= STREAMS {
                known.streams.pop_front();
            }
            known.streams.push_back(sender);
        }
        receiver
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        if let Some(known) = self.sessions.open().get_mut(&self.id) {
            known.open = known.open.saturating_sub(1);
            known.hear();
        }
    }
}

impl Known {
    fn hear(&mut self) {
        self.heard = true;
        self.heard_at = Instant::now();
    }

    fn drain(&mut self) {
        if !self.drains.send_replace(true) {
            self.tell(Nudge::Drain);
        }
    }

    /// A stream whose queue is full ends once what is in it has been read.
    fn tell(&mut self, nudge: Nudge) {
        self.streams.retain(|stream| stream.try_send(nudge).is_ok());
    }
}

impl Sessions {
    fn open(&self) -> MutexGuard<'_, HashMap<Uuid, Known>> {
        // A panic cannot leave the map half written.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This session is there, if it has been heard of.
    pub(crate) fn enter(&self, id: Uuid) -> Option<Present> {
        let mut all = self.open();
        let known = all.get_mut(&id)?;
        known.open += 1;
        known.hear();
        Some(Present { id, agents: known.agents.clone(), drains: known.drains.subscribe(), sessions: self.clone() })
    }

    /// Know a session, as its row says or as it is to be written. What is known already stays, but for that it drains.
    pub(crate) fn learn(&self, session: Session) {
        let Session { id, worker, agents, created_at, draining } = session;
        let mut all = self.open();
        let known = all.entry(id).or_insert_with(|| Known {
            worker,
            agents,
            created_at,
            heard: false,
            heard_at: Instant::now(),
            open: 0,
            drains: watch::Sender::new(draining),
            streams: VecDeque::new(),
        });
        if draining {
            known.drain();
        }
    }

    /// Tell a session something, if it is here.
    pub(crate) fn hear(&self, id: Uuid, nudge: Nudge) {
        let mut all = self.open();
        let Some(known) = all.get_mut(&id) else { return };
        match nudge {
            Nudge::Drain => known.drain(),
            Nudge::Lease { .. } => known.tell(nudge),
        }
    }

    /// Who has been heard of since the last time, in the order of their ids. Whoever has been quiet for long is forgotten.
    pub(crate) fn heard(&self) -> Vec<Session> {
        let now = Instant::now();
        let mut all = self.open();
        all.retain(|_, known| known.open > 0 || now.duration_since(known.heard_at) < FORGOTTEN);
        let mut heard = Vec::new();
        for (id, known) in all.iter_mut() {
            if std::mem::take(&mut known.heard) || known.open > 0 {
                heard.push(Session {
                    id: *id,
                    worker: known.worker.clone(),
                    agents: known.agents.clone(),
                    created_at: known.created_at,
                    draining: *known.drains.borrow(),
                });
            }
        }
        // Replicas that write the same sessions at once lock them in one order.
        heard.sort_unstable_by_key(|session| session.id);
        heard
    }

    /// That these have been heard of was not written after all.
    pub(crate) fn unwritten(&self, sessions: &[Session]) {
        let mut all = self.open();
        for session in sessions {
            if let Some(known) = all.get_mut(&session.id) {
                known.heard = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(n: u128, draining: bool) -> Session {
        Session { id: Uuid::from_u128(n), worker: String::new(), agents: ["a".into()].into(), created_at: 1, draining }
    }

    fn lost(n: u128) -> Nudge {
        let lease = LeaseName { task: Uuid::from_u128(n), lease: Uuid::from_u128(n) };
        Nudge::Lease { turn: Turn::Lost, lease, state: 2 }
    }

    #[test]
    fn who_is_open_is_heard_again_and_again() {
        let sessions = Sessions::default();
        sessions.learn(session(2, false));
        sessions.learn(session(1, false));
        assert!(sessions.heard().is_empty(), "known is not heard of");
        let open = sessions.enter(Uuid::from_u128(2)).unwrap();
        drop(sessions.enter(Uuid::from_u128(1)).unwrap());
        let ids = |heard: Vec<Session>| heard.iter().map(|session| session.id.as_u128()).collect::<Vec<_>>();
        let first = sessions.heard();
        assert_eq!(ids(first.clone()), [1, 2]);
        assert_eq!(ids(sessions.heard()), [2]);
        drop(open);
        assert_eq!(ids(sessions.heard()), [2], "once more, for its last moment");
        assert!(sessions.heard().is_empty());
        sessions.unwritten(&first);
        assert_eq!(ids(sessions.heard()), [1, 2]);
        assert!(sessions.enter(Uuid::from_u128(3)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_quiet_for_long_is_forgotten() {
        let sessions = Sessions::default();
        sessions.learn(session(1, false));
        sessions.learn(session(2, false));
        let _open = sessions.enter(Uuid::from_u128(2)).unwrap();
        tokio::time::advance(FORGOTTEN).await;
        sessions.heard();
        assert!(sessions.enter(Uuid::from_u128(1)).is_none());
        assert!(sessions.enter(Uuid::from_u128(2)).is_some());
    }

    #[tokio::test]
    async fn a_drain_is_said_once_and_stays() {
        let sessions = Sessions::default();
        sessions.learn(session(1, false));
        let mut present = sessions.enter(Uuid::from_u128(1)).unwrap();
        let mut stream = present.listen();
        assert!(!present.is_draining());
        sessions.hear(present.id, Nudge::Drain);
        sessions.hear(present.id, Nudge::Drain);
        sessions.learn(session(1, true));
        sessions.learn(session(1, false));
        present.drained().await;
        assert_eq!(stream.try_recv(), Ok(Nudge::Drain));
        assert!(stream.try_recv().is_err());
        assert!(sessions.heard()[0].draining);
    }

    #[tokio::test]
    async fn a_stream_that_is_not_read_ends_and_holds_little() {
        let sessions = Sessions::default();
        sessions.learn(session(1, false));
        let present = sessions.enter(Uuid::from_u128(1)).unwrap();
        let mut slow = present.listen();
        for n in 0..1_000 {
            sessions.hear(present.id, lost(n));
        }
        let mut read = 0;
        while slow.recv().await.is_some() {
            read += 1;
        }
        assert_eq!(read, WAITING);
        let mut first = present.listen();
        let _others: Vec<_> = (0..STREAMS).map(|_| present.listen()).collect();
        assert_eq!(first.recv().await, None, "another has taken its place");
    }

    #[test]
    fn a_nudge_survives_its_words() {
        for nudge in [Nudge::Drain, lost(7)] {
            assert_eq!(nudge.to_string().parse(), Ok(nudge));
        }
        for text in ["", "later", "lost", "lost x 2", "cancel 1.2"] {
            assert_eq!(text.parse::<Nudge>(), Err(NotANudge), "{text}");
        }
    }
}
