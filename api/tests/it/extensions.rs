//! Extensions (§4.6.3) and web pages (CORS): what requests must bring and what answers say back.

use std::sync::Arc;

use api::Options;
use engine::Settings;
use poem::http::Method;
use poem::test::TestRequestBuilder;
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::cards::CARD;
use crate::client::{Answer, Platform, immediately, platform_with, settings, text};

const NEEDED: &str = "https://ext.example/needed/v1";
const KNOWN: &str = "https://ext.example/known/v1";

fn demanding() -> Settings {
    let extension =
        |uri: &str, required| wire::AgentExtension { uri: uri.into(), required, ..wire::AgentExtension::default() };
    let mut settings = settings();
    let agent = Arc::make_mut(settings.agents.get_mut("echo").unwrap());
    agent.card.extensions = vec![extension(NEEDED, true), extension(KNOWN, false)];
    settings
}

fn with<'a, E: Endpoint<Output = Response>>(
    platform: &'a Platform<E>,
    method: Method,
    path: &str,
    extensions: &[&str],
    body: Value,
) -> TestRequestBuilder<'a, E> {
    let mut request = platform.client.request(method, path.to_owned()).header("A2A-Version", "1.0");
    for value in extensions {
        request = request.header("A2A-Extensions", *value);
    }
    if body.is_null() { request } else { request.content_type("application/json").body(body.to_string()) }
}

const REQUIRED: (u16, &str) = (400, "EXTENSION_SUPPORT_REQUIRED");

#[tokio::test]
async fn a_required_extension_is_asked_for_by_every_operation() {
    let platform = platform_with(demanding(), Options::default()).await;
    let rest = [
        (Method::POST, "/message:send"),
        (Method::POST, "/message:stream"),
        (Method::GET, "/tasks"),
        (Method::GET, "/tasks/7"),
        (Method::POST, "/tasks/7:cancel"),
        (Method::POST, "/tasks/7:subscribe"),
        (Method::GET, "/tasks/7:subscribe"),
        (Method::POST, "/tasks/7/pushNotificationConfigs"),
        (Method::GET, "/tasks/7/pushNotificationConfigs"),
        (Method::GET, "/tasks/7/pushNotificationConfigs/c"),
        (Method::DELETE, "/tasks/7/pushNotificationConfigs/c"),
        (Method::GET, "/extendedAgentCard"),
    ];
    for (method, path) in rest {
        let answer = Answer::of(with(&platform, method.clone(), path, &[KNOWN], Value::Null)).await;
        assert_eq!((answer.status, answer.reason()), REQUIRED, "{method} {path}: {answer:?}");
        let metadata = &answer.body["error"]["details"][0]["metadata"];
        assert_eq!((&metadata["extension"], &metadata["requiredExtensions"]), (&json!(NEEDED), &json!(NEEDED)));
        assert!(!answer.headers.contains_key("a2a-extensions"));
    }
    for method in [
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
        "GetExtendedAgentCard",
    ] {
        let answer = platform.rpc(method, json!({})).await;
        assert_eq!((answer.body["error"]["code"].as_i64(), answer.reason()), (Some(-32008), REQUIRED.1), "{answer:?}");
        assert_eq!(answer.body["id"], 1);
    }
    // The version comes first, and another agent asks for nothing.
    let request = platform.client.get("/tasks").header("A2A-Version", "0.3");
    assert_eq!(Answer::of(request).await.reason(), "VERSION_NOT_SUPPORTED");
    assert_eq!(platform.get("/agents/other/tasks").await.status, 200);
    let card = Answer::of(platform.client.get(CARD)).await;
    let declared = json!([{"uri": NEEDED, "required": true}, {"uri": KNOWN}, engine::scheduling::extension()]);
    assert_eq!((card.status, &card.body["capabilities"]["extensions"]), (200, &declared));
}

