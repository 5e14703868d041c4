//! What the document of HTTP+JSON says beyond its handlers: query parameters from the request message they are read as, headers that are
//! checked before any handler, both media types, cards, and every error.

use poem_openapi::ServerObject;
use serde_json::{Map, Value, json};
use wire::Kind;
use wire::description::{Described, MessageDescription};
use wire::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    SubscribeToTaskRequest, TaskPushNotificationConfig, Version,
};

use super::{field, messages, operations, retry_after};
use crate::answer::{A2A_JSON, JSON};
use crate::card;
use crate::failure::OURS;
use crate::service::EXTENSIONS;
use crate::sse::EVENT_STREAM;
use crate::version;

const DESCRIPTION: &str = "The HTTP+JSON binding of A2A 1.0. Every request says `A2A-Version: 1.0`; one that does not is taken for 0.3 and refused.\n\n\
The JSON-RPC binding of the same operations is at `POST /rpc` and `POST /`: the method is the operation id, the parameters are the \
request message. Agents other than the default one live under `/agents/{agent}`, and `/t/{tenant}` leads to a tenant by the base URL \
alone.\n\n\
Streams are server-sent events. `data` is one `StreamResponse`, `id` the event's number: sent back as `Last-Event-ID`, the stream goes on \
after it, on any replica. A stream that breaks off with `retry` and `id` alone is to be resumed; one that ends without is over. After the \
first event an error is an event `error`, whose `data` is an `ErrorResponse`; before it, it is an ordinary answer.\n\n\
Errors of all operations have one shape; `error.details` holds a `google.rpc.ErrorInfo` whose `reason` tells what went wrong:";

/// What operations are about.
pub(super) const TAGS: &[(&str, &str)] = &[
    ("Messages", "Talk to an agent."),
    ("Tasks", "What became of it."),
    ("Push notifications", "Be told by webhook."),
    ("Cards", "What agents say of themselves."),
];

/// The tag of a path's operations.
pub(super) fn tag_of(path: &str) -> &'static str {
    match path {
        _ if path.starts_with("/message") => "Messages",
        _ if path.contains("/pushNotificationConfigs") => "Push notifications",
        _ if path.starts_with("/tasks") => "Tasks",
        _ => "Cards",
    }
}

/// What a reader needs to know first.
pub(super) fn description() -> String {
    let mut text = format!("{DESCRIPTION}\n\n| reason | HTTP status | gRPC status |\n|---|---|---|\n");
    for kind in Kind::ALL.iter().filter(|kind| !OF_WORKERS.contains(kind)) {
        text.push_str(&format!("| `{}` | {} | `{}` |\n", kind.reason(), kind.http(), kind.grpc().name()));
    }
    text
}

/// What only workers are answered.
const OF_WORKERS: [Kind; 5] =
    [Kind::TaskStateConflict, Kind::LeaseLost, Kind::LeaseRequired, Kind::LeaseNotFound, Kind::SessionNotFound];

/// The base of a tenant by the protocol's own paths.
const OF_TENANT: &str = "/{tenant}";

/// The bases that the paths stand below.
pub(super) fn servers() -> Vec<ServerObject> {
    let server = |url: &str, about: &str| {
        let mut server = ServerObject::new(url).description(about);
        for (name, about, default) in [("tenant", "The tenant's name.", "acme"), ("agent", "The agent's name.", "demo")]
        {
            if url.contains(&format!("{{{name}}}")) {
                server = server.variable(name, about, default);
            }
        }
        server
    };
    vec![
        server("/", "The default agent; no tenant, or the one that the request names."),
        server(OF_TENANT, "The default agent, for a tenant. Cards are not here, but below `/t/{tenant}`."),
        server("/agents/{agent}", "Another agent."),
        server("/t/{tenant}", "The default agent, for a tenant."),
        server("/t/{tenant}/agents/{agent}", "Another agent, for a tenant."),
    ]
}

