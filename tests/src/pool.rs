//! A pool of workers that die, freeze and do not hear their answers, while clients want thousands of tasks done.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Value;
use uuid::Uuid;

use crate::dice::Dice;
use crate::{Client, Failure, Loss, Platform, Setup, text};

/// The lease of the pool's agent, the shortest there is.
pub const LEASE: Duration = Duration::from_secs(5);
/// How long a worker stays frozen: longer than its leases and than whoever looks for those that ended.
const FROZEN: Duration = Duration::from_secs(7);
/// How long a woken worker goes on before the next one is frozen.
const AWAKE: Duration = Duration::from_secs(1);
/// How long a client goes on trying for one task: on a loaded machine a task that is unlucky again and again takes minutes.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// How much of it.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Tasks in all.
    pub tasks: usize,
    /// Clients at once; each sends its next task when the one before is answered.
    pub clients: usize,
    /// Time between two kills.
    pub every: Duration,
    /// What the workers that suffer are drawn from.
    pub seed: u64,
}

/// The answer a task must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Want {
    request: String,
    pub(crate) artifact: &'static str,
    /// The text of each part.
    pub(crate) parts: Vec<String>,
}

/// What one client got for one task.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The id of its message.
    pub(crate) message: String,
    pub(crate) want: Want,
    /// The task, or why there is none.
    pub(crate) task: Result<Value, Failure>,
    /// How long it took.
    pub(crate) took: Duration,
}

/// What the workers went through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Workers killed with SIGKILL and started again.
    pub kills: usize,
    /// Workers stopped for longer than their leases, and woken.
    pub freezes: usize,
}

impl Want {
    /// What the demo agent has to say to the request number `n`: mostly an artifact in chunks, now and then one that takes its time.
    fn of(n: usize) -> Want {
        if n % 20 == 7 {
            return Want { request: "wait 1".into(), artifact: "wait", parts: vec!["Waited 1 seconds.".into()] };
        }
        let chunks = 2 + n % 5;
        let parts = (1..=chunks).map(|chunk| format!("chunk {chunk} of {chunks}\n")).collect();
        Want { request: format!("stream {chunks}"), artifact: "stream", parts }
    }
}

impl Pool {
    /// The platform for it: two replicas, so many workers behind a proxy that loses `percent` of their answers.
    pub fn setup(&self, workers: usize, percent: f64) -> Option<Setup> {
        let agent = format!("default = true\nlease_seconds = {}\nmax_deliveries = 1000", LEASE.as_secs());
        let loss = Loss { percent, seed: self.seed };
        Some(Setup::replicas(2, workers, 0)?.agent("demo", &agent).through_proxy(loss))
    }

    /// Sends everything, while workers die and freeze; at the end all workers are asked to stop, and have stopped.
    ///
    /// # Panics
    /// When a worker does not stop as it should.
    pub async fn run(&self, platform: &Platform, progress: impl Fn(usize)) -> (Vec<Sent>, Trouble) {
        let workers: Vec<String> = platform.names().into_iter().filter(|name| name.starts_with("worker-")).collect();
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let frozen = AtomicUsize::new(usize::MAX);
        let client = platform.client();
        let clients = (0..self.clients).map(|_| async {
            let mut sent = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= self.tasks {
                    return sent;
                }
                sent.push(one(&client, n).await);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        });
        let (sent, kills, freezes) = tokio::join!(
            join_all(clients),
            self.kill(platform, &workers, &frozen, &done),
            self.freeze(platform, &workers, &frozen, &done),
        );
        for worker in &workers {
            platform.terminate(worker);
        }
        for worker in &workers {
            assert!(platform.end_of(worker).await.success(), "{worker} ended with a failure");
        }
        (sent.into_iter().flatten().collect(), Trouble { kills, freezes })
    }

    /// Kills one at random again and again; not the one that is frozen, so that it comes to wake.
    async fn kill(&self, platform: &Platform, workers: &[String], frozen: &AtomicUsize, done: &AtomicUsize) -> usize {
        let (mut kills, mut dice, mut next) = (0, Dice::of(self.seed, 0), Instant::now() + self.every);
        while done.load(Ordering::Relaxed) < self.tasks {
            tokio::time::sleep(Duration::from_millis(10)).await;
            // The first one by what is done, so that it falls into the run of a quick machine too.
            let first = kills == 0 && done.load(Ordering::Relaxed) * 10 >= self.tasks;
            if !first && Instant::now() < next {
                continue;
            }
            let victim = dice.roll(workers.len());
            if victim != frozen.load(Ordering::Relaxed) {
                platform.kill(&workers[victim]);
                platform.restart(&workers[victim]);
                (kills, next) = (kills + 1, Instant::now() + self.every);
            }
        }
        kills
    }

    async fn freeze(&self, platform: &Platform, workers: &[String], frozen: &AtomicUsize, done: &AtomicUsize) -> usize {
        let (mut freezes, mut dice) = (0, Dice::of(self.seed, 1));
        loop {
            let (done, tasks) = (done.load(Ordering::Relaxed), self.tasks);
            if done >= tasks {
                return freezes;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            // Not before there is something to hold.
            if done * 20 < tasks {
                continue;
            }
            let victim = dice.roll(workers.len());
            frozen.store(victim, Ordering::Relaxed);
            platform.freeze(&workers[victim], true);
            tokio::time::sleep(FROZEN).await;
            platform.freeze(&workers[victim], false);
            frozen.store(usize::MAX, Ordering::Relaxed);
            freezes += 1;
            tokio::time::sleep(AWAKE).await;
        }
    }
}

async fn one(client: &Client, n: usize) -> Sent {
    let want = Want::of(n);
    let params = text(&want.request);
    let message = params["message"]["messageId"].as_str().unwrap_or_default().to_owned();
    let key = Uuid::now_v7().to_string();
    let begin = Instant::now();
    let answer = client.persist("SendMessage", &params, &key, PATIENCE, |_| {}).await;
    Sent { message, want, task: answer.map(|mut answer| answer["task"].take()), took: begin.elapsed() }
}
