//! Deciding again when another write came first.
//!
//! An operation reads, decides, and writes upon what it read. Mostly nobody is in between. Where somebody is, it decides anew; and where
//! somebody always is (a busy worker needs no read, so it is faster), it takes its turn under the task's lock, where nobody can be.

use std::time::Duration;

use uuid::Uuid;
use wire::Error;

use crate::store::{Locked, Write, WriteError, work};
use crate::{Engine, database, unwritten};

/// Attempts before the caller is asked to try again.
const ATTEMPTS: u32 = 24;
/// Attempts without the lock.
const FREE: u32 = 3;

/// The attempts of one operation.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    engine: &'a Engine,
    doing: &'static str,
    task: Option<Uuid>,
    made: u32,
}

/// One attempt at a write.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    engine: &'a Engine,
    doing: &'static str,
    first: bool,
    turn: Option<Locked>,
}

impl Engine {
    /// Attempts at what `doing` says. `task` is the one whose turn is taken in the end; a write to none races only for keys and places,
    /// which another attempt finds taken or free.
    pub(crate) fn attempts(&self, doing: &'static str, task: Option<Uuid>) -> Attempts<'_> {
        Attempts { engine: self, doing, task, made: 0 }
    }

    /// Hold the task's work row, so that nobody else writes to the task. None where a transaction would keep us from reading.
    async fn turn(&self, task: Uuid) -> Result<Option<Locked>, sea_orm::DbErr> {
        if self.store().is_one_connection() {
            return Ok(None);
        }
        let locked = self.store().lock().await?;
        work::lock(locked.read(), task).await?;
        Ok(Some(locked))
    }
}

impl<'a> Attempts<'a> {
    /// The next attempt, after a pause where there were several.
    ///
    /// # Errors
    /// `Unavailable` after too many, and when the database is away.
    pub(crate) async fn next(&mut self) -> Result<Attempt<'a>, Error> {
        let (engine, doing, number) = (self.engine, self.doing, self.made);
        if number == ATTEMPTS {
            return Err(unwritten(doing)(WriteError::Lost));
        }
        self.made += 1;
        if number > FREE {
            // Apart from each other, so that those who raced do not race again.
            let spread = engine.ids().next().as_u128() as u64 % (1 << (number - FREE).min(5));
            tokio::time::sleep(Duration::from_millis(1 + spread)).await;
        }
        let turn = match self.task.filter(|_| number >= FREE) {
            Some(task) => engine.turn(task).await.map_err(database(doing))?,
            None => None,
        };
        Ok(Attempt { engine, doing, first: number == 0, turn })
    }
}

impl Attempt<'_> {
    /// Whether nothing was tried before.
    pub(crate) fn is_first(&self) -> bool {
        self.first
    }

    /// Write what was decided; whether it was written. If not, another write came first, and the next attempt decides anew.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn write(self, write: Write) -> Result<bool, Error> {
        let written = match self.turn {
            Some(turn) => turn.write(write).await,
            None => self.engine.store().write(write).await,
        };
        match written {
            Ok(()) => Ok(true),
            Err(WriteError::Lost) => Ok(false),
            Err(error) => Err(unwritten(self.doing)(error)),
        }
    }
}
