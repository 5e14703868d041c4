//! JSON-RPC 2.0 (§9): one endpoint, methods named as in the proto, parameters the proto's request messages.
//!
//! Protocol and A2A errors are answered with HTTP 200, as every SDK expects; only what a client should repeat (503) and what never
//! reached the endpoint (404, 405) have statuses of their own. Errors found before the body is looked at carry the request's id all
//! the same when the body shows one.

use std::sync::Arc;

use engine::Caller;
use engine::stream::EventStream;
use hyper::body::Bytes;
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::{Error, Kind, Tenant};

use crate::answer::JSON;
use crate::app::Shared;
use crate::call::{Key, LastEvent};
use crate::log::{self, Served};
use crate::rest::Page;
use crate::route::{Base, with_tenant};
use crate::sse::{Shape, Stream};
use crate::{body, capability, card, failure, service};

mod envelope;
use envelope::{Envelope, Params};

/// The method whose answers depend on who asks.
const EXTENDED_CARD: &str = "GetExtendedAgentCard";

/// Every method, in the order of the proto's service.
pub(crate) const METHODS: &[&str] = &[
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    EXTENDED_CARD,
    "DeleteTaskPushNotificationConfig",
];

/// Answer a request of JSON-RPC.
pub(crate) async fn answer(shared: &Arc<Shared>, mut request: poem::Request, base: &Base<'_>) -> Served {
    if request.method() != Method::POST {
        return Served::of("-", not_allowed(&request));
    }
    let sent = request.take_body();
    let (bytes, unread) = match body::read(sent, request.headers(), shared.options.body_bytes).await {
        Ok(bytes) => (bytes, None),
        Err(error) => (Bytes::new(), Some(error)),
    };
    let Envelope { id, call } = Envelope::read(&bytes);
    let id = id.unwrap_or("null");
    let caller = match base.caller(shared, None) {
        Ok(caller) => caller,
        Err(error) => {
            let status = if error.kind == Kind::MethodNotFound { StatusCode::NOT_FOUND } else { StatusCode::OK };
            return Served::of("-", refusal(id, &error, status));
        }
    };
    let tenant = caller.tenant.clone();
    let activated = match service::check(&caller.agent, request.headers(), request.uri().query()) {
        Ok(activated) => activated,
        Err(error) => return served("-", tenant, id, Err(error)),
    };
    let checked = body::check_type(request.headers())
        .and_then(|()| unread.map_or(call, Err))
        .and_then(|call| Ok((method(&call.method)?, call.params)));
    let mut served = match checked {
        Ok((method, params)) => {
            let called = async {
                capability::check(&caller.agent, method)?;
                let exchange = Exchange { shared, caller: &caller, request: &request, params, id };
                match exchange.stream(method).await? {
                    Some(events) => {
                        let shape = Shape::JsonRpc { id: id.into() };
                        Ok(Stream::of(events, shape, shared.options.keep_alive).into_response())
                    }
                    None => Ok(answered(method, exchange.run(method).await?)),
                }
            };
            served(method, tenant, id, called.await)
        }
        Err(error) => served("-", tenant, id, Err(error)),
    };
    activated.mark(&mut served.response);
    served
}

fn answered(method: &str, body: Vec<u8>) -> Response {
    let builder = Response::builder().content_type(JSON);
    match method {
        EXTENDED_CARD => builder.header(header::CACHE_CONTROL, card::PRIVATE),
        _ => builder,
    }
    .body(body)
}

fn served(operation: &'static str, tenant: Tenant, id: &str, outcome: Result<Response, Error>) -> Served {
    let response = match outcome {
        Ok(response) => response,
        Err(error) => {
            let status = if error.kind == Kind::Unavailable { failure::status(error.kind) } else { StatusCode::OK };
            refusal(id, &error, status)
        }
    };
    Served::of(operation, response).for_tenant(tenant)
}

/// The method of that name.
fn method(name: &str) -> Result<&'static str, Error> {
    METHODS.iter().find(|known| **known == name).copied().ok_or_else(|| {
        let methods = METHODS.join(", ");
        Error::method_not_found(name).doing(format!("there is no method `{name}`; there are: {methods}"))
    })
}

