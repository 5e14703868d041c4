//! How the built-in agents run: `[agent.run]` in an agent's table, and the flags of `taskyard worker`.

use super::kind::Value;
use super::refusal::Refusal;
use super::source::Source;
use super::table::Table;
use std::path::Path;
use std::time::Duration;

/// The keys of which an agent's table has one at most.
const WAYS: [&str; 3] = ["run.echo", "run.exec", "run.http"];
/// The agent that echoes without being told to.
const DEMO: &str = "demo";

/// What works on an agent's tasks.
#[derive(Debug, Clone, PartialEq)]
pub enum Run {
    /// The demo agent.
    Echo,
    /// A command for each task.
    Exec {
        /// The program and its arguments.
        command: Vec<String>,
        /// After so long it is ended and the task fails.
        timeout: Option<Duration>,
        /// How long it may take to end.
        grace: Duration,
        /// Whether it is told what the client writes meanwhile.
        messages: bool,
    },
    /// An HTTP endpoint.
    Http {
        /// Where it is.
        url: String,
        /// How long it may take for a task.
        timeout: Option<Duration>,
    },
}

/// Reports what is wrong with an agent's way to run. `start` is the line its table begins in.
pub(super) fn check(table: &Table, path: &Path, start: usize, problems: &mut Vec<String>) {
    let line = |key: &str| match table.entry(key).map(|entry| &entry.source) {
        Some(Source::File(_, line)) => Some(*line),
        _ => None,
    };
    let mut refuse = |line: usize, problem: String| problems.push(format!("{}:{line}: {problem}", path.display()));
    let given: Vec<&str> = WAYS.into_iter().filter(|way| line(way).is_some()).collect();
    if let [first, second, ..] = given[..] {
        let at = line(second).unwrap_or(start);
        refuse(at, format!("`{second}` is given beside `{first}`, wanted is one of {}", WAYS.join(", ")));
    }
    let told = [("run.timeout_seconds", &WAYS[1..]), ("run.grace_seconds", &WAYS[1..2]), ("run.messages", &WAYS[1..2])];
    for (key, ways) in told {
        if let (Some(line), false) = (line(key), given.iter().any(|way| ways.contains(way))) {
            refuse(line, format!("`{key}` is given without {}, and means nothing by itself", ways.join(" or ")));
        }
    }
}

/// The agents that `taskyard worker` and `taskyard dev` run, by name.
///
/// Named ones run as they are told to; else all that say how, and the one that is called `demo`.
pub(super) fn agents(knobs: &Table, tables: &[Table], default: &str) -> Result<Vec<(String, Run)>, Refusal> {
    let over = over(knobs)?;
    let of = |name: &str| tables.iter().find(|table| table.text("name") == Some(name)).map(of_table).transpose();
    let named = match (knobs.value("worker.agents"), &over) {
        (Some(_), _) => knobs.texts("worker.agents")?,
        (None, Some(_)) => vec![default.to_owned()],
        (None, None) => {
            let mut agents = Vec::new();
            for table in tables {
                let name = table.word("name")?;
                let run = of_table(table)?.or_else(|| (name == DEMO).then_some(Run::Echo));
                agents.extend(run.map(|run| (name.to_owned(), run)));
            }
            return Ok(agents);
        }
    };
    named
        .into_iter()
        .map(|name| {
            let run = over.clone().map_or_else(|| of(&name).map(Option::flatten), |over| Ok(Some(over)))?;
            Ok((name, run.unwrap_or(Run::Echo)))
        })
        .collect()
}

/// What the flags say, in place of all tables.
fn over(knobs: &Table) -> Result<Option<Run>, Refusal> {
    if knobs.value("worker.exec").is_some() {
        let command = knobs.texts("worker.exec")?;
        return Ok(Some(Run::Exec { command, timeout: None, grace: GRACE, messages: false }));
    }
    Ok(knobs.text("worker.http").map(|url| Run::Http { url: url.to_owned(), timeout: None }))
}

/// The time between SIGTERM and SIGKILL where no table says it.
const GRACE: Duration = Duration::from_secs(5);

fn of_table(table: &Table) -> Result<Option<Run>, Refusal> {
    let timeout = || table.value("run.timeout_seconds").map(|_| table.seconds("run.timeout_seconds")).transpose();
    if table.value("run.exec").is_some() {
        return Ok(Some(Run::Exec {
            command: table.texts("run.exec")?,
            timeout: timeout()?,
            grace: table.seconds("run.grace_seconds")?,
            messages: table.switch("run.messages")?,
        }));
    }
    if let Some(url) = table.text("run.http") {
        return Ok(Some(Run::Http { url: url.to_owned(), timeout: timeout()? }));
    }
    Ok((table.value("run.echo") == Some(&Value::Switch(true))).then_some(Run::Echo))
}
