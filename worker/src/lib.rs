//! The worker runtime: pulls tasks from a Taskyard platform over its public worker surface, runs an
//! [`Agent`] on each, keeps the leases meanwhile, and brings every run to an end.
//!
//! It knows the platform only by that surface, as a worker in any other language does, so our own
//! agents prove what everyone else's will use. An author writes an [`Agent`]; the rest is here:
//!
//! - [`Worker`] polls for as many tasks as it has room for and stops gracefully;
//! - heartbeats run on their own, one call for all leases;
//! - [`Context`] is how an agent sees its task and reports, [`Outcome`] how a run ends;
//! - [`Client`] is the bare surface, for other uses;
//! - [`builtin`] holds the agents of the binary; [`builtin::Demo`] is one to learn from.
//!
//! ```no_run
//! # async fn example() -> Result<(), worker::Error> {
//! use worker::{Options, Worker, builtin::Demo};
//!
//! let worker = Worker::new(Options {
//!     url: "http://127.0.0.1:8080".to_owned(),
//!     agents: vec!["demo".to_owned()],
//!     ..Options::default()
//! })?;
//! worker.run(Demo, async { let _ = tokio::signal::ctrl_c().await; }).await
//! # }
//! ```

mod agent;
mod answer;
mod backoff;
pub mod builtin;
mod client;
mod context;
mod control;
mod error;
mod keeper;
mod lease;
mod pull;
mod report;
mod stream;
mod text;
mod turn;

pub use agent::{Agent, Outcome, Result, agent_fn};
pub use answer::{Answer, Unreadable};
pub use async_trait::async_trait;
pub use client::{Client, LeaseKey};
pub use context::{Context, Later};
pub use error::{Error, Refusal};
pub use pull::{Options, Worker};
pub use stream::ArtifactStream;
pub use text::{artifact, message, text_of};
