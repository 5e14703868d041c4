//! A worker by hand: one call at a time, so that a test can be late, dead or wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Control, Refusal, eventually};

/// What proves a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// Its name.
    pub lease: String,
    /// Its epoch.
    pub epoch: i64,
}

/// A lease as a poll answered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    /// The whole answer.
    pub body: Value,
}

impl Lease {
    /// What proves it.
    pub fn held(&self) -> Held {
        Held { lease: self.body["lease"].as_str().unwrap_or_default().to_owned(), epoch: self.epoch() }
    }

    /// Its epoch; the protocol writes 64 bits as text, our surface as a number, and both are read.
    pub fn epoch(&self) -> i64 {
        number(&self.body["epoch"])
    }

    /// Which delivery it is.
    pub fn attempt(&self) -> i64 {
        number(&self.body["attempt"])
    }

    /// The task's id.
    pub fn task(&self) -> &Value {
        &self.body["task"]["id"]
    }
}

pub(crate) fn number(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok())).unwrap_or(-1)
}

/// A worker of every replica in turn.
#[derive(Debug, Clone)]
pub struct Worker {
    http: reqwest::Client,
    bases: Arc<[String]>,
    turn: Arc<AtomicUsize>,
}

impl Worker {
    /// A worker of these base URLs.
    ///
    /// # Panics
    /// When no HTTP client can be built.
    pub fn new(bases: Vec<String>) -> Worker {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build();
        Worker { http: http.expect("building an HTTP client"), bases: bases.into(), turn: Arc::default() }
    }

    /// The same of one replica only.
    #[must_use]
    pub fn at(&self, replica: usize) -> Worker {
        Worker { bases: vec![self.bases[replica % self.bases.len()].clone()].into(), ..self.clone() }
    }

    fn url(&self, path: &str) -> String {
        let base = &self.bases[self.turn.fetch_add(1, Ordering::Relaxed) % self.bases.len()];
        format!("{base}/worker/v1{path}")
    }

    /// One call.
    ///
    /// # Errors
    /// It was refused.
    ///
    /// # Panics
    /// When the platform does not answer.
    pub async fn post(&self, path: &str, held: Option<&Held>, body: &Value) -> Result<Value, Refusal> {
        answer(path, self.request(path, held, body)).await
    }

    /// One call that may stay without an answer: none, when the connection was closed instead.
    ///
    /// # Panics
    /// When the answer cannot be read.
    pub async fn try_post(&self, path: &str, held: Option<&Held>, body: &Value) -> Option<Result<Value, Refusal>> {
        Some(read(path, self.request(path, held, body).send().await.ok()?).await)
    }

    fn request(&self, path: &str, held: Option<&Held>, body: &Value) -> reqwest::RequestBuilder {
        let request = self.http.post(self.url(path)).json(body);
        match held {
            Some(held) => request.header("Taskyard-Lease", &held.lease).header("Taskyard-Epoch", held.epoch),
            None => request,
        }
    }

    /// The control stream of a session, once it is listened to.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn control(&self, session: &str) -> Control {
        let answer = self.http.get(self.url(&format!("/sessions/{session}/control"))).send().await;
        let answer = answer.unwrap_or_else(|error| panic!("a control stream: {error:?}"));
        assert_eq!(answer.status().as_u16(), 200, "a control stream");
        Control::of(answer).begin().await
    }

    /// A page of a view of the worker surface.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn view(&self, path: &str) -> Value {
        let seen = answer(path, self.http.get(self.url(path))).await;
        seen.unwrap_or_else(|refusal| panic!("{path}: {refusal:?}"))
    }

    /// Every task there is.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn all_tasks(&self) -> Vec<Value> {
        let mut tasks = Vec::new();
        let mut token = String::new();
        loop {
            let mut page = self.view(&format!("/allTasks?pageSize=100&pageToken={token}")).await;
            match page["tasks"].take() {
                Value::Array(more) => tasks.extend(more),
                other => panic!("a page of tasks holds {other}"),
            }
            token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
            if token.is_empty() {
                return tasks;
            }
        }
    }

    /// A poll for up to `max` tasks that waits `seconds` at most.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn poll(&self, agent: &str, max: usize, seconds: f64, start: bool) -> Vec<Lease> {
        let poll = json!({"agents": [agent], "max": max, "waitSeconds": seconds, "start": start});
        let polled = self.post("/leases:poll", None, &poll).await;
        let mut polled = polled.unwrap_or_else(|refusal| panic!("a poll for {agent}: {refusal:?}"));
        match polled["leases"].take() {
            Value::Array(leases) => leases.into_iter().map(|body| Lease { body }).collect(),
            other => panic!("a poll answers leases: {other}"),
        }
    }

    /// The next lease on a task of `agent`, started.
    ///
    /// # Panics
    /// When there comes none.
    pub async fn lease(&self, agent: &str) -> Lease {
        eventually(&format!("a lease of {agent}"), async || self.poll(agent, 1, 5.0, true).await.pop()).await
    }

    /// Updates of one task in one transaction.
    ///
    /// # Errors
    /// They are refused.
    pub async fn apply(&self, task: &Value, held: Option<&Held>, updates: Value) -> Result<Value, Refusal> {
        let task = task.as_str().unwrap_or_default();
        self.post(&format!("/tasks/{task}:apply"), held, &json!({"updates": updates})).await
    }

    /// One move.
    ///
    /// # Errors
    /// It is refused.
    pub async fn step(&self, task: &Value, step: &str, held: Option<&Held>, body: &Value) -> Result<Value, Refusal> {
        let task = task.as_str().unwrap_or_default();
        self.post(&format!("/tasks/{task}:{step}"), held, body).await
    }

    /// A heartbeat of these leases: what became of each.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn beat(&self, held: &[Held]) -> Vec<Value> {
        let leases: Vec<Value> = held.iter().map(|held| json!({"lease": held.lease, "epoch": held.epoch})).collect();
        let beat = self.post("/leases:heartbeat", None, &json!({"leases": leases})).await;
        let mut beat = beat.unwrap_or_else(|refusal| panic!("a heartbeat: {refusal:?}"));
        match beat["leases"].take() {
            Value::Array(leases) => leases,
            other => panic!("a heartbeat answers leases: {other}"),
        }
    }

    /// Gives a lease back.
    ///
    /// # Errors
    /// It is refused.
    pub async fn release(&self, held: &Held, body: &Value) -> Result<Value, Refusal> {
        self.post(&format!("/leases/{}:release", held.lease), Some(held), body).await
    }
}

async fn answer(path: &str, request: reqwest::RequestBuilder) -> Result<Value, Refusal> {
    read(path, request.send().await.unwrap_or_else(|error| panic!("{path}: {error:?}"))).await
}

async fn read(path: &str, answer: reqwest::Response) -> Result<Value, Refusal> {
    let http = answer.status().as_u16();
    let body = answer.text().await.unwrap_or_else(|error| panic!("{path}: {http}, {error:?}"));
    let body: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {http}, {error}: {body}"));
    if http < 300 { Ok(body) } else { Err(Refusal::read(http, None, &body["error"])) }
}
