//! The notifier on both stores, against a receiver that answers as it is told.
//!
//! `TASKYARD_TEST_POSTGRES` names a server (`postgres://user@host:port`); each test makes a database of its own there and drops it. Without
//! one they fail, unless `TASKYARD_TEST_SERVICES_OPTIONAL=1` does without. Tests wait for what they wait for, never for a time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

mod deletion;
mod fairness;
mod order;
mod place;
mod receiver;
mod request;
mod retry;
mod signature;
mod stop;
mod version;

/// Run each test once a store.
macro_rules! on_both_stores {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                crate::place::on_sqlite(super::$test).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                crate::place::on_postgres(super::$test).await;
            })*
        }
    };
}
pub(crate) use on_both_stores;

/// Wait until `what` holds, and fail when it does not within half a minute.
async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(30), waiting).await.is_err() {
        panic!("in 30 s it did not come to this: {what}");
    }
}
