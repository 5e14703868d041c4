//! The surfaces over an engine on SQLite in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so")]

mod bad_input;
mod cards;
mod client;
mod direct;
mod documents;
mod envelope;
mod extensions;
mod garbage;
mod grpc;
mod health;
mod lifecycle;
mod outcomes;
mod routes;
mod server;
mod sessions;
mod signatures;
mod smoke;
mod socket;
mod streams;
mod table;
mod trace;
mod update_keys;
mod v03;
