//! The main job in full: `./test chaos`. Thousands of tasks in every shape, quiet and with processes killed all the time; what was
//! promised is counted, and one broken promise is exit code 1.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use e2e::{Figures, Havoc, Load, Plan, Platform, Receiver, Setup};

/// How long the last webhooks may take once everything is answered: a dead notifier's lines are held for 30 s.
const SETTLE: Duration = Duration::from_secs(180);
/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(5);

/// Thousands of tasks through the whole platform, quiet and with processes killed all the time.
///
/// Every client sends, waits for the answer and has a webhook told of every event; where a send breaks, it sends again with the same
/// Idempotency-Key. At the end clients, store and webhooks are held together.
#[derive(Debug, Parser)]
#[command(name = "./test chaos")]
struct Options {
    /// Tasks of each run.
    #[arg(long, default_value_t = 2_000)]
    tasks: usize,
    /// Clients at once.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Seconds between two kills; a killed process stays down as long.
    #[arg(long, default_value_t = 1.0)]
    every: f64,
    /// Only the runs whose name contains this: `one process` or `replicas`, `quiet` or `killed`.
    #[arg(long, default_value = "")]
    only: String,
}

struct Run {
    name: &'static str,
    setup: Setup,
    plan: Option<Plan>,
}

struct Outcome {
    name: &'static str,
    figures: Figures,
    havoc: Havoc,
    answered: Duration,
    settled: Duration,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let every = Duration::from_secs_f64(options.every);
    let killing = |flush| Some(Plan { every, down: every, flush });
    let mut runs = vec![Run { name: "one process, quiet", setup: Setup::embedded(), plan: None }];
    let replicas = || Setup::replicas(2, 2, 2);
    runs.extend(replicas().map(|setup| Run { name: "replicas 2+2+2, quiet", setup, plan: None }));
    runs.push(Run { name: "one process, killed", setup: Setup::embedded(), plan: killing(false) });
    runs.extend(replicas().map(|setup| Run { name: "replicas 2+2+2, killed", setup, plan: killing(true) }));
    runs.retain(|run| run.name.contains(&options.only));

    let mut outcomes = Vec::new();
    for run in runs {
        outcomes.push(one(&options, run).await);
    }
    report(&outcomes);
    let kept = !outcomes.is_empty() && outcomes.iter().all(|outcome| outcome.figures.kept());
    println!("\n{}", if kept { "every promise was kept" } else { "A PROMISE WAS BROKEN" });
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn one(options: &Options, run: Run) -> Outcome {
    println!("==> {}", run.name);
    // A dead worker's tasks go on once their lease is over: the shortest there is.
    let platform = Platform::start(run.setup.agent("demo", "default = true\nlease_seconds = 5")).await;
    let receiver = Receiver::start().await;
    let load = Load::new(options.tasks, options.clients);
    let begin = Instant::now();
    let working = async {
        let (answers, havoc) = match &run.plan {
            None => (load.run(&platform, &receiver).await, Havoc::default()),
            Some(plan) => tokio::join!(load.run(&platform, &receiver), Havoc::wreak(&platform, &load, plan)),
        };
        let answered = begin.elapsed();
        load.settle(&receiver, SETTLE).await;
        (answers, havoc, answered, begin.elapsed())
    };
    let telling = async {
        loop {
            tokio::time::sleep(PROGRESS).await;
            let (done, told, seconds) = (load.done(), receiver.finished(), begin.elapsed().as_secs());
            println!("{seconds:>5} s  {done} of {} answered, {told} webhooks heard of the end", load.tasks);
        }
    };
    let (answers, havoc, answered, settled) = tokio::select! {
        done = working => done,
        () = telling => unreachable!("telling of progress never ends"),
    };
    let figures = Figures::find(&platform, &receiver, &answers).await;
    Outcome { name: run.name, figures, havoc, answered, settled }
}

fn report(outcomes: &[Outcome]) {
    let mut rows: Vec<(&str, Vec<String>)> =
        vec![("", outcomes.iter().map(|outcome| outcome.name.to_owned()).collect())];
    let mut row = |name, value: &dyn Fn(&Outcome) -> String| rows.push((name, outcomes.iter().map(value).collect()));
    row("tasks", &|outcome| outcome.figures.tasks.to_string());
    row("events", &|outcome| outcome.figures.events.to_string());
    row("kill -9", &|outcome| outcome.havoc.count().to_string());
    row("FLUSHALL", &|outcome| outcome.havoc.flushes.to_string());
    row("tries that broke", &|outcome| outcome.figures.retries.to_string());
    row("seconds to the last answer", &|outcome| format!("{:.1}", outcome.answered.as_secs_f64()));
    row("seconds to the last webhook", &|outcome| format!("{:.1}", outcome.settled.as_secs_f64()));
    row("duplicates at webhooks", &|outcome| outcome.figures.duplicates.to_string());
    row("to be 0:", &|_| String::new());
    for (n, (name, _)) in Figures::default().promises().into_iter().enumerate() {
        row(name, &|outcome| outcome.figures.promises()[n].1.to_string());
    }
    println!();
    for (name, values) in rows {
        let values: Vec<String> = values.iter().map(|value| format!("{value:>24}")).collect();
        println!("{name:<34}{}", values.join(""));
    }
}
