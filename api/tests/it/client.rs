//! A platform of a test's own, and short words for talking to it.

use std::sync::Arc;

use api::Options;
use engine::{Bus, Clock, Engine, Ids, Parts, SecretKey, Settings, Store};
use poem::http::{HeaderValue, Method};
use poem::test::{TestClient, TestRequestBuilder};
use poem::{Endpoint, Response};
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};

/// A platform on a database of its own.
pub(crate) struct Platform<E> {
    pub(crate) client: TestClient<E>,
    pub(crate) engine: Engine,
    _running: Running,
}

/// Ends the engine's loops with the test.
struct Running(tokio::task::JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An answer, read.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) headers: poem::http::HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn of(request: TestRequestBuilder<'_, impl Endpoint<Output = Response>>) -> Answer {
        let response = request.send().await.0;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let content_type = response.content_type().unwrap_or_default().to_owned();
        let text = response.into_body().into_string().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Answer { status, content_type, headers, body }
    }

    /// `ErrorInfo.reason` of either binding; empty without an error.
    pub(crate) fn reason(&self) -> &str {
        self.details()[0]["reason"].as_str().unwrap_or_default()
    }

    /// The fields of `BadRequest`, in order.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let violations = self.details()[1]["fieldViolations"].as_array();
        violations.into_iter().flatten().filter_map(|violation| violation["field"].as_str()).collect()
    }

    fn details(&self) -> &Value {
        let error = &self.body["error"];
        if error["data"].is_array() { &error["data"] } else { &error["details"] }
    }
}

/// The settings most tests run on: one agent with everything on.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::with_agents([engine::Agent::named("echo"), engine::Agent::named("other")]);
    settings.webhooks.allow_loopback = true;
    settings
}

pub(crate) async fn platform() -> Platform<impl Endpoint<Output = Response>> {
    platform_with(settings(), Options::default()).await
}

pub(crate) async fn platform_with(settings: Settings, options: Options) -> Platform<impl Endpoint<Output = Response>> {
    let store = Store::connect("sqlite::memory:", 1).await.unwrap();
    engine::migrate(&store).await.unwrap();
    let engine = Engine::new(Parts {
        store,
        bus: Bus::in_process(),
        clock: Clock::system(),
        ids: Ids::Version7,
        secrets: Arc::new(SecretKey::new(&[7; 32]).unwrap()),
        settings,
    });
    let running = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(std::future::pending()).await }
    });
    let client = TestClient::new(api::app(engine.clone(), options));
    Platform { client, engine, _running: Running(running) }
}

impl<E: Endpoint<Output = Response>> Platform<E> {
    /// A request with the version header and, unless it is null, a body.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = self.client.request(method, path.to_owned()).header("A2A-Version", "1.0");
        Answer::of(match body {
            Value::Null => request,
            body => request.content_type("application/json").body(body.to_string()),
        })
        .await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, Value::Null).await
    }

    /// A JSON-RPC call with id 1.
    pub(crate) async fn rpc(&self, method: &str, params: Value) -> Answer {
        self.post("/rpc", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await
    }

    /// A new task that nobody works on yet.
    pub(crate) async fn submit(&self) -> Value {
        let sent = self.post("/message:send", immediately(json!({}))).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        sent.body["task"].clone()
    }

    /// A new task, held by a worker.
    pub(crate) async fn hold(&self) -> Held {
        let task = self.submit().await;
        let polled = self.post("/worker/v1/leases:poll", json!({"agents": ["echo"], "waitSeconds": 5})).await;
        let lease = polled.body["leases"][0].clone();
        assert_eq!(lease["task"]["id"], task["id"], "{polled:?}");
        Held {
            task: text(&task["id"]),
            lease: text(&lease["lease"]),
            epoch: lease["epoch"].as_i64().unwrap().to_string(),
        }
    }

    /// A request of the worker that holds `held`.
    pub(crate) async fn work(&self, held: &Held, verb: &str, body: Value) -> Answer {
        self.work_with(held, verb, body, &[]).await
    }

    /// The same with these headers more, which need not be text.
    pub(crate) async fn work_with(&self, held: &Held, verb: &str, body: Value, more: &[(&str, &[u8])]) -> Answer {
        let path = match verb {
            "release" => format!("/worker/v1/leases/{}:release", held.lease),
            verb => format!("/worker/v1/tasks/{}:{verb}", held.task),
        };
        let mut request = self
            .client
            .post(path)
            .header("Taskyard-Lease", &held.lease)
            .header("Taskyard-Epoch", &held.epoch)
            .content_type("application/json");
        for (name, value) in more {
            request = request.header(*name, HeaderValue::from_bytes(value).unwrap());
        }
        Answer::of(request.body(body.to_string())).await
    }

    /// How many rows every table holds.
    pub(crate) async fn rows(&self) -> Vec<(&'static str, i64)> {
        const TABLES: &[&str] = &[
            "task",
            "task_message",
            "task_artifact",
            "task_event",
            "task_log",
            "work",
            "waiting_message",
            "worker_session",
            "send_key",
            "update_key",
            "undelivered",
            "push_config",
            "push_lane",
            "push_delivery",
            "push_attempt",
        ];
        let db = self.engine.store().read();
        let mut rows = Vec::new();
        for table in TABLES {
            let ask = Statement::from_string(db.get_database_backend(), format!("SELECT count(*) AS n FROM {table}"));
            let row = db.query_one_raw(ask).await.unwrap().unwrap();
            rows.push((*table, row.try_get("", "n").unwrap()));
        }
        rows
    }
}

/// A lease as its worker knows it.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) task: String,
    pub(crate) lease: String,
    pub(crate) epoch: String,
}

/// A send that does not wait, with `more` members in its message.
pub(crate) fn immediately(more: Value) -> Value {
    let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"message": message, "configuration": {"returnImmediately": true}})
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
