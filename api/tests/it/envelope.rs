//! JSON-RPC's envelope, as the protocol wants it.

use serde_json::{Value, json};

use crate::client::{Answer, platform, text};

#[tokio::test]
async fn what_is_no_request_is_refused_with_its_id_where_there_is_one() {
    let platform = platform().await;
    platform.submit().await;
    let before = platform.rows().await;
    let ok = r#""method":"ListTasks""#;
    let cases = [
        ("not json", "{".to_owned(), -32700, "PARSE_ERROR", Value::Null),
        ("nothing", String::new(), -32700, "PARSE_ERROR", Value::Null),
        ("not UTF-8 but escaped", r#"{"jsonrpc":"2.0","id":"\ud800","method":"ListTasks"}"#.into(), 0, "", Value::Null),
        ("a batch", format!(r#"[{{"jsonrpc":"2.0","id":1,{ok}}}]"#), -32600, "INVALID_REQUEST", Value::Null),
        ("an empty batch", "[]".into(), -32600, "INVALID_REQUEST", Value::Null),
        ("a number", "1".into(), -32600, "INVALID_REQUEST", Value::Null),
        ("a notification", format!(r#"{{"jsonrpc":"2.0",{ok}}}"#), -32600, "INVALID_REQUEST", Value::Null),
        (
            "an id that is a flag",
            format!(r#"{{"jsonrpc":"2.0","id":true,{ok}}}"#),
            -32600,
            "INVALID_REQUEST",
            Value::Null,
        ),
        (
            "an id that is an object",
            format!(r#"{{"jsonrpc":"2.0","id":{{}},{ok}}}"#),
            -32600,
            "INVALID_REQUEST",
            Value::Null,
        ),
        (
            "an id that is a fraction",
            format!(r#"{{"jsonrpc":"2.0","id":1.5,{ok}}}"#),
            -32600,
            "INVALID_REQUEST",
            Value::Null,
        ),
        ("no version", format!(r#"{{"id":"a",{ok}}}"#), -32600, "INVALID_REQUEST", json!("a")),
        ("version 1.0", format!(r#"{{"jsonrpc":"1.0","id":7,{ok}}}"#), -32600, "INVALID_REQUEST", json!(7)),
        (
            "a version that is a number",
            format!(r#"{{"jsonrpc":2.0,"id":7,{ok}}}"#),
            -32600,
            "INVALID_REQUEST",
            json!(7),
        ),
        ("no method", r#"{"jsonrpc":"2.0","id":7}"#.into(), -32600, "INVALID_REQUEST", json!(7)),
        (
            "a method that is a number",
            r#"{"jsonrpc":"2.0","id":7,"method":1}"#.into(),
            -32600,
            "INVALID_REQUEST",
            json!(7),
        ),
        (
            "an unknown method",
            r#"{"jsonrpc":"2.0","id":7,"method":"DoIt"}"#.into(),
            -32601,
            "METHOD_NOT_FOUND",
            json!(7),
        ),
        (
            "a method of 0.3",
            r#"{"jsonrpc":"2.0","id":7,"method":"message/send"}"#.into(),
            // To 0.3 that is a fault like any other: it knows no such code.
            -32603,
            "VERSION_NOT_SUPPORTED",
            json!(7),
        ),
        (
            "a method that looks like one of 0.3",
            r#"{"jsonrpc":"2.0","id":7,"method":"tasks/list"}"#.into(),
            -32601,
            "METHOD_NOT_FOUND",
            json!(7),
        ),
        (
            "a list of params",
            format!(r#"{{"jsonrpc":"2.0","id":null,{ok},"params":[]}}"#),
            -32602,
            "INVALID_PARAMS",
            Value::Null,
        ),
        (
            "params that are a text",
            format!(r#"{{"jsonrpc":"2.0","id":"",{ok},"params":"x"}}"#),
            -32602,
            "INVALID_PARAMS",
            json!(""),
        ),
    ];
    for (name, body, code, reason, id) in cases {
        let request =
            platform.client.post("/rpc").header("A2A-Version", "1.0").content_type("application/json").body(body);
        let response = request.send().await.0;
        let text = response.into_body().into_string().await.unwrap();
        if code == 0 {
            // An id is given back as it came.
            assert!(text.contains(r#""id":"\ud800""#), "{name}: {text}");
            continue;
        }
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["error"]["code"], code, "{name}: {answer}");
        assert_eq!(answer["error"]["data"][0]["reason"], reason, "{name}: {answer}");
        assert_eq!(answer["error"]["data"][0]["domain"], "a2a-protocol.org", "{name}: {answer}");
        assert_eq!(answer["id"], id, "{name}: {answer}");
        assert_eq!(platform.rows().await, before, "{name}");
    }
}

#[tokio::test]
async fn missing_params_are_an_empty_object() {
    let platform = platform().await;
    for request in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": null}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}, "extra": true}),
    ] {
        let answer = platform.post("/", request).await;
        let page = json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0});
        assert_eq!(answer.body, json!({"jsonrpc": "2.0", "id": 1, "result": page}));
        assert_eq!(answer.content_type, "application/json");
    }
    let missing = platform.post("/", json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask"})).await;
    assert_eq!(missing.fields(), ["id"]);
}

#[tokio::test]
async fn an_unknown_method_is_told_the_known_ones() {
    let answer = platform().await.rpc("Get", json!({})).await;
    let message = text(&answer.body["error"]["message"]);
    assert!(message.contains("`Get`") && message.contains("ListTaskPushNotificationConfigs"), "{message}");
}

#[tokio::test]
async fn the_endpoint_takes_post_alone() {
    let platform = platform().await;
    for path in ["/rpc", "/rpc/", "/t/acme", "/agents/echo", "/agents/echo/"] {
        let answer = platform.get(path).await;
        assert_eq!(answer.status, 405, "{path}");
        assert_eq!(answer.headers["allow"], "POST", "{path}");
        assert_eq!(answer.body["error"]["code"], -32601, "{path}");
        assert_eq!(answer.reason(), "METHOD_NOT_ALLOWED");
    }
    let unknown = platform.post("/agents/nobody/rpc", json!({"jsonrpc": "2.0", "id": 5, "method": "ListTasks"})).await;
    assert_eq!((unknown.status, unknown.reason()), (404, "METHOD_NOT_FOUND"));
    assert_eq!(unknown.body["id"], 5);
}

#[tokio::test]
async fn the_version_comes_before_the_body() {
    let platform = platform().await;
    for (body, id) in
        [("{", Value::Null), (r#"{"jsonrpc":"2.0","id":3,"method":"nope"}"#, json!(3)), ("[]", Value::Null)]
    {
        for version in [Some("0.2"), Some("1.1"), Some("99.0")] {
            let mut request = platform.client.post("/rpc").content_type("text/plain").body(body);
            if let Some(version) = version {
                request = request.header("A2A-Version", version);
            }
            let answer = Answer::of(request).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.body["error"]["code"], -32009, "{answer:?}");
            assert_eq!(answer.body["error"]["data"][0]["metadata"]["supportedVersions"], "1.0, 0.3");
            assert_eq!(answer.body["id"], id);
        }
    }
    let by_query =
        platform.client.post("/rpc?a2a-version=1.0.7").body(r#"{"jsonrpc":"2.0","id":3,"method":"ListTasks"}"#);
    assert!(Answer::of(by_query).await.body["result"].is_object());
}
