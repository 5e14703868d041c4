//! The worker runtime: pulls tasks from a Taskyard platform over its public worker surface, runs an
//! [`Agent`] on each, keeps the leases meanwhile, and brings every run to an end.
//!
//! It knows the platform only by that surface, as a worker in any other language does, so our own
//! agents prove what everyone else's will use. An author writes an [`Agent`]; the rest is here:
//!
//! - [`Worker`] polls for as many tasks as it has room for, pauses when the platform is away, and stops gracefully: it takes no more,
//!   lets running tasks finish, and gives the rest back;
//! - an [`Agent`] is one async method or a closure ([`agent_fn`]); [`Context`] is how it sees its task and reports, [`Outcome`] how a
//!   run ends. An error fails the task, and so does a panic. A [`Roster`] is several agents in one worker;
//! - heartbeats run on a thread of their own, one call for all leases, so that an agent may be busy, and may even block its thread
//!   (but holds up the others of its runtime then: `spawn_blocking` is for that). On the control stream the platform tells at once what
//!   heartbeats would tell later: a cancel, a new message;
//! - a report whose answer is lost is made again under the same key until it is clear what became of it;
//! - [`Client`] is the bare surface, for other uses;
//! - [`builtin`] holds the agents of the binary; [`builtin::Demo`] is one to learn from.
//!
//! A whole worker (`worker/examples/shout.rs`):
//!
#![doc = "```no_run"]
#![doc = include_str!("../examples/shout.rs")]
#![doc = "```"]

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
mod roster;
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
pub use roster::Roster;
pub use stream::ArtifactStream;
pub use text::{artifact, message, text_of};
