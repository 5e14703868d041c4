//! `taskyard undelivered`: the tasks that were given up, for the operator to look at and to send again. It works on the database, beside a
//! deployment that runs or without one: on `database.url`, or where that is not set on the embedded store of `dev`.

use crate::parts::{Parts, open};
use crate::{Config, Failure};
use engine::operation::{Undelivered, UndeliveredFilter};
use engine::{Bus, Engine};
use std::fmt::Write as _;
use std::io::Write as _;

/// Tasks read at a time.
const PAGE: usize = 200;

/// What to do with them.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Command {
    /// Print them, the newest first.
    List {
        #[command(flatten)]
        only: Only,
        /// Print JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Make a new task of each, with all that the old one was told. Doing it twice is safe: the first new task counts.
    Resend {
        /// The tasks.
        #[arg(value_name = "TASK", required_unless_present = "all", conflicts_with = "all")]
        tasks: Vec<String>,
        /// Every one that was not sent again.
        #[arg(long)]
        all: bool,
        /// With --all: only of this tenant; empty for those of no tenant.
        #[arg(long, value_name = "NAME", requires = "all", conflicts_with = "tasks")]
        tenant: Option<String>,
        /// With --all: only of this agent.
        #[arg(long, value_name = "NAME", requires = "all", conflicts_with = "tasks")]
        agent: Option<String>,
    },
}

/// Which of them.
#[derive(Debug, Clone, clap::Args)]
pub struct Only {
    /// Only of this tenant; empty for those of no tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// Runs it.
///
/// # Errors
/// There is no database, it fails, or a task could not be sent again; the others have been.
pub async fn run(config: Config, command: Command) -> Result<(), Failure> {
    let store = open(&config, "undelivered").await?;
    let engine = Parts::of(&config, store.clone()).await?.engine(&config, Bus::in_process());
    let done = match command {
        Command::List { only: Only { tenant, agent }, json } => {
            list(&engine, UndeliveredFilter { tenant, agent, open: false }, json).await
        }
        Command::Resend { tasks, all: false, .. } => resend(&engine, &tasks).await,
        Command::Resend { tenant, agent, .. } => {
            resend_all(&engine, UndeliveredFilter { tenant, agent, open: true }).await
        }
    };
    store.close().await;
    done
}

async fn list(engine: &Engine, filter: UndeliveredFilter, json: bool) -> Result<(), Failure> {
    let all = read(engine, &filter).await?;
    print(&if json { format!("{}\n", serde_json::to_string_pretty(&all)?) } else { table(&all) })
}

async fn resend_all(engine: &Engine, filter: UndeliveredFilter) -> Result<(), Failure> {
    let all = read(engine, &filter).await?;
    if all.is_empty() {
        return print("Nothing to send again: no undelivered task is left.\n");
    }
    // As they came: the oldest first.
    let tasks: Vec<String> = all.into_iter().rev().map(|one| one.task).collect();
    resend(engine, &tasks).await
}

/// All that the filter lets through, page by page.
async fn read(engine: &Engine, filter: &UndeliveredFilter) -> Result<Vec<Undelivered>, Failure> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = engine.undelivered(filter, after, PAGE).await?;
        all.extend(page);
        match next {
            Some(_) => after = next,
            None => return Ok(all),
        }
    }
}

/// Send each of them again, whatever becomes of the others.
async fn resend(engine: &Engine, tasks: &[String]) -> Result<(), Failure> {
    let mut failed = 0;
    for task in tasks {
        match engine.resend_undelivered(task).await {
            Ok(sent) if sent.made => print(&format!("{task} is sent again as {}\n", sent.task))?,
            Ok(sent) => print(&format!("{task} was sent again before, as {}\n", sent.task))?,
            Err(error) => {
                failed += 1;
                // Nothing is left to tell it to when stderr is gone.
                writeln!(std::io::stderr(), "taskyard: sending {task} again: {}", Failure::from(told(error))).ok();
            }
        }
    }
    match failed {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} tasks could not be sent again", tasks.len()).into()),
    }
}

/// A refusal in words: of what is wrong with a field, that alone.
fn told(error: wire::Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error.violations.first() {
        Some(violation) => violation.description.clone().into(),
        None => error.into(),
    }
}

/// A line each, under their names.
fn table(all: &[Undelivered]) -> String {
    if all.is_empty() {
        return "No undelivered task is found.\n".to_owned();
    }
    let or_none = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let names = ["TENANT", "AGENT", "TASK", "DELIVERIES", "FAILED AT", "SENT AGAIN AS"].map(str::to_owned);
    let each = all.iter().map(|one| {
        [
            or_none(&one.tenant),
            one.agent.clone(),
            one.task.clone(),
            one.deliveries.to_string(),
            one.failed_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
            or_none(one.resent_as.as_deref().unwrap_or_default()),
        ]
    });
    let rows: Vec<[String; 6]> = std::iter::once(names).chain(each).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (text, width) in row.iter().zip(widths) {
            write!(line, "{text:width$}  ").ok();
        }
        writeln!(out, "{}", line.trim_end()).ok();
    }
    out
}

fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // `taskyard undelivered list | head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_under_its_names() {
        let one = Undelivered {
            task: "0190".into(),
            tenant: String::new(),
            agent: "demo".into(),
            deliveries: 5,
            worker: None,
            failed_at: "2026-01-02T03:04:05Z".parse().ok(),
            resent_as: None,
        };
        let other = Undelivered { tenant: "acme".into(), resent_as: Some("0191".into()), ..one.clone() };
        let text = table(&[one, other]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "TENANT  AGENT  TASK  DELIVERIES  FAILED AT                 SENT AGAIN AS");
        assert_eq!(lines[1], "-       demo   0190  5           2026-01-02T03:04:05.000Z  -");
        assert_eq!(lines[2], "acme    demo   0190  5           2026-01-02T03:04:05.000Z  0191");
        assert!(table(&[]).starts_with("No undelivered task"));
    }
}
