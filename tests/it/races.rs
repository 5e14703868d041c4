//! Small samples of the rest of `./test workers`: cancel against complete, and how long recovery and claims take.

use std::time::Duration;

use e2e::{Delays, LEASE, Platform, RACED, Races, Setup, TIMED};

on_both!(cancel_and_complete_have_one_winner_and_all_say_so);

/// The sweep's two seconds, and what a loaded machine takes longer.
const SWEPT: Duration = Duration::from_secs(2 + 4);

async fn cancel_and_complete_have_one_winner_and_all_say_so(setup: Setup) {
    let platform = Platform::start(setup.agent(RACED, "")).await;
    let seed = e2e::seed();
    eprintln!("TASKYARD_TEST_SEED={seed} draws the same again");
    let figures = Races { races: 100, lanes: 8, seed }.run(&platform, |_| {}).await;
    eprintln!("{figures:?}");
    assert!(figures.kept(), "{figures:?}");
    assert_eq!(figures.canceled + figures.completed, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_races_have_one_winner_too() {
    let Some(setup) = Setup::replicas(2, 0, 1) else { return };
    cancel_and_complete_have_one_winner_and_all_say_so(setup.without_redis()).await;
}

async fn delays(setup: Setup) {
    let lease = format!("default = true\nlease_seconds = {}", LEASE.as_secs());
    let platform = Platform::start(setup.agent("demo", &lease).agent(TIMED, "")).await;
    let recovery = Delays::of_recovery(&platform, "worker-0", 1).await;
    eprintln!("from kill -9 to redelivery: {recovery:?}");
    assert!(recovery.max() < LEASE + SWEPT, "{recovery:?}");
    let claims = Delays::of_claims(&platform, 10).await;
    eprintln!("from send to claimed: {claims:?}");
    assert!(claims.max() < SWEPT, "{claims:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_workers_tasks_reach_another() {
    let Some(setup) = Setup::replicas(2, 1, 0) else { return };
    delays(setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_the_sweeps_find_everything_in_time() {
    let Some(setup) = Setup::replicas(2, 1, 0) else { return };
    delays(setup.without_redis()).await;
}
