//! What this process wrote to a task last, so that the next write to it need not read it first.
//!
//! A worker mostly writes where it polled, and every write is guarded by the revision it was decided on. So a decision may as well be made
//! on what is remembered: if somebody else has written since, its guard does not hold, and it is made again on what is read. A refusal
//! is never given on what is remembered, only on what was read.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use crate::store::task::TaskAndWork;

/// Writes that are looked back upon; as many tasks are remembered at most.
const MOST: usize = 4_096;
/// Bytes of status message and metadata a task may have to be remembered.
const SMALL: usize = 16 * 1024;

/// Recently written tasks, each until it is taken.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tasks: HashMap<Uuid, (u64, TaskAndWork)>,
    /// Who came when; what has been taken, or has come again since, has another number or none.
    order: VecDeque<(u64, Uuid)>,
    puts: u64,
}

impl Recent {
    /// Remember a task as it was just written. One that is over is not written again.
    pub(crate) fn put(&self, written: TaskAndWork) {
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        if written.work.is_none() || size(&written.task.status_message) + size(&written.task.metadata) > SMALL {
            return;
        }
        let id = written.task.id;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        inner.puts += 1;
        inner.tasks.insert(id, (inner.puts, written));
        inner.order.push_back((inner.puts, id));
        while inner.order.len() > MOST {
            let Some((number, oldest)) = inner.order.pop_front() else { break };
            if inner.tasks.get(&oldest).is_some_and(|(latest, _)| *latest == number) {
                inner.tasks.remove(&oldest);
            }
        }
    }

    /// What is remembered of a task, once.
    pub(crate) fn take(&self, id: Uuid) -> Option<TaskAndWork> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).tasks.remove(&id).map(|(_, written)| written)
    }
}
