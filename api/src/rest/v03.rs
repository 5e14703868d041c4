//! HTTP+JSON of 0.3: `/v1/...` below every base, messages in the dialect of 0.3's proto.
//!
//! A surface for clients that have not moved on: it is in no document. Its requests are put together as the messages of the proto, from
//! path, query and body, and are then read as those that come over gRPC.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::body::Bytes;
use poem::http::{HeaderMap, Method, header};
use poem::{IntoResponse, Request, Response};
use serde_json::{Map, Value};
use wire::{Error, Version};

use super::not_allowed;
use crate::answer::{JSON, Media};
use crate::app::Shared;
use crate::dialect::{Dialect, Spoken};
use crate::log::Served;
use crate::operation::{Asker, Operation, Said};
use crate::query::pairs;
use crate::route::{self, Base};
use crate::sse::{Shape, Stream};
use crate::verbs::{Found, Table};
use crate::{body, card, failure, service};

/// What every path begins with, below a base.
const PREFIX: &str = "/v1";

const DIALECT: Dialect = Dialect::Proto03;

/// The paths and what they lead to. Tasks are not listed in 0.3.
pub(crate) fn table() -> Table<Operation> {
    const TASK: &str = "/tasks/:id";
    const SUBSCRIBE: &str = "/tasks/:id/@subscribe";
    const CONFIGS: &str = "/tasks/:id/pushNotificationConfigs";
    const CONFIG: &str = "/tasks/:id/pushNotificationConfigs/:config";
    let rows = [
        (Method::POST, "/message/@send", Operation::SendMessage),
        (Method::POST, "/message/@stream", Operation::SendStreamingMessage),
        (Method::GET, TASK, Operation::GetTask),
        (Method::POST, "/tasks/:id/@cancel", Operation::CancelTask),
        // As the proto has it, and as the prose does.
        (Method::GET, SUBSCRIBE, Operation::SubscribeToTask),
        (Method::POST, SUBSCRIBE, Operation::SubscribeToTask),
        (Method::POST, CONFIGS, Operation::CreateTaskPushNotificationConfig),
        (Method::GET, CONFIGS, Operation::ListTaskPushNotificationConfigs),
        (Method::GET, CONFIG, Operation::GetTaskPushNotificationConfig),
        (Method::DELETE, CONFIG, Operation::DeleteTaskPushNotificationConfig),
        (Method::GET, "/card", Operation::GetExtendedAgentCard),
    ];
    Table::of_rows(rows.map(|(method, path, operation)| (method, path, operation.name(), operation)))
}

/// The path below the prefix, when this is one of 0.3 and 0.3 is served.
pub(crate) fn path_of<'p>(shared: &Shared, rest: &'p str) -> Option<&'p str> {
    let path = rest.strip_prefix(PREFIX).filter(|path| path.starts_with('/'))?;
    shared.served().contains(&Version::V03).then_some(path)
}

/// Answer a request; `path` is what follows the prefix.
pub(crate) async fn answer(shared: &Arc<Shared>, mut request: Request, base: &Base<'_>, path: &str) -> Served {
    let (operation, values) = match shared.rest_v03.find(request.method(), path) {
        Found::Operation(operation, values) => (operation.to, values),
        Found::OtherMethods(allow) => return Served::of("-", not_allowed(&request, &allow, Media::Json)),
        Found::Nothing => {
            let error = Error::method_not_found(request.uri().path());
            return Served::of("-", failure::response(&error, Media::Json));
        }
    };
    let name = operation.name();
    let caller = match base.caller(shared, None) {
        Ok(caller) => caller,
        Err(error) => return Served::of(name, failure::response(&error, Media::Json)),
    };
    let tenant = caller.tenant.clone();
    let body = request.take_body();
    let (headers, query) = (request.headers(), request.uri().query());
    let activated = match service::check(&caller.agent, headers, query, &[Version::V03], shared.served()) {
        Ok(activated) => activated,
        Err(error) => return Served::of(name, failure::response(&error, Media::Json)).for_tenant(tenant),
    };
    let sent = match (request.method(), operation) {
        // As in 1.0, what comes with a subscription is not read.
        (&Method::POST, operation) if operation != Operation::SubscribeToTask => {
            read(body, headers, operation, shared.options.body_bytes).await
        }
        _ => Ok(Bytes::new()),
    };
    let asker = Asker { shared, caller: &caller, dialect: DIALECT, headers, request: Some(&request) };
    let said = asker
        .ask(operation, || {
            let values: Result<Vec<_>, Error> = values.iter().map(|value| route::decode("path", value)).collect();
            DIALECT.read(operation, &message(operation, sent?, query.unwrap_or_default(), &values?)?)
        })
        .await;
    let mut response = match said.and_then(|said| respond(shared, said)) {
        Ok(response) => response,
        Err(error) => failure::response(&error, Media::Json),
    };
    activated.mark(&mut response);
    Served::of(name, response).for_tenant(tenant)
}

