//! The surfaces over an engine on SQLite in memory.

mod client;
mod documents;
mod smoke;
