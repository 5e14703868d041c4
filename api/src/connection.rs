//! The accept loop.
//!
//! poem has one of its own, which keeps a handler running after its client has gone. Ours drops it with the connection: a poll must not
//! outlive the worker that asked, or work would be handed to nobody and wait for a lease to end.

use std::convert::Infallible;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use poem::http::uri::Scheme;
use poem::http::{Request, Response};
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Addr, Endpoint};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::stall::Impatient;

/// How long the head of a request may take to arrive, from the connection or the last answer on.
const HEAD: Duration = Duration::from_secs(30);

/// Serve until `shutdown` resolves; then accept nothing more, let what is under way finish within `grace`, and return. A client
/// that takes nothing for `stall` is gone.
pub(crate) async fn serve(
    listener: TcpListener,
    app: App,
    shutdown: impl Future<Output = ()>,
    grace: Duration,
    stall: Duration,
) {
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, remote)) => {
                    connections.spawn(one(socket, Addr::from(remote), stall, app.clone(), ended.clone()));
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
    let finished = tokio::time::timeout(grace, async { while connections.join_next().await.is_some() {} }).await;
    if finished.is_err() {
        tracing::warn!(connections = connections.len(), "ending connections that did not finish in time");
    }
}

/// One connection. When it ends, for whatever reason, so do the handlers of its requests.
async fn one(socket: TcpStream, remote: Addr, stall: Duration, app: App, mut ended: watch::Receiver<bool>) {
    // Answers are written whole; waiting for more to send only delays them.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "setting nodelay");
    }
    let Ok(local) = socket.local_addr().map(Addr::from) else { return };
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (app, local, remote) = (app.clone(), LocalAddr(local.clone()), RemoteAddr(remote.clone()));
        async move {
            let request: poem::Request = (request, local, remote, Scheme::HTTP).into();
            Ok::<Response<_>, Infallible>(app.get_response(request).await.into())
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let connection = builder.serve_connection(TokioIo::new(Impatient::new(socket, stall)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection broke");
            }
            return;
        }
        _ = ended.wait_for(|ended| *ended) => connection.as_mut().graceful_shutdown(),
    }
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection broke while the process ended");
    }
}
