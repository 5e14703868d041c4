//! The OpenAPI documents: what poem-openapi reads off the handlers, made to say what is served.
//!
//! Four things are put right here. Verbs get their outward form. Query parameters are added from the request message that the handler
//! reads them as. Headers that are checked before any handler are added. And what poem-openapi prints although it says nothing is left
//! out, so that the files can be read and their changes reviewed.

use poem_openapi::registry::Registry;
use poem_openapi::{OpenApi, OpenApiService, ServerObject};
use serde_json::{Map, Value, json};
use wire::description::{Described, MessageDescription};
use wire::{
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTasksRequest, SubscribeToTaskRequest,
};

use crate::answer::{A2A_JSON, JSON};
use crate::rest::Rest;
use crate::verbs::MARK;
use crate::version;
use crate::worker::{PREFIX, Workers};

/// A document by its file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Such as `worker.json`.
    pub name: &'static str,
    /// What is in the file, the line feed at its end included.
    pub text: String,
}

const A2A: &str = "The HTTP+JSON binding of A2A 1.0. Every request says `A2A-Version: 1.0`; one that does not is taken for 0.3 and refused.\n\n\
The JSON-RPC binding of the same operations is at `POST /rpc` and `POST /`: the method is the operation id, the parameters are the \
request message. Agents other than the default one live under `/agents/{agent}`, and `/t/{tenant}` leads to a tenant by the base URL \
alone.\n\n\
Streams are server-sent events. `data` is one `StreamResponse`, `id` the event's number: sent back as `Last-Event-ID`, the stream goes on \
after it, on any replica. A stream that breaks off with `retry` and `id` alone is to be resumed; one that ends without is over. After the \
first event an error is an event `error`, whose `data` is an `ErrorResponse`; before it, it is an ordinary answer.\n\n\
Errors of all operations have one shape; `error.details` holds a `google.rpc.ErrorInfo` whose `reason` tells what went wrong.";

const WORKER: &str = "What a worker needs: it polls for leases of tasks, works, reports what it did under its lease, and keeps the lease \
alive with heartbeats.\n\n\
A task that is held is changed only under its lease, which `Taskyard-Lease` and `Taskyard-Epoch` name: without them the answer is 428 \
`LEASE_REQUIRED`, with others than the current ones 409 `LEASE_LOST`. A move that the task's state does not permit is 409 \
`TASK_STATE_CONFLICT`.";

/// Every document, as the code has it. Needs neither an engine nor a database.
pub fn documents() -> Vec<Document> {
    let version = env!("CARGO_PKG_VERSION");
    let a2a = OpenApiService::new(Rest, "Taskyard: A2A", version)
        .description(A2A)
        .server(ServerObject::new("/").description("No tenant, or the one that the request names."))
        .server(ServerObject::new("/{tenant}").description("A tenant.").variable(
            "tenant",
            "The tenant's name.",
            "acme",
        ));
    let worker = OpenApiService::new(Workers, "Taskyard: workers", version)
        .description(WORKER)
        .server(ServerObject::new(PREFIX));
    let mut a2a = parsed(&a2a);
    complete_a2a(&mut a2a);
    let mut worker = parsed(&worker);
    plain_json(&mut worker);
    [("a2a.json", a2a), ("worker.json", worker)].map(|(name, document)| printed(name, document)).into()
}

fn parsed<T: OpenApi, W>(service: &OpenApiService<T, W>) -> Value
where
    W: poem_openapi::Webhook,
{
    let mut document: Value = serde_json::from_str(&service.spec()).unwrap_or_default();
    outward_paths(&mut document);
    quieten(&mut document);
    document
}

fn printed(name: &'static str, mut document: Value) -> Document {
    // Whatever features another crate switches on in serde_json, the file is the same.
    document.sort_all_objects();
    Document { name, text: format!("{document:#}\n") }
}

/// `/tasks/{id}/@cancel` is `/tasks/{id}:cancel`.
fn outward_paths(document: &mut Value) {
    if let Some(Value::Object(paths)) = document.get_mut("paths") {
        *paths = std::mem::take(paths).into_iter().map(|(path, item)| (path.replace(MARK, ":"), item)).collect();
    }
}