/// What was sent. Nothing has no media type.
async fn read(body: poem::Body, headers: &HeaderMap, operation: Operation, limit: usize) -> Result<Bytes, Error> {
    let may_be_empty = operation == Operation::CancelTask;
    if !may_be_empty {
        body::check_type(headers)?;
    }
    let bytes = body::read(body, headers, limit).await?;
    if may_be_empty && !bytes.is_empty() {
        body::check_type(headers)?;
    }
    Ok(bytes)
}

/// The message of the proto that a request is: what was sent, what the query says, and what is bound by the path.
///
/// # Errors
/// `ParseError`, or `InvalidParams` when what was sent is no object.
fn message(operation: Operation, sent: Bytes, query: &str, path: &[Cow<'_, str>]) -> Result<Bytes, Error> {
    if matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage) {
        return Ok(sent);
    }
    let mut members: Map<String, Value> = if sent.is_empty() { Map::new() } else { wire::parse(&sent)? };
    if operation == Operation::CreateTaskPushNotificationConfig && members.contains_key("url") {
        // The innermost of the three bodies that clients send for it.
        members = Map::from_iter([("pushNotificationConfig".to_owned(), Value::Object(members))]);
    }
    for (name, value) in pairs(query) {
        let (Some(name), Some(value)) = (name, value) else { continue };
        if let Some(name) = NUMBERS.iter().find(|known| **known == name).copied() {
            members.insert(name.to_owned(), value.parse::<i64>().map_or_else(|_| value.into(), Value::from));
        } else if TEXTS.contains(&&*name) {
            members.insert(name.into_owned(), value.into());
        }
    }
    match (operation, path) {
        (Operation::CreateTaskPushNotificationConfig | Operation::ListTaskPushNotificationConfigs, [task]) => {
            members.insert("parent".to_owned(), format!("tasks/{task}").into());
        }
        (_, [task]) => {
            members.insert("name".to_owned(), format!("tasks/{task}").into());
        }
        (_, [task, config]) => {
            members.insert("name".to_owned(), format!("tasks/{task}/pushNotificationConfigs/{config}").into());
        }
        _ => {}
    }
    Ok(Value::Object(members).to_string().into())
}

/// The parameters of a query, by both of their names.
const NUMBERS: &[&str] = &["historyLength", "history_length", "pageSize", "page_size"];
const TEXTS: &[&str] = &["pageToken", "page_token"];

fn respond(shared: &Shared, said: Said) -> Result<Response, Error> {
    let builder = Response::builder().content_type(JSON);
    let (builder, dialect) = match &said {
        // It depends on who asks. Over HTTP a card is the same, whoever gives it.
        Said::Card(_) => (builder.header(header::CACHE_CONTROL, card::PRIVATE), Dialect::Rpc03),
        _ => (builder, DIALECT),
    };
    match said {
        Said::Events(events) => Ok(Stream::of(events, Shape::bare(DIALECT), shared.options.keep_alive).into_response()),
        said => Ok(builder.body(serde_json::to_vec(&Spoken(dialect, &said)).map_err(Error::internal)?)),
    }
}
