//! `taskyard worker`: the built-in agents on the public worker surface. It needs a URL, and no database.

use crate::{Config, Failure, Shutdown};

/// Pulls tasks until it is told to stop, then finishes what it holds.
///
/// # Errors
/// The worker could not be built.
pub async fn run(_config: Config, _shutdown: Shutdown) -> Result<(), Failure> {
    Err("`taskyard worker` is not wired yet".into())
}
