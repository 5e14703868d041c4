//! `taskyard migrate`: brings the tables up to date. A job of its own, so that a deployment decides when they change.

use crate::parts::connect;
use crate::{Config, Failure};

/// Runs every migration that has not run yet. Safe to run twice, and by several processes at once.
///
/// # Errors
/// No database is configured or reachable, or a migration failed.
pub async fn run(config: Config) -> Result<(), Failure> {
    // One connection holds the lock that lets one process migrate at a time, another migrates.
    let store = connect(config.database_url("migrate")?, config.database_connections.max(2)).await?;
    engine::migrate(&store).await?;
    engine::check_schema(&store).await?;
    store.close().await;
    tracing::info!("the database has the tables of this release");
    Ok(())
}
