//! The surfaces over an engine on SQLite in memory.

mod bad_input;
mod client;
mod documents;
mod envelope;
mod health;
mod lifecycle;
mod outcomes;
mod routes;
mod smoke;
