//! `taskyard signing`: what a tenant's webhooks are signed with, for whoever runs its receivers, and new keys.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use engine::signing::{self, SigningKey};
use serde_json::json;
use wire::{Tenant, Timestamp};

use crate::cli::refuse;
use crate::parts::{Parts, open};
use crate::{Config, Failure};

/// What to do with them.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Command {
    /// Print the secrets and public keys that the webhooks of a tenant are signed with. The first is made when there is none.
    Show {
        #[command(flatten)]
        of: Of,
    },
    /// Make a new secret and a new key pair for the webhooks of a tenant. They are signed with the ones before as well for a while.
    Rotate {
        #[command(flatten)]
        of: Of,
        /// For how many hours, 0 to 168. With 0 notifiers change over within 5 seconds.
        #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=168))]
        overlap_hours: u32,
    },
}

/// Whose they are.
#[derive(Debug, Clone, clap::Args)]
pub struct Of {
    /// The tenant; without it, those of no tenant.
    #[arg(long, value_name = "NAME", default_value = "")]
    tenant: String,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// Runs it.
///
/// # Errors
/// The tenant cannot be one, there is no database, or it fails.
pub async fn run(config: Config, command: Command) -> Result<(), Failure> {
    let of = match &command {
        Command::Show { of } | Command::Rotate { of, .. } => of,
    };
    let tenant = Tenant::parse(&of.tenant)
        .map_err(|error| refuse(format!("`--tenant` is `{}`, which cannot be a tenant: {error}", of.tenant)))?;
    let store = open(&config, "signing").await?;
    let parts = Parts::of(&config, store.clone()).await?;
    let now = parts.clock.now();
    let keys = match command {
        Command::Show { .. } => signing::keys(&store, &parts.secrets, &tenant, now).await,
        Command::Rotate { overlap_hours, .. } => {
            let overlap = Duration::from_secs(u64::from(overlap_hours) * 3_600);
            signing::rotate(&store, &parts.secrets, &tenant, overlap, now).await
        }
    };
    store.close().await;
    let keys = keys.map_err(|error| told(&error))?;
    let text = if of.json { format!("{:#}\n", list(&keys)) } else { table(&keys) };
    match std::io::stdout().write_all(text.as_bytes()) {
        // `taskyard signing show | head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// An error with its cause.
fn told(error: &signing::SigningError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn list(keys: &[SigningKey]) -> serde_json::Value {
    let each = keys.iter().map(|key| {
        json!({
            "id": key.id,
            "secret": key.reveal(),
            "publicKey": key.public(),
            "createdAt": time_of(key.created_at),
            "until": key.until.map(time_of),
        })
    });
    each.collect()
}

/// A few lines each, the current key first.
fn table(keys: &[SigningKey]) -> String {
    let mut out = String::new();
    for key in keys {
        let until = key.until.map_or_else(|| "it is replaced".to_owned(), time_of);
        writeln!(out, "{}  since {}, until {until}", key.id, time_of(key.created_at)).ok();
        writeln!(out, "  secret      {}", key.reveal()).ok();
        writeln!(out, "  public key  {}", key.public()).ok();
    }
    out
}

fn time_of(millis: i64) -> String {
    Timestamp::from_unix_millis(millis).map(|at| at.to_string()).unwrap_or_default()
}
