//! The command line.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};

const AFTER_HELP: &str = "\
Every figure is taken at a client: closed loops, each with one request in flight, and connections that stay open. A cycle is a
whole task: the send, the worker's claim, its update, and the answer with the finished task. Times are in milliseconds.

CPU is what /proc says of the processes named with --pid and --pids-of, their children included. Only a quiet machine gives
figures that mean something: `others` is the share of it that went to processes nobody named.

  bench                                           everything that needs no database, at http://127.0.0.1:8080
  bench --pids-of taskyard send                   task cycles, with the CPU they cost
  bench --database-url postgres://... ceiling send
                                                  the same, next to what Postgres can commit, and what a cycle commits";

/// Measures a running Taskyard: task cycles, reads, lists, webhooks, events and claims, next to what its database can do.
#[derive(Debug, Parser)]
#[command(name = "bench", after_help = AFTER_HELP, max_term_width = 120)]
pub(crate) struct Options {
    /// What to measure, in this order; nothing is `all`.
    #[arg(value_enum, value_name = "SCENARIO")]
    scenarios: Vec<Name>,
    /// Base URL of the platform; given several times, requests go to them in turn.
    #[arg(long = "url", value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) urls: Vec<reqwest::Url>,
    /// Another replica, where `events` follows what it writes at the first one; else the last of --url.
    #[arg(long, value_name = "URL")]
    pub(crate) far_url: Option<reqwest::Url>,
    /// The agent whose tasks `events`, `claims` and `updates` work on themselves: it must be there, and no worker may serve it.
    #[arg(long, value_name = "NAME", default_value = "bench")]
    pub(crate) agent: String,
    /// How long each measurement lasts.
    #[arg(long, value_name = "N", default_value = "10", value_parser = seconds)]
    pub(crate) seconds: Duration,
    /// How long each one runs before it counts.
    #[arg(long, value_name = "N", default_value = "2", value_parser = seconds)]
    pub(crate) warm_up: Duration,
    /// Concurrent clients of `send` and `ceiling`, one measurement each.
    #[arg(long, value_name = "N,...", default_value = "1,16,64", value_delimiter = ',', value_parser = clients)]
    pub(crate) clients: Vec<usize>,
    /// Workers of `claims` that wait for work.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clients)]
    pub(crate) pollers: usize,
    /// Concurrent clients of `get`, `list`, `webhooks` and `updates`, and tasks of `events`.
    #[arg(long, value_name = "N", default_value = "16", value_parser = clients)]
    pub(crate) readers: usize,
    /// Text of every message; the demo agent gives it back.
    #[arg(long, value_name = "TEXT", default_value = "hello")]
    pub(crate) text: String,
    /// The page that `list` counts as deep; the last full one, if there are fewer.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) deep_page: u32,
    /// Tasks of a page.
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) page_size: u32,
    /// Where the receiver of `webhooks` listens; the platform must reach it there, and be allowed to.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub(crate) receiver: SocketAddr,
    /// How long one request may take, and the last webhooks.
    #[arg(long, value_name = "N", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// The platform's Postgres: for `ceiling`, and to count what a cycle commits. Reads only, and a table of its own.
    #[arg(long, value_name = "URL", env = "DATABASE_URL", hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    /// A process to measure the CPU of; may be given several times, and several may share a name.
    #[arg(long = "pid", value_name = "NAME=PID", value_parser = pid)]
    pub(crate) pids: Vec<(String, u32)>,
    /// Names of processes to measure the CPU of, such as `taskyard,postgres,redis-server`.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) pids_of: Vec<String>,
    /// Print JSON, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Everything below; `ceiling` only with --database-url.
    All,
    /// One small insert a commit, straight to Postgres (needs --database-url).
    Ceiling,
    /// Blocking SendMessage until the task is complete.
    Send,
    /// GetTask of finished tasks.
    Get,
    /// ListTasks, first page and a deep one.
    List,
    /// Sends with a webhook each, until everything is delivered.
    Webhooks,
    /// Events of a fixed rate, from the worker to a subscriber at another replica.
    Events,
    /// Sends of a fixed rate until each is claimed by one of many idle workers, and what those cost the database.
    Claims,
    /// Whole tasks whose worker reports at once, and the same step by step.
    Updates,
}

impl Name {
    /// Whether this process is the worker: it takes an agent that nobody else serves.
    pub(crate) fn needs_agent(self) -> bool {
        matches!(self, Name::Events | Name::Claims | Name::Updates)
    }
}

impl Options {
    /// Whether everything is to be measured that can be.
    pub(crate) fn is_all(&self) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&Name::All)
    }

    /// What is to be measured.
    ///
    /// # Errors
    /// A scenario lacks what it needs.
    pub(crate) fn scenarios(&self) -> Result<Vec<Name>, String> {
        const ALL: [Name; 8] = [
            Name::Ceiling,
            Name::Send,
            Name::Get,
            Name::List,
            Name::Webhooks,
            Name::Events,
            Name::Claims,
            Name::Updates,
        ];
        if self.scenarios.contains(&Name::Ceiling) && self.database_url.is_none() {
            return Err("`ceiling` needs --database-url: it measures the database".to_owned());
        }
        if self.is_all() {
            return Ok(ALL.into_iter().filter(|name| *name != Name::Ceiling || self.database_url.is_some()).collect());
        }
        Ok(self.scenarios.clone())
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "wanted are seconds, 0 to 3600, such as `10` or `0.5`".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if (0.0..=3_600.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(wrong()) }
}

fn clients(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(clients @ 1..=10_000) => Ok(clients),
        _ => Err("wanted is a number of clients, 1 to 10000".to_owned()),
    }
}

fn pid(text: &str) -> Result<(String, u32), String> {
    let parsed = text.rsplit_once('=').and_then(|(name, pid)| Some((name.to_owned(), pid.parse().ok()?)));
    parsed.filter(|(name, _)| !name.is_empty()).ok_or_else(|| "wanted is NAME=PID, such as `api=4711`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn options_are_read() {
        let options = parse(
            "bench --url http://a:1 --url http://b:2 --seconds 0.5 --clients 1,4 --pid api=7 --pid pg=8 --pids-of x,y send get",
        )
        .unwrap();
        assert_eq!(options.urls.len(), 2);
        assert_eq!(options.seconds, Duration::from_millis(500));
        assert_eq!(options.clients, [1, 4]);
        assert_eq!(options.pids, [("api".to_owned(), 7), ("pg".to_owned(), 8)]);
        assert_eq!(options.pids_of, ["x", "y"]);
        assert_eq!(options.scenarios().unwrap(), [Name::Send, Name::Get]);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for line in ["bench none", "bench --clients 0", "bench --seconds -1", "bench --pid 7", "bench --pid =7"] {
            assert!(parse(line).is_err(), "{line}");
        }
        let mut options = parse("bench ceiling").unwrap();
        options.database_url = None;
        assert!(options.scenarios().is_err());
    }

    #[test]
    fn all_leaves_the_ceiling_out_without_a_database() {
        let mut options = parse("bench").unwrap();
        options.database_url = None;
        assert!(!options.scenarios().unwrap().contains(&Name::Ceiling));
        options.database_url = Some("postgres://here".to_owned());
        assert_eq!(options.scenarios().unwrap()[0], Name::Ceiling);
    }
}
