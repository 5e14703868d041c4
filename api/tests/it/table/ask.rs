//! A command in each binding, and its answer in words that are the same for all of them.

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use poem::http::Method;
use poem::{Endpoint, Response};
use serde_json::{Value, json};
use wire::Kind;

use super::NEEDED;
use crate::client::{Platform, text};
use crate::grpc::client::{Remote, Stream, info, violations};

/// The bindings of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    Rest,
    JsonRpc,
    Grpc,
}

impl Binding {
    pub(crate) const ALL: [Binding; 3] = [Binding::Rest, Binding::JsonRpc, Binding::Grpc];

    /// The tenant that this binding's tasks belong to, so that all three find the same situation on one platform.
    pub(crate) fn tenant(self) -> &'static str {
        match self {
            Binding::Rest => "by-rest",
            Binding::JsonRpc => "by-jsonrpc",
            Binding::Grpc => "by-grpc",
        }
    }
}

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) command: &'static str,
    pub(crate) tenant: &'static str,
    pub(crate) params: Value,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Ask {
    /// A request with nothing wrong around it.
    pub(crate) fn of(command: &'static str, tenant: &'static str, params: Value) -> Ask {
        let headers = vec![("A2A-Version", "1.0".to_owned()), ("A2A-Extensions", NEEDED.to_owned())];
        Ask { command, tenant, params, headers }
    }

    /// With another value of a header; an empty one takes it away.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Ask {
        self.headers.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            self.headers.push((name, value.to_owned()));
        }
        self
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Told {
    Refused { kind: Kind, fields: Vec<String>, reasons: Vec<String> },
    Done(Value),
    Streams(Items),
}

/// A stream, in whichever binding.
pub(crate) enum Items {
    Sse(BoxStream<'static, std::io::Result<hyper::body::Bytes>>, String),
    Grpc(Box<Stream>),
}

impl std::fmt::Debug for Items {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a stream")
    }
}

impl Items {
    /// The next item; nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        match self {
            Items::Grpc(stream) => stream.next().await.unwrap(),
            Items::Sse(pieces, read) => loop {
                if let Some(end) = read.find("\n\n") {
                    let event: String = read.drain(..end + 2).collect();
                    let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) else { continue };
                    let mut data: Value = serde_json::from_str(data).unwrap();
                    return Some(if data["jsonrpc"].is_string() { data["result"].take() } else { data });
                }
                let piece = tokio::time::timeout(std::time::Duration::from_secs(5), pieces.next()).await;
                *read += std::str::from_utf8(&piece.expect("an item within 5 s")?.unwrap()).unwrap();
            },
        }
    }
}

/// Path, query and body of `http.tsv`.
fn rest(ask: &Ask) -> (Method, String, Value) {
    let mut left = ask.params.as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| left.remove(name).map(|value| text(&value)).unwrap_or_default();
    let (method, path) = match ask.command {
        "SendMessage" => (Method::POST, "/message:send".to_owned()),
        "SendStreamingMessage" => (Method::POST, "/message:stream".to_owned()),
        "GetTask" => (Method::GET, format!("/tasks/{}", take("id"))),
        "ListTasks" => (Method::GET, "/tasks".to_owned()),
        "CancelTask" => (Method::POST, format!("/tasks/{}:cancel", take("id"))),
        "SubscribeToTask" => (Method::GET, format!("/tasks/{}:subscribe", take("id"))),
        "GetExtendedAgentCard" => (Method::GET, "/extendedAgentCard".to_owned()),
        configs => {
            let path = format!("/tasks/{}/pushNotificationConfigs", take("taskId"));
            match configs {
                "CreateTaskPushNotificationConfig" => (Method::POST, path),
                "ListTaskPushNotificationConfigs" => (Method::GET, path),
                "GetTaskPushNotificationConfig" => (Method::GET, format!("{path}/{}", take("id"))),
                "DeleteTaskPushNotificationConfig" => (Method::DELETE, format!("{path}/{}", take("id"))),
                other => panic!("http.tsv has no command {other}"),
            }
        }
    };
    let mut path = format!("/t/{}{path}", ask.tenant);
    if method == Method::POST {
        return (method, path, Value::Object(left));
    }
    for (n, (name, value)) in left.iter().enumerate() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        path += &format!("{}{name}={value}", if n == 0 { '?' } else { '&' });
    }
    (method, path, Value::Null)
}

