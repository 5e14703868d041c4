//! Worker pools in trouble, in full: `./test workers`. What the issue of pools promises is counted, once with Redis and once without;
//! one broken promise is exit code 1.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use e2e::{Delays, LEASE, Platform, Pool, PoolFigures, RACED, Races, Setup, TIMED};

/// How long after a lease's end its task may take to be somebody else's, and a sweep to find what no hint told.
const SWEPT: Duration = Duration::from_secs(2);
/// What a machine with other things to do may take longer.
const SLACK: Duration = Duration::from_secs(3);

/// Worker pools in trouble.
#[derive(Debug, Parser)]
#[command(name = "./test workers")]
struct Options {
    /// Tasks of the pool.
    #[arg(long, default_value_t = 10_000)]
    tasks: usize,
    /// Clients of the pool at once.
    #[arg(long, default_value_t = 192)]
    clients: usize,
    /// Worker processes of the pool.
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Seconds between two kills.
    #[arg(long, default_value_t = 2.0)]
    every: f64,
    /// Answers to workers that are lost, of a hundred.
    #[arg(long, default_value_t = 5.0)]
    lost: f64,
    /// Races of cancel against complete.
    #[arg(long, default_value_t = 5_000)]
    races: usize,
    /// Races at once.
    #[arg(long, default_value_t = 24)]
    lanes: usize,
    /// Workers killed to see how long their tasks take to reach another.
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// Sends to polls that wait at another replica.
    #[arg(long, default_value_t = 50)]
    sends: usize,
    /// Without Redis everything runs with so many times fewer tasks and races.
    #[arg(long, default_value_t = 10)]
    fewer: usize,
    /// With Redis, without, or both.
    #[arg(long, value_enum, default_value = "both")]
    redis: Redis,
    /// What everything is drawn from.
    #[arg(long)]
    seed: Option<u64>,
    /// Parts to run; all of them when none is named.
    #[arg(value_enum)]
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Redis {
    With,
    Without,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Workers killed, frozen, and not hearing their answers.
    Pool,
    /// Cancel against complete.
    Races,
    /// From a worker's death to the next lease.
    Recovery,
    /// From a send to its lease.
    Claims,
}

/// A line of the table.
type Line = (String, String);

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let seed = options.seed.unwrap_or_else(e2e::seed);
    println!("--seed {seed} draws the same again");
    let (mut lines, mut kept) = (Vec::new(), true);
    for redis in [true, false] {
        if options.redis == if redis { Redis::Without } else { Redis::With } {
            continue;
        }
        let wanted = |part| options.parts.is_empty() || options.parts.contains(&part);
        let name = if redis { "with Redis" } else { "without Redis" };
        let fewer = |count: usize| if redis { count } else { count.div_ceil(options.fewer.max(1)) };
        let shape = |setup: Setup| if redis { setup } else { setup.without_redis() };
        lines.push((format!("==== {name}"), String::new()));
        if wanted(Part::Pool) {
            println!("==> pool, {name}");
            kept &= pool(&options, fewer(options.tasks), seed, shape, &mut lines).await;
        }
        if wanted(Part::Races) {
            println!("==> races, {name}");
            kept &= races(&options, fewer(options.races), seed, shape, &mut lines).await;
        }
        if wanted(Part::Recovery) || wanted(Part::Claims) {
            let lease = format!("default = true\nlease_seconds = {}", LEASE.as_secs());
            let setup = Setup::replicas(2, 1, 0).expect("the services' addresses");
            let platform = Platform::start(shape(setup.agent("demo", &lease).agent(TIMED, ""))).await;
            if wanted(Part::Recovery) {
                println!("==> recovery, {name}");
                let delays = Delays::of_recovery(&platform, "worker-0", options.runs).await;
                kept &= within(&mut lines, "kill -9 to redelivery", &delays, LEASE + SWEPT);
            }
            if wanted(Part::Claims) {
                println!("==> claims, {name}");
                let delays = Delays::of_claims(&platform, options.sends).await;
                kept &= within(&mut lines, "send to claimed, poll at the other replica", &delays, SWEPT);
            }
        }
    }
    println!();
    for (name, value) in lines {
        println!("{name:<52}{value:>14}");
    }
    println!("\n{}", if kept { "every promise was kept" } else { "A PROMISE WAS BROKEN" });
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn pool(
    options: &Options,
    tasks: usize,
    seed: u64,
    shape: impl Fn(Setup) -> Setup,
    lines: &mut Vec<Line>,
) -> bool {
    let every = Duration::from_secs_f64(options.every);
    let pool = Pool { tasks, clients: options.clients, every, seed };
    let setup = pool.setup(options.workers, options.lost).expect("the services' addresses");
    let platform = Platform::start(shape(setup)).await;
    let begin = Instant::now();
    let (sent, trouble) = pool.run(&platform, progress(tasks, "answered")).await;
    let seconds = begin.elapsed().as_secs_f64();
    let figures = PoolFigures::find(&platform, &sent).await;
    for (name, value) in [
        ("tasks", figures.tasks),
        ("worker processes", options.workers),
        ("kill -9", trouble.kills),
        ("frozen for longer than the lease, and woken", trouble.freezes),
        ("calls of workers", figures.calls),
        ("  of which the answer was lost", figures.lost_answers),
        ("  refused with LEASE_LOST", figures.fenced),
        ("leases beyond a task's first", figures.redeliveries),
        ("events", figures.events),
    ] {
        lines.push((name.to_owned(), value.to_string()));
    }
    lines.push(("seconds".to_owned(), format!("{seconds:.1}")));
    lines.push(("  of which the slowest task took".to_owned(), format!("{:.1}", figures.slowest.as_secs_f64())));
    lines.push(("to be 0:".to_owned(), String::new()));
    lines.extend(figures.promises().map(|(promise, broken)| (format!("  {promise}"), broken.to_string())));
    figures.kept()
}

async fn races(
    options: &Options,
    races: usize,
    seed: u64,
    shape: impl Fn(Setup) -> Setup,
    lines: &mut Vec<Line>,
) -> bool {
    let setup = Setup::replicas(2, 0, 2).expect("the services' addresses");
    let platform = Platform::start(shape(setup.agent(RACED, ""))).await;
    let raced = Races { races, lanes: options.lanes, seed };
    let figures = raced.run(&platform, progress(races, "raced")).await;
    for (name, value) in
        [("races", races), ("  won by cancel", figures.canceled), ("  won by complete", figures.completed)]
    {
        lines.push((name.to_owned(), value.to_string()));
    }
    lines.push(("to be 0:".to_owned(), String::new()));
    lines.extend(figures.promises().map(|(promise, broken)| (format!("  {promise}"), broken.to_string())));
    figures.kept()
}

/// Tells how far it is, ten times.
fn progress(all: usize, what: &str) -> impl Fn(usize) {
    let begin = Instant::now();
    move |done| {
        if done % all.div_ceil(10).max(1) == 0 {
            println!("{:>5} s  {done} of {all} {what}", begin.elapsed().as_secs());
        }
    }
}

/// Whether times are of the class they should be; the figures are for reading.
fn within(lines: &mut Vec<Line>, name: &str, delays: &Delays, most: Duration) -> bool {
    let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
    lines.push((name.to_owned(), format!("{} times", delays.count())));
    for (name, time) in [
        ("  min", delays.min()),
        ("  median", delays.percentile(50)),
        ("  p99", delays.percentile(99)),
        ("  max", delays.max()),
        ("  promised at most", most),
    ] {
        lines.push((name.to_owned(), seconds(time)));
    }
    delays.max() <= most + SLACK
}
