//! Waiting for what must come to be, and nothing else: a test that sleeps for a time is slow on a fast machine and wrong on a slow one.

use std::time::{Duration, Instant};

/// How long a condition may take before the test fails. Only a failing test waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What `check` finds, as soon as it finds something.
///
/// # Panics
/// When it finds nothing within [`PATIENCE`].
pub async fn eventually<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "waited {} s in vain for {what}", PATIENCE.as_secs());
        tokio::time::sleep(LOOK).await;
    }
}

/// Looks on for `time` that `check` finds nothing. For what must not happen there is no condition to wait for.
///
/// # Panics
/// When it finds something.
pub async fn never_within(time: Duration, what: &str, mut check: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        assert!(!check().await, "{what}");
        tokio::time::sleep(LOOK).await;
    }
}
