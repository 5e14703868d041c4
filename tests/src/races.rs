//! Cancel against complete, through two replicas, many times: one of them wins, and everybody who is told says which.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::receiver::is_terminal;
use crate::verdict::tell;
use crate::{Client, Failure, Held, Hit, Platform, Receiver, Refusal, Worker, hook, text};

/// The agent that the races are of.
pub const RACED: &str = "raced";
/// How long the last webhooks may take.
const SETTLE: Duration = Duration::from_secs(180);
const CANCELED: &str = "TASK_STATE_CANCELED";
const COMPLETED: &str = "TASK_STATE_COMPLETED";

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Races {
    /// Races in all.
    pub races: usize,
    /// Races at once.
    pub lanes: usize,
    /// What their starts are drawn from.
    pub seed: u64,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RaceFigures {
    /// Races that the cancel won.
    pub canceled: usize,
    /// Races that the worker won.
    pub completed: usize,
    broken: BTreeMap<&'static str, usize>,
}

/// Every promise, by what breaks it.
const PROMISES: [&str; 6] = [BOTH, NEITHER, REFUSED, STORE, ENDS, WEBHOOK];
const BOTH: &str = "races that both won";
const NEITHER: &str = "races that neither won";
const REFUSED: &str = "losers told something else";
const STORE: &str = "tasks in another state than the winner's";
const ENDS: &str = "tasks without exactly one terminal event";
const WEBHOOK: &str = "webhooks not told the winner's end exactly once";

/// One race as its two sides were answered.
struct Race {
    task: String,
    hook: String,
    canceled: Result<Value, Failure>,
    completed: Result<Value, Refusal>,
}

impl RaceFigures {
    /// Every promise by what breaks it, with how often that happened.
    pub fn promises(&self) -> impl Iterator<Item = (&'static str, usize)> {
        PROMISES.into_iter().map(|promise| (promise, self.broken.get(promise).copied().unwrap_or_default()))
    }

    /// Whether every promise was kept.
    pub fn kept(&self) -> bool {
        self.broken.values().all(|broken| *broken == 0)
    }

    fn found(&mut self, promise: &'static str, broken: bool, case: impl FnOnce() -> String) {
        if broken {
            *self.broken.entry(promise).or_default() += tell(promise, case(), 1);
        }
    }

    /// One race. Yields the state that its winner left.
    fn answers(&mut self, race: &Race) -> &'static str {
        let Race { task, canceled, completed, .. } = race;
        let case = || format!("{task}: {canceled:?} {completed:?}");
        self.found(BOTH, canceled.is_ok() && completed.is_ok(), case);
        self.found(NEITHER, canceled.is_err() && completed.is_err(), case);
        let cancel_is_told = match canceled {
            Ok(task) => task["status"]["state"] == CANCELED,
            Err(Failure::Refused(refusal)) => refusal.reason == "TASK_NOT_CANCELABLE",
            Err(Failure::Broken(_)) => false,
        };
        let complete_is_told = match completed {
            Ok(applied) => applied["state"] == COMPLETED && applied["leaseHeld"] == false,
            Err(refusal) => refusal.reason == "LEASE_LOST" && refusal.metadata["state"] == CANCELED,
        };
        self.found(REFUSED, !cancel_is_told || !complete_is_told, case);
        if canceled.is_ok() {
            self.canceled += 1;
            return CANCELED;
        }
        self.completed += 1;
        COMPLETED
    }

    fn webhook(&mut self, task: &str, state: &str, hits: &[Hit]) {
        // One notification may come several times; it is the same under one id.
        let ends: BTreeMap<Option<&String>, &Hit> =
            hits.iter().filter(|hit| hit.is_terminal()).map(|hit| (hit.headers.get("webhook-id"), hit)).collect();
        let fine = ends.len() == 1 && ends.iter().all(|(id, hit)| id.is_some() && hit.state() == Some(state));
        self.found(WEBHOOK, !fine, || format!("{task} is {state}: {:?}", ends.values().collect::<Vec<_>>()));
    }
}

