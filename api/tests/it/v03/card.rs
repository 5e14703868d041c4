//! Cards for clients of 0.3: one document for both versions, unless the client says that it speaks 1.0.

use std::sync::Arc;

use api::Options;
use engine::{Extended, ExtendedCard};
use poem::http::Method;
use serde_json::{Value, json};

use super::rpc_body;
use crate::cards::{CARD, interfaces_of};
use crate::client::{platform_with, settings};

fn public() -> Options {
    Options {
        public_url: Some("https://yard.example/a2a".into()),
        grpc_url: Some("grpc.example:443".into()),
        ..Options::default()
    }
}

/// The members of 0.3 alone.
const OLD: &[&str] =
    &["url", "preferredTransport", "additionalInterfaces", "protocolVersion", "supportsAuthenticatedExtendedCard"];

#[tokio::test]
async fn a_card_says_both_unless_the_client_speaks_1_0() {
    let platform = platform_with(settings(), public()).await;
    let get = async |headers: &[(&str, &str)]| platform.plain(Method::GET, CARD, headers, Value::Null).await;
    let new = get(&[("A2A-Version", "1.0")]).await;
    assert!(OLD.iter().all(|name| new.body.get(name).is_none()), "{new:?}");
    for version in ["", "0.3", "0.3.0", "0.2.5"] {
        let both = get(&[("A2A-Version", version)]).await;
        assert_eq!((both.status, both.content_type.as_str()), (200, "application/json"));
        let mut rest = both.body.clone();
        rest.as_object_mut().unwrap().retain(|name, _| !OLD.contains(&name.as_str()));
        assert_eq!(rest, new.body, "{version}");
        assert_eq!(both.body["url"], "https://yard.example/a2a/rpc");
        assert_eq!(both.body["preferredTransport"], "JSONRPC");
        assert_eq!(both.body["protocolVersion"], "0.3.0");
        assert!(both.body.get("supportsAuthenticatedExtendedCard").is_none());
        let interfaces = json!([
            {"url": "https://yard.example/a2a/rpc", "transport": "JSONRPC"},
            {"url": "https://yard.example/a2a", "transport": "HTTP+JSON"},
            {"url": "grpc.example:443", "transport": "GRPC"},
        ]);
        assert_eq!(both.body["additionalInterfaces"], interfaces);
        assert_eq!(both.headers["vary"], "A2A-Version");
        assert_ne!(both.headers["etag"], new.headers["etag"]);
    }
    assert_eq!(new.headers["vary"], "A2A-Version");
    assert_eq!(get(&[("A2A-Version", "99.0")]).await.body, new.body);
    let by_query = platform.plain(Method::GET, &format!("{CARD}?A2A-Version=1.0"), &[], Value::Null).await;
    assert_eq!(by_query.body, new.body);
    // A tag is known for its own representation only.
    let tag = new.headers["etag"].to_str().unwrap();
    assert_eq!(get(&[("A2A-Version", "1.0"), ("If-None-Match", tag)]).await.status, 304);
    let other = get(&[("If-None-Match", tag)]).await;
    assert_eq!((other.status, other.headers["vary"].to_str().unwrap()), (200, "A2A-Version"));
}

#[tokio::test]
async fn where_a_proxy_is_believed_answers_differ_by_both() {
    let options = Options { trust_forwarded: true, ..Options::default() };
    let platform = platform_with(settings(), options).await;
    let got = platform.plain(Method::GET, CARD, &[("Host", "a.example")], Value::Null).await;
    let varies = got.headers["vary"].to_str().unwrap();
    assert!(varies.contains("A2A-Version") && varies.contains("X-Forwarded-Host"), "{varies}");
}

#[tokio::test]
async fn interfaces_of_0_3_lead_to_the_same_agent() {
    let platform = platform_with(settings(), public()).await;
    for (base, grpc) in [("", true), ("/agents/echo", true), ("/agents/other", false), ("/t/acme", false)] {
        let got = platform.plain(Method::GET, &format!("{base}{CARD}"), &[], Value::Null).await;
        let root = format!("https://yard.example/a2a{base}");
        let mut expected = vec![format!("JSONRPC {root}/rpc -"), format!("HTTP+JSON {root} -")];
        // Over gRPC most clients of 0.3 can name neither a tenant nor an agent.
        expected.extend(grpc.then(|| "GRPC grpc.example:443 -".to_owned()));
        assert_eq!(interfaces_of(&got.body, "0.3"), expected, "{base}");
        assert_eq!(got.body["url"], format!("{root}/rpc"));
        assert_eq!(got.body["additionalInterfaces"].as_array().map(Vec::len), Some(expected.len()));
    }
}

#[tokio::test]
async fn the_extended_card_is_one_of_0_3() {
    let mut settings = settings();
    let more = ExtendedCard { description: Some("More.".into()), ..ExtendedCard::default() };
    Arc::make_mut(settings.agents.get_mut("echo").unwrap()).card.extended = Extended::Configured(more);
    let platform = platform_with(settings, public()).await;
    let called = platform.old_rpc("agent/getAuthenticatedExtendedCard", Value::Null).await;
    let got = platform.plain(Method::GET, "/v1/card", &[], Value::Null).await;
    assert_eq!(called.body["result"], got.body, "{called:?}");
    for answer in [&called, &got] {
        assert_eq!(answer.headers["cache-control"], "private");
    }
    assert_eq!((&got.body["description"], &got.body["url"]), (&json!("More."), &json!("https://yard.example/a2a/rpc")));
    assert_eq!(got.body["supportsAuthenticatedExtendedCard"], true);
    let there = rpc_body("agent/getAuthenticatedExtendedCard", json!({}));
    let there = platform.plain(Method::POST, "/t/acme/rpc", &[], there).await;
    assert_eq!(there.body["result"]["url"], "https://yard.example/a2a/t/acme/rpc", "{there:?}");
    let declared = platform.plain(Method::GET, "/agents/other/v1/card", &[], Value::Null).await;
    assert_eq!((declared.status, &declared.body["name"]), (200, &json!("other")), "{declared:?}");
}
