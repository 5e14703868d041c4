//! Streams over replicas: whoever follows a task has every event once and in order, whatever breaks meanwhile.

use std::time::Instant;

use e2e::crowd::{self, Crowd};
use e2e::{AGENT, Audience, Heard, Platform, Setup};

/// What `./test streams` runs in full.
const SUBSCRIBERS: usize = 60;
const TASKS: usize = 6;
const CHUNKS: usize = 200;
const CUTS: usize = 20;

#[expect(clippy::print_stdout, reason = "a test that fails shows how to run it again")]
async fn follow(disturbed: Option<&str>) -> Option<Heard> {
    let setup = Setup::replicas(2, 0, 0)?;
    let platform = Platform::start(setup.agent(AGENT, "lease_seconds = 3600")).await;
    let seed = e2e::seed();
    println!("TASKYARD_TEST_SEED={seed} says the same again");
    let audience = Audience { tasks: TASKS, subscribers: SUBSCRIBERS, chunks: CHUNKS, cuts: CUTS, seed };
    let begin = Instant::now();
    let heard = audience.follow(&platform, disturbed).await;
    println!("{heard:?} in {:.1} s", begin.elapsed().as_secs_f64());
    assert_eq!((heard.events(), heard.left()), (SUBSCRIBERS * (CHUNKS + 3), SUBSCRIBERS * CUTS));
    Some(heard)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_has_every_event_once_and_in_order() {
    follow(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_they_have_when_a_replica_dies_and_comes_back() {
    let Some(heard) = follow(Some("api-1")).await else { return };
    assert!(heard.broken() > 0 && heard.told() > 0, "{heard:?}");
}

/// The full numbers are `./test streams`' as well; a debug build has larger frames, which is what the bound allows for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_streams_cost_little_and_leave_nothing() {
    let Some(setup) = Setup::replicas(1, 0, 0) else { return };
    let platform = Platform::start(setup).await;
    let (process, port) = (platform.process("api-0"), platform.port(0));
    let tasks = Crowd::tasks(&platform.client(), 300).await;
    drop(Crowd::gather(port, &tasks[..1], 10).await);
    let cost = crowd::idle(process, port, &tasks, 300).await;
    let (before, after) = crowd::come_and_go(process, port, &tasks, 1_000).await;
    println!("{cost:?}, then {before:?} and {after:?}");
    assert!(cost.bytes <= 40 << 10, "{cost:?}");
    assert!(after.resident.saturating_sub(before.resident) <= 4 << 20, "{before:?} {after:?}");
    assert!(after.descriptors <= before.descriptors, "{before:?} {after:?}");
}
