//! How long an event takes from the worker that writes it at one replica to the client that follows its task at another.
//!
//! An open loop: events are due at a fixed rate, whatever becomes of those before, and time counts from when one was due. Worker and
//! clients are this process, so that one clock tells.

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::book::Book;
use crate::figures::Notes;
use crate::platform::Platform;
use crate::worker::{Held, Worker};

/// Events a second, over all tasks.
pub(crate) const RATE: u32 = 200;

/// What came of it.
pub(crate) struct Followed {
    pub(crate) notes: Notes,
    pub(crate) elapsed: Duration,
}

/// Tasks being worked on at one replica and followed at another.
pub(crate) struct Events {
    held: Vec<Rc<Held>>,
    book: Rc<Book>,
    followers: JoinSet<()>,
}

impl Events {
    /// Makes so many tasks of `agent`, takes them, and follows each.
    ///
    /// # Errors
    /// The platform refuses something, or another worker takes the tasks.
    pub(crate) async fn begin(platform: Rc<Platform>, agent: &str, tasks: usize) -> Result<Events, String> {
        let worker = Worker::introduce(platform.clone(), 0, agent).await?;
        for _ in 0..tasks {
            worker.send("events").await?;
        }
        let mut held = Vec::new();
        for _ in 0..10 {
            held.extend(worker.poll(tasks - held.len(), true).await?.into_iter().map(Rc::new));
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
        let mut events = Events { held, book: Rc::default(), followers: JoinSet::new() };
        for held in &events.held {
            let mut stream = platform.follow(&format!("/agents/{agent}/tasks/{}:subscribe", held.task)).await?;
            // The task as it is; from here on every event counts.
            stream.next().await?;
            let book = events.book.clone();
            events.followers.spawn_local(async move {
                while let Ok(Some(event)) = stream.next().await {
                    let number = event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str();
                    if let Some(number) = number.and_then(|number| number.parse().ok()) {
                        book.arrived(number);
                    }
                }
            });
        }
        Ok(events)
    }

    /// Writes events for that long, and waits up to `patience` for the last ones to arrive.
    pub(crate) async fn run(&self, time: Duration, patience: Duration) -> Followed {
        let begin = Instant::now();
        let count = (time.as_secs_f64() * f64::from(RATE)) as usize;
        let first = self.book.plan(begin, RATE, count);
        let mut writers = JoinSet::new();
        for (n, held) in self.held.iter().enumerate() {
            let (book, held) = (self.book.clone(), held.clone());
            let numbers: Vec<usize> = (first + n..first + count).step_by(self.held.len()).collect();
            writers.spawn_local(async move {
                let mut notes = Notes::default();
                for number in numbers {
                    book.until_due(number).await;
                    if let Err(why) = held.write(number).await {
                        notes.failed(why);
                    }
                }
                notes
            });
        }
        let mut notes = Notes::default();
        while let Some(written) = writers.join_next().await {
            match written {
                Ok(written) => notes.merge(written),
                Err(error) => notes.failed(format!("a worker ended: {error}")),
            }
        }
        let elapsed = begin.elapsed();
        notes.merge(self.book.close(first, patience, "an event that did not arrive").await);
        Followed { notes, elapsed }
    }

    /// Completes the tasks.
    ///
    /// # Errors
    /// The platform refuses one.
    pub(crate) async fn end(self) -> Result<(), String> {
        for held in &self.held {
            held.apply(json!([{"complete": {}}])).await?;
        }
        Ok(())
    }
}

impl Held {
    /// An event of that number.
    async fn write(&self, number: usize) -> Result<(), String> {
        // An artifact of one part, again and again: what an event costs must not grow with those before.
        let artifact = json!({"artifactId": "event", "parts": [{"text": number.to_string()}]});
        self.apply(json!([{"artifact": {"artifact": artifact}}])).await
    }
}
