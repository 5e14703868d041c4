//! `taskyard queues`: how long the queues are and who works on them, asked of a running platform as an autoscaler does.

use crate::{Config, Failure};
use std::fmt::Write as _;
use std::io::Write as _;
use wire::worker::QueueStats;
use worker::Client;

/// What to print.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Only of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// Asks the platform at `worker.url` and prints what it says.
///
/// # Errors
/// The platform does not answer or refuses.
pub async fn run(config: Config, options: Options) -> Result<(), Failure> {
    let answer = Client::new(&config.worker.url, None)?.queues(options.agent.as_deref()).await?;
    let text = match options.json {
        true => format!("{}\n", serde_json::to_string_pretty(&answer)?),
        false => table(&answer.queues)?,
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        // `taskyard queues | head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

fn table(queues: &[QueueStats]) -> Result<String, std::fmt::Error> {
    let width = queues.iter().map(|queue| queue.agent.len()).chain([5]).max().unwrap_or(5);
    let mut text = String::new();
    let heads = ["READY", "OLDEST", "DELAYED", "IN FLIGHT", "WAITING", "WORKERS"];
    write!(text, "{:width$}", "AGENT")?;
    heads.iter().try_for_each(|head| write!(text, "  {head:>9}"))?;
    for queue in queues {
        let oldest = format!("{:.1} s", queue.oldest_seconds);
        write!(text, "\n{:width$}  {:>9}  {oldest:>9}", queue.agent, queue.ready)?;
        let rest = [queue.delayed, queue.in_flight, queue.waiting, queue.workers];
        rest.iter().try_for_each(|count| write!(text, "  {count:>9}"))?;
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let stats = |agent: &str| QueueStats {
            agent: agent.into(),
            ready: 12,
            oldest_seconds: 3.25,
            in_flight: 4,
            workers: 2,
            ..QueueStats::default()
        };
        let text = table(&[stats("a"), stats("much-longer")]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert_eq!(
            lines[2].split_whitespace().collect::<Vec<_>>(),
            ["much-longer", "12", "3.2", "s", "0", "4", "0", "2"]
        );
    }
}
