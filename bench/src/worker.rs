//! The worker's side, as cheap as it can be driven: this process asks for work and writes to it, without a runtime in between.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::platform::Platform;

/// One worker of one agent, at one replica.
pub(crate) struct Worker {
    platform: Rc<Platform>,
    replica: usize,
    agent: String,
    session: String,
    /// As long as the platform wants polls to wait, in seconds.
    wait: f64,
}

/// A task that this process works on.
pub(crate) struct Held {
    platform: Rc<Platform>,
    replica: usize,
    /// The task's id.
    pub(crate) task: String,
    /// What its first message says.
    pub(crate) text: String,
    lease: Vec<(&'static str, String)>,
}

impl Worker {
    /// Introduces a worker of `agent` to a replica, counted round and round.
    ///
    /// # Errors
    /// The platform refuses it.
    pub(crate) async fn introduce(platform: Rc<Platform>, replica: usize, agent: &str) -> Result<Worker, String> {
        let body = json!({"worker": format!("bench-{replica}"), "agents": [agent]});
        let session = platform.post(replica, "/worker/v1/sessions", &[], &body).await?;
        let wait = session["pollSeconds"].as_f64().unwrap_or(1.0);
        Ok(Worker { platform, replica, agent: agent.to_owned(), session: text(&session["session"]), wait })
    }

    /// Sends a message that nobody waits for, to this worker's replica.
    ///
    /// # Errors
    /// The platform refuses it.
    pub(crate) async fn send(&self, words: &str) -> Result<(), String> {
        send(&self.platform, self.replica, &self.agent, words).await
    }

    /// Waits for up to `max` tasks; they are moved to Working with `start`.
    ///
    /// # Errors
    /// The platform refuses it.
    pub(crate) async fn poll(&self, max: usize, start: bool) -> Result<Vec<Held>, String> {
        let body = json!({
            "session": self.session, "agents": [self.agent], "max": max, "waitSeconds": self.wait, "start": start,
        });
        let polled = self.platform.poll(self.replica, &body).await?;
        Ok(polled["leases"].as_array().into_iter().flatten().map(|lease| self.held(lease)).collect())
    }

    fn held(&self, lease: &Value) -> Held {
        Held {
            platform: self.platform.clone(),
            replica: self.replica,
            task: text(&lease["task"]["id"]),
            text: text(&lease["task"]["history"][0]["parts"][0]["text"]),
            lease: vec![("Taskyard-Lease", text(&lease["lease"])), ("Taskyard-Epoch", text(&lease["epoch"]))],
        }
    }
}

impl Held {
    /// One call on the task, such as `apply`.
    ///
    /// # Errors
    /// The platform refuses it.
    pub(crate) async fn call(&self, verb: &str, body: &Value) -> Result<(), String> {
        let path = format!("/worker/v1/tasks/{}:{verb}", self.task);
        self.platform.post(self.replica, &path, &self.lease, body).await.map(drop)
    }

    /// Updates, all or none.
    ///
    /// # Errors
    /// The platform refuses them.
    pub(crate) async fn apply(&self, updates: Value) -> Result<(), String> {
        self.call("apply", &json!({"updates": updates})).await
    }
}

/// Sends a message to `agent` that nobody waits for, at a replica.
///
/// # Errors
/// The platform refuses it.
pub(crate) async fn send(platform: &Platform, replica: usize, agent: &str, words: &str) -> Result<(), String> {
    let message = json!({"messageId": uuid::Uuid::now_v7(), "role": "ROLE_USER", "parts": [{"text": words}]});
    let body = json!({"message": message, "configuration": {"returnImmediately": true}});
    platform.post(replica, &format!("/agents/{agent}/message:send"), &[], &body).await.map(drop)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
