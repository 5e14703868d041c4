//! Hints between processes: work is ready, a task has news, a delivery is due.
//!
//! A hint may be lost, repeated or late without harm (promise 3); whoever waits for one also sweeps. In one process hints go straight to
//! the [`Hub`]; with Redis they go there too, and are published for the others, a batch at a time and never on a request's path.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_redis::redis;
use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use crate::sessions::{Nudge, Sessions};
use crate::watch::Watch;

/// Something worth looking at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A task of this agent is ready.
    Work {
        /// The agent's name.
        agent: String,
    },
    /// A task has a new event.
    Event {
        /// The task.
        task: Uuid,
        /// Its number.
        generation: i64,
        /// The proto's number of the state after it.
        state: i16,
    },
    /// A message that waited for a direct answer has it, or waits no more.
    Answer {
        /// The id the task would have.
        message: Uuid,
    },
    /// A worker's session is to be told something at once.
    Control {
        /// The session.
        session: Uuid,
        /// What.
        nudge: Nudge,
    },
    /// A lane has something to deliver.
    Delivery,
}

/// Which hints a process wants to hear of from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interests {
    /// `Work`, `Event`, `Answer` and `Control`: an api.
    pub tasks: bool,
    /// `Delivery`: a notifier.
    pub deliveries: bool,
}

/// Where hints arrive in this process.
#[derive(Debug, Default)]
pub struct Hub {
    /// Sends and streams that wait for a task's news.
    pub watch: Watch,
    /// Agents that have something ready; the claimer looks.
    pub ready: Ready,
    /// Workers' sessions: who is to stop, who listens.
    pub sessions: Sessions,
    /// Something is due; the notifier looks.
    pub delivery: Notify,
}

/// Agents that may have something ready. Where nothing was heard of, nothing is asked, so that idle polls cost nothing.
#[derive(Debug, Default)]
pub struct Ready {
    agents: Mutex<HashSet<String>>,
    changed: Notify,
}

impl Ready {
    fn open(&self) -> MutexGuard<'_, HashSet<String>> {
        // A panic cannot leave the set half written.
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These agents may have something ready.
    pub fn add(&self, agents: impl IntoIterator<Item = String>) {
        self.open().extend(agents);
        self.changed.notify_one();
    }

    /// Whether any of these may, and from now on none of them until it is heard of again.
    pub fn take(&self, agents: &[String]) -> bool {
        let mut ready = self.open();
        // Every one is removed, not only the first that is found.
        agents.iter().filter(|agent| ready.remove(agent.as_str())).count() > 0
    }

    /// Whether nothing was heard of any.
    pub fn is_empty(&self) -> bool {
        self.open().is_empty()
    }

    /// Somebody should look.
    pub fn look(&self) {
        self.changed.notify_one();
    }

    /// Resolves when there is reason to look.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Hub {
    fn hear(&self, hint: &Hint) {
        match hint {
            Hint::Work { agent } => self.ready.add([agent.clone()]),
            Hint::Event { task, generation, state } => self.watch.hear(*task, *generation, *state),
            Hint::Answer { message } => self.watch.wake(*message),
            Hint::Control { session, nudge } => self.sessions.hear(*session, *nudge),
            Hint::Delivery => self.delivery.notify_one(),
        }
    }
}

/// How hints travel.
#[derive(Debug, Clone)]
pub struct Bus {
    hub: Arc<Hub>,
    redis: Option<mpsc::Sender<Hint>>,
    reachable: Arc<AtomicBool>,
}

const TASKS: &str = "taskyard:tasks";
const DELIVERIES: &str = "taskyard:deliveries";
/// Hints that wait to be published; what does not fit is lost, which a hint may be.
const WAITING: usize = 16_384;

impl Bus {
    /// Hints stay in this process.
    pub fn in_process() -> Bus {
        Bus { hub: Arc::new(Hub::default()), redis: None, reachable: Arc::new(AtomicBool::new(true)) }
    }

    /// Hints travel over Redis at `url` to every process interested in them. A Redis that cannot be reached is a warning: it is tried
    /// again for ever, and sweeps do the work meanwhile.
    ///
    /// # Errors
    /// When `url` is not a Redis URL.
    pub fn redis(url: &str, interests: Interests) -> Result<Bus, redis::RedisError> {
        let client = redis::Client::open(url)?;
        let pool = deadpool_redis::Config::from_url(url).create_pool(Some(deadpool_redis::Runtime::Tokio1)).map_err(
            |error| redis::RedisError::from((redis::ErrorKind::InvalidClientConfig, "redis.url", error.to_string())),
        )?;
        let (sender, receiver) = mpsc::channel(WAITING);
        let bus =
            Bus { hub: Arc::new(Hub::default()), redis: Some(sender), reachable: Arc::new(AtomicBool::new(false)) };
        let origin = Uuid::now_v7().simple().to_string();
        tokio::spawn(publish(pool, receiver, origin.clone()));
        let channels: Vec<&'static str> = [(interests.tasks, TASKS), (interests.deliveries, DELIVERIES)]
            .into_iter()
            .filter_map(|(wanted, channel)| wanted.then_some(channel))
            .collect();
        if !channels.is_empty() {
            tokio::spawn(listen(client, channels, origin, bus.hub.clone(), bus.reachable.clone()));
        }
        Ok(bus)
    }

