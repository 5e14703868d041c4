//! How long what nobody did anything wrong about takes: a dead worker's tasks to reach another, and a send to reach a waiting poll.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{Platform, eventually, text};

/// The agent that sends are measured with.
pub const TIMED: &str = "timed";
/// Tasks that the worker which is killed holds.
const HELD: usize = 4;
/// Polls that wait.
const POLLS: usize = 4;
/// Time between two sends: no divisor of any sweep's.
const APART: Duration = Duration::from_millis(137);

/// Times, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delays(Vec<Duration>);

impl Delays {
    fn of(mut times: Vec<Duration>) -> Delays {
        times.sort_unstable();
        Delays(times)
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The shortest.
    pub fn min(&self) -> Duration {
        self.0.first().copied().unwrap_or_default()
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    /// The one that so many of a hundred are not longer than.
    pub fn percentile(&self, percent: usize) -> Duration {
        let at = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(at).copied().unwrap_or_default()
    }

    /// From the `kill -9` of `worker` to the next lease on each of its tasks, `runs` times; somebody else polls all the while.
    ///
    /// # Panics
    /// When a task does not come.
    pub async fn of_recovery(platform: &Platform, worker: &str, runs: usize) -> Delays {
        let (client, other) = (platform.client(), platform.worker());
        let mut times = Vec::new();
        for _ in 0..runs {
            let mut tasks: Vec<Value> = Vec::new();
            for _ in 0..HELD {
                tasks.push(client.start(text("wait 600")).await["id"].take());
            }
            for task in &tasks {
                client.task_in(task, "TASK_STATE_WORKING").await;
            }
            platform.kill(worker);
            let killed = Instant::now();
            let mut left = HELD;
            while left > 0 {
                let leases = eventually("the dead worker's tasks", async || {
                    Some(other.poll("demo", left, 20.0, true).await).filter(|leases| !leases.is_empty())
                })
                .await;
                for lease in leases {
                    assert!(tasks.contains(lease.task()), "a task of another run: {lease:?}");
                    assert_eq!(lease.attempt(), 2, "{lease:?}");
                    times.push(killed.elapsed());
                    let end = json!([{"complete": {}}]);
                    other.apply(lease.task(), Some(&lease.held()), end).await.expect("the end of a task");
                    left -= 1;
                }
            }
            platform.restart(worker);
        }
        Delays::of(times)
    }

    /// From the beginning of a send through one replica to its lease in the hands of a poll that waits at another, `sends` times.
    ///
    /// # Panics
    /// When a task does not come.
    pub async fn of_claims(platform: &Platform, sends: usize) -> Delays {
        let client = platform.client().of("", TIMED).at(0);
        let worker = platform.worker().at(1);
        let claimed: Mutex<HashMap<String, Instant>> = Mutex::default();
        let count = || claimed.lock().expect("no poll panics with it").len();
        let polls = join_all((0..POLLS).map(|_| async {
            while count() < sends {
                for lease in worker.poll(TIMED, 1, 1.0, true).await {
                    let task = lease.task().as_str().unwrap_or_default().to_owned();
                    claimed.lock().expect("no poll panics with it").insert(task, Instant::now());
                    let end = json!([{"complete": {}}]);
                    worker.apply(lease.task(), Some(&lease.held()), end).await.expect("the end of a task");
                }
            }
        }));
        let sending = async {
            let mut sent = Vec::new();
            for _ in 0..sends {
                tokio::time::sleep(APART).await;
                let begin = Instant::now();
                let task = client.start(text("now")).await;
                sent.push((task["id"].as_str().unwrap_or_default().to_owned(), begin));
            }
            sent
        };
        let (_, sent) = tokio::join!(polls, sending);
        let claimed = claimed.into_inner().expect("no poll panicked with it");
        Delays::of(sent.iter().map(|(task, begin)| claimed[task].saturating_duration_since(*begin)).collect())
    }
}
