//! The OpenAPI documents: what poem-openapi reads off the handlers, made to say what is served.
//!
//! Here is what both documents need: verbs get their outward form, operations the tag of their path, and what poem-openapi prints although
//! it says nothing is left out, so that the files can be read and their changes reviewed. What handlers do not declare, because it is
//! checked before any of them or read as a whole message, is added for each surface in a module of its own.
//!
//! Documents are made for generators as much as for people. Every schema has a name, because generators call a nameless one by where they
//! found it; every answer that is no success has the same body, because some of them know but one.

use poem_openapi::registry::Registry;
use poem_openapi::{LicenseObject, OpenApi, OpenApiService, ServerObject};
use serde_json::{Map, Number, Value, json};

use crate::rest::Rest;
use crate::verbs::MARK;
use crate::worker::{PREFIX, Sessions, Workers};

mod a2a;
mod workers;

/// A document by its file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Such as `worker.json`.
    pub name: &'static str,
    /// What is in the file, the line feed at its end included.
    pub text: String,
}

/// Every document, as the code has it. Needs neither an engine nor a database.
pub fn documents() -> Vec<Document> {
    let version = env!("CARGO_PKG_VERSION");
    let a2a = OpenApiService::new(Rest, "Taskyard: A2A", version).description(a2a::description()).license(license());
    let a2a = a2a::servers().into_iter().fold(a2a, OpenApiService::server);
    let workers = OpenApiService::new((Workers, Sessions), "Taskyard: workers", version)
        .description(workers::DESCRIPTION)
        .license(license())
        .server(ServerObject::new(PREFIX));
    let mut a2a = parsed(&a2a);
    a2a::complete(&mut a2a);
    tag(&mut a2a, a2a::TAGS, a2a::tag_of);
    let mut workers = parsed(&workers);
    workers::complete(&mut workers);
    tag(&mut workers, workers::TAGS, workers::tag_of);
    [("a2a.json", a2a), ("worker.json", workers)].map(|(name, document)| printed(name, document)).into()
}

fn license() -> LicenseObject {
    LicenseObject::new("Apache-2.0").url("https://www.apache.org/licenses/LICENSE-2.0")
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

/// Leave out what says nothing, and say the rest plainly.
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
            // A summary is one line, however long the comment's lines are.
            if let Some(Value::String(summary)) = members.get_mut("summary") {
                *summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            members.values_mut().for_each(quieten);
        }
        Value::Array(items) => items.iter_mut().for_each(quieten),
        // Bounds of integers are integers.
        Value::Number(number) => {
            if let Some(whole) = number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0) {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and a bound of ours")]
                let whole = whole as i64;
                *number = Number::from(whole);
            }
        }
        _ => {}
    }
}

/// Sort operations under what they are about, which their path tells.
fn tag(document: &mut Value, tags: &[(&str, &str)], of: fn(&str) -> &'static str) {
    let Some(Value::Object(paths)) = document.get_mut("paths") else { return };
    for (path, item) in paths.iter_mut() {
        operations(item).for_each(|operation| operation["tags"] = json!([of(path)]));
    }
    document["tags"] = tags.iter().map(|(name, about)| json!({"name": name, "description": about})).collect();
}

/// The operations of a path.
fn operations(item: &mut Value) -> impl Iterator<Item = &mut Value> {
    let members = item.as_object_mut().into_iter().flatten();
    members.map(|(_, operation)| operation).filter(|operation| operation.get("operationId").is_some())
}

/// The header of what is only temporary.
fn retry_after() -> Value {
    json!({"description": "With 503: after how many seconds to try again.", "schema": {"type": "integer"}})
}

/// The schemas of the protocol's messages, also of those that no handler declares.
fn messages() -> Map<String, Value> {
    let mut registry = Registry::new();
    wire::register_schemas(&mut registry);
    let mut schemas = json!(registry.schemas);
    quieten(&mut schemas);
    match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    }
}

/// The schema of a message's field, and apart from it what the field means.
fn field(schemas: &Map<String, Value>, message: &str, name: &str) -> (Value, Value) {
    let mut schema = schemas[message]["properties"][name].clone();
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    (bare(schema), json!(description))
}

/// `{"allOf": [x]}` without anything beside it is x.
fn bare(mut schema: Value) -> Value {
    match schema.get_mut("allOf").and_then(Value::as_array_mut) {
        Some(all) if all.len() == 1 => all.remove(0),
        _ => schema,
    }
}
