//! The harness of the end-to-end tests: processes of the real binary, a webhook receiver, clients and workers that speak plain HTTP.
//!
//! Bodies are `serde_json::Value` and not our own types: what is tested is what stands on the wire. What goes wrong panics, because that
//! is how a test fails; what a test wants to see fail is a `Result`. Tests wait for conditions, never for a time ([`eventually`]).

mod audience;
mod balancer;
mod client;
mod condition;
mod control;
pub mod crowd;
mod database;
mod delays;
mod dice;
mod havoc;
mod load;
mod platform;
mod pool;
mod pool_figures;
mod port;
mod process;
mod proxy;
mod races;
mod receiver;
mod refusal;
mod services;
mod setup;
mod stream;
mod verdict;
mod witness;
mod worker;

pub use audience::{AGENT, Audience, Heard};
pub use client::{Binding, Client, Failure, hook, said, text};
pub use condition::{PATIENCE, eventually, never_within};
pub use control::Control;
pub use database::Database;
pub use delays::{Delays, TIMED};
pub use dice::seed;
pub use havoc::{Havoc, Plan};
pub use load::{Answer, Load};
pub use platform::Platform;
pub use pool::{LEASE, Pool, Sent, Trouble};
pub use pool_figures::PoolFigures;
pub use proxy::{Loss, Proxy};
pub use races::{RACED, RaceFigures, Races};
pub use receiver::{Hit, Receiver};
pub use refusal::Refusal;
pub use services::Services;
pub use setup::Setup;
pub use stream::{Event, Events, Next};
pub use verdict::Figures;
pub use witness::{Claim, Witness, Write};
pub use worker::{Held, Lease, Worker};
