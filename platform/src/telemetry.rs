//! What the process says about itself: log lines on stderr, text for people and JSON for machines. stdout stays free for what
//! a command prints.

use crate::config::Log;
use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts logging for the whole process.
///
/// # Errors
/// Logging was started before, or the filter is none.
pub fn start(log: &Log) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let filter = EnvFilter::try_new(&log.filter)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if log.json {
        lines.json().flatten_event(true).finish().try_init()?;
    } else {
        lines.with_ansi(std::io::stderr().is_terminal()).finish().try_init()?;
    }
    Ok(())
}
