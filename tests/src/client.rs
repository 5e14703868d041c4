//! An A2A client of plain HTTP, over either binding, round robin over replicas.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Events, Refusal, eventually};

/// The longest that a stream of a test lasts.
const LONG: Duration = Duration::from_secs(600);

/// How a call is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// HTTP+JSON.
    Rest,
    /// JSON-RPC.
    JsonRpc,
}

impl Binding {
    /// Both.
    pub const ALL: [Binding; 2] = [Binding::Rest, Binding::JsonRpc];
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// It was refused.
    Refused(Box<Refusal>),
    /// There was no answer, or none that can be read.
    Broken(String),
}

/// A client. Cheap to clone; clones take turns with each other over the replicas.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    bases: Arc<[String]>,
    turn: Arc<AtomicUsize>,
    binding: Binding,
    prefix: String,
}

/// A message of this text, as the parameters of a send.
pub fn text(text: &str) -> Value {
    json!({"message": {"messageId": Uuid::now_v7().to_string(), "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The text of a message's or artifact's first part.
pub fn said(parts: &Value) -> &str {
    parts["parts"][0]["text"].as_str().unwrap_or_default()
}

/// A webhook config of this URL.
pub fn hook(url: &str) -> Value {
    json!({"url": url, "token": "the-token", "authentication": {"scheme": "Bearer", "credentials": "the-credentials"}})
}

impl Client {
    /// A client of these base URLs.
    ///
    /// # Panics
    /// When no HTTP client can be built.
    pub fn new(bases: Vec<String>) -> Client {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build();
        Client {
            http: http.expect("building an HTTP client"),
            bases: bases.into(),
            turn: Arc::default(),
            binding: Binding::Rest,
            prefix: String::new(),
        }
    }

    /// The same over another binding.
    #[must_use]
    pub fn over(&self, binding: Binding) -> Client {
        Client { binding, ..self.clone() }
    }

    /// The same of one replica only.
    #[must_use]
    pub fn at(&self, replica: usize) -> Client {
        Client { bases: vec![self.bases[replica % self.bases.len()].clone()].into(), ..self.clone() }
    }

    /// The same as this tenant, for this agent (empty: none, the default one).
    #[must_use]
    pub fn of(&self, tenant: &str, agent: &str) -> Client {
        let tenant = if tenant.is_empty() { String::new() } else { format!("/t/{tenant}") };
        let agent = if agent.is_empty() { String::new() } else { format!("/agents/{agent}") };
        Client { prefix: format!("{tenant}{agent}"), ..self.clone() }
    }

    /// How many replicas it takes turns over.
    pub fn replicas(&self) -> usize {
        self.bases.len()
    }

    /// Calls `operation` once, under an `Idempotency-Key` if one is given.
    ///
    /// # Errors
    /// It was refused, or broken.
    pub async fn call(&self, operation: &str, params: &Value, key: Option<&str>) -> Result<Value, Failure> {
        let mut request = self.request(operation, params);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let answer = request.send().await.map_err(broken(operation))?;
        self.read(operation, answer).await
    }

    /// Opens a stream, after the event `last` if one is given.
    ///
    /// # Errors
    /// It was refused, or broken.
    pub async fn stream(&self, operation: &str, params: &Value, last: Option<&str>) -> Result<Events, Failure> {
        let mut request = self.request(operation, params).timeout(LONG);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let answer = request.send().await.map_err(broken(operation))?;
        let media = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
        if media == Some("text/event-stream") {
            return Ok(Events::of(answer));
        }
        let body = self.read(operation, answer).await?;
        Err(Failure::Broken(format!("{operation}: no stream and no refusal: {body}")))
    }

    fn request(&self, operation: &str, params: &Value) -> RequestBuilder {
        let base = &self.bases[self.turn.fetch_add(1, Ordering::Relaxed) % self.bases.len()];
        let base = format!("{base}{}", self.prefix);
        let request = match self.binding {
            Binding::Rest => rest(&self.http, &base, operation, params),
            Binding::JsonRpc => {
                let call = json!({"jsonrpc": "2.0", "id": 1, "method": operation, "params": params});
                self.http.post(format!("{base}/rpc")).json(&call)
            }
        };
        request.header("A2A-Version", "1.0")
    }

    async fn read(&self, operation: &str, answer: reqwest::Response) -> Result<Value, Failure> {
        let http = answer.status().as_u16();
        let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let bytes = answer.bytes().await.map_err(broken(operation))?;
        let body: Value = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::Broken(format!("{operation}: {http}, {error}: {}", String::from_utf8_lossy(&bytes)))
        })?;
        if let Some(error) = body.get("error").filter(|_| self.binding == Binding::JsonRpc || http >= 400) {
            return Err(Failure::Refused(Box::new(Refusal::read(http, retry_after, error))));
        }
        match self.binding {
            Binding::Rest if http < 300 => Ok(body),
            Binding::JsonRpc if body.get("result").is_some() => Ok(body["result"].clone()),
            _ => Err(Failure::Broken(format!("{operation}: {http} {body}"))),
        }
    }

    /// Calls until there is an answer that is no broken connection and no *try again later*.
    ///
    /// # Errors
    /// What the last call brought, when `patience` is at its end or the call is refused for good.
    pub async fn persist(
        &self,
        operation: &str,
        params: &Value,
        key: &str,
        patience: Duration,
        retried: impl Fn(&Failure),
    ) -> Result<Value, Failure> {
        let begin = Instant::now();
        loop {
            let failure = match self.call(operation, params, Some(key)).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let passing = match &failure {
                Failure::Refused(refusal) => refusal.is_passing() || refusal.http >= 500,
                Failure::Broken(_) => true,
            };
            if !passing || begin.elapsed() > patience {
                return Err(failure);
            }
            retried(&failure);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What `operation` answers.
    ///
    /// # Panics
    /// When it fails.
    pub async fn ask(&self, operation: &str, params: Value) -> Value {
        self.call(operation, &params, None).await.unwrap_or_else(|failure| panic!("{operation} {params}: {failure:?}"))
    }

    /// How `operation` is refused.
    ///
    /// # Panics
    /// When it is not.
    pub async fn refused(&self, operation: &str, params: Value) -> Refusal {
        self.refused_under(operation, params, None).await
    }

    /// How `operation` is refused under a key.
    ///
    /// # Panics
    /// When it is not.
    pub async fn refused_under(&self, operation: &str, params: Value, key: Option<&str>) -> Refusal {
        match self.call(operation, &params, key).await {
            Err(Failure::Refused(refusal)) => *refusal,
            other => panic!("{operation} {params} should have been refused, and came to {other:?}"),
        }
    }

    /// Sends and waits for the agent's answer: the task.
    ///
    /// # Panics
    /// When the send fails.
    pub async fn send(&self, params: Value) -> Value {
        self.ask("SendMessage", params).await["task"].take()
    }

    /// Sends without waiting: the task.
    ///
    /// # Panics
    /// When the send fails.
    pub async fn start(&self, mut params: Value) -> Value {
        params["configuration"]["returnImmediately"] = json!(true);
        self.send(params).await
    }

    /// The task with all its history.
    ///
    /// # Panics
    /// When there is none.
    pub async fn task(&self, id: &Value) -> Value {
        self.ask("GetTask", json!({"id": id})).await
    }

    /// The task, once it is in this state.
    ///
    /// # Panics
    /// When it does not come to be.
    pub async fn task_in(&self, id: &Value, state: &str) -> Value {
        eventually(&format!("task {id} in {state}"), async || {
            Some(self.task(id).await).filter(|task| task["status"]["state"] == state)
        })
        .await
    }
}

fn broken(operation: &str) -> impl Fn(reqwest::Error) -> Failure {
    move |error| Failure::Broken(format!("{operation}: {error:?}"))
}

/// The request of `http.tsv`.
fn rest(http: &reqwest::Client, base: &str, operation: &str, params: &Value) -> RequestBuilder {
    let mut left = params.as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| match left.remove(name) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let configs = |task: String| format!("/tasks/{task}/pushNotificationConfigs");
    let (method, path) = match operation {
        "SendMessage" => (Method::POST, "/message:send".to_owned()),
        "SendStreamingMessage" => (Method::POST, "/message:stream".to_owned()),
        "SubscribeToTask" => (Method::GET, format!("/tasks/{}:subscribe", take("id"))),
        "GetTask" => (Method::GET, format!("/tasks/{}", take("id"))),
        "ListTasks" => (Method::GET, "/tasks".to_owned()),
        "CancelTask" => (Method::POST, format!("/tasks/{}:cancel", take("id"))),
        "CreateTaskPushNotificationConfig" => (Method::POST, configs(take("taskId"))),
        "ListTaskPushNotificationConfigs" => (Method::GET, configs(take("taskId"))),
        "GetTaskPushNotificationConfig" => (Method::GET, format!("{}/{}", configs(take("taskId")), take("id"))),
        "DeleteTaskPushNotificationConfig" => (Method::DELETE, format!("{}/{}", configs(take("taskId")), take("id"))),
        other => panic!("no such operation: {other}"),
    };
    let mut url = reqwest::Url::parse(&format!("{base}{path}")).unwrap_or_else(|error| panic!("{base}{path}: {error}"));
    if method == Method::POST {
        return http.post(url).json(&left);
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if !left.is_empty() {
        url.query_pairs_mut().extend_pairs(left.iter().map(|(name, value)| (name, text(value))));
    }
    http.request(method, url)
}
