//! The situation that leads to each outcome.

use poem::{Endpoint, Response};
use serde_json::{Value, json};

use super::ask::{Ask, Binding, Told, ask};
use crate::client::{Held, Platform, immediately, text};
use crate::grpc::client::Remote;

/// What is asked in a situation, and what comes of it.
#[derive(Debug, Default)]
pub(crate) struct Case {
    /// Parameters and idempotency key; each of them ends in the row's outcome. Where that is no error, the ones after the first store
    /// nothing more.
    pub(crate) requests: Vec<(Value, Option<&'static str>)>,
    /// How many rows come to which table.
    pub(crate) stores: Vec<(&'static str, i64)>,
    /// Whether any row changes.
    pub(crate) writes: bool,
    /// What a worker replies while the first request waits.
    pub(crate) reply: Option<&'static str>,
    /// What stands where in the answer, or in a stream's first item.
    pub(crate) answers: Vec<(&'static str, Value)>,
}

impl Case {
    fn of(params: Value) -> Case {
        Case { requests: vec![(params, None)], ..Case::default() }
    }

    fn or(mut self, params: Value) -> Case {
        self.requests.push((params, None));
        self
    }

    fn keyed(mut self, key: &'static str) -> Case {
        self.requests.iter_mut().for_each(|request| request.1 = Some(key));
        self
    }

    fn stores<const N: usize>(self, stores: [(&'static str, i64); N]) -> Case {
        Case { stores: stores.to_vec(), writes: true, ..self }
    }

    fn answers<const N: usize>(self, answers: [(&'static str, Value); N]) -> Case {
        Case { answers: answers.to_vec(), ..self }
    }
}

/// A platform as one binding sees it.
pub(crate) struct World<'a, E> {
    pub(crate) platform: &'a Platform<E>,
    pub(crate) remote: &'a Remote,
    pub(crate) binding: Binding,
}

fn hook() -> Value {
    json!({"url": "http://127.0.0.1:2/hook", "token": "secret"})
}

fn hooked(mut send: Value) -> Value {
    send["configuration"]["taskPushNotificationConfig"] = hook();
    send
}

impl<E: Endpoint<Output = Response>> World<'_, E> {
    /// What a command answers by HTTP+JSON, in this binding's tenant.
    pub(crate) async fn done(&self, command: &'static str, params: Value) -> Value {
        self.done_for(self.binding.tenant(), command, params).await
    }

    async fn done_for(&self, tenant: &'static str, command: &'static str, params: Value) -> Value {
        self.told(Ask::of(command, tenant, params)).await
    }

    async fn told(&self, asked: Ask) -> Value {
        match ask(self.platform, self.remote, Binding::Rest, &asked).await {
            Told::Done(answer) => answer,
            told => panic!("preparing by {asked:?}: {told:?}"),
        }
    }

    /// A new task, and its context.
    async fn task_with(&self, params: Value) -> (String, String) {
        let task = self.done("SendMessage", params).await["task"].take();
        (text(&task["id"]), text(&task["contextId"]))
    }

    async fn task(&self) -> String {
        self.task_with(immediately(json!({}))).await.0
    }

    async fn canceled(&self) -> String {
        let id = self.task().await;
        self.done("CancelTask", json!({"id": id})).await;
        id
    }

    /// A task with a config `hook`.
    async fn with_hook(&self) -> String {
        let id = self.task().await;
        let mut config = hook();
        config["taskId"] = json!(id);
        config["id"] = json!("hook");
        self.done("CreateTaskPushNotificationConfig", config).await;
        id
    }

    /// A task of another tenant, with a config `hook` where there can be one.
    async fn elsewhere(&self) -> String {
        let task = self.done_for("elsewhere", "SendMessage", hooked(immediately(json!({})))).await;
        text(&task["task"]["id"])
    }

    /// A task whose worker says that this stage is not to be canceled.
    async fn stubborn(&self) -> String {
        let id = self.task().await;
        let held = loop {
            let poll = json!({"agents": ["echo"], "waitSeconds": 5});
            let polled = self.platform.post("/worker/v1/leases:poll", poll).await;
            let lease = &polled.body["leases"][0];
            if lease["task"]["id"] == json!(id) {
                break Held {
                    task: id.clone(),
                    lease: text(&lease["lease"]),
                    epoch: lease["epoch"].as_i64().unwrap().to_string(),
                };
            }
        };
        assert_eq!(self.platform.work(&held, "work", json!({"cancelable": false})).await.status, 200);
        id
    }

    /// Reply to the message that waits, and is no task.
    pub(crate) async fn reply(&self, words: &str) {
        let poll = json!({"agents": ["echo"], "waitSeconds": 10, "start": true});
        let polled = self.platform.post("/worker/v1/leases:poll", poll).await;
        let lease = &polled.body["leases"][0];
        assert_eq!(lease["direct"], true, "{polled:?}");
        let held = Held {
            task: text(&lease["task"]["id"]),
            lease: text(&lease["lease"]),
            epoch: lease["epoch"].as_i64().unwrap().to_string(),
        };
        let replied = self.platform.work(&held, "reply", json!({"message": {"parts": [{"text": words}]}})).await;
        assert_eq!(replied.status, 200, "{replied:?}");
    }

    /// The situation of a row; nothing if there is none for it.
    pub(crate) async fn stage(&self, command: &'static str, outcome: &str) -> Option<Case> {
        match command {
            "SendMessage" | "SendStreamingMessage" => self.send(outcome).await,
            "GetTask" | "CancelTask" | "SubscribeToTask" => self.named(command, outcome).await,
            "ListTasks" => self.list(outcome).await,
            "GetExtendedAgentCard" => card(outcome),
            _ => self.config(command, outcome).await,
        }
    }

    async fn send(&self, outcome: &str) -> Option<Case> {
        let plain = || immediately(json!({}));
        Some(match outcome {
            "version-not-supported" | "extension-required" | "streaming-not-supported" => Case::of(plain()),
            "push-not-supported" => {
                // Also before what is wrong elsewhere.
                Case::of(hooked(plain())).or(hooked(immediately(json!({"parts": []}))))
            }
            "invalid-params" => {
                let mut refused = hooked(plain());
                refused["configuration"]["taskPushNotificationConfig"]["url"] = json!("ftp://127.0.0.1/");
                Case::of(immediately(json!({"parts": []})))
                    .or(immediately(json!({"messageId": "", "role": "ROLE_UNSPECIFIED"})))
                    .or(immediately(json!({"messageId": "m".repeat(257)})))
                    .or(refused)
                    .or(json!({}))
            }
            "key-reused" => {
                let asked = Ask::of("SendMessage", self.binding.tenant(), plain());
                self.told(asked.with("Idempotency-Key", "k")).await;
                Case::of(immediately(json!({"parts": [{"text": "another"}]}))).keyed("k")
            }
            "task-not-found" => Case::of(immediately(json!({"taskId": uuid::Uuid::nil()})))
                .or(immediately(json!({"taskId": "none"})))
                .or(immediately(json!({"taskId": self.elsewhere().await}))),
            "task-terminal" => Case::of(immediately(json!({"taskId": self.canceled().await}))),
            "context-mismatch" => Case::of(immediately(json!({"taskId": self.task().await, "contextId": "another"}))),
            "context-not-accepted" => Case::of(immediately(json!({"contextId": "mine"}))),
            "content-type-not-supported" => {
                Case::of(immediately(json!({"parts": [{"raw": "aGk=", "mediaType": "image/png"}]})))
            }
            "task-limit" => {
                self.task().await;
                Case::of(plain())
            }
            "history-limit" => Case::of(immediately(json!({"taskId": self.task().await}))),
            "config-limit" => {
                let (id, _) = self.task_with(hooked(plain())).await;
                Case::of(hooked(immediately(json!({"taskId": id}))))
            }
            "continued" => {
                let (id, context) = self.task_with(plain()).await;
                Case::of(immediately(json!({"taskId": id, "messageId": "n"}))).stores([("task_message", 1)]).answers([
                    ("/task/id", json!(id)),
                    ("/task/contextId", json!(context)),
                    ("/task/status/state", json!("TASK_STATE_SUBMITTED")),
                    ("/task/history/1/messageId", json!("n")),
                ])
            }
            "direct-message" => {
                let mut waits = immediately(json!({"contextId": "mine"}));
                waits.as_object_mut()?.remove("configuration");
                Case { reply: Some("hello back"), ..Case::of(waits) }.answers([
                    ("/message/contextId", json!("mine")),
                    ("/message/role", json!("ROLE_AGENT")),
                    ("/message/parts/0/text", json!("hello back")),
                ])
            }
            "task-created" => {
                // A tenant's first task also brings its allowance.
                self.task().await;
                Case::of(hooked(immediately(json!({"contextId": "mine"}))))
                    .stores([
                        ("push_config", 1),
                        ("push_delivery", 1),
                        ("push_lane", 1),
                        ("task", 1),
                        ("task_event", 1),
                        ("task_message", 1),
                        ("work", 1),
                    ])
                    .answers([
                        ("/task/contextId", json!("mine")),
                        ("/task/status/state", json!("TASK_STATE_SUBMITTED")),
                        ("/task/history/0/messageId", json!("m")),
                    ])
            }
            _ => return None,
        })
    }

    /// The commands that name a task.
    async fn named(&self, command: &str, outcome: &str) -> Option<Case> {
        let of = |id: String| Case::of(json!({"id": id}));
        Some(match outcome {
            "version-not-supported" | "extension-required" | "streaming-not-supported" => of(self.task().await),
            "not-found" => of(uuid::Uuid::nil().to_string()).or(json!({"id": "none"})),
            "other-tenant" => of(self.elsewhere().await),
            "task-terminal" => of(self.canceled().await),
            "not-cancelable" => of(self.canceled().await),
            "not-cancelable-now" => of(self.stubborn().await),
            "found" | "subscribed" => {
                let id = self.task().await;
                let at =
                    if command == "GetTask" { ["/id", "/status/state"] } else { ["/task/id", "/task/status/state"] };
                of(id.clone()).answers([(at[0], json!(id)), (at[1], json!("TASK_STATE_SUBMITTED"))])
            }
            "canceled" => {
                let id = self.task().await;
                of(id.clone())
                    .stores([("task_event", 1), ("work", -1)])
                    .answers([("/id", json!(id)), ("/status/state", json!("TASK_STATE_CANCELED"))])
            }
            _ => return None,
        })
    }

    async fn list(&self, outcome: &str) -> Option<Case> {
        Some(match outcome {
            "version-not-supported" | "extension-required" => Case::of(json!({})),
            "invalid-params" => Case::of(json!({"pageSize": 101}))
                .or(json!({"pageSize": -1}))
                .or(json!({"pageToken": "nonsense"}))
                .or(json!({"historyLength": -1})),
            "listed" => {
                self.elsewhere().await;
                let (first, second) = (self.task().await, self.task().await);
                Case::of(json!({"pageSize": 1}))
                    .answers([("/totalSize", json!(2)), ("/tasks/0/id", json!(second))])
                    .or(json!({"pageSize": 2, "status": "TASK_STATE_SUBMITTED", "contextId": first}))
            }
            _ => return None,
        })
    }

    async fn config(&self, command: &str, outcome: &str) -> Option<Case> {
        let creates = command == "CreateTaskPushNotificationConfig";
        let lists = command == "ListTaskPushNotificationConfigs";
        let of = |task: &str, id: &str| {
            let mut params = if creates { hook() } else { json!({}) };
            params["taskId"] = json!(task);
            if !lists && !id.is_empty() {
                params["id"] = json!(id);
            }
            Case::of(params)
        };
        let nil = uuid::Uuid::nil().to_string();
        Some(match outcome {
            "version-not-supported" | "extension-required" => of(&self.task().await, "hook"),
            "push-not-supported" => of(&self.task().await, "hook").or(of(&nil, "hook").requests.remove(0).0),
            "not-found" | "task-not-found" => of(&nil, "hook").or(of("none", "hook").requests.remove(0).0),
            "other-tenant" => of(&self.elsewhere().await, "hook"),
            "config-not-found" => of(&self.with_hook().await, "another"),
            "config-limit" => {
                of(&self.with_hook().await, "another").or(of(&self.with_hook().await, "").requests.remove(0).0)
            }
            "created" => {
                let id = self.task().await;
                // A running task's config first hears of the task as it is.
                of(&id, "hook")
                    .stores([("push_config", 1), ("push_delivery", 1), ("push_lane", 1), ("task_log", 1)])
                    .answers([("/id", json!("hook")), ("/taskId", json!(id)), ("/token", json!("secret"))])
            }
            "assigned" => of(&self.task().await, "")
                .stores([("push_config", 1), ("push_delivery", 1), ("push_lane", 1), ("task_log", 1)])
                .answers([("/url", hook()["url"].clone())]),
            "found" => of(&self.with_hook().await, "hook").answers([("/id", json!("hook"))]),
            "listed" => of(&self.with_hook().await, "").answers([("/configs/0/id", json!("hook"))]),
            "deleted" => {
                let id = self.with_hook().await;
                of(&id, "hook").or(of(&id, "hook").requests.remove(0).0).stores([("push_config", -1), ("task_log", 1)])
            }
            _ => return None,
        })
    }
}

fn card(outcome: &str) -> Option<Case> {
    let asked = Case::of(json!({}));
    match outcome {
        "version-not-supported" | "extension-required" | "not-supported" | "not-configured" => Some(asked),
        "found" => Some(asked.answers([("/version", json!("2"))])),
        _ => None,
    }
}
