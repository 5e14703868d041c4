//! A small sample of `./test workers`: a pool whose workers are killed, frozen and do not hear their answers gets everything done, once.

use std::time::Duration;

use e2e::{Platform, Pool, PoolFigures, Setup};

/// What `./test workers` runs in full.
fn pool() -> Pool {
    let seed = e2e::seed();
    eprintln!("TASKYARD_TEST_SEED={seed} draws the same again");
    Pool { tasks: 200, clients: 100, every: Duration::from_secs(2), seed }
}

async fn suffer(pool: &Pool, setup: Setup) {
    let platform = Platform::start(setup).await;
    let (sent, trouble) = pool.run(&platform, |_| {}).await;
    let figures = PoolFigures::find(&platform, &sent).await;
    eprintln!("{trouble:?} {figures:?}");
    assert!(figures.kept(), "{figures:?}");
    assert_eq!(figures.tasks, 200);
    assert!(trouble.kills > 0 && trouble.freezes > 0 && figures.lost_answers > 0, "{trouble:?} {figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_in_trouble_does_everything_once() {
    let pool = pool();
    let Some(setup) = pool.setup(4, 5.0) else { return };
    suffer(&pool, setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_in_trouble_needs_no_redis() {
    let pool = pool();
    let Some(setup) = pool.setup(3, 5.0) else { return };
    suffer(&pool, setup.without_redis()).await;
}
