//! The end-to-end tests: one program, so that they are linked once. Every test has a platform of its own and can run beside the others.
//!
//! A rule that holds in every shape is a function of a [`e2e::Setup`]; [`on_both!`] makes it a test of one process on the embedded store
//! and a test of several processes on Postgres and Redis.

/// Two tests of each rule.
macro_rules! on_both {
    ($($rule:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$rule(e2e::Setup::embedded()).await;
            })*
        }
        mod replicated {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                if let Some(setup) = e2e::Setup::replicas(2, 1, 1) {
                    super::$rule(setup).await;
                }
            })*
        }
    };
}

mod builtin;
mod cancel;
mod control;
mod direct;
mod history;
mod job;
mod lease;
mod lists;
mod pool;
mod push;
mod python;
mod quota;
mod races;
mod reads;
mod send_key;
mod stop;
mod streams;
mod tenant;
mod turns;
mod undelivered;
mod unheard;
