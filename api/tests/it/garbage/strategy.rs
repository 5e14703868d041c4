//! What arrives: requests of every operation, arbitrary in one respect or another.

use poem::http::{HeaderName, HeaderValue, Method};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value};

use super::good::{good, usual, usual_at};
use crate::grpc::client::encode;

/// A request.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) uri: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Vec<u8>,
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Sent { method, uri, headers, body } = self;
        write!(f, "{method} {uri} {headers:?} {:?}", String::from_utf8_lossy(body))
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        select(vec![
            "",
            "null",
            "\u{0}",
            "-1",
            "1e999",
            "9223372036854775808",
            "TASK_STATE_WORKING",
            "ROLE_AGENT",
            "00000000-0000-0000-0000-000000000000",
            "2026-01-01T00:00:00Z",
            "9999-12-31T23:59:60Z",
            "http://[::1]:99999/",
            "%00",
        ])
        .prop_map(str::to_owned),
        (0..3_000_usize).prop_map(|length| "é".repeat(length)),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::Array),
            vec((text(), inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Put `other` in place of a value somewhere within, or take that away.
fn replace(value: &mut Value, at: Index, other: Option<Value>) {
    let count = nodes(value);
    let mut left = at.index(count);
    walk(value, &mut left, &other);
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(members) => members.values().map(nodes).sum(),
        _ => 0,
    }
}

fn walk(value: &mut Value, left: &mut usize, other: &Option<Value>) -> bool {
    if *left == 0 {
        if let Some(other) = other {
            *value = other.clone();
        }
        return other.is_none();
    }
    *left -= 1;
    let mut gone = None;
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter_mut().enumerate() {
                if *left < nodes(item) {
                    if walk(item, left, other) {
                        gone = Some(n);
                    }
                    break;
                }
                *left -= nodes(item);
            }
            gone.map(|n| items.remove(n));
        }
        Value::Object(members) => {
            let mut name = None;
            for (key, item) in members.iter_mut() {
                if *left < nodes(item) {
                    if walk(item, left, other) {
                        name = Some(key.clone());
                    }
                    break;
                }
                *left -= nodes(item);
            }
            name.map(|name| members.remove(&name));
        }
        _ => {}
    }
    false
}

/// A byte put in place of another, bytes taken away, bytes doubled.
fn corrupted(bytes: Vec<u8>, damage: Vec<(Index, u8, u8)>) -> Vec<u8> {
    damage.into_iter().fold(bytes, |mut bytes, (at, how, byte)| {
        if bytes.is_empty() {
            return vec![byte];
        }
        let at = at.index(bytes.len());
        match how % 4 {
            0 => bytes[at] = byte,
            1 => bytes.truncate(at),
            2 => bytes.insert(at, byte),
            _ => {
                let tail = bytes[at..].to_vec();
                bytes.extend(tail);
            }
        }
        bytes
    })
}

fn damage() -> impl Strategy<Value = Vec<(Index, u8, u8)>> {
    vec(any::<(Index, u8, u8)>(), 0..4)
}

/// Good places, bodies of any bytes or any JSON.
pub(crate) fn plain_bytes() -> impl Strategy<Value = Sent> {
    let body = prop_oneof![vec(any::<u8>(), 0..400), json().prop_map(|value| value.to_string().into_bytes())];
    (select(good()), body).prop_map(|((method, path, _), body)| Sent {
        method,
        uri: path.to_owned(),
        headers: usual(),
        body,
    })
}

/// Good requests with something else in a place or two, and perhaps damage to the text.
pub(crate) fn mutated() -> impl Strategy<Value = Sent> {
    let changes = vec((any::<Index>(), proptest::option::weighted(0.8, json())), 1..3);
    let damage = prop_oneof![3 => Just(Vec::new()), 1 => damage()];
    (select(good()), changes, damage).prop_map(|((method, path, mut body), changes, damage)| {
        for (at, other) in changes {
            replace(&mut body, at, other);
        }
        Sent {
            method,
            uri: path.to_owned(),
            headers: usual_at(path),
            body: corrupted(body.to_string().into_bytes(), damage),
        }
    })
}

fn header() -> impl Strategy<Value = (HeaderName, HeaderValue)> {
    let names = [
        "a2a-version",
        "a2a-extensions",
        "content-type",
        "content-encoding",
        "accept",
        "idempotency-key",
        "last-event-id",
        "origin",
        "host",
        "taskyard-lease",
        "taskyard-epoch",
        "forwarded",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-prefix",
        "if-none-match",
        "if-modified-since",
        "access-control-request-method",
        "authorization",
        "content-length",
        "transfer-encoding",
    ];
    let value = prop_oneof![vec(any::<u8>(), 0..60), text().prop_map(String::into_bytes)];
    (select(names.map(HeaderName::from_static).to_vec()), value)
        .prop_filter_map("no header's value", |(name, value)| Some((name, HeaderValue::from_bytes(&value).ok()?)))
}

