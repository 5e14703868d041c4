//! Taskyard's surfaces over one engine: A2A as HTTP+JSON, as JSON-RPC and over gRPC, workers, health.
//!
//! A request is routed by its path alone (`route.rs`), then handed to a surface, which decodes, calls one operation of the engine and
//! encodes. No rule of the protocol or of the lifecycle is decided here; what is decided here is how each binding says it.
//! poem-openapi declares the operations of HTTP+JSON and of the worker surface, so that documents and handlers cannot part; the paths
//! are matched by our own table (`verbs.rs`), because poem's router cannot tell `/tasks/{id}:cancel` from `/tasks/{id}`.

mod answer;
mod app;
mod body;
mod call;
mod capability;
mod card;
mod connection;
mod cors;
mod dialect;
mod document;
mod failure;
mod grpc;
mod health;
mod hold;
mod jsonrpc;
mod log;
mod operation;
mod query;
mod rest;
mod route;
mod serve;
mod service;
mod sse;
mod stall;
mod trace;
mod verbs;
mod version;
mod webhook_keys;
mod worker;

pub use app::app;
pub use card::{Signer, SigningKeyError};
pub use document::{Document, documents};
pub use serve::{Listeners, Options, serve};
