//! Clients of 0.3: every method over every binding, and what they are told when something is wrong.

use std::sync::Arc;

use api::Options;
use engine::Settings;
use poem::http::Method;
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::client::{Answer, Platform, platform_with, settings};

mod card;
mod grpc;
mod push;
mod rest;
mod rpc;
mod streams;
mod switched_off;

impl<E: Endpoint<Output = Response>> Platform<E> {
    /// A request with these headers and, unless it is null, a body.
    pub(crate) async fn plain(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
        let mut request = self.client.request(method, path.to_owned());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(match body {
            Value::Null => request,
            body => request.content_type("application/json").body(body.to_string()),
        })
        .await
    }

    /// A JSON-RPC call without a version, as clients of 0.3 make it.
    pub(crate) async fn old_rpc(&self, method: &str, params: Value) -> Answer {
        self.plain(Method::POST, "/rpc", &[], rpc_body(method, params)).await
    }
}

/// A JSON-RPC call with id 1.
fn rpc_body(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A send in JSON-RPC's dialect that does not wait, with `more` members in its message.
fn send(more: Value) -> Value {
    let mut message = json!({
        "kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}],
    });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"message": message, "configuration": {"blocking": false}})
}

/// The same in the proto's.
fn send_proto(more: Value) -> Value {
    let mut message = json!({"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hello"}]});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"message": message, "configuration": {"blocking": false}})
}

const NEEDED: &str = "https://example.com/needed/v1";

/// Settings whose default agent asks for an extension.
fn demanding() -> Settings {
    let mut settings = settings();
    let agent = Arc::make_mut(settings.agents.get_mut("echo").unwrap());
    agent.card.extensions =
        vec![wire::AgentExtension { uri: NEEDED.to_owned(), required: true, ..wire::AgentExtension::default() }];
    settings
}

async fn switched_off() -> Platform<impl Endpoint<Output = Response>> {
    platform_with(settings(), Options { v03: false, ..Options::default() }).await
}
