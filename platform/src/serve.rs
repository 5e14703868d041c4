//! The replicated processes: `taskyard api` and `taskyard notifier`, on Postgres and, as long as it is there, Redis.

use crate::{Config, Failure, Shutdown};

/// Serves clients and workers until it is told to stop.
///
/// # Errors
/// No database is configured or reachable, or the port is taken.
pub async fn api(config: Config, _shutdown: Shutdown) -> Result<(), Failure> {
    config.database_url("api")?;
    Err("`taskyard api` is not wired yet".into())
}

/// Delivers push notifications until it is told to stop.
///
/// # Errors
/// No database is configured or reachable.
pub async fn notifier(config: Config, _shutdown: Shutdown) -> Result<(), Failure> {
    config.database_url("notifier")?;
    Err("`taskyard notifier` is not wired yet".into())
}
