//! What the workers' document says beyond its handlers: plain JSON alone, and the types of parameters that handlers read as text.

use serde_json::{Map, Value, json};
use wire::worker::{EPOCH_HEADER, LEASE_HEADER};

use super::{field, messages, operations, retry_after};
use crate::answer::{A2A_JSON, JSON};
use crate::call::KEY_HEADER;
use crate::failure::OURS;

/// What a reader needs to know first.
pub(super) const DESCRIPTION: &str = "What a worker needs: it polls for leases of tasks, works, reports what it did under its lease, and keeps the lease \
alive with heartbeats.\n\n\
A task that is held is changed only under its lease, which `Taskyard-Lease` and `Taskyard-Epoch` name: without them the answer is 428 \
`LEASE_REQUIRED`, with others than the current ones 409 `LEASE_LOST`. A move that the task's state does not permit is 409 \
`TASK_STATE_CONFLICT`.\n\n\
A call whose answer was lost can be made again with the same `Idempotency-Key`, if it had one: it is answered as the first time. With \
another body the key is refused as `IDEMPOTENCY_KEY_REUSED`.";

/// What the header does that makes a write safe to repeat.
const KEY: &str = "Makes the call safe to repeat for 24 hours: the same key, epoch and body are answered as the first time, also when \
the lease has ended by now, and nothing is done twice. Without a lease the key counts within the task.";

/// What operations are about.
pub(super) const TAGS: &[(&str, &str)] = &[
    ("Sessions", "Come, hear what concerns you, and go."),
    ("Leases", "Get work and keep it."),
    ("Tasks", "Say what became of it."),
    ("Views", "Everything of the worker's agents."),
];

/// The tag of a path's operations.
pub(super) fn tag_of(path: &str) -> &'static str {
    match path {
        _ if path.starts_with("/sessions") => "Sessions",
        _ if path.starts_with("/tasks") => "Tasks",
        _ if path.starts_with("/all") || path.starts_with("/queues") => "Views",
        _ => "Leases",
    }
}

/// Say what the handlers do not.
pub(super) fn complete(document: &mut Value) {
    plain(document);
    let schemas = messages();
    let Some(Value::Object(paths)) = document.get_mut("paths") else { return };
    for (_, item) in paths.iter_mut().filter(|(path, _)| path.starts_with("/tasks/")) {
        operations(item).for_each(hold);
    }
    for operation in paths.values_mut().flat_map(operations) {
        let is_release = operation["operationId"] == "ReleaseLease";
        for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
            type_of(parameter, &schemas);
            if is_release && parameter["name"] == EPOCH_HEADER {
                parameter["required"] = json!(true);
            }
        }
        operation["responses"][OURS]["headers"] = json!({"Retry-After": retry_after()});
    }
}

/// The headers that every write to a task may have.
fn hold(operation: &mut Value) {
    let header = |name: &str, description: &str| json!({"name": name, "in": "header", "required": false, "description": description, "schema": {"type": "string"}});
    if let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut) {
        parameters.extend([
            header(LEASE_HEADER, "The lease the task is held by."),
            header(EPOCH_HEADER, "The lease's epoch."),
            header(KEY_HEADER, KEY),
        ]);
    }
}

/// A parameter by what it is, not by how it is read.
fn type_of(parameter: &mut Value, schemas: &Map<String, Value>) {
    let schema = match (parameter["in"].as_str(), parameter["name"].as_str()) {
        (Some("path"), _) => field(schemas, "GetTaskRequest", "id").0,
        (_, Some(EPOCH_HEADER)) => json!({"type": "integer", "format": "int64"}),
        (_, Some("state")) => field(schemas, "ListTasksRequest", "status").0,
        (_, Some("pageSize")) => field(schemas, "ListTasksRequest", "pageSize").0,
        _ => return,
    };
    parameter["schema"] = schema;
}

/// The worker surface speaks plain JSON.
fn plain(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(content) = members.remove(A2A_JSON) {
                members.entry(JSON).or_insert(content);
            }
            members.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}
