//! The main job: a task reaches a worker, its client gets the end, and its webhook hears of everything, whatever dies meanwhile.

use std::time::Duration;

use e2e::{Figures, Havoc, Load, PATIENCE, Plan, Platform, Receiver, Setup};

/// A sample of what `./test chaos` does in full.
const TASKS: usize = 200;
const CLIENTS: usize = 16;

async fn job(setup: Setup, load: Load) -> Figures {
    let platform = Platform::start(setup).await;
    let receiver = Receiver::start().await;
    let answers = load.run(&platform, &receiver).await;
    load.settle(&receiver, PATIENCE).await;
    let figures = Figures::find(&platform, &receiver, &answers).await;
    eprintln!("{figures}");
    assert!(figures.kept(), "{figures}");
    // Task, Working, the artifact, Completed: an echo is no more and no less.
    assert_eq!(figures.events, 4 * figures.tasks);
    figures
}

async fn chaos(setup: Setup, plan: Plan) {
    // A dead worker's tasks go to another once their lease is over.
    let platform = Platform::start(setup.agent("demo", "default = true\nlease_seconds = 5")).await;
    let receiver = Receiver::start().await;
    let load = Load::new(TASKS, CLIENTS);
    let (answers, havoc) = tokio::join!(load.run(&platform, &receiver), Havoc::wreak(&platform, &load, &plan));
    load.settle(&receiver, PATIENCE).await;
    let figures = Figures::find(&platform, &receiver, &answers).await;
    eprintln!("{figures}; {havoc:?}");
    assert!(figures.kept(), "{figures}; {havoc:?}");
    assert!(havoc.count() > 0, "nothing was killed: {havoc:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_done_and_told_in_one_process() {
    let figures = job(Setup::embedded(), Load::new(TASKS, CLIENTS)).await;
    assert_eq!((figures.retries, figures.duplicates), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_done_and_told_over_replicas() {
    let Some(setup) = Setup::replicas(2, 2, 2) else { return };
    let figures = job(setup, Load::new(TASKS, CLIENTS)).await;
    assert_eq!((figures.retries, figures.duplicates), (0, 0));
}

/// The sweeps find all that hints would have told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_done_and_told_without_redis() {
    let Some(setup) = Setup::replicas(2, 2, 2) else { return };
    let figures = job(setup.without_redis(), Load::new(64, 64)).await;
    assert_eq!((figures.retries, figures.duplicates), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_the_process_is_killed() {
    let plan = Plan { every: Duration::from_millis(500), down: Duration::from_millis(200), flush: false };
    chaos(Setup::embedded(), plan).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_processes_are_killed_and_redis_forgets() {
    let Some(setup) = Setup::replicas(2, 2, 2) else { return };
    let plan = Plan { every: Duration::from_millis(500), down: Duration::from_millis(500), flush: true };
    chaos(setup, plan).await;
}
