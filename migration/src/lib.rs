//! How the tables came to be: one file per change, never edited after a release. A migration imports nothing of ours, so that it keeps
//! meaning what it meant.
//!
//! Three conventions hold in every table, for the same text to be right on Postgres and SQLite:
//! times are `bigint` milliseconds since the epoch (SQLite compares dates as text, and a fraction of one digit sorts after two);
//! JSON bodies are `text` holding ProtoJSON as it was written (`jsonb` refuses `\u0000`, reorders members and rewrites numbers, and
//! nothing queries inside a body); *no tenant* is the empty string, which no tenant can be called, so that keys may include it.

use sea_orm_migration::prelude::*;

mod m0001_tasks;
mod m0002_push;
mod m0003_version;
mod m0004_direct;
mod m0005_pools;
mod m0006_signing;

/// Every migration in order.
#[derive(Debug, Clone, Copy)]
pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m0001_tasks::Tasks),
            Box::new(m0002_push::Push),
            Box::new(m0003_version::PushVersion),
            Box::new(m0004_direct::Direct),
            Box::new(m0005_pools::Pools),
            Box::new(m0006_signing::Signing),
        ]
    }
}
