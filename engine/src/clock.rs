//! The only place that asks what time it is.
//!
//! Time is the database's: each process measures once in a while how far its own clock is from the database's and counts on from there
//! with a monotonic clock. So replicas agree on when a lease ends whatever their hosts believe, a host's clock that jumps moves nothing,
//! and a statement takes the time as a parameter, which is how tests pin it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What time it is, in milliseconds since the epoch.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    /// Milliseconds of the database's clock at `start`, re-measured by `set`.
    Measured { start: Instant, at_start: AtomicI64 },
    /// What a test says.
    Pinned(AtomicI64),
}

impl Clock {
    /// The host's clock, until [`Clock::set`] says what the database's is.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn system() -> Clock {
        let start = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        Clock(Arc::new(Source::Measured { start, at_start: AtomicI64::new(now) }))
    }

    /// A clock that stands still at `now` until it is moved.
    pub fn pinned(now: i64) -> Clock {
        Clock(Arc::new(Source::Pinned(AtomicI64::new(now))))
    }

    /// Now.
    pub fn now(&self) -> i64 {
        match &*self.0 {
            Source::Measured { start, at_start } => {
                at_start.load(Ordering::Relaxed) + start.elapsed().as_millis() as i64
            }
            Source::Pinned(now) => now.load(Ordering::Relaxed),
        }
    }

    /// The database says that it is `now`. A pinned clock does not listen.
    pub fn set(&self, now: i64) {
        if let Source::Measured { start, at_start } = &*self.0 {
            at_start.store(now - start.elapsed().as_millis() as i64, Ordering::Relaxed);
        }
    }

    /// Move a pinned clock on.
    ///
    /// # Panics
    /// When the clock is not pinned: only a test may move time.
    pub fn advance(&self, milliseconds: i64) {
        match &*self.0 {
            Source::Pinned(now) => now.fetch_add(milliseconds, Ordering::Relaxed),
            Source::Measured { .. } => panic!("only a pinned clock can be moved"),
        };
    }
}
