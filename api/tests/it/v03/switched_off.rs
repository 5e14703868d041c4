//! Without 0.3 everything is as if it had never been, except that refusals say what is served.

use api::Options;
use poem::http::Method;
use serde_json::{Value, json};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::{rpc_body, send, send_proto, switched_off};
use crate::cards::{CARD, interfaces_of};
use crate::client::text;
use crate::grpc::client::{Remote, info, reason};

#[tokio::test]
async fn paths_and_methods_are_unknown() {
    let platform = switched_off().await;
    for (method, path) in [
        (Method::POST, "/v1/message:send"),
        (Method::GET, "/v1/tasks/7"),
        (Method::GET, "/t/acme/v1/card"),
        (Method::GET, "/agents/echo/v1/tasks/7:subscribe"),
    ] {
        let answer = platform.plain(method, path, &[], Value::Null).await;
        assert_eq!((answer.status, answer.reason()), (404, "METHOD_NOT_FOUND"), "{path}: {answer:?}");
    }
    let versioned = [("A2A-Version", "1.0")];
    for method in ["message/send", "tasks/resubscribe", "agent/getAuthenticatedExtendedCard"] {
        let called = platform.plain(Method::POST, "/rpc", &versioned, rpc_body(method, send(json!({})))).await;
        assert_eq!(called.body["error"]["code"], -32601, "{called:?}");
        assert!(!text(&called.body["error"]["message"]).contains("message/stream"));
        let called = platform.old_rpc(method, send(json!({}))).await;
        assert_eq!((called.body["error"]["code"].as_i64(), called.reason()), (Some(-32009), "VERSION_NOT_SUPPORTED"));
        assert_eq!(called.body["error"]["data"][0]["metadata"]["supportedVersions"], "1.0");
    }
    assert_eq!(platform.plain(Method::POST, "/v1/message:send", &versioned, send_proto(json!({}))).await.status, 404);
    assert!(platform.rows().await.contains(&("task", 0)));
}

#[tokio::test]
async fn cards_are_of_1_0_alone() {
    let platform = switched_off().await;
    for headers in [vec![], vec![("A2A-Version", "0.3")], vec![("A2A-Version", "1.0")]] {
        let card = platform.plain(Method::GET, CARD, &headers, Value::Null).await;
        assert!(card.body.get("url").is_none() && interfaces_of(&card.body, "0.3").is_empty(), "{card:?}");
        assert!(!card.headers.contains_key("vary"));
    }
}

#[tokio::test]
async fn the_service_is_unknown() {
    let platform = switched_off().await;
    let remote = Remote::with(&platform.engine, Options { v03: false, ..Options::default() }).await;
    let unknown = remote.at("/a2a.v1.A2AService/GetTask", Vec::new(), &[]).await.unwrap_err();
    assert_eq!((unknown.code(), reason(&unknown).as_str()), (Code::Unimplemented, "METHOD_NOT_FOUND"));
    let refused = remote.raw("GetTask", Vec::new(), &[]).await.unwrap_err();
    assert_eq!(info(&refused).metadata["supportedVersions"], "1.0");
    let asked = HealthCheckRequest { service: "a2a.v1.A2AService".to_owned() };
    let health = HealthClient::new(remote.channel.clone()).check(asked).await;
    assert_eq!(health.unwrap_err().code(), Code::NotFound);
}