/// What an error's details say, whose codes must be those of the error table.
fn refused(details: &Value, codes: impl Fn(Kind) -> bool) -> Told {
    let reason = details[0]["reason"].as_str().unwrap_or_default();
    let kind = Kind::ALL.iter().copied().find(|kind| kind.reason() == reason);
    let kind = kind.unwrap_or_else(|| panic!("no error has the reason of {details}"));
    assert_eq!(details[0]["domain"], kind.domain(), "{details}");
    assert!(codes(kind), "{kind:?} has other codes in the error table: {details}");
    let violations = details[1]["fieldViolations"].as_array().cloned().unwrap_or_default();
    let of = |name| violations.iter().filter_map(|one| one[name].as_str().map(str::to_owned)).collect();
    Told::Refused { kind, fields: of("field"), reasons: of("reason") }
}

/// Ask over `binding`.
pub(crate) async fn ask<E: Endpoint<Output = Response>>(
    platform: &Platform<E>,
    remote: &Remote,
    binding: Binding,
    ask: &Ask,
) -> Told {
    if binding == Binding::Grpc {
        return by_grpc(remote, ask).await;
    }
    let (method, path, body) = match binding {
        Binding::Rest => rest(ask),
        _ => {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": ask.command, "params": ask.params});
            (Method::POST, format!("/t/{}/rpc", ask.tenant), call)
        }
    };
    let mut request = platform.client.request(method, path);
    for (name, value) in &ask.headers {
        request = request.header(*name, value);
    }
    if !body.is_null() {
        request = request.content_type("application/json").body(body.to_string());
    }
    let response = request.send().await.0;
    let status = response.status().as_u16();
    if response.content_type() == Some("text/event-stream") {
        assert_eq!(status, 200);
        let pieces = response.into_body().into_bytes_stream().boxed();
        return Told::Streams(Items::Sse(pieces, String::new()));
    }
    let mut body: Value = serde_json::from_str(&response.into_body().into_string().await.unwrap()).unwrap();
    let error = body.get_mut("error").map(Value::take).unwrap_or_default();
    match binding {
        _ if error.is_null() => {
            assert_eq!(status, 200, "{body}");
            Told::Done(if binding == Binding::Rest { body } else { body["result"].take() })
        }
        Binding::Rest => refused(&error["details"], |kind| {
            status == kind.http() && error["code"] == kind.http() && error["status"] == kind.grpc().name()
        }),
        _ => {
            assert_eq!(status, 200, "{error}");
            refused(&error["data"], |kind| error["code"] == kind.jsonrpc())
        }
    }
}

async fn by_grpc(remote: &Remote, ask: &Ask) -> Told {
    let metadata: Vec<(&str, &str)> = ask.headers.iter().map(|(name, value)| (lower(name), value.as_str())).collect();
    let mut params = ask.params.clone();
    params["tenant"] = json!(ask.tenant);
    let told = match ask.command {
        "SendStreamingMessage" | "SubscribeToTask" => remote
            .open(ask.command, params, &metadata)
            .await
            .map(|(stream, _)| Told::Streams(Items::Grpc(Box::new(stream)))),
        command => remote.call_with(command, params, &metadata).await.map(Told::Done),
    };
    told.unwrap_or_else(|status| {
        let told = info(&status);
        let violations: Vec<Value> = violations(&status)
            .into_iter()
            .map(|one| match one.reason.as_str() {
                "" => json!({"field": one.field}),
                reason => json!({"field": one.field, "reason": reason}),
            })
            .collect();
        let details = json!([{"reason": told.reason, "domain": told.domain}, {"fieldViolations": violations}]);
        refused(&details, |kind| status.code() as i32 == kind.grpc().number())
    })
}

fn lower(name: &str) -> &'static str {
    match name {
        "A2A-Version" => "a2a-version",
        "A2A-Extensions" => "a2a-extensions",
        "Idempotency-Key" => "idempotency-key",
        "Last-Event-ID" => "last-event-id",
        other => panic!("no metadata is called {other}"),
    }
}