    /// Where hints arrive in this process.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Whether hints of other processes arrive at present.
    pub fn reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    /// Tell everybody. Never waits and never fails.
    pub fn send(&self, hints: impl IntoIterator<Item = Hint>) {
        for hint in hints {
            self.hub.hear(&hint);
            if let Some(redis) = &self.redis {
                let _lost = redis.try_send(hint);
            }
        }
    }
}

/// `w AGENT`, `e TASK GENERATION STATE`, `a MESSAGE`, `c SESSION NUDGE`, `d`: a line a hint.
fn write(hint: &Hint) -> String {
    match hint {
        Hint::Work { agent } => format!("w {agent}"),
        Hint::Event { task, generation, state } => format!("e {} {generation} {state}", task.simple()),
        Hint::Answer { message } => format!("a {}", message.simple()),
        Hint::Control { session, nudge } => format!("c {} {nudge}", session.simple()),
        Hint::Delivery => "d".to_owned(),
    }
}

/// A line of a process of another release may say what this one does not know: that is no hint.
fn parse(line: &str) -> Option<Hint> {
    let mut words = line.split(' ');
    match words.next()? {
        "w" => Some(Hint::Work { agent: words.next()?.to_owned() }),
        "e" => Some(Hint::Event {
            task: words.next()?.parse().ok()?,
            generation: words.next()?.parse().ok()?,
            state: words.next()?.parse().ok()?,
        }),
        "a" => Some(Hint::Answer { message: words.next()?.parse().ok()? }),
        "c" => {
            let (session, nudge) = line.strip_prefix("c ")?.split_once(' ')?;
            Some(Hint::Control { session: session.parse().ok()?, nudge: nudge.parse().ok()? })
        }
        "d" => Some(Hint::Delivery),
        _ => None,
    }
}

/// Publish what waits, everything of one channel as one message: what piles up while Redis answers travels together.
async fn publish(pool: deadpool_redis::Pool, mut waiting: mpsc::Receiver<Hint>, origin: String) {
    let mut hints = Vec::new();
    let mut held = None;
    while waiting.recv_many(&mut hints, 512).await > 0 {
        let mut messages: HashMap<&'static str, String> = HashMap::new();
        let mut seen = HashSet::new();
        for hint in hints.drain(..) {
            let channel = if hint == Hint::Delivery { DELIVERIES } else { TASKS };
            let line = write(&hint);
            if seen.insert(hint) {
                let message = messages.entry(channel).or_insert_with(|| origin.clone());
                message.push('\n');
                message.push_str(&line);
            }
        }
        let sent = async {
            // Kept from batch to batch: the pool would test it each time, which costs more than the batch.
            let mut connection = match held.take() {
                Some(connection) => connection,
                None => pool.get().await.map_err(|error| error.to_string())?,
            };
            let mut pipe = redis::pipe();
            for (channel, message) in &messages {
                pipe.cmd("PUBLISH").arg(*channel).arg(message).ignore();
            }
            pipe.query_async::<()>(&mut connection).await.map_err(|error| error.to_string())?;
            held = Some(connection);
            Ok::<(), String>(())
        };
        match tokio::time::timeout(Duration::from_secs(2), sent).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(error, "hints not published; sweeps will find the work"),
            Err(_) => tracing::debug!("hints not published in 2 s; sweeps will find the work"),
        }
    }
}

/// Hear what others publish, and connect again whenever that ends.
async fn listen(
    client: redis::Client,
    channels: Vec<&'static str>,
    origin: String,
    hub: Arc<Hub>,
    reachable: Arc<AtomicBool>,
) {
    let mut warned = false;
    loop {
        match client.get_async_pubsub().await {
            Ok(mut pubsub) => match pubsub.subscribe(&channels).await {
                Ok(()) => {
                    if warned {
                        tracing::info!("Redis is reachable again");
                    }
                    warned = false;
                    reachable.store(true, Ordering::Relaxed);
                    // What was said while nobody listened is found by looking once.
                    hub.ready.look();
                    hub.delivery.notify_one();
                    let mut messages = pubsub.on_message();
                    while let Some(message) = messages.next().await {
                        let Ok(text) = message.get_payload::<String>() else { continue };
                        let mut lines = text.lines();
                        if lines.next() != Some(origin.as_str()) {
                            lines.filter_map(parse).for_each(|hint| hub.hear(&hint));
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "subscribing to hints"),
            },
            Err(error) => tracing::debug!(%error, "connecting to Redis"),
        }
        if !warned {
            tracing::warn!("Redis cannot be reached; hints stop, sweeps find work within their period");
        }
        warned = true;
        reachable.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::lease::LeaseName;
    use crate::sessions::Turn;
    use wire::TaskState;

    #[test]
    fn a_hint_survives_its_line() {
        let lease = LeaseName { task: Uuid::from_u128(7), lease: Uuid::from_u128(8) };
        let hints = [
            Hint::Work { agent: "demo".into() },
            Hint::Event { task: Uuid::from_u128(7), generation: 3, state: 2 },
            Hint::Answer { message: Uuid::from_u128(9) },
            Hint::Control { session: Uuid::from_u128(4), nudge: Nudge::Drain },
            Hint::Control {
                session: Uuid::from_u128(4),
                nudge: Nudge::Lease { turn: Turn::Cancel, lease, state: TaskState::Canceled as i16 },
            },
            Hint::Delivery,
        ];
        for hint in hints {
            assert_eq!(parse(&write(&hint)), Some(hint));
        }
        assert_eq!(parse("x later release"), None);
        assert_eq!(parse("e not-a-task 1 2"), None);
        assert_eq!(parse("c 00000000000000000000000000000004 later-release"), None);
    }
}