/// One call of one method.
struct Exchange<'a> {
    shared: &'a Shared,
    caller: &'a Caller,
    request: &'a poem::Request,
    params: Params<'a>,
    id: &'a str,
}

impl Exchange<'_> {
    /// The stream that a method answers with, if it is one that does.
    async fn stream(&self, method: &str) -> Result<Option<EventStream>, Error> {
        let engine = &self.shared.engine;
        let events = match method {
            "SendStreamingMessage" => {
                let request: wire::SendMessageRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                let (key, last) = (Key::of(self.request.headers())?, LastEvent::of(self.request.headers())?);
                engine.send_streaming_message(&caller, key, request, last).await?
            }
            "SubscribeToTask" => {
                let request: wire::SubscribeToTaskRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                engine.subscribe_to_task(&caller, request, LastEvent::of(self.request.headers())?).await?
            }
            _ => return Ok(None),
        };
        Ok(Some(events))
    }

    async fn run(&self, method: &str) -> Result<Vec<u8>, Error> {
        let engine = &self.shared.engine;
        match method {
            "SendMessage" => {
                let request: wire::SendMessageRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                let key = Key::of(self.request.headers())?;
                self.result(&engine.send_message(&caller, key, request).await?)
            }
            "GetTask" => {
                let request: wire::GetTaskRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                self.result(&engine.get_task(&caller, request).await?)
            }
            "ListTasks" => {
                let request: wire::ListTasksRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                self.result(&Page(&engine.list_tasks(&caller, request).await?))
            }
            "CancelTask" => {
                let request: wire::CancelTaskRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                self.result(&engine.cancel_task(&caller, request).await?)
            }
            "CreateTaskPushNotificationConfig" => {
                let request: wire::TaskPushNotificationConfig = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                self.result(&engine.create_push_config(&caller, request).await?)
            }
            "GetTaskPushNotificationConfig" => {
                let request: wire::GetTaskPushNotificationConfigRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                self.result(&engine.get_push_config(&caller, request).await?)
            }
            "ListTaskPushNotificationConfigs" => {
                let request: wire::ListTaskPushNotificationConfigsRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                self.result(&engine.list_push_configs(&caller, request).await?)
            }
            "DeleteTaskPushNotificationConfig" => {
                let request: wire::DeleteTaskPushNotificationConfigRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                engine.delete_push_config(&caller, request).await?;
                self.result(&serde_json::Map::new())
            }
            EXTENDED_CARD => {
                let request: wire::GetExtendedAgentCardRequest = self.params()?;
                let caller = with_tenant(self.caller, &request.tenant)?;
                self.result(&card::extended(self.shared, &caller, Some(self.request))?)
            }
            other => Err(Error::internal(format!("no handler for the method {other}"))),
        }
    }

    fn params<T: DeserializeOwned>(&self) -> Result<T, Error> {
        wire::parse(self.params.text()?.as_bytes())
    }

    fn result(&self, value: &impl Serialize) -> Result<Vec<u8>, Error> {
        let mut body = Vec::with_capacity(512);
        body.extend_from_slice(opening(self.id, "result").as_bytes());
        serde_json::to_writer(&mut body, value).map_err(Error::internal)?;
        body.push(b'}');
        Ok(body)
    }
}

/// A response up to the value of its member `result` or `error`; `id` as it stood in the request.
pub(crate) fn opening(id: &str, member: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":"#)
}

/// An error response as text.
pub(crate) fn error_text(id: &str, error: &Error) -> String {
    let object = serde_json::json!({
        "code": error.kind.jsonrpc(),
        "message": error.public_message(),
        "data": error.details(),
    });
    format!("{}{object}}}", opening(id, "error"))
}

/// An error response.
fn refusal(id: &str, error: &Error, status: StatusCode) -> Response {
    log::failure(error);
    let builder = Response::builder().status(status).content_type(JSON);
    failure::retry(builder, error.kind).body(error_text(id, error))
}

fn not_allowed(request: &poem::Request) -> Response {
    let error = Error::method_not_allowed(request.method().as_str(), request.uri().path());
    let mut response = refusal("null", &error, failure::status(error.kind));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}
