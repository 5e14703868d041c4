//! The accept loop.
//!
//! poem has one of its own, which keeps a handler running after its client has gone. Ours drops it with the connection: a poll must not
//! outlive the worker that asked, or work would be handed to nobody and wait for a lease to end.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use poem::http::uri::Scheme;
use poem::http::{Request, Response};
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Addr, Endpoint};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::serve::Patience;
use crate::stall::Impatient;

/// How long the head of a request may take to arrive, from the connection or the last answer on.
const HEAD: Duration = Duration::from_secs(30);

/// How long a silent gRPC connection has to answer when it is asked whether it is still there.
const PONG: Duration = Duration::from_secs(20);
/// Bytes of the metadata of one gRPC call.
const HEADERS: u32 = 64 * 1024;
/// Calls that one gRPC connection may have open: clients put every stream on the same one.
const STREAMS: u32 = 2_000;

/// The two ends of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    local: LocalAddr,
    remote: RemoteAddr,
}

/// What answers the requests of a connection.
pub(crate) trait Handler: Clone + Send + Sync + 'static {
    /// The body of its answers.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;
    /// Whether it speaks gRPC, which is HTTP/2 and nothing else.
    const GRPC: bool;
    /// Answer one request.
    fn handle(&self, request: Request<Incoming>, peer: &Peer) -> impl Future<Output = Response<Self::Body>> + Send;
}

impl Handler for App {
    type Body = BoxBody<Bytes, std::io::Error>;
    const GRPC: bool = false;

    async fn handle(&self, request: Request<Incoming>, peer: &Peer) -> Response<Self::Body> {
        let request: poem::Request = (request, peer.local.clone(), peer.remote.clone(), Scheme::HTTP).into();
        self.get_response(request).await.into()
    }
}

/// Serve until `shutdown` resolves; then accept nothing more, let what is under way finish within [`Patience::drain`], and return.
pub(crate) async fn serve(
    listener: TcpListener,
    handler: impl Handler,
    shutdown: impl Future<Output = ()>,
    patience: Patience,
) {
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, remote)) => {
                    connections.spawn(one(socket, Addr::from(remote), patience, handler.clone(), ended.clone()));
                }
                Err(error) => {
                    // Out of file handles, most likely: some will be given back.
                    tracing::warn!(%error, "accepting a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    ending.send_replace(true);
    let finished =
        tokio::time::timeout(patience.drain, async { while connections.join_next().await.is_some() {} }).await;
    if finished.is_err() {
        tracing::warn!(connections = connections.len(), "ending connections that did not finish in time");
    }
}

/// One connection. When it ends, for whatever reason, so do the handlers of its requests.
async fn one<H: Handler>(
    socket: TcpStream,
    remote: Addr,
    patience: Patience,
    handler: H,
    ended: watch::Receiver<bool>,
) {
    // Answers are written whole; waiting for more to send only delays them.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "setting nodelay");
    }
    let Ok(local) = socket.local_addr().map(Addr::from) else { return };
    let peer = Peer { local: LocalAddr(local), remote: RemoteAddr(remote) };
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (handler, peer) = (handler.clone(), peer.clone());
        // hyper keeps room for this future as long as the connection lasts, also while it only streams.
        Box::pin(async move { Ok::<_, Infallible>(handler.handle(request, &peer).await) })
    });
    let socket = TokioIo::new(Impatient::new(socket, patience.stall));
    if H::GRPC {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).keep_alive_interval(patience.keep_alive).keep_alive_timeout(PONG);
        builder.max_header_list_size(HEADERS).max_concurrent_streams(STREAMS);
        finish(Box::pin(builder.serve_connection(socket, service)), http2::Connection::graceful_shutdown, ended).await;
    } else {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
        finish(Box::pin(builder.serve_connection(socket, service)), http1::Connection::graceful_shutdown, ended).await;
    }
}

/// Wait for a connection's end; once the process ends, let it answer what it has and take nothing new.
/// It is boxed, so that the one kind of connection does not take the room of the other, twice.
async fn finish<C>(mut connection: Pin<Box<C>>, end: fn(Pin<&mut C>), mut ended: watch::Receiver<bool>)
where
    C: Future<Output = hyper::Result<()>>,
{
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection broke");
            }
            return;
        }
        _ = ended.wait_for(|ended| *ended) => end(connection.as_mut()),
    }
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection broke while the process ended");
    }
}
