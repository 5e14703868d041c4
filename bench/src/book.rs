//! The book of an open loop: when each of many numbered things was due, and when it came.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crate::figures::Notes;

/// Things are numbered from 0 on, over all runs.
#[derive(Debug, Default)]
pub(crate) struct Book {
    due: RefCell<Vec<Instant>>,
    arrived: RefCell<Vec<(usize, Instant)>>,
}

impl Book {
    /// Enters `count` more, so many a second from `begin` on. Yields the number of the first.
    pub(crate) fn plan(&self, begin: Instant, rate: u32, count: usize) -> usize {
        let mut due = self.due.borrow_mut();
        let first = due.len();
        due.extend((0..count).map(|n| begin + Duration::from_secs(1) / rate * n as u32));
        first
    }

    /// Resolves when the thing of that number is due.
    pub(crate) async fn until_due(&self, number: usize) {
        let due = self.due.borrow().get(number).copied();
        if let Some(due) = due {
            tokio::time::sleep_until(due.into()).await;
        }
    }

    /// The thing of that number has come.
    pub(crate) fn arrived(&self, number: usize) {
        self.arrived.borrow_mut().push((number, Instant::now()));
    }

    /// Waits up to `patience` for all from `first` on, and notes how long each took from when it was due; `missing` says what one is
    /// that did not come.
    pub(crate) async fn close(&self, first: usize, patience: Duration, missing: &str) -> Notes {
        let all = self.due.borrow().len();
        let begin = Instant::now();
        let lacking = || all - self.arrived.borrow().len().min(all);
        while lacking() > 0 && begin.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut notes = Notes::default();
        for (number, at) in self.arrived.borrow().iter().filter(|(number, _)| *number >= first) {
            if let Some(due) = self.due.borrow().get(*number) {
                notes.took(at.saturating_duration_since(*due));
            }
        }
        for _ in 0..lacking() {
            notes.failed(missing.to_owned());
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_noted_and_what_does_not_is_an_error() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let book = Book::default();
        let begin = Instant::now();
        assert_eq!((book.plan(begin, 100, 2), book.plan(begin, 100, 2)), (0, 2));
        runtime.block_on(async {
            book.until_due(3).await;
            (0..3).for_each(|number| book.arrived(number));
            let figures =
                book.close(2, Duration::from_millis(1), "one that did not come").await.sum_up(begin.elapsed());
            assert_eq!((figures.count, figures.errors), (1, 1));
            assert!(figures.median >= 9.0, "{figures:?}");
        });
    }
}