/// Leave out what says nothing.
fn quieten(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_parameter = members.contains_key("in");
            // A description beside a reference is said once.
            let described = members.get("description").map(|text| json!({"description": text}));
            if let Some(Value::Array(all)) = members.get_mut("allOf") {
                all.retain(|one| Some(one) != described.as_ref());
            }
            members.retain(|name, value| match name.as_str() {
                "deprecated" => *value != Value::Bool(false),
                "explode" => !is_parameter,
                "tags" => *value != json!([]),
                _ => true,
            });
            members.values_mut().for_each(quieten);
        }
        Value::Array(items) => items.iter_mut().for_each(quieten),
        _ => {}
    }
}

/// The worker surface speaks plain JSON.
fn plain_json(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(content) = members.remove(A2A_JSON) {
                members.entry(JSON).or_insert(content);
            }
            members.values_mut().for_each(plain_json);
        }
        Value::Array(items) => items.iter_mut().for_each(plain_json),
        _ => {}
    }
}

/// What handlers do not declare: the query parameters of an operation, and the version header of every one.
fn complete_a2a(document: &mut Value) {
    let mut registry = Registry::new();
    wire::register_schemas(&mut registry);
    let schemas: Map<String, Value> =
        registry.schemas.iter().map(|(name, schema)| (name.clone(), json!(schema))).collect();
    let Some(Value::Object(paths)) = document.get_mut("paths") else { return };
    let operations = paths.values_mut().filter_map(Value::as_object_mut).flat_map(|item| item.values_mut());
    for operation in operations.filter_map(Value::as_object_mut) {
        let message = query_of(operation.get("operationId").and_then(Value::as_str).unwrap_or_default());
        let Value::Array(parameters) = operation.entry("parameters").or_insert_with(|| json!([])) else { continue };
        for field in message.iter().flat_map(|message| message.fields) {
            if is_in_path(parameters, field.name) {
                continue;
            }
            let owner = message.map(|message| message.name).unwrap_or_default();
            let mut schema = schemas[owner]["properties"][field.json_name].clone();
            quieten(&mut schema);
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            parameters.push(json!({
                "name": field.json_name, "in": "query", "required": false, "description": description, "schema": bare(schema),
            }));
        }
        parameters.push(json!({
            "name": version::HEADER, "in": "header", "required": true,
            "description": "The version of A2A that the request speaks. Without it the request is refused as one of 0.3.",
            "schema": {"type": "string", "enum": [version::SERVED]},
        }));
    }
    document["paths"]["/message:send"]["post"]["requestBody"]["content"][JSON]["example"] = json!({
        "message": {"messageId": "5f0c", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
        "configuration": {"returnImmediately": true},
    });
    // What stands in the path need not stand in the body.
    for (schema, bound) in [("CancelTaskRequest", "id"), ("TaskPushNotificationConfig", "taskId")] {
        let schema = &mut document["components"]["schemas"][schema];
        if let Some(required) = schema["required"].as_array_mut() {
            required.retain(|name| name != bound);
        }
        if let Some(members) = schema.as_object_mut() {
            members.retain(|name, value| name != "required" || *value != json!([]));
        }
    }
}

/// The message that an operation's query is read as.
fn query_of(operation: &str) -> Option<MessageDescription> {
    match operation {
        "GetTask" => Some(GetTaskRequest::DESCRIPTION),
        "SubscribeToTask" | "SubscribeToTaskByPost" => Some(SubscribeToTaskRequest::DESCRIPTION),
        "ListTasks" => Some(ListTasksRequest::DESCRIPTION),
        "GetTaskPushNotificationConfig" => Some(GetTaskPushNotificationConfigRequest::DESCRIPTION),
        "ListTaskPushNotificationConfigs" => Some(ListTaskPushNotificationConfigsRequest::DESCRIPTION),
        "DeleteTaskPushNotificationConfig" => Some(DeleteTaskPushNotificationConfigRequest::DESCRIPTION),
        _ => None,
    }
}

fn is_in_path(parameters: &[Value], name: &str) -> bool {
    parameters.iter().any(|parameter| parameter["in"] == "path" && parameter["name"] == name)
}

/// `{"allOf": [x]}` without anything beside it is x.
fn bare(mut schema: Value) -> Value {
    match schema.get_mut("allOf").and_then(Value::as_array_mut) {
        Some(all) if all.len() == 1 => all.remove(0),
        _ => schema,
    }
}
