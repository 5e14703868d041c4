//! Streams in numbers: `./test streams`. Nobody misses an event, whatever is cut; an idle stream costs little, and one that is gone
//! nothing.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use e2e::crowd::{self, Crowd};
use e2e::{AGENT, Audience, Platform, Setup};

/// What one idle stream may cost.
const BYTES: u64 = 25 * 1_024;
/// What 10,000 streams may leave behind: noise of the allocator, far less than a leak of anything would be.
const LEFT: u64 = 4 << 20;

/// Streams in numbers.
#[derive(Debug, Parser)]
#[command(name = "./test streams")]
struct Options {
    /// Subscribers of the busy tasks, over 2 replicas.
    #[arg(long, default_value_t = 200)]
    subscribers: usize,
    /// Busy tasks.
    #[arg(long, default_value_t = 20)]
    tasks: usize,
    /// Numbered chunks that each task's worker writes.
    #[arg(long, default_value_t = 500)]
    chunks: usize,
    /// How often each subscriber is cut and resumed.
    #[arg(long, default_value_t = 20)]
    cuts: usize,
    /// What the cuts are drawn from.
    #[arg(long)]
    seed: Option<u64>,
    /// Idle streams on one process.
    #[arg(long, default_value_t = 2_000)]
    idle: usize,
    /// Streams that are opened and dropped.
    #[arg(long, default_value_t = 10_000)]
    gone: usize,
    /// Parts to run.
    #[arg(value_enum)]
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Every subscriber has every event once and in order.
    Cut,
    /// The same, with a replica killed and started again.
    Killed,
    /// Memory and descriptors of idle streams, and of those that are gone.
    Idle,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let wanted = |part| options.parts.is_empty() || options.parts.contains(&part);
    let seed = options.seed.unwrap_or_else(e2e::seed);
    println!("--seed {seed} draws the same cuts again");
    for (part, disturbed) in [(Part::Cut, None), (Part::Killed, Some("api-1"))] {
        if wanted(part) {
            follow(&options, seed, disturbed).await;
        }
    }
    let fine = !wanted(Part::Idle) || idle(&options).await;
    println!("\n{}", if fine { "as promised" } else { "NOT AS PROMISED" });
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn follow(options: &Options, seed: u64, disturbed: Option<&str>) {
    let setup = Setup::replicas(2, 0, 0).expect("the services' addresses");
    let platform = Platform::start(setup.agent(AGENT, "lease_seconds = 3600")).await;
    let Options { tasks, subscribers, chunks, cuts, .. } = *options;
    let begin = Instant::now();
    let heard = Audience { tasks, subscribers, chunks, cuts, seed }.follow(&platform, disturbed).await;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "\n{subscribers} subscribers of {tasks} tasks on 2 replicas, {chunks} chunks each, every one once and in order"
    );
    println!(
        "  {}",
        disturbed.map_or("no replica dies".to_owned(), |name| format!("{name} is killed, and later stopped"))
    );
    println!("  {} events in {seconds:.1} s, {:.0} a second", heard.events(), heard.events() as f64 / seconds);
    println!("  {} streams left, {} broken, {} ended by a replica", heard.left(), heard.broken(), heard.told());
}

/// Whether idle streams cost what they may, and leave nothing.
async fn idle(options: &Options) -> bool {
    let mut fine = true;
    for (on, tasks) in [("on a task each", options.idle), ("on 20 tasks", 20)] {
        let setup = Setup::replicas(1, 0, 0).expect("the services' addresses");
        let platform = Platform::start(setup).await;
        let (process, port) = (platform.process("api-0"), platform.port(0));
        let tasks = Crowd::tasks(&platform.client(), tasks).await;
        // The first ones pay for what all of them share.
        drop(Crowd::gather(port, &tasks[..1], 10).await);
        let cost = crowd::idle(process, port, &tasks, options.idle).await;
        println!(
            "\n{} idle streams {on}: {:.1} KiB each, beside {:.0} of the process",
            cost.streams,
            kib(cost.bytes),
            kib(cost.before.resident)
        );
        let (before, after) = crowd::come_and_go(process, port, &tasks, options.gone).await;
        let grown = after.resident.saturating_sub(before.resident);
        println!(
            "{} streams opened and dropped: {:.1} KiB resident before, {:.1} after; {} descriptors before, {} after",
            options.gone,
            kib(before.resident),
            kib(after.resident),
            before.descriptors,
            after.descriptors
        );
        fine &= cost.bytes <= BYTES && grown <= LEFT && after.descriptors <= before.descriptors;
    }
    fine
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1_024.0
}
