//! `taskyard dev`: the same parts as a deployment, in one process, on SQLite and an in-process bus, with the built-in agents.

use crate::cli::refuse;
use crate::parts::{Parts, connect};
use crate::{Config, Failure, Shutdown, serve, work};
use engine::Bus;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;

/// Connections to the embedded store: readers beside the one writer.
const CONNECTIONS: u32 = 8;

/// What only `dev` can be told.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Options {
    /// Keep everything in memory: nothing survives the process (`dev` only).
    #[arg(long)]
    pub memory: bool,
}

impl Options {
    /// What was said before the command and after it, together.
    pub(crate) fn or(self, other: Options) -> Options {
        Options { memory: self.memory || other.memory }
    }

    /// Refuses what `dev` must not do: to listen where strangers can reach it, as long as nobody has to show a credential.
    pub(crate) fn check(self, config: &Config) -> Result<(), Failure> {
        if config.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(refuse(format!(
            "{}: `listen.host` is `{}`, wanted is a loopback address: `taskyard dev` asks nobody for credentials",
            config.source("listen.host"),
            config.listen.ip()
        )))
    }
}

/// Serves until it is told to stop.
///
/// # Errors
/// A part could not start, or failed.
pub async fn run(config: Config, options: Options, shutdown: Shutdown) -> Result<(), Failure> {
    let http = serve::listen(config.listen).await?;
    let url = format!("http://{}", http.local_addr()?);
    let (grpc, moved) = serve::listen_grpc(&config).await?;
    let grpc_at = match (&grpc, config.listen_grpc) {
        (Some(grpc), Some(wanted)) if moved => {
            format!("{} ({} is taken; --grpc-port chooses another)", grpc.local_addr()?, wanted.port())
        }
        (Some(grpc), _) => grpc.local_addr()?.to_string(),
        (None, _) => "off".into(),
    };
    let (database, data) = place(&config, options)?;
    let store = connect(&database, CONNECTIONS).await?;
    engine::migrate(&store).await?;
    let parts = Parts::of(&config, store).await?;
    let bus = Bus::in_process();
    let engine = parts.engine(&config, bus.clone());

    let sweeps = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(std::future::pending()).await }
    });
    let (notifier_stop, notifier_shutdown) = Shutdown::by_hand();
    let notifier = parts.notifier(&config, bus);
    let mut notifying =
        tokio::spawn(async move { notifier::run(notifier, async move { notifier_shutdown.requested().await }).await });
    let (api_stop, api_shutdown) = Shutdown::by_hand();
    let serving_options = serve::api_options(&config, grpc.as_ref());
    let mut serving = tokio::spawn(api::serve(engine, api::Listeners { http, grpc }, serving_options, async move {
        api_shutdown.requested().await;
    }));
    let builtin = work::worker(&config, &url)?;
    let worker_shutdown = shutdown.clone();
    let mut working = tokio::spawn(async move {
        match builtin {
            Some((worker, agents)) => worker.run(agents, async move { worker_shutdown.requested().await }).await,
            None => {
                tracing::info!("no agent is called `demo` and none says how it runs, so no built-in agent does");
                worker_shutdown.requested().await;
                Ok(())
            }
        }
    });
    announce(&config, &url, &grpc_at, &data)?;

    // A part that ends by itself has failed, and the others are of no use without it.
    let early = tokio::select! {
        () = shutdown.requested() => None,
        served = &mut serving => Some(served.map_err(Failure::from)),
        worked = &mut working => Some(worked.map_err(Failure::from).and_then(|worked| Ok(worked?))),
        notified = &mut notifying => Some(notified.map_err(Failure::from).and_then(|notified| Ok(notified?))),
    };
    // The worker first: what it finishes still has to arrive.
    if early.is_none() {
        working.await??;
        api_stop.now();
        serving.await?;
        notifier_stop.now();
        notifying.await??;
    }
    sweeps.abort();
    parts.store.close().await;
    early.unwrap_or(Ok(()))
}

/// The database's URL, and where that is in words.
fn place(config: &Config, options: Options) -> Result<(String, String), Failure> {
    if options.memory {
        return Ok(("sqlite::memory:".into(), "in memory: nothing survives this process".into()));
    }
    let folder = &config.data;
    // The key that seals webhook credentials lies in it too, so it is nobody else's to read.
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|error| format!("creating `{}`: {error}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|error| format!("finding `{}`: {error}", folder.display()))?;
    Ok((format!("sqlite://{}/taskyard.db", folder.display()), folder.display().to_string()))
}

/// Say where it is, where the data lies, and what to try: lines that work when pasted.
fn announce(config: &Config, url: &str, grpc: &str, data: &str) -> Result<(), Failure> {
    let default = &config.settings.default_agent;
    let others = config.settings.agents.keys().filter(|name| *name != default).map(|name| format!(", {name}"));
    let agents = format!("{default} (at the root){}", others.collect::<String>());
    let mut out = std::io::stdout().lock();
    let text = format!(
        "\nTaskyard serves at {url} (this machine only, no credentials asked)\n\
         gRPC    {grpc}\n\
         data    {data}\n\
         agents  {agents}\n\n\
         Try it:\n\n  \
         curl -s {url}/message:send -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \
         -d '{{\"message\":{{\"messageId\":\"1\",\"role\":\"ROLE_USER\",\"parts\":[{{\"text\":\"hello\"}}]}}}}'\n\n\
         Ctrl-C stops it.\n"
    );
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever closed stdout does not want to read it.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
