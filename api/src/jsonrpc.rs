//! JSON-RPC 2.0 (§9): one endpoint, methods named as in the proto, parameters the proto's request messages; and beside them the
//! `category/action` methods of 0.3, whose name decides that the request is one of 0.3.
//!
//! Protocol and A2A errors are answered with HTTP 200, as every SDK expects; only what a client should repeat (503) and what never
//! reached the endpoint (404, 405) have statuses of their own. Errors found before the body is looked at carry the request's id all
//! the same when the body shows one.

use std::sync::Arc;

use hyper::body::Bytes;
use poem::http::{HeaderValue, StatusCode, header};
use poem::{IntoResponse, Response};
use wire::{Error, Kind};

use crate::answer::JSON;
use crate::app::Shared;
use crate::dialect::{Dialect, Spoken};
use crate::log::{self, Served};
use crate::operation::{Asker, Operation, Said};
use crate::route::Base;
use crate::sse::{self, Shape, Stream};
use crate::{body, card, failure, service};

mod envelope;
mod method;
use envelope::Envelope;
use method::Method;

/// Answer a request of JSON-RPC.
pub(crate) async fn answer(shared: &Arc<Shared>, mut request: poem::Request, base: &Base<'_>) -> Served {
    if request.method() != poem::http::Method::POST {
        return Served::of("-", not_allowed(&request));
    }
    let sent = request.take_body();
    let (bytes, unread) = match body::read(sent, request.headers(), shared.options.body_bytes).await {
        Ok(bytes) => (bytes, None),
        Err(error) => (Bytes::new(), Some(error)),
    };
    let Envelope { id, call } = Envelope::read(&bytes);
    let id = id.unwrap_or("null");
    let served = shared.served();
    let method = call.as_ref().ok().and_then(|call| Method::named(&call.method, served));
    let dialect = method.map_or(Dialect::V1, |method| method.dialect);
    let caller = match base.caller(shared, None) {
        Ok(caller) => caller,
        Err(error) if error.kind == Kind::MethodNotFound => {
            return Served::of("-", refusal(dialect, id, &error, StatusCode::NOT_FOUND));
        }
        Err(error) => return Served::of("-", refuse(method, id, &error)),
    };
    let tenant = caller.tenant.clone();
    // What names no method may be of any version.
    let spoken = [dialect.version()];
    let spoken = if method.is_some() { &spoken } else { served };
    let refused =
        |name: &'static str, error: Error| Served::of(name, refuse(method, id, &error)).for_tenant(tenant.clone());
    let (headers, query) = (request.headers(), request.uri().query());
    let activated = match service::check(&caller.agent, headers, query, spoken, served) {
        Ok(activated) => activated,
        Err(error) => return refused("-", error),
    };
    let checked = body::check_type(headers).and_then(|()| unread.map_or(call, Err)).and_then(|call| {
        let method = method.ok_or_else(|| method::unknown(&call.method, activated.version()))?;
        Ok((method.operation, call.params))
    });
    let mut answered = match checked {
        Ok((operation, params)) => {
            let asker = Asker { shared, caller: &caller, dialect, headers, request: Some(&request) };
            let said = asker.ask(operation, || dialect.read(operation, params.text()?.as_bytes())).await;
            match said.and_then(|said| respond(shared, dialect, id, operation, said)) {
                Ok(response) => Served::of(operation.name(), response).for_tenant(tenant.clone()),
                Err(error) => refused(operation.name(), error),
            }
        }
        Err(error) => refused("-", error),
    };
    activated.mark(&mut answered.response);
    answered
}

/// The refusal of a request that reached its endpoint.
fn refuse(method: Option<Method>, id: &str, error: &Error) -> Response {
    let dialect = method.map_or(Dialect::V1, |method| method.dialect);
    match method {
        Some(method) if method.streams_errors() => sse::refused(&Shape::rpc(dialect, id), error),
        _ => {
            let status = if error.kind == Kind::Unavailable { failure::status(error.kind) } else { StatusCode::OK };
            refusal(dialect, id, error, status)
        }
    }
}

/// The response that says it.
fn respond(shared: &Shared, dialect: Dialect, id: &str, operation: Operation, said: Said) -> Result<Response, Error> {
    let said = match said {
        Said::Events(events) => {
            return Ok(Stream::of(events, Shape::rpc(dialect, id), shared.options.keep_alive).into_response());
        }
        said => said,
    };
    let mut body = Vec::with_capacity(512);
    body.extend_from_slice(opening(id, "result").as_bytes());
    serde_json::to_writer(&mut body, &Spoken(dialect, &said)).map_err(Error::internal)?;
    body.push(b'}');
    let builder = Response::builder().content_type(JSON);
    Ok(match operation {
        // It depends on who asks.
        Operation::GetExtendedAgentCard => builder.header(header::CACHE_CONTROL, card::PRIVATE),
        _ => builder,
    }
    .body(body))
}

/// A response up to the value of its member `result` or `error`; `id` as it stood in the request.
pub(crate) fn opening(id: &str, member: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":"#)
}

/// An error response as text.
pub(crate) fn error_text(dialect: Dialect, id: &str, error: &Error) -> String {
    let object = serde_json::json!({
        "code": dialect.code(error.kind),
        "message": error.public_message(),
        "data": error.details(),
    });
    format!("{}{object}}}", opening(id, "error"))
}

/// An error response.
fn refusal(dialect: Dialect, id: &str, error: &Error, status: StatusCode) -> Response {
    log::failure(error);
    let builder = Response::builder().status(status).content_type(JSON);
    failure::retry(builder, error.kind).body(error_text(dialect, id, error))
}

fn not_allowed(request: &poem::Request) -> Response {
    let error = Error::method_not_allowed(request.method().as_str(), request.uri().path());
    let mut response = refusal(Dialect::V1, "null", &error, failure::status(error.kind));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}
