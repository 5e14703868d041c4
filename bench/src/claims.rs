//! How long a task takes from its send to the worker that claims it, while many workers wait for work, and what those cost that find none.
//!
//! An open loop, as for events: sends are due at a fixed rate, and time counts from when one was due to when a poll was answered with it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::book::Book;
use crate::figures::Notes;
use crate::platform::Platform;
use crate::worker::{Worker, send};

/// Sends a second.
pub(crate) const RATE: u32 = 100;

/// Workers that poll, each for one task at a time.
pub(crate) struct Claims {
    platform: Rc<Platform>,
    agent: String,
    book: Rc<Book>,
    /// What went wrong at the workers.
    wrong: Rc<RefCell<Notes>>,
    /// They end when this is dropped.
    _workers: JoinSet<()>,
}

impl Claims {
    /// Lets so many workers of `agent` poll, spread over the replicas.
    ///
    /// # Errors
    /// The platform refuses one.
    pub(crate) async fn begin(platform: Rc<Platform>, agent: &str, number: usize) -> Result<Claims, String> {
        let (book, wrong): (Rc<Book>, Rc<RefCell<Notes>>) = Default::default();
        let mut workers = JoinSet::new();
        for replica in 0..number {
            let worker = Worker::introduce(platform.clone(), replica, agent).await?;
            let (book, wrong) = (book.clone(), wrong.clone());
            workers.spawn_local(async move {
                loop {
                    if let Err(why) = serve(&worker, &book).await {
                        wrong.borrow_mut().failed(why);
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                }
            });
        }
        Ok(Claims { platform, agent: agent.to_owned(), book, wrong, _workers: workers })
    }

    /// Sends for that long, and waits up to `patience` until the last one is claimed.
    pub(crate) async fn run(&self, time: Duration, patience: Duration) -> (Notes, Duration) {
        let begin = Instant::now();
        let count = (time.as_secs_f64() * f64::from(RATE)) as usize;
        let first = self.book.plan(begin, RATE, count);
        let mut sends = JoinSet::new();
        for number in first..first + count {
            self.book.until_due(number).await;
            let (platform, agent) = (self.platform.clone(), self.agent.clone());
            sends.spawn_local(async move { send(&platform, number, &agent, &number.to_string()).await });
        }
        let mut notes = Notes::default();
        while let Some(sent) = sends.join_next().await {
            match sent {
                Ok(Ok(())) => {}
                Ok(Err(why)) => notes.failed(why),
                Err(error) => notes.failed(format!("a client ended: {error}")),
            }
        }
        let elapsed = begin.elapsed();
        notes.merge(self.book.close(first, patience, "a task that nobody was given").await);
        notes.merge(self.wrong.take());
        (notes, elapsed)
    }
}

/// One poll, and the task it brings.
async fn serve(worker: &Worker, book: &Book) -> Result<(), String> {
    for held in worker.poll(1, true).await? {
        match held.text.parse() {
            Ok(number) => book.arrived(number),
            Err(_) => return Err(format!("a task that was not asked for: `{}`", held.text)),
        }
        held.apply(json!([{"complete": {}}])).await?;
    }
    Ok(())
}
