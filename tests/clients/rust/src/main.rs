//! The official Rust SDK's client against a running Taskyard, over every binding it speaks.
//!
//! Usage: taskyard-test-clients RESULTS URL [URL]
//!
//! URL is the base of the default agent; with two of them, of two replicas, whatever continues a task goes to the other one.
//! RESULTS gets a line for each check: column, check, result, separated by tabs. The exit code is 1 when a check failed.

mod agent;
mod checks;
mod receiver;
mod suite;

use std::io::Write as _;
use std::time::Duration;

use crate::checks::CHECKS;
use crate::suite::{BINDINGS, Suite};

/// Longer than any check takes: what hangs fails.
const LONGEST: Duration = Duration::from_secs(40);

/// How a check ends: what it found wrong is an error, or a panic of an assertion.
pub(crate) type Checked<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Every check over one binding, one after the other: a line for each, and whether all of them passed.
async fn run(binding: &'static str, urls: &[String]) -> (String, bool) {
    let (mut lines, mut passed) = (String::new(), true);
    for (name, check) in CHECKS {
        let urls = urls.to_owned();
        let check = async move { check(Suite::open(binding, urls).await?).await };
        let wrong = match tokio::spawn(tokio::time::timeout(LONGEST, check)).await {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(error))) => Some(error.to_string()),
            Ok(Err(_)) => Some(format!("it takes longer than {} s", LONGEST.as_secs())),
            // The panic said where and what.
            Err(panic) => Some(panic.to_string()),
        };
        let result = if wrong.is_none() { "ok" } else { "FAILED" };
        if let Some(wrong) = wrong {
            passed = false;
            eprintln!("Rust {binding}, {name}: {wrong}");
        }
        println!("{result:6}  Rust {binding}  {name}");
        lines += &format!("Rust {binding}\t{name}\t{result}\n");
    }
    (lines, passed)
}

#[tokio::main]
async fn main() -> Checked {
    let mut arguments = std::env::args().skip(1);
    let results = arguments.next().ok_or("usage: taskyard-test-clients RESULTS URL [URL]")?;
    let urls: Vec<String> = arguments.map(|url| url.trim_end_matches('/').to_owned()).collect();
    if urls.is_empty() {
        return Err("usage: taskyard-test-clients RESULTS URL [URL]".into());
    }
    // At the same time: most of it is waiting.
    let runs = futures_util::future::join_all(BINDINGS.map(|binding| run(binding, &urls))).await;
    let mut out = std::fs::OpenOptions::new().append(true).create(true).open(results)?;
    for (lines, _) in &runs {
        out.write_all(lines.as_bytes())?;
    }
    std::process::exit(i32::from(!runs.iter().all(|(_, passed)| *passed)));
}
