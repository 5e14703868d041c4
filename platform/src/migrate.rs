//! `taskyard migrate`: brings the tables up to date. A job of its own, so that a deployment decides when they change.

use crate::{Config, Failure};

/// Runs every migration that has not run yet.
///
/// # Errors
/// No database is configured or reachable, or a migration failed.
pub async fn run(config: Config) -> Result<(), Failure> {
    config.database_url("migrate")?;
    Err("`taskyard migrate` is not wired yet".into())
}