/// Good requests under any headers.
pub(crate) fn headers() -> impl Strategy<Value = Sent> {
    let mut requests = good();
    requests.push((Method::GET, "/.well-known/agent-card.json", Value::Null));
    requests.push((Method::GET, "/tasks", Value::Null));
    requests.push((Method::GET, "/tasks/00000000-0000-0000-0000-000000000000:subscribe", Value::Null));
    requests.push((Method::OPTIONS, "/tasks", Value::Null));
    (select(requests), vec(header(), 1..4), any::<bool>()).prop_map(|((method, path, body), mut headers, also)| {
        if also {
            let new: Vec<HeaderName> = headers.iter().map(|(name, _)| name.clone()).collect();
            headers.extend(usual_at(path).into_iter().filter(|(name, _)| !new.contains(name)));
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        Sent { method, uri: path.to_owned(), headers, body }
    })
}

/// As a URI may hold it.
fn escaped(text: &str) -> String {
    let keeps = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~:@!$'()*+,;".contains(byte);
    text.bytes().map(|byte| if keeps(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Any method, path and query.
pub(crate) fn pathed() -> impl Strategy<Value = Sent> {
    let words = select(vec![
        "tasks",
        "message:send",
        "message:stream",
        "agents",
        "echo",
        "other",
        "t",
        "acme",
        "pushNotificationConfigs",
        "extendedAgentCard",
        "00000000-0000-0000-0000-000000000000",
        "00000000-0000-0000-0000-000000000000:cancel",
        "x:subscribe",
        ":",
        "rpc",
        "worker",
        "v1",
        "leases:poll",
        "allTasks",
        "allPushNotificationConfigs",
        ".well-known",
        "agent-card.json",
        "jwks.json",
        "..",
        ".",
        "",
        "v1",
        "card",
        "healthz",
        "readyz",
        "%",
        "%zz",
        "%ff%fe",
        "%2F",
        "%00",
    ]);
    let segment = prop_oneof![4 => words.prop_map(str::to_owned), 1 => text().prop_map(|text| escaped(&text))];
    let name = prop_oneof![
        5 => select(vec!["pageSize", "pageToken", "status", "historyLength", "contextId", "statusTimestampAfter", "includeArtifacts",
            "tenant", "id", "A2A-Version", "agent", "state", "taskId", "page_size"]).prop_map(str::to_owned),
        1 => text().prop_map(|text| escaped(&text)),
    ];
    let value = prop_oneof![2 => text().prop_map(|text| escaped(&text)), 1 => select(vec!["%", "+", "1", "%ff", "true", "="]).prop_map(str::to_owned)];
    let methods =
        vec![Method::GET, Method::POST, Method::DELETE, Method::PUT, Method::HEAD, Method::OPTIONS, Method::PATCH];
    (select(methods), vec(segment, 0..6), vec((name, value), 0..4)).prop_filter_map(
        "no URI",
        |(method, segments, query)| {
            let mut uri = format!("/{}", segments.join("/"));
            for (n, (name, value)) in query.iter().enumerate() {
                uri += &format!("{}{name}={value}", if n == 0 { '?' } else { '&' });
            }
            uri.parse::<poem::http::Uri>().ok()?;
            Some(Sent { method, uri, headers: usual(), body: Vec::new() })
        },
    )
}

type Called = (&'static str, Vec<u8>, Vec<(&'static str, String)>);

/// Calls of every method with damaged messages and any metadata.
pub(crate) fn protobuf() -> impl Strategy<Value = Called> {
    let calls: Vec<(&'static str, Vec<u8>)> = good()
        .into_iter()
        .filter(|(_, path, _)| *path == "/rpc")
        .map(|(_, _, body)| {
            let name = *crate::garbage::METHODS.iter().find(|name| body["method"] == **name).unwrap();
            let mut params = body["params"].clone();
            // What only some of the requests that share these parameters have.
            let known = crate::grpc::client::method(name).input();
            if let Some(members) = params.as_object_mut() {
                members.retain(|member, _| known.get_field_by_json_name(member).is_some());
            }
            (name, encode(name, params))
        })
        .collect();
    let bytes = prop_oneof![
        4 => (select(calls.clone()), damage()).prop_map(|((name, bytes), damage)| (name, corrupted(bytes, damage))),
        1 => (select(calls), vec(any::<u8>(), 0..200)).prop_map(|((name, _), bytes)| (name, bytes)),
    ];
    let names = select(vec!["a2a-version", "a2a-extensions", "idempotency-key", "last-event-id", "x-any"]);
    let metadata = vec((names, "[ -~]{0,40}"), 0..3);
    (bytes, metadata, any::<bool>()).prop_map(|((name, bytes), mut metadata, version)| {
        if version {
            metadata.push(("a2a-version", "1.0".to_owned()));
        }
        (name, bytes, metadata)
    })
}
