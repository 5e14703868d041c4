//! Measures a running Taskyard, and holds the figures against what the machine can do. It knows no more of the platform than
//! a client does; with `--database-url` it also asks Postgres what a cycle cost it.
//!
//! One thread does it all, for that is the cheapest on a machine that the measured processes share.

mod book;
mod claims;
mod database;
mod events;
mod figures;
mod goals;
mod load;
mod meter;
mod options;
mod platform;
mod process;
mod receiver;
mod report;
mod scenario;
mod updates;
mod worker;

use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser as _;

use database::Database;
use meter::Meter;
use options::Options;
use platform::Platform;
use process::Watched;
use report::Report;
use scenario::Bench;

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("starting: {error}")),
    };
    match tokio::task::LocalSet::new().block_on(&runtime, run(options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

async fn run(options: Options) -> Result<(), String> {
    let scenarios = options.scenarios()?;
    let json = options.json;
    let processes = Watched::find(&options.pids, &options.pids_of)?;
    let database = match &options.database_url {
        Some(url) => Some(Database::connect(url).await?),
        None => None,
    };
    let mut bench = Bench {
        platform: Rc::new(Platform::new(&options.urls, options.far_url.as_ref(), options.timeout)?),
        meter: Meter::new(processes, database),
        measurements: Vec::new(),
        options,
    };
    let all = bench.options.is_all();
    for scenario in scenarios {
        if all && scenario.needs_agent() && !bench.platform.knows(&bench.options.agent).await? {
            tell(std::io::stderr(), &format!("{scenario:?}: left out, there is no agent for it\n").to_lowercase());
            continue;
        }
        tell(std::io::stderr(), &format!("{scenario:?} ...\n").to_lowercase());
        bench.run(scenario).await?;
    }
    let report = Report::new(bench.measurements, bench.platform.replicas());
    let text = match json {
        true => serde_json::to_string_pretty(&report).map_err(|error| format!("printing JSON: {error}"))? + "\n",
        false => report.text(),
    };
    tell(std::io::stdout(), &text);
    match report.measurements.iter().find(|measurement| measurement.figures.count == 0) {
        Some(nothing) => Err(format!("`{}` at {} clients: nothing went well", nothing.name, nothing.clients)),
        None => Ok(()),
    }
}

fn fail(error: &str) -> ExitCode {
    tell(std::io::stderr(), &format!("bench: {error}\n"));
    ExitCode::FAILURE
}

fn tell(mut to: impl std::io::Write, text: &str) {
    // `bench | head` is no failure.
    to.write_all(text.as_bytes()).and_then(|()| to.flush()).ok();
}
