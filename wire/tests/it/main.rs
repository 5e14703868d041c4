//! The rules of the protocol's words, each as a table: what the proto declares, what JSON is taken and printed,
//! what is refused and under which name.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod error;
mod json;
mod lifecycle;
mod nesting;
mod openapi;
mod proto;
mod refusal;
mod rules;
mod samples;
mod tenant;
mod timestamp;
mod tsv;
mod update;
mod v03;
