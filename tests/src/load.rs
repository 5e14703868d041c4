//! The main job, many times: clients that send, wait for the answer, and have a webhook told of everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Value;
use uuid::Uuid;

use crate::{Client, Failure, Platform, Receiver, hook, text};

/// How much of it.
#[derive(Debug, Clone)]
pub struct Load {
    /// Tasks in all.
    pub tasks: usize,
    /// Clients at once; each sends its next task when the one before is answered.
    pub clients: usize,
    /// How long a client goes on trying one task.
    pub patience: Duration,
    run: String,
    done: Arc<AtomicUsize>,
}

/// What one client got for one task.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The task's text, and the name of its webhook.
    pub name: String,
    /// The task, or why there is none.
    pub task: Result<Value, Failure>,
    /// Tries that broke or were put off.
    pub retries: usize,
    /// Tries that were answered 500: whatever is killed, no replica should say so.
    pub errors: usize,
}

impl Load {
    /// So many tasks of so many clients.
    pub fn new(tasks: usize, clients: usize) -> Load {
        let run = Uuid::new_v4().simple().to_string();
        Load { tasks, clients, patience: Duration::from_secs(120), run, done: Arc::default() }
    }

    /// How many are answered.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// The name of the task number `n`.
    pub fn name(&self, n: usize) -> String {
        format!("{}-{n}", self.run)
    }

    /// Sends them all, and waits for every answer.
    pub async fn run(&self, platform: &Platform, receiver: &Receiver) -> Vec<Answer> {
        let next = AtomicUsize::new(0);
        let client = platform.client();
        let each = (0..self.clients).map(|_| async {
            let mut answers = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= self.tasks {
                    return answers;
                }
                answers.push(self.one(&client, receiver, self.name(n)).await);
                self.done.fetch_add(1, Ordering::Relaxed);
            }
        });
        join_all(each).await.into_iter().flatten().collect()
    }

    async fn one(&self, client: &Client, receiver: &Receiver, name: String) -> Answer {
        let mut params = text(&name);
        params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url(&name));
        let (retries, errors) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let retried = |failure: &Failure| {
            retries.fetch_add(1, Ordering::Relaxed);
            if matches!(failure, Failure::Refused(refusal) if !refusal.is_passing()) {
                errors.fetch_add(1, Ordering::Relaxed);
            }
        };
        let answer = client.persist("SendMessage", &params, &name, self.patience, retried).await;
        let task = answer.map(|mut answer| answer["task"].take());
        Answer { name, task, retries: retries.into_inner(), errors: errors.into_inner() }
    }

    /// Waits until the webhook of every task has been told of the end, at most `patience`; what is missing then is for the verdict.
    pub async fn settle(&self, receiver: &Receiver, patience: Duration) {
        let begin = Instant::now();
        while receiver.finished() < self.tasks && begin.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
