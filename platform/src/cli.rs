//! The command line: which command runs, with which configuration, and the exit code it ends with (0 well, 1 failed, 2 asked
//! for wrongly).

use crate::config::{Config, Environment, Flags, Refusal};
use crate::shutdown::Shutdown;
use crate::{Failure, dev, migrate, openapi, queues, serve, signing, telemetry, undelivered, work};
use clap::{CommandFactory as _, Parser, Subcommand};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Every value of the configuration comes from its flag, its environment variable, the file taskyard.toml or its default, in this
order. `taskyard config` prints the effective ones and where each comes from. Agents are [[agent]] tables of the file.

Exit codes: 0 it went well, 1 it failed, 2 the command line or the configuration is wrong.";

/// Taskyard hosts A2A agents: clients send tasks, workers pull them, webhooks hear of them.
///
/// Without a command it is `taskyard dev`: all of it in one process, with nothing else to install.
#[derive(Parser)]
#[command(name = "taskyard", version, after_help = AFTER_HELP, max_term_width = 120)]
pub struct Cli {
    #[command(flatten)]
    dev: dev::Options,
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything in one process: both surfaces, the notifier and the built-in agents on an embedded store (the default).
    Dev(dev::Options),
    /// Serve clients and workers over HTTP, on Postgres. Any number may run.
    Api,
    /// Pull tasks from a platform and work on them: with a command (--exec), an HTTP endpoint (--http), or as the demo agent.
    ///
    /// It needs the platform's URL (--url) and no database. `taskyard worker --agents mine --exec 'python3 mine.py'` starts the command
    /// once for each task of the agent `mine`: the task comes as a line of JSON on its stdin, and what it prints is the answer. Any
    /// number may run.
    Worker,
    /// Deliver push notifications, on Postgres. Any number may run.
    Notifier,
    /// Print how long the queues of a running platform are and who works on them.
    Queues(queues::Options),
    /// Bring the database's tables up to date, then exit.
    Migrate,
    /// Look at the tasks that were given up because no worker finished them, and send them again.
    #[command(subcommand)]
    Undelivered(undelivered::Command),
    /// Print what webhooks are signed with, for whoever verifies them, and make new keys.
    #[command(subcommand)]
    Signing(signing::Command),
    /// Write the OpenAPI documents, or check that the ones on disk are what the code says.
    Openapi(openapi::Options),
    /// Print the effective configuration with the source of each value; secrets are masked.
    Config(Print),
}

/// How `taskyard config` prints.
#[derive(Debug, clap::Args)]
struct Print {
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
    /// Print what `taskyard dev` runs with; a few defaults are others there.
    #[arg(long)]
    dev: bool,
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to tell it to when stderr is gone.
            writeln!(std::io::stderr(), "taskyard: {failure}").ok();
            failure.exit_code()
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let command = match cli.command {
        None => Command::Dev(cli.dev),
        Some(Command::Dev(options)) => Command::Dev(options.or(cli.dev)),
        Some(_) if cli.dev.memory => {
            let error = Cli::command().error(clap::error::ErrorKind::ArgumentConflict, "--memory goes with `dev` only");
            error.exit();
        }
        Some(command) => command,
    };
    let load = |dev| Config::load(&cli.flags, &Environment::of_process(), Path::new(""), dev);
    match command {
        Command::Openapi(options) => openapi::run(&options),
        Command::Config(print) => show(&load(print.dev)?, print.json),
        Command::Dev(options) => {
            let config = load(true)?;
            options.check(&config)?;
            serving(config, async move |config, shutdown| dev::run(config, options, shutdown).await)
        }
        Command::Api => serving(load(false)?, serve::api),
        Command::Notifier => serving(load(false)?, serve::notifier),
        Command::Queues(options) => serving(load(false)?, async move |config, _| queues::run(config, options).await),
        Command::Worker => serving(load(false)?, work::run),
        Command::Undelivered(command) => {
            serving(load(false)?, async |config, _| undelivered::run(config, command).await)
        }
        Command::Signing(command) => serving(load(false)?, async |config, _| signing::run(config, command).await),
        Command::Migrate => serving(load(false)?, async |config, _| migrate::run(config).await),
    }
}

/// Runs a command with logging, on a runtime of its own, until it ends by itself or by a signal.
fn serving<F: AsyncFnOnce(Config, Shutdown) -> Result<(), Failure>>(config: Config, command: F) -> Result<(), Failure> {
    telemetry::start(&config.log)?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let (_stop, shutdown) = Shutdown::on_signals()?;
        command(config, shutdown).await
    })
}

fn show(config: &Config, json: bool) -> Result<(), Failure> {
    let text = if json { format!("{:#}\n", config.json()) } else { config.table() };
    match std::io::stdout().write_all(text.as_bytes()) {
        // `taskyard config | head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// The refusal of a command that wants something of the configuration.
pub(crate) fn refuse(problem: String) -> Failure {
    Failure::Refused(Refusal::because(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Cli {
        Cli::try_parse_from(line.split_whitespace()).unwrap()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_count_before_and_after_the_command() {
        for line in ["taskyard --port 9 api", "taskyard api --port 9", "taskyard --port=9"] {
            assert_eq!(parse(line).flags.values.get("listen.port").map(String::as_str), Some("9"), "{line}");
        }
        let cli = parse("taskyard dev --memory --data /x --webhooks-allow-loopback");
        assert!(matches!(cli.command, Some(Command::Dev(dev::Options { memory: true }))));
        assert_eq!(cli.flags.values.get("webhooks.allow_loopback").map(String::as_str), Some("true"));
        assert!(parse("taskyard --memory").dev.memory);
    }

    #[test]
    fn undelivered_tasks_are_named_or_all_are_meant() {
        let refused = |line: &str| Cli::try_parse_from(line.split_whitespace()).is_err();
        for line in [
            "taskyard undelivered",
            "taskyard undelivered resend",
            "taskyard undelivered resend --all x",
            "taskyard undelivered resend x --tenant acme",
            "taskyard undelivered list x",
        ] {
            assert!(refused(line), "{line}");
        }
        for line in [
            "taskyard undelivered list --json --tenant acme --agent demo",
            "taskyard undelivered resend x y",
            "taskyard undelivered resend --all --agent demo",
            "taskyard --data /x undelivered list",
        ] {
            assert!(!refused(line), "{line}");
        }
    }

    #[test]
    fn help_names_every_knob_with_its_default_and_variable() {
        let help = Cli::command().render_long_help().to_string();
        for knob in crate::config::knob::KNOBS {
            let flag = format!("--{}", knob.flag);
            assert!([' ', '['].iter().any(|next| help.contains(&format!("{flag}{next}"))), "{flag}");
            assert!(help.contains(&format!("[env: {}]", knob.env)), "{}", knob.env);
        }
    }
}