impl Races {
    /// Runs them all, and holds everything together. Each broken promise is told on stderr.
    ///
    /// # Panics
    /// When the platform cannot be asked.
    pub async fn run(&self, platform: &Platform, progress: impl Fn(usize)) -> RaceFigures {
        let receiver = Receiver::start().await;
        let (client, worker) = (platform.client().of("", RACED), platform.worker());
        let (next, races) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        join_all((0..self.lanes).map(|_| async {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= self.races {
                    return;
                }
                let race = self.race(n, &client, &worker, &receiver).await;
                let mut races = races.lock().expect("no lane panics with it");
                races.push(race);
                progress(races.len());
            }
        }))
        .await;
        let races = races.into_inner().expect("no lane panicked with it");
        let begin = Instant::now();
        while receiver.finished() < self.races && begin.elapsed() < SETTLE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut figures = RaceFigures::default();
        let (states, ends) = (states(platform).await, ends(platform).await);
        for race in &races {
            let state = figures.answers(race);
            let task = &race.task;
            let stored = states.get(task).map(String::as_str);
            figures
                .found(STORE, stored != Some(state), || format!("{task} is {stored:?}, and its winner left {state}"));
            let ended = ends.get(task).map(Vec::as_slice).unwrap_or_default();
            figures.found(ENDS, ended != [state], || format!("{task} is {state}: {ended:?}"));
            figures.webhook(task, state, &receiver.hits(&race.hook));
        }
        figures
    }

    /// One race: cancel through one replica, complete through the other, within a few milliseconds of each other.
    async fn race(&self, n: usize, client: &Client, worker: &Worker, receiver: &Receiver) -> Race {
        let mut params = text("race");
        let message = params["message"]["messageId"].as_str().unwrap_or_default().to_owned();
        params["configuration"]["taskPushNotificationConfig"] = hook(&receiver.url(&message));
        client.start(params).await;
        // Perhaps of another lane: each races with the task it got.
        let lease = worker.lease(RACED).await;
        let hook = lease.body["task"]["history"][0]["messageId"].as_str().unwrap_or_default().to_owned();
        let (held, task): (Held, &Value) = (lease.held(), lease.task());
        let mut dice = Dice::of(self.seed, n);
        let mut late = || Duration::from_micros(dice.roll(3) as u64 * dice.roll(2_000) as u64);
        let (cancel_late, complete_late) = (late(), late());
        let cancel = json!({"id": task});
        let (canceled, completed) = tokio::join!(
            async {
                tokio::time::sleep(cancel_late).await;
                client.at(n).call("CancelTask", &cancel, None).await
            },
            async {
                tokio::time::sleep(complete_late).await;
                worker.at(n + 1).apply(task, Some(&held), json!([{"complete": {}}])).await
            },
        );
        Race { task: task.as_str().unwrap_or_default().to_owned(), hook, canceled, completed }
    }
}

/// The state of every task, as the worker surface shows it.
async fn states(platform: &Platform) -> HashMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    platform.worker().all_tasks().await.iter().map(|task| (text(&task["id"]), text(&task["state"]))).collect()
}

/// The states of every task's terminal events, as the database has them.
async fn ends(platform: &Platform) -> HashMap<String, Vec<String>> {
    let mut ends: HashMap<String, Vec<String>> = HashMap::new();
    for row in platform.database().await.rows("SELECT task_id, body FROM task_event ORDER BY task_id, generation").await
    {
        let task: uuid::Uuid = row.try_get("", "task_id").expect("an event's task");
        let body: String = row.try_get("", "body").expect("an event's body");
        let body: Value = serde_json::from_str(&body).expect("an event is JSON");
        if let Some(state) = body["statusUpdate"]["status"]["state"].as_str().filter(|state| is_terminal(state)) {
            ends.entry(task.to_string()).or_default().push(state.to_owned());
        }
    }
    ends
}
