//! Serving until told to stop, and stopping without leaving anybody without an answer.

use std::time::Duration;

use engine::Engine;
use tokio::net::TcpListener;

use crate::app::App;
use crate::connection;

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

/// Serve `engine` on `listener` until `shutdown` resolves, then drain: readiness goes off, waiting polls are answered with what there
/// is, blocked sends with 503, streams end with where to resume, and every other request has [`Options::drain`] to end.
///
/// The engine's own loops ([`Engine::run`]) are the caller's to run, and to end after this has returned.
pub async fn serve(engine: Engine, listener: TcpListener, options: Options, shutdown: impl Future<Output = ()>) {
    let app = App::new(engine.clone(), options);
    let state = app.clone();
    let stop = async move {
        shutdown.await;
        state.drain();
        engine.close();
    };
    connection::serve(listener, app, stop, options).await;
}