/// Say what the handlers do not.
pub(super) fn complete(document: &mut Value) {
    let schemas = messages();
    if let Some(Value::Object(paths)) = document.get_mut("paths") {
        for operation in paths.values_mut().flat_map(operations) {
            add_parameters(operation, &schemas);
            add_answers(operation);
        }
        for (path, item) in card::paths() {
            paths.insert(path.to_owned(), item);
        }
    }
    // Every base has a card but this one, where a tenant's name would be a path's.
    let bases = document["servers"].as_array().into_iter().flatten().filter(|server| server["url"] != OF_TENANT);
    document["paths"][card::AGENT_CARD]["servers"] = bases.cloned().collect();
    document["externalDocs"] = json!({"description": "The protocol.", "url": "https://a2a-protocol.org"});
    document["paths"]["/message:send"]["post"]["requestBody"]["content"][JSON]["example"] = json!({
        "message": {"messageId": "5f0c", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
        "configuration": {"returnImmediately": true},
    });
    let components = &mut document["components"]["schemas"];
    components["ProtocolVersion"] = json!({
        "description": "A version of A2A.",
        "type": "string",
        "enum": [Version::V1.as_str()],
        // What generators call it: a number is no name.
        "x-enum-varnames": [format!("V{}", Version::V1.as_str().replace('.', "_"))],
    });
    for (name, schema) in card::schemas() {
        components[name] = schema;
    }
    // What stands in the path need not stand in the body.
    for (schema, bound) in [("CancelTaskRequest", "id"), ("TaskPushNotificationConfig", "taskId")] {
        let schema = &mut components[schema];
        if let Some(required) = schema["required"].as_array_mut() {
            required.retain(|name| name != bound);
        }
        if let Some(members) = schema.as_object_mut() {
            members.retain(|name, value| name != "required" || *value != json!([]));
        }
    }
}

/// The parameters that the request message has and the path has not, bounds for those of the path, and the service parameters.
fn add_parameters(operation: &mut Value, schemas: &Map<String, Value>) {
    let message = request_of(operation["operationId"].as_str().unwrap_or_default());
    let has_body = operation.get("requestBody").is_some();
    let Some(operation) = operation.as_object_mut() else { return };
    let Value::Array(parameters) = operation.entry("parameters").or_insert_with(|| json!([])) else { return };
    for (name, owner) in message.iter().flat_map(|message| message.fields.iter().map(|field| (field, message.name))) {
        let (schema, description) = field(schemas, owner, name.json_name);
        if let Some(parameter) = in_path(parameters, name.name) {
            parameter["schema"] = schema;
        } else if !has_body {
            parameters.push(json!({
                "name": name.json_name, "in": "query", "required": false, "description": description, "schema": schema,
            }));
        }
    }
    parameters.push(json!({
        "name": version::HEADER, "in": "header", "required": true,
        "description": "The version of A2A that the request speaks. Without it the request is refused as one of 0.3. Clients that \
cannot set headers may say it in a query parameter of the same name.",
        "schema": {"$ref": "#/components/schemas/ProtocolVersion"},
    }));
    parameters.push(json!({
        "name": EXTENSIONS, "in": "header", "required": false,
        "description": "URIs of the extensions that the request brings, separated by commas. What the card requires must be among them.",
        "schema": {"type": "string"},
    }));
}

/// The headers of an answer, its two media types, and what a stream is.
fn add_answers(operation: &mut Value) {
    let header = |about: &str, schema: Value| json!({"description": about, "schema": schema});
    let text = || json!({"type": "string"});
    let is_card = operation["operationId"] == "GetExtendedAgentCard";
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for (status, response) in responses {
        let mut headers = json!({EXTENSIONS: header("Those of the request's extensions that the agent has.", text())});
        if status == OURS {
            headers["Retry-After"] = retry_after();
        }
        let Some(content) = response["content"].as_object_mut() else { continue };
        if let Some(media) = content.get(A2A_JSON).cloned() {
            content.insert(JSON.to_owned(), media);
        }
        if is_card && status == "200" {
            headers["Cache-Control"] = header("`private`: what it says depends on who asks.", text());
        }
        if let Some(media) = content.get_mut(EVENT_STREAM) {
            // What OpenAPI 3.0 can say of a stream is that it is text. Its items are said in the word that 3.2 has for them.
            media["x-itemSchema"] = media["schema"].take();
            media["schema"] = text();
            headers["Cache-Control"] = header("`no-cache`.", text());
        }
        response["headers"] = headers;
    }
}

/// The message that an operation's parameters are read as.
fn request_of(operation: &str) -> Option<MessageDescription> {
    match operation {
        "GetTask" => Some(GetTaskRequest::DESCRIPTION),
        "CancelTask" => Some(CancelTaskRequest::DESCRIPTION),
        "SubscribeToTask" | "SubscribeToTaskByPost" => Some(SubscribeToTaskRequest::DESCRIPTION),
        "ListTasks" => Some(ListTasksRequest::DESCRIPTION),
        "CreateTaskPushNotificationConfig" => Some(TaskPushNotificationConfig::DESCRIPTION),
        "GetTaskPushNotificationConfig" => Some(GetTaskPushNotificationConfigRequest::DESCRIPTION),
        "ListTaskPushNotificationConfigs" => Some(ListTaskPushNotificationConfigsRequest::DESCRIPTION),
        "GetExtendedAgentCard" => Some(GetExtendedAgentCardRequest::DESCRIPTION),
        "DeleteTaskPushNotificationConfig" => Some(DeleteTaskPushNotificationConfigRequest::DESCRIPTION),
        _ => None,
    }
}

fn in_path<'p>(parameters: &'p mut [Value], name: &str) -> Option<&'p mut Value> {
    parameters.iter_mut().find(|parameter| parameter["in"] == "path" && parameter["name"] == name)
}
