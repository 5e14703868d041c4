//! `taskyard dev`: the same parts as a deployment, in one process, on SQLite and an in-process bus, with a demo agent.

use crate::cli::refuse;
use crate::{Config, Failure, Shutdown};

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
pub async fn run(_config: Config, _options: Options, _shutdown: Shutdown) -> Result<(), Failure> {
    Err("`taskyard dev` is not wired yet".into())
}
