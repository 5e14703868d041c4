//! Serving until told to stop, and stopping without leaving anybody without an answer.

use std::time::Duration;

use engine::Engine;
use futures_util::FutureExt;
use tokio::net::TcpListener;

use crate::app::App;
use crate::grpc::Grpcs;
use crate::{connection, log};

/// How the surfaces are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The longest request body, in bytes. Over it: 413, in JSON-RPC -32600.
    pub body_bytes: usize,
    /// How long open requests may take to end once shutdown has begun.
    pub drain: Duration,
    /// How long a stream may be silent before a comment tells everything between here and the client that it lives.
    pub keep_alive: Duration,
    /// How long a client may take nothing of what it is sent before its connection is closed.
    pub stall: Duration,
}

impl Default for Options {
    /// 4 MiB, 10 seconds, 15 seconds and 60 seconds.
    fn default() -> Self {
        Options {
            body_bytes: 4 << 20,
            drain: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            stall: Duration::from_secs(60),
        }
    }
}

/// Where the surfaces are served.
#[derive(Debug)]
pub struct Listeners {
    /// HTTP+JSON, JSON-RPC, workers and health.
    pub http: TcpListener,
    /// gRPC, if it is served.
    pub grpc: Option<TcpListener>,
}

impl From<TcpListener> for Listeners {
    /// HTTP only.
    fn from(http: TcpListener) -> Self {
        Listeners { http, grpc: None }
    }
}

/// Serve `engine` on `listeners` until `shutdown` resolves, then drain: readiness goes off, waiting polls are answered with what there
/// is, blocked sends with 503, streams end with where to resume, and every other request has [`Options::drain`] to end.
///
/// The engine's own loops ([`Engine::run`]) are the caller's to run, and to end after this has returned.
pub async fn serve(
    engine: Engine,
    listeners: impl Into<Listeners>,
    options: Options,
    shutdown: impl Future<Output = ()>,
) {
    let Listeners { http, grpc } = listeners.into();
    let app = App::new(engine.clone(), options);
    let state = app.clone();
    let stop = async move {
        shutdown.await;
        state.drain();
        engine.close();
    };
    let stop = stop.shared();
    let grpc = async {
        let Some(listener) = grpc else { return };
        match Grpcs::new(app.shared()) {
            Ok(handler) => connection::serve(listener, handler, stop.clone(), options).await,
            Err(error) => log::failure(&error),
        }
    };
    tokio::join!(connection::serve(http, app.clone(), stop.clone(), options), grpc);
}
