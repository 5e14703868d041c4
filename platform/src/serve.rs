//! The replicated processes: `taskyard api` and `taskyard notifier`, on Postgres and, as long as it is there, Redis.

use crate::config::Source;
use crate::parts::{Parts, connect};
use crate::{Config, Failure, Shutdown};
use engine::{Bus, Interests};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Serves clients and workers until it is told to stop.
///
/// # Errors
/// No database is configured or reachable, its tables are not those of this release, or the port is taken.
pub async fn api(config: Config, shutdown: Shutdown) -> Result<(), Failure> {
    let database = config.database_url("api")?;
    // The ports first: a process that cannot have them leaves nothing behind in the database.
    let http = listen(config.listen).await?;
    let (grpc, moved) = listen_grpc(&config).await?;
    let store = connect(database, config.database_connections).await?;
    let parts = Parts::of(&config, store).await?;
    tell_about_secrets(&config);
    let engine = parts.engine(&config, bus(&config, Interests { tasks: true, deliveries: false })?);
    tracing::info!(address = %http.local_addr()?, "serving");
    if let Some(grpc) = &grpc {
        let address = grpc.local_addr()?;
        match moved {
            true => {
                tracing::warn!(%address, "serving gRPC, on a free port: the default one is taken; --grpc-port chooses another")
            }
            false => tracing::info!(%address, "serving gRPC"),
        }
    }
    let listeners = api::Listeners { http, grpc };
    let sweeps = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(std::future::pending()).await }
    });
    let options = api_options(&config, listeners.grpc.as_ref());
    api::serve(engine, listeners, options, async move { shutdown.requested().await }).await;
    sweeps.abort();
    parts.store.close().await;
    Ok(())
}

/// Delivers push notifications until it is told to stop.
///
/// # Errors
/// No database is configured or reachable, or its tables are not those of this release.
pub async fn notifier(config: Config, shutdown: Shutdown) -> Result<(), Failure> {
    let store = connect(config.database_url("notifier")?, config.database_connections).await?;
    let parts = Parts::of(&config, store).await?;
    tell_about_secrets(&config);
    let bus = bus(&config, Interests { tasks: false, deliveries: true })?;
    let keeping_time = tokio::spawn(engine::keep_time(parts.store.clone(), parts.clock.clone()));
    tracing::info!(slots = config.notifier.slots, "notifying");
    let notified = notifier::run(parts.notifier(&config, bus), async move { shutdown.requested().await }).await;
    keeping_time.abort();
    parts.store.close().await;
    Ok(notified?)
}

/// The gRPC listener, if there is to be one, and whether it had to move: where nobody chose the port and the default one is taken, a free
/// one does, so that a second process on the same machine starts as easily as the first.
pub(crate) async fn listen_grpc(config: &Config) -> Result<(Option<tokio::net::TcpListener>, bool), Failure> {
    let Some(mut address) = config.listen_grpc else { return Ok((None, false)) };
    match tokio::net::TcpListener::bind(address).await {
        Ok(listener) => Ok((Some(listener), false)),
        Err(error)
            if error.kind() == std::io::ErrorKind::AddrInUse
                && *config.source("listen.grpc_port") == Source::Default =>
        {
            address.set_port(0);
            Ok((Some(listen(address).await?), true))
        }
        Err(error) => Err(format!("listening on {address}: {error}").into()),
    }
}

/// How the api serves. Its cards say where gRPC is: where the operator says, else where it listens when that is one address and nobody
/// says that clients find this deployment elsewhere.
pub(crate) fn api_options(config: &Config, grpc: Option<&tokio::net::TcpListener>) -> api::Options {
    let listening = grpc.and_then(|listener| listener.local_addr().ok());
    let told = listening.filter(|address| !address.ip().is_unspecified() && config.api.public_url.is_none());
    let grpc_url = match listening {
        Some(_) => config.api.grpc_url.clone().or(told.map(|address| address.to_string())),
        None => None,
    };
    api::Options { grpc_url, ..config.api.clone() }
}

fn bus(config: &Config, interests: Interests) -> Result<Bus, Failure> {
    match config.redis_url() {
        Some(url) => Ok(Bus::redis(url, interests).map_err(|error| format!("reading `redis.url`: {error}"))?),
        None => {
            tracing::warn!("`redis.url` is not set: other processes' work is found by sweeps only, up to 2 s late");
            Ok(Bus::in_process())
        }
    }
}

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| format!("listening on {address}: {error}").into())
}

fn tell_about_secrets(config: &Config) {
    if config.secrets_key.is_none() {
        tracing::warn!(
            "`secrets.key` is not set: webhook secrets are sealed with a key kept in the same database; \
             to keep it elsewhere, set TASKYARD_SECRETS_KEY before the first webhook secret is stored"
        );
    }
}
