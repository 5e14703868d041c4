//! The operations against both stores: each test runs on SQLite and on Postgres, and proves one rule.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and says what it skips")]

mod direct;
mod fairness;
mod fixture;
mod lease_content;
mod leases;
mod lifecycle;
mod lists;
mod migrations;
mod push_configs;
mod quotas;
mod sends;
mod sessions;
mod shared_writes;
mod streams;
mod undelivered;
mod update_keys;

/// Runs one scenario on every store.
macro_rules! on_every_store {
    ($($(#[$doc:meta])* async fn $name:ident($fixture:ident: Fixture) $body:block)*) => {
        $(
            $(#[$doc])*
            mod $name {
                use super::*;

                async fn scenario($fixture: Fixture) $body

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    let fixture = Fixture::on_sqlite().await;
                    scenario(fixture.clone()).await;
                    fixture.end().await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    let Some(fixture) = Fixture::on_postgres().await else { return };
                    scenario(fixture.clone()).await;
                    fixture.end().await;
                }
            }
        )*
    };
}
pub(crate) use on_every_store;