#[tokio::test]
async fn what_is_asked_for_and_known_is_activated() {
    let platform = platform_with(demanding(), Options::default()).await;
    let both = format!("{NEEDED}, {KNOWN}");
    let unknown = format!("urn:unknown,,{NEEDED}");
    for (asked, activated) in [
        (vec![NEEDED], NEEDED),
        (vec![KNOWN, NEEDED], both.as_str()),
        (vec![both.as_str()], both.as_str()),
        (vec![unknown.as_str()], NEEDED),
    ] {
        let send = immediately(json!({}));
        let sent = Answer::of(with(&platform, Method::POST, "/message:send", &asked, send.clone())).await;
        assert_eq!((sent.status, sent.headers["a2a-extensions"].to_str().unwrap()), (200, activated), "{asked:?}");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": send});
        let called = Answer::of(with(&platform, Method::POST, "/rpc", &asked, body)).await;
        assert!(!text(&called.body["result"]["task"]["id"]).is_empty());
        assert_eq!(called.headers["a2a-extensions"], activated);
        let failed = Answer::of(with(&platform, Method::GET, "/tasks/7", &asked, Value::Null)).await;
        assert_eq!((failed.status, failed.headers["a2a-extensions"].to_str().unwrap()), (404, activated));
    }
    let elsewhere = Answer::of(with(&platform, Method::GET, "/agents/other/tasks", &[NEEDED], Value::Null)).await;
    assert!(!elsewhere.headers.contains_key("a2a-extensions"));
}

async fn from<E: Endpoint<Output = Response>>(
    platform: &Platform<E>,
    method: Method,
    path: &str,
    origin: &str,
) -> Answer {
    let request = platform.client.request(method.clone(), path.to_owned()).header("Origin", origin);
    let request = request.header("A2A-Version", "1.0").content_type("application/json");
    Answer::of(match method {
        Method::OPTIONS => request
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "a2a-version,content-type"),
        _ => request,
    })
    .await
}

#[tokio::test]
async fn web_pages_read_cards_and_what_the_operator_lets_them() {
    let origins = vec!["https://app.example".to_owned()];
    let platform = platform_with(settings(), Options { cors_origins: origins, ..Options::default() }).await;
    let of =
        |answer: &Answer, name: &str| answer.headers.get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
    for path in ["/message:send", "/rpc", "/t/acme/tasks", "/agents/other/rpc"] {
        let asked = from(&platform, Method::OPTIONS, path, "https://app.example").await;
        assert_eq!((asked.status, of(&asked, "access-control-allow-origin").as_str()), (204, "https://app.example"));
        let headers = of(&asked, "access-control-allow-headers").to_ascii_lowercase();
        assert!(["a2a-version", "a2a-extensions", "content-type", "authorization"].iter().all(|h| headers.contains(h)));
        assert!(of(&asked, "access-control-allow-methods").contains("DELETE"));
        let denied = from(&platform, Method::OPTIONS, path, "https://evil.example").await;
        assert_eq!((denied.status, of(&denied, "access-control-allow-origin").as_str()), (405, "-"));
        assert_eq!(of(&denied, "vary"), "Origin");
    }
    let got = from(&platform, Method::GET, "/tasks", "https://app.example").await;
    assert_eq!((got.status, of(&got, "access-control-allow-origin").as_str()), (200, "https://app.example"));
    assert!(of(&got, "access-control-expose-headers").contains("A2A-Extensions"));
    let refused = from(&platform, Method::GET, "/tasks/7", "https://app.example").await;
    assert_eq!((refused.status, of(&refused, "access-control-allow-origin").as_str()), (404, "https://app.example"));
    let worker = from(&platform, Method::POST, "/worker/v1/sessions", "https://app.example").await;
    assert_eq!(of(&worker, "access-control-allow-origin"), "-");
    let closed = crate::client::platform().await;
    let card = from(&closed, Method::GET, CARD, "https://any.example").await;
    assert_eq!(of(&card, "access-control-allow-origin"), "*");
    let asked = from(&closed, Method::OPTIONS, CARD, "https://any.example").await;
    assert_eq!((asked.status, of(&asked, "access-control-allow-origin").as_str()), (204, "*"));
    let got = from(&closed, Method::GET, "/tasks", "https://any.example").await;
    assert_eq!((of(&got, "access-control-allow-origin"), of(&got, "vary")), ("-".into(), "-".into()));
    let open = platform_with(settings(), Options { cors_origins: vec!["*".into()], ..Options::default() }).await;
    let got = from(&open, Method::GET, "/tasks", "https://any.example").await;
    assert_eq!(of(&got, "access-control-allow-origin"), "*");
}
