//! Writes that share a commit.
//!
//! A write that finds no other one of its kind under way goes at once. Those that come while one is, wait for its end and then go together,
//! as one statement: one round trip, one commit, and one start of every part of the statement for all of them. So nothing waits where
//! there is little to do, and the more there is the less each costs.
//!
//! What one write suffers is its own: should the statement fail, every one of them is tried by itself. The same when it has to wait for a
//! lock: whoever holds it, for however long, holds up only those who want the same row.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sea_orm::{DatabaseConnection, DbErr, RuntimeErr};
use tokio::sync::oneshot;

use super::write::{Kinds, Write, WriteError, sql_state};

/// The most writes of one statement.
const MOST: usize = 64;
/// Bytes of a write that goes with others: a large one would hold them up.
pub(super) const SMALL: usize = 64 * 1024;
/// How long a shared statement waits for a lock, as Postgres reads it.
pub(super) const LOCK_TIMEOUT: &str = "100ms";

/// How many of a process's connections are for shared statements.
pub(super) fn connections(of: u32) -> u32 {
    (of / 4).clamp(1, 4)
}

/// The writes that are under way, by kind.
#[derive(Debug, Clone)]
pub(super) struct Share {
    /// What shared statements run on: there they wait for a lock for [`LOCK_TIMEOUT`] at most.
    pub(super) shared: DatabaseConnection,
    /// What a write alone runs on.
    alone: DatabaseConnection,
    lanes: Arc<Mutex<Lanes>>,
}

/// For each kind of which a write is under way, those that wait for its end.
type Lanes = HashMap<Kinds, Vec<Waiting>>;

#[derive(Debug)]
struct Waiting {
    write: Write,
    answer: oneshot::Sender<Result<(), WriteError>>,
}

impl Share {
    pub(super) fn new(shared: DatabaseConnection, alone: DatabaseConnection) -> Share {
        Share { shared, alone, lanes: Arc::default() }
    }

    /// Do `write`, with others of its kind if there are some. It is done also if nobody waits for it any more.
    pub(super) async fn write(&self, kinds: Kinds, write: Write) -> Result<(), WriteError> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { write, answer };
        let first = {
            let mut lanes = open(&self.lanes);
            match lanes.get_mut(&kinds) {
                Some(lane) => {
                    lane.push(waiting);
                    None
                }
                None => {
                    lanes.insert(kinds.clone(), Vec::new());
                    Some(waiting)
                }
            }
        };
        if let Some(first) = first {
            tokio::spawn(self.clone().go(Lane { kinds, lanes: self.lanes.clone(), open: true }, first));
        }
        // Whoever was to answer is gone: the process ends.
        let gone = || DbErr::Conn(RuntimeErr::Internal("this process is ending".to_owned()));
        answered.await.unwrap_or_else(|_| Err(gone().into()))
    }

    /// Do the first write, and then what has come meanwhile, until nothing has.
    async fn go(self, mut lane: Lane, first: Waiting) {
        let mut batch = vec![first];
        while !batch.is_empty() {
            self.write_all(batch).await;
            batch = lane.take();
        }
    }

    async fn write_all(&self, batch: Vec<Waiting>) {
        let mut whole = Write::new();
        batch.iter().for_each(|waiting| whole.merge(&waiting.write));
        let outcome = whole.run(&self.shared).await;
        let by_itself = match &outcome {
            Ok(()) => false,
            Err(WriteError::Lost) => batch.len() > 1,
            // What the database refuses it has undone. 55P03: the lock was not to be had in time.
            Err(WriteError::Failed(error)) => match sql_state(error) {
                Some(code) => code == "55P03" || (batch.len() > 1 && !super::is_away(error)),
                None => false,
            },
        };
        for Waiting { write, answer } in batch {
            if by_itself {
                let alone = self.alone.clone();
                tokio::spawn(async move { answer.send(write.run(&alone).await) });
            } else {
                // Whoever asked may be gone.
                let _gone = answer.send(outcome.clone());
            }
        }
    }
}

/// The lane of one kind of write, which is under way as long as this lives.
struct Lane {
    kinds: Kinds,
    lanes: Arc<Mutex<Lanes>>,
    open: bool,
}

impl Drop for Lane {
    fn drop(&mut self) {
        // A panic, or the end of the process: nobody may wait for what does not go on.
        if self.open {
            open(&self.lanes).remove(&self.kinds);
        }
    }
}

impl Lane {
    /// Who has come meanwhile. When nobody has, the lane is closed.
    fn take(&mut self) -> Vec<Waiting> {
        let mut lanes = open(&self.lanes);
        let Some(waiting) = lanes.get_mut(&self.kinds) else { return Vec::new() };
        let batch: Vec<Waiting> = waiting.drain(..waiting.len().min(MOST)).collect();
        if batch.is_empty() {
            lanes.remove(&self.kinds);
            self.open = false;
        }
        batch
    }
}

fn open(lanes: &Mutex<Lanes>) -> MutexGuard<'_, Lanes> {
    // A panic cannot leave the lanes half written.
    lanes.lock().unwrap_or_else(PoisonError::into_inner)
}
