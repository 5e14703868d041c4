//! Many subscribers of a few busy tasks, cut and resumed again and again: every one of them has every event once and in order.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::{Binding, Client, Event, Failure, Next, PATIENCE, Platform, eventually, text};

/// The agent that the tasks are for; leases on it have to last.
pub const AGENT: &str = "raw";

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Audience {
    /// Tasks, each with a worker of its own.
    pub tasks: usize,
    /// Subscribers, spread over the tasks, the replicas and the bindings.
    pub subscribers: usize,
    /// Numbered chunks that each worker writes.
    pub chunks: usize,
    /// How often each subscriber leaves, at events of its own, and goes on after its last one on any replica.
    pub cuts: usize,
    /// What the cuts and the replicas are drawn from.
    pub seed: u64,
}

/// What became of it. Everything is counted over all subscribers.
#[derive(Debug, Default)]
pub struct Heard {
    begun: AtomicUsize,
    written: AtomicUsize,
    events: AtomicUsize,
    left: AtomicUsize,
    broken: AtomicUsize,
    told: AtomicUsize,
}

fn count(counter: &AtomicUsize) -> usize {
    counter.fetch_add(1, Ordering::Relaxed)
}

fn of(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::Relaxed)
}

impl Heard {
    /// Events that arrived.
    pub fn events(&self) -> usize {
        of(&self.events)
    }

    /// Streams that their client left.
    pub fn left(&self) -> usize {
        of(&self.left)
    }

    /// Connections that broke, or could not be made.
    pub fn broken(&self) -> usize {
        of(&self.broken)
    }

    /// Streams that a replica ended early and said where to resume.
    pub fn told(&self) -> usize {
        of(&self.told)
    }
}

/// Every event of one task as whoever got it first got it.
type First = Mutex<Vec<Option<Value>>>;

impl Audience {
    /// The task, the beginning of the work, the chunks, the end.
    fn events(&self) -> usize {
        self.chunks + 3
    }

    /// Follows every task with everybody, while every worker writes and every named process is killed (`kill -9`), started again, asked
    /// to stop, and started again.
    ///
    /// # Panics
    /// When anybody misses an event, has one twice, out of order, or other than somebody else has it.
    pub async fn follow(&self, platform: &Platform, disturbed: Option<&str>) -> Heard {
        let client = platform.client().of("", AGENT);
        let mut tasks = Vec::new();
        for _ in 0..self.tasks {
            tasks.push(client.start(text("stream")).await["id"].take());
        }
        let heard = Heard::default();
        let firsts: Vec<First> = tasks.iter().map(|_| Mutex::new(vec![None; self.events()])).collect();
        let followers = join_all((0..self.subscribers).map(|n| {
            let at = n % self.tasks;
            self.one(&client, &tasks[at], &firsts[at], n, &heard)
        }));
        let working = async {
            let all = async || (of(&heard.begun) == self.subscribers).then_some(());
            eventually("the first item of every subscriber", all).await;
            let writing = self.write(platform, &heard);
            match disturbed {
                Some(name) => drop(tokio::join!(writing, self.disturb(platform, name, &heard))),
                None => writing.await,
            }
        };
        tokio::join!(followers, working);
        heard
    }

    /// Follows a task to its end, resuming wherever it is cut.
    async fn one(&self, client: &Client, task: &Value, first: &First, number: usize, heard: &Heard) {
        let mut dice = Dice::of(self.seed, number);
        // Not after the first, so that everybody begins with the task as it was, and not after the last.
        let mut cuts = BTreeSet::new();
        while cuts.len() < self.cuts.min(self.chunks) {
            cuts.insert(2 + dice.roll(self.chunks));
        }
        let client = client.over(Binding::ALL[number % 2]);
        let params = json!({"id": task});
        let (mut last, mut quiet) = (0, Instant::now());
        while last < self.events() {
            assert!(quiet.elapsed() < PATIENCE, "subscriber {number} heard nothing more after event {last}");
            let resumed = (last > 0).then(|| last.to_string());
            let replica = client.at(dice.roll(client.replicas()));
            let mut stream = match replica.stream("SubscribeToTask", &params, resumed.as_deref()).await {
                Ok(stream) => stream,
                Err(Failure::Refused(refusal)) if !refusal.is_passing() => panic!("subscriber {number}: {refusal:?}"),
                Err(_) => {
                    count(&heard.broken);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            loop {
                match stream.next().await {
                    Ok(Next::Event(event)) => {
                        if last == 0 {
                            count(&heard.begun);
                        }
                        last += 1;
                        (quiet, _) = (Instant::now(), count(&heard.events));
                        self.check(event, last, task, first, number);
                        if last == self.events() {
                            assert_eq!(
                                stream.next().await.expect("a stream's end"),
                                Next::Ended,
                                "subscriber {number}"
                            );
                            break;
                        }
                        if cuts.remove(&last) {
                            count(&heard.left);
                            break;
                        }
                    }
                    Ok(Next::Resume(id)) => {
                        assert_eq!(id, last.to_string(), "subscriber {number}");
                        count(&heard.told);
                        break;
                    }
                    Ok(Next::Ended) => panic!("a stream of subscriber {number} ended after event {last}"),
                    Err(_) => {
                        count(&heard.broken);
                        break;
                    }
                }
            }
        }
    }

    /// Asserts that `event` is the task's event `number`, and to everybody the same.
    fn check(&self, event: Event, number: usize, task: &Value, first: &First, subscriber: usize) {
        assert_eq!(event.id, number.to_string(), "the next event of subscriber {subscriber}");
        let artifact = &event.body["artifactUpdate"]["artifact"]["parts"][0]["text"];
        match number {
            1 => assert_eq!(event.body["task"]["id"], *task, "subscriber {subscriber}"),
            2 => assert_eq!(event.body["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING"),
            last if last == self.events() => {
                assert_eq!(event.body["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
            }
            chunk => assert_eq!(*artifact, (chunk - 3).to_string(), "subscriber {subscriber}"),
        }
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        let known = first[number - 1].get_or_insert_with(|| event.body.clone());
        assert_eq!(*known, event.body, "event {number} of subscriber {subscriber}");
    }

    /// Every task's worker writes its chunks, and then completes the task. All of them talk to the first replica.
    async fn write(&self, platform: &Platform, heard: &Heard) {
        let worker = platform.worker().at(0);
        let mut leases = Vec::new();
        for _ in 0..self.tasks {
            leases.push(worker.lease(AGENT).await);
        }
        join_all(leases.iter().map(async |lease| {
            for n in 0..self.chunks {
                let artifact = json!({"artifactId": "a", "parts": [{"text": n.to_string()}]});
                let updates = json!([{"artifact": {"artifact": artifact, "append": n > 0}}]);
                worker.apply(lease.task(), Some(&lease.held()), updates).await.expect("a chunk");
                count(&heard.written);
            }
            worker.apply(lease.task(), Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
        }))
        .await;
    }

    async fn disturb(&self, platform: &Platform, name: &str, heard: &Heard) {
        let written = async |fifths: usize| {
            let all = self.tasks * self.chunks;
            eventually("chunks", async || (of(&heard.written) >= all * fifths / 5).then_some(())).await;
        };
        written(1).await;
        platform.kill(name);
        written(2).await;
        platform.restart(name);
        platform.healthy().await;
        written(3).await;
        platform.terminate(name);
        assert!(platform.end_of(name).await.success(), "{name} ended with a failure");
        platform.restart(name);
        platform.healthy().await;
    }
}
