//! The binary `taskyard`: its commands, its configuration, and `dev`, which is all of it in one process. It holds no rule of
//! the protocol; it reads what the operator wants, builds the parts and keeps them running until it is told to stop.

pub mod cli;
pub mod config;
pub mod dev;
pub mod failure;
pub mod migrate;
pub mod openapi;
mod parts;
pub mod queues;
pub mod serve;
pub mod shutdown;
pub mod signing;
pub mod telemetry;
pub mod undelivered;
pub mod work;

pub use config::Config;
pub use failure::Failure;
pub use shutdown::{Shutdown, Stop};
