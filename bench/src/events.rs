//! How long an event takes from the worker that writes it at one replica to the client that follows its task at another.
//!
//! An open loop: events are due at a fixed rate, whatever becomes of those before, and time counts from when one was due. Worker and
//! clients are this process, so that one clock tells.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::figures::Notes;
use crate::platform::Platform;

/// Events a second, over all tasks.
pub(crate) const RATE: u32 = 200;

/// A task that this process works on.
struct Held {
    task: String,
    lease: Vec<(&'static str, String)>,
}

/// When each event was due, by its number.
type Due = Rc<RefCell<Vec<Instant>>>;

/// What came of it.
pub(crate) struct Followed {
    pub(crate) notes: Notes,
    pub(crate) elapsed: Duration,
}

/// Tasks being worked on at one replica and followed at another.
pub(crate) struct Events {
    platform: Rc<Platform>,
    held: Vec<Rc<Held>>,
    due: Due,
    followers: JoinSet<()>,
    /// Every arrival: number of the event, and when it came.
    arrived: Rc<RefCell<Vec<(usize, Instant)>>>,
}

impl Events {
    /// Makes so many tasks of `agent`, takes them, and follows each.
    ///
    /// # Errors
    /// The platform refuses something, or another worker takes the tasks.
    pub(crate) async fn begin(platform: Rc<Platform>, agent: &str, tasks: usize) -> Result<Events, String> {
        for n in 0..tasks {
            let message =
                json!({"messageId": format!("events-{n}"), "role": "ROLE_USER", "parts": [{"text": "events"}]});
            let send = json!({"message": message, "configuration": {"returnImmediately": true}});
            platform.post(&format!("/agents/{agent}/message:send"), &[], &send).await?;
        }
        let mut held = Vec::new();
        for _ in 0..10 {
            let poll = json!({"agents": [agent], "max": tasks - held.len(), "waitSeconds": 1, "start": true});
            let polled = platform.post("/worker/v1/leases:poll", &[], &poll).await?;
            held.extend(polled["leases"].as_array().into_iter().flatten().map(|lease| Rc::new(Held::of(lease))));
            if held.len() == tasks {
                break;
            }
        }
        if held.len() < tasks {
            return Err(format!(
                "only {} of {tasks} tasks of the agent `{agent}` came: does a worker take them?",
                held.len()
            ));
        }
        let mut events =
            Events { platform, held, due: Due::default(), followers: JoinSet::new(), arrived: Rc::default() };
        for held in &events.held {
            let mut stream = events.platform.follow(&format!("/agents/{agent}/tasks/{}:subscribe", held.task)).await?;
            // The task as it is; from here on every event counts.
            stream.next().await?;
            let arrived = events.arrived.clone();
            events.followers.spawn_local(async move {
                while let Ok(Some(event)) = stream.next().await {
                    let at = Instant::now();
                    let number = event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str();
                    if let Some(number) = number.and_then(|number| number.parse().ok()) {
                        arrived.borrow_mut().push((number, at));
                    }
                }
            });
        }
        Ok(events)
    }

    /// Writes events for that long, and waits up to `patience` for the last ones to arrive.
    pub(crate) async fn run(&self, time: Duration, patience: Duration) -> Followed {
        let (begin, first) = (Instant::now(), self.due.borrow().len());
        let count = (time.as_secs_f64() * f64::from(RATE)) as usize;
        let mut writers = JoinSet::new();
        for (n, held) in self.held.iter().enumerate() {
            let (platform, held) = (self.platform.clone(), held.clone());
            let numbers: Vec<usize> = (n..count).step_by(self.held.len()).collect();
            writers.spawn_local(async move {
                let mut notes = Notes::default();
                for n in numbers {
                    tokio::time::sleep_until((begin + Duration::from_secs(1) / RATE * n as u32).into()).await;
                    if let Err(why) = held.write(&platform, first + n).await {
                        notes.failed(why);
                    }
                }
                notes
            });
        }
        self.due.borrow_mut().extend((0..count).map(|n| begin + Duration::from_secs(1) / RATE * n as u32));
        let mut notes = Notes::default();
        while let Some(written) = writers.join_next().await {
            match written {
                Ok(written) => notes.merge(written),
                Err(error) => notes.failed(format!("a worker ended: {error}")),
            }
        }
        let elapsed = begin.elapsed();
        let waiting = Instant::now();
        let missing = || first + count - self.arrived.borrow().len().min(first + count);
        while missing() > 0 && waiting.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for (number, at) in self.arrived.borrow().iter().filter(|(number, _)| *number >= first) {
            if let Some(due) = self.due.borrow().get(*number) {
                notes.took(at.saturating_duration_since(*due));
            }
        }
        for _ in 0..missing() {
            notes.failed("an event that did not arrive".to_owned());
        }
        Followed { notes, elapsed }
    }

    /// Completes the tasks.
    ///
    /// # Errors
    /// The platform refuses one.
    pub(crate) async fn end(self) -> Result<(), String> {
        for held in &self.held {
            held.apply(&self.platform, json!([{"complete": {}}])).await?;
        }
        Ok(())
    }
}

impl Held {
    fn of(lease: &Value) -> Held {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Held {
            task: text(&lease["task"]["id"]),
            lease: vec![("Taskyard-Lease", text(&lease["lease"])), ("Taskyard-Epoch", text(&lease["epoch"]))],
        }
    }

    /// An event of that number.
    async fn write(&self, platform: &Platform, number: usize) -> Result<(), String> {
        // An artifact of one part, again and again: what an event costs must not grow with those before.
        let artifact = json!({"artifactId": "event", "parts": [{"text": number.to_string()}]});
        self.apply(platform, json!([{"artifact": {"artifact": artifact}}])).await
    }

    async fn apply(&self, platform: &Platform, updates: Value) -> Result<(), String> {
        let path = format!("/worker/v1/tasks/{}:apply", self.task);
        platform.post(&path, &self.lease, &json!({"updates": updates})).await.map(drop)
    }
}
