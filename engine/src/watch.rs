//! Who waits for a task's news in this process: blocked sends now, streams later. A hint wakes them; the sweep asks the database for
//! all of them in one statement, for the hints that were lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;
use uuid::Uuid;

/// The last that was heard of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct News {
    /// Number of the last event.
    pub generation: i64,
    /// The proto's number of the state after it; 0 is unknown.
    pub state: i16,
}

type Tasks = HashMap<Uuid, Weak<watch::Sender<News>>>;

/// Every task somebody waits for.
#[derive(Debug, Default)]
pub struct Watch {
    tasks: Arc<Mutex<Tasks>>,
}

/// One who waits. Forgotten when dropped.
#[derive(Debug)]
pub struct Watcher {
    task: Uuid,
    sender: Option<Arc<watch::Sender<News>>>,
    receiver: watch::Receiver<News>,
    tasks: Arc<Mutex<Tasks>>,
}

fn open(tasks: &Mutex<Tasks>) -> MutexGuard<'_, Tasks> {
    // A panic cannot leave the map half written.
    tasks.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Wait for news of `task`, from now on: begin before reading, so that nothing falls between.
    pub fn begin(&self, task: Uuid) -> Watcher {
        let mut tasks = open(&self.tasks);
        let sender = match tasks.get(&task).and_then(Weak::upgrade) {
            Some(sender) => sender,
            None => {
                let sender = Arc::new(watch::Sender::new(News::default()));
                tasks.insert(task, Arc::downgrade(&sender));
                sender
            }
        };
        Watcher { task, receiver: sender.subscribe(), sender: Some(sender), tasks: self.tasks.clone() }
    }

    /// There is news of `task`.
    pub fn hear(&self, task: Uuid, generation: i64, state: i16) {
        let sender = open(&self.tasks).get(&task).and_then(Weak::upgrade);
        if let Some(sender) = sender {
            sender.send_if_modified(|news| {
                let newer = generation > news.generation;
                if newer {
                    *news = News { generation, state };
                }
                newer
            });
        }
    }

    /// Whoever waits for `task` looks again: what there is to see is no event.
    pub fn wake(&self, task: Uuid) {
        let sender = open(&self.tasks).get(&task).and_then(Weak::upgrade);
        if let Some(sender) = sender {
            sender.send_modify(|_| {});
        }
    }

    /// Every task somebody waits for.
    pub fn waiting(&self) -> Vec<Uuid> {
        open(&self.tasks).keys().copied().collect()
    }
}

impl Watcher {
    /// What has been heard by now, also before this one began to wait.
    pub fn latest(&self) -> News {
        *self.receiver.borrow()
    }

    /// The next news. Several that come close together may be one.
    pub async fn next(&mut self) -> News {
        // The sender lives as long as this watcher, so there is always a next.
        let _open = self.receiver.changed().await;
        *self.receiver.borrow_and_update()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut tasks = open(&self.tasks);
        self.sender = None;
        if tasks.get(&self.task).is_some_and(|sender| sender.strong_count() == 0) {
            tasks.remove(&self.task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn news_reach_every_watcher_and_only_once() {
        let watch = Watch::default();
        let task = Uuid::from_u128(1);
        let (mut a, mut b) = (watch.begin(task), watch.begin(task));
        watch.hear(task, 2, 5);
        watch.hear(task, 1, 2);
        assert_eq!(a.next().await, News { generation: 2, state: 5 });
        assert_eq!(b.next().await, News { generation: 2, state: 5 });
        drop(a);
        assert_eq!(watch.waiting(), [task]);
        drop(b);
        assert!(watch.waiting().is_empty());
    }
}
