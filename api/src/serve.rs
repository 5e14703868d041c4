//! Serving until told to stop, and stopping without leaving anybody without an answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use futures_util::FutureExt;
use tokio::net::TcpListener;

use crate::app::App;
use crate::card::Signer;
use crate::grpc::Grpcs;
use crate::{connection, log};

/// How the surfaces are served.
#[derive(Debug, Clone)]
pub struct Options {
    /// The longest request body, in bytes. Over it: 413, in JSON-RPC -32600.
    pub body_bytes: usize,
    /// How long open requests may take to end once shutdown has begun.
    pub drain: Duration,
    /// How long a stream may be silent before a comment tells everything between here and the client that it lives.
    pub keep_alive: Duration,
    /// How long a client may take nothing of what it is sent before its connection is closed.
    pub stall: Duration,
    /// Where clients find this deployment: an absolute URL without query. Cards say it; without one they say what the client or a
    /// trusted proxy called us.
    pub public_url: Option<String>,
    /// Whether `Forwarded` and `X-Forwarded-Proto`, `-Host` and `-Prefix` come from a proxy that sets or drops them itself.
    pub trust_forwarded: bool,
    /// Where clients find gRPC, as `host:port`. Cards have that interface only with it.
    pub grpc_url: Option<String>,
    /// Where HTTP listens; [`serve`] knows.
    pub listening: Option<SocketAddr>,
    /// How long a card may be kept without asking again.
    pub card_max_age: Duration,
    /// Signs cards.
    pub signer: Option<Arc<Signer>>,
    /// Origins of web pages that may call A2A, such as `https://app.example`; `*` is every one. Cards are for all of them anyway.
    pub cors_origins: Vec<String>,
    /// Whether clients of A2A 0.3 are served too.
    pub v03: bool,
}

impl Default for Options {
    /// 4 MiB, 10 seconds of draining, 15 and 60 seconds of silence, cards kept for 5 minutes and not signed, nobody trusted, and 0.3
    /// served.
    fn default() -> Self {
        Options {
            body_bytes: 4 << 20,
            drain: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            stall: Duration::from_secs(60),
            public_url: None,
            trust_forwarded: false,
            grpc_url: None,
            listening: None,
            card_max_age: Duration::from_secs(300),
            signer: None,
            cors_origins: Vec::new(),
            v03: true,
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

/// How long a connection may take for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// [`Options::drain`].
    pub(crate) drain: Duration,
    /// [`Options::stall`].
    pub(crate) stall: Duration,
    /// [`Options::keep_alive`].
    pub(crate) keep_alive: Duration,
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
    let options = Options { listening: http.local_addr().ok(), ..options };
    let patience = Patience { drain: options.drain, stall: options.stall, keep_alive: options.keep_alive };
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
            Ok(handler) => connection::serve(listener, handler, stop.clone(), patience).await,
            Err(error) => log::failure(&error),
        }
    };
    tokio::join!(connection::serve(http, app.clone(), stop.clone(), patience), grpc);
}
