//! Agent cards: where they are, what they say of where agents are, and how they are kept.

use std::sync::Arc;

use api::Options;
use engine::{Extended, ExtendedCard, Settings};
use poem::http::Method;
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::client::{Answer, Platform, platform, platform_with, settings};

pub(crate) const CARD: &str = "/.well-known/agent-card.json";

fn public() -> Options {
    Options { public_url: Some("https://yard.example/a2a/".into()), ..Options::default() }
}

/// `binding url tenant` of every interface of 1.0.
fn interfaces(card: &Value) -> Vec<String> {
    interfaces_of(card, "1.0")
}

/// `binding url tenant` of every interface of a version.
pub(crate) fn interfaces_of(card: &Value, version: &str) -> Vec<String> {
    let shown = |interface: &Value| {
        let of = |name: &str| interface[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", of("protocolBinding"), of("url"), of("tenant"))
    };
    let all = card["supportedInterfaces"].as_array().unwrap().iter();
    all.filter(|interface| interface["protocolVersion"] == version).map(shown).collect()
}

async fn card<E: Endpoint<Output = Response>>(
    platform: &Platform<E>,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = platform.client.request(method, path.to_owned());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::of(request).await
}

#[tokio::test]
async fn a_name_makes_a_whole_card() {
    let platform = platform_with(settings(), public()).await;
    let platform_without = platform_with(settings(), Options { v03: false, ..public() }).await;
    for version in [None, Some("0.3"), Some("99.0"), Some("1.0")] {
        let headers: Vec<_> = version.map(|version| ("A2A-Version", version)).into_iter().collect();
        let answer = card(&platform_without, Method::GET, CARD, &headers).await;
        assert_eq!((answer.status, answer.content_type.as_str()), (200, "application/json"), "{answer:?}");
        assert!(!answer.headers.contains_key("vary"));
        assert_eq!(
            answer.body,
            json!({
                "name": "echo",
                "description": "The agent `echo`.",
                "version": "1.0.0",
                "supportedInterfaces": [
                    {"url": "https://yard.example/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
                    {"url": "https://yard.example/a2a/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                ],
                "capabilities": {"streaming": true, "pushNotifications": true, "extendedAgentCard": false,
                    "extensions": [engine::scheduling::extension()]},
                "defaultInputModes": ["text/plain", "*/*"],
                "defaultOutputModes": ["text/plain"],
                "skills": [{
                    "id": "message",
                    "name": "Message",
                    "description": "Takes a message and works on it until there is an answer.",
                    "tags": ["general"],
                }],
            })
        );
        let both = card(&platform, Method::GET, CARD, &headers).await;
        for body in [answer.body, both.body] {
            let card: wire::AgentCard = serde_json::from_value(body).unwrap();
            wire::validate(&card).unwrap();
        }
    }
}

#[tokio::test]
async fn every_base_has_its_card_and_the_urls_on_it_lead_back() {
    let options = Options { grpc_url: Some("grpc.example:443".into()), ..public() };
    let platform = platform_with(settings(), options).await;
    for (base, url, tenant) in [
        ("", "", "-"),
        ("/agents/echo", "/agents/echo", "-"),
        ("/agents/%6Fther", "/agents/other", "/other"),
        ("/t/acme", "/t/acme", "acme"),
        ("/t/acme/agents/other", "/t/acme/agents/other", "acme/other"),
    ] {
        let answer = card(&platform, Method::GET, &format!("{base}{CARD}"), &[]).await;
        let root = format!("https://yard.example/a2a{url}");
        let expected =
            [format!("HTTP+JSON {root} -"), format!("JSONRPC {root}/rpc -"), format!("GRPC grpc.example:443 {tenant}")];
        assert_eq!(interfaces(&answer.body), expected, "{base}");
        assert_eq!(answer.body["name"], if url.ends_with("other") { "other" } else { "echo" });
    }
    let plain = crate::client::platform().await;
    for base in ["", "/t/acme", "/agents/other", "/t/acme/agents/echo"] {
        let answer = card(&plain, Method::GET, &format!("{base}{CARD}"), &[("Host", "yard.test")]).await;
        let url = answer.body["supportedInterfaces"][0]["url"].as_str().unwrap().to_owned();
        let path = url.strip_prefix("http://yard.test").unwrap();
        assert_eq!(plain.get(&format!("{path}/tasks")).await.status, 200, "{url}");
        let rpc = answer.body["supportedInterfaces"][1]["url"].as_str().unwrap().replace("http://yard.test", "");
        let listed = plain.post(&rpc, json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"})).await;
        assert!(listed.body["result"].is_object(), "{listed:?}");
    }
    for (path, status) in [
        ("/agents/nobody/.well-known/agent-card.json", 404),
        ("/t/tasks/.well-known/agent-card.json", 400),
        ("/acme/.well-known/agent-card.json", 404),
        ("/.well-known/agent.json", 404),
        ("/t/acme/.well-known/jwks.json", 404),
    ] {
        assert_eq!(card(&plain, Method::GET, path, &[]).await.status, status, "{path}");
    }
    let posted = card(&plain, Method::POST, CARD, &[]).await;
    assert_eq!((posted.status, posted.headers["allow"].to_str().unwrap()), (405, "GET, HEAD, OPTIONS"));
}

#[tokio::test]
async fn a_trusted_proxy_says_where_we_are() {
    let proxied: &[(&str, &str)] = &[("Host", "inner:8080"), ("Forwarded", "proto=https;host=a.example")];
    let trusting = platform_with(settings(), Options { trust_forwarded: true, ..Options::default() }).await;
    let answer = card(&trusting, Method::GET, CARD, proxied).await;
    assert_eq!(interfaces(&answer.body)[0], "HTTP+JSON https://a.example -");
    assert!(answer.headers["vary"].to_str().unwrap().contains("X-Forwarded-Host"), "{answer:?}");
    let wary = platform().await;
    let answer = card(&wary, Method::GET, CARD, proxied).await;
    assert_eq!(interfaces(&answer.body)[0], "HTTP+JSON http://inner:8080 -");
    assert_eq!(answer.headers["vary"], "A2A-Version");
    let told = Options { trust_forwarded: true, ..public() };
    let answer = card(&platform_with(settings(), told).await, Method::GET, CARD, proxied).await;
    assert_eq!(interfaces(&answer.body)[0], "HTTP+JSON https://yard.example/a2a -");
}

#[tokio::test]
async fn a_card_is_kept_and_asked_for_again_only_when_it_changed() {
    let options = Options { card_max_age: std::time::Duration::from_secs(60), ..public() };
    let platform = platform_with(settings(), options).await;
    let got = card(&platform, Method::GET, CARD, &[]).await;
    let of = |name: &str| got.headers[name].to_str().unwrap().to_owned();
    assert_eq!(of("cache-control"), "public, max-age=60");
    assert_eq!(of("access-control-allow-origin"), "*");
    let (tag, modified) = (of("etag"), of("last-modified"));
    let head = card(&platform, Method::HEAD, CARD, &[]).await;
    assert_eq!((head.status, &head.body), (200, &json!("")));
    for name in ["content-length", "content-type", "etag", "last-modified", "cache-control"] {
        assert_eq!(head.headers[name], got.headers[name], "{name}");
    }
    let early = "Sun, 06 Nov 1994 08:49:37 GMT";
    let weak = format!("\"x\", W/{tag}");
    for (headers, status) in [
        (vec![("If-None-Match", tag.as_str())], 304),
        (vec![("If-None-Match", weak.as_str())], 304),
        (vec![("If-None-Match", "*")], 304),
        (vec![("If-None-Match", "\"x\"")], 200),
        (vec![("If-Modified-Since", modified.as_str())], 304),
        (vec![("If-Modified-Since", early)], 200),
        (vec![("If-Modified-Since", "yesterday")], 200),
        (vec![("If-None-Match", "\"x\""), ("If-Modified-Since", modified.as_str())], 200),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let again = card(&platform, method, CARD, &headers).await;
            assert_eq!(again.status, status, "{headers:?}");
            assert_eq!(again.headers["etag"], tag.as_str(), "{headers:?}");
            assert!(status == 200 || again.body == json!(""), "{again:?}");
        }
    }
    let other = card(&platform, Method::GET, &format!("/agents/other{CARD}"), &[]).await;
    assert_ne!(other.headers["etag"], tag.as_str());
}

#[tokio::test]
async fn only_what_answers_is_declared() {
    let mut settings: Settings = settings();
    let agent = Arc::make_mut(settings.agents.get_mut("echo").unwrap());
    agent.push_notifications = false;
    agent.input_modes = vec!["text/*".into()];
    agent.card.extended = Extended::Unconfigured;
    let platform = platform_with(settings, public()).await;
    let got = card(&platform, Method::GET, CARD, &[]).await;
    let capabilities = json!({"streaming": true, "pushNotifications": false, "extendedAgentCard": true,
        "extensions": [engine::scheduling::extension()]});
    assert_eq!(got.body["capabilities"], capabilities);
    assert_eq!(got.body["defaultInputModes"], json!(["text/*"]));
}

#[tokio::test]
async fn the_extended_card_has_three_answers() {
    let ask = async |extended: Extended| {
        let mut settings: Settings = settings();
        Arc::make_mut(settings.agents.get_mut("echo").unwrap()).card.extended = extended;
        let platform = platform_with(settings, public()).await;
        let got = platform.get("/extendedAgentCard").await;
        let prefixed = platform.get("/acme/extendedAgentCard").await;
        let called = platform.rpc("GetExtendedAgentCard", json!({"tenant": "acme"})).await;
        (got, prefixed, called)
    };
    let (got, prefixed, called) = ask(Extended::Undeclared).await;
    assert_eq!((got.status, got.reason()), (400, "UNSUPPORTED_OPERATION"));
    assert_eq!((prefixed.status, called.body["error"]["code"].as_i64()), (400, Some(-32004)));
    let (got, prefixed, called) = ask(Extended::Unconfigured).await;
    assert_eq!((got.status, got.reason()), (400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"));
    assert_eq!((prefixed.status, called.body["error"]["code"].as_i64()), (400, Some(-32007)));
    assert!(!got.headers.contains_key("cache-control"));
    let skill = |id: &str| wire::AgentSkill {
        id: id.into(),
        name: "Secret".into(),
        description: "Shown to few.".into(),
        tags: vec!["x".into()],
        ..wire::AgentSkill::default()
    };
    let more = ExtendedCard {
        description: Some("More.".into()),
        skills: vec![skill("secret"), skill("message")],
        ..ExtendedCard::default()
    };
    let (got, prefixed, called) = ask(Extended::Configured(more)).await;
    assert_eq!((got.status, got.content_type.as_str()), (200, "application/a2a+json"), "{got:?}");
    assert_eq!(interfaces(&got.body)[0], "HTTP+JSON https://yard.example/a2a -");
    assert_eq!(interfaces(&prefixed.body)[0], "HTTP+JSON https://yard.example/a2a/t/acme -");
    assert_eq!(called.body["result"], prefixed.body);
    assert_eq!((&got.body["description"], &got.body["version"]), (&json!("More."), &json!("1.0.0")));
    let ids: Vec<&Value> = got.body["skills"].as_array().unwrap().iter().map(|skill| &skill["id"]).collect();
    assert_eq!(ids, ["secret", "message"]);
    for answer in [&got, &prefixed, &called] {
        assert_eq!(answer.headers["cache-control"], "private");
    }
}

#[tokio::test]
async fn the_extended_card_is_an_operation_like_any_other() {
    let platform = platform().await;
    let unversioned = Answer::of(platform.client.get("/extendedAgentCard")).await;
    assert_eq!(unversioned.reason(), "VERSION_NOT_SUPPORTED");
    let wrong = platform.ask(Method::POST, "/extendedAgentCard", Value::Null).await;
    assert_eq!((wrong.status, wrong.headers["allow"].to_str().unwrap()), (405, "GET"));
}
