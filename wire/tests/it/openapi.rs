//! The document says what the declarations say: names, descriptions, required lists, references that resolve.

use crate::samples::for_every_type;
use poem_openapi::registry::Registry;
use poem_openapi::types::Type;
use serde_json::{Value, json};
use wire::description::{Described, FieldDescription, Label, Rule};

fn schemas() -> Value {
    fn add<T: Type>(registry: &mut Registry) {
        T::register(registry);
    }
    let mut registry = Registry::new();
    for_every_type!(add, &mut registry);
    let schemas = registry.schemas.iter().map(|(name, schema)| (name.clone(), json!(schema)));
    Value::Object(schemas.collect())
}

#[test]
fn every_type_is_documented_field_by_field() {
    fn check<T: Described + Type>(schemas: &Value) {
        let message = T::DESCRIPTION;
        let schema = &schemas[message.name];
        assert_eq!(T::name(), message.name);
        assert_eq!(schema["type"], "object", "{}", message.name);
        assert!(schema["description"].is_string(), "{} has no description", message.name);
        let members = message.fields.iter().filter(|field| matches!(field.label, Label::OneOf(_))).count();
        if members > 0 {
            let alternatives = schema["oneOf"].as_array().unwrap();
            assert_eq!(alternatives.len(), members);
            for (field, reference) in message.fields.iter().zip(alternatives) {
                let name = reference["$ref"].as_str().unwrap().strip_prefix("#/components/schemas/").unwrap();
                assert!(name.starts_with(message.name) && name != message.name, "{name}");
                let alternative = &schemas[name];
                assert!(alternative["description"].is_string(), "{name} has no description");
                assert_eq!(alternative["required"], json!([field.json_name]));
                assert!(alternative["properties"][field.json_name].is_object());
            }
            return;
        }
        let names: Vec<&str> = message.fields.iter().map(|field| field.json_name).collect();
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.len(), names.len());
        for name in &names {
            let text = properties[*name]["description"].as_str();
            assert!(text.is_some_and(|text| !text.is_empty()), "{}.{name} has no description", message.name);
        }
        // Progress and replies are nothing without words, although it is a draft that holds them.
        let is_required = |field: &FieldDescription| {
            field.rule.is_required()
                || ["Progress", "ReplyRequest"].contains(&message.name) && field.rule == Rule::Draft
        };
        let required: Vec<&str> =
            message.fields.iter().filter(|field| is_required(field)).map(|field| field.json_name).collect();
        assert_eq!(schema.get("required").cloned().unwrap_or(json!([])), json!(required), "{}", message.name);
    }
    let schemas = schemas();
    for_every_type!(check, &schemas);
}

#[test]
fn every_reference_resolves() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let schemas = schemas();
    let mut found = Vec::new();
    references(&schemas, &mut found);
    assert!(found.len() > 50, "{found:?}");
    for reference in found {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(schemas.get(name).is_some(), "{reference}");
    }
}

#[test]
fn no_schema_in_place_has_a_name_of_its_own() {
    fn titles(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("title").and_then(Value::as_str).map(str::to_owned));
                object.values().for_each(|value| titles(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| titles(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    titles(&schemas(), &mut found);
    assert_eq!(found, [""; 0], "generators make a type of each, over the types of the same name");
}

#[test]
fn types_are_documented_as_they_look_in_json() {
    let schemas = schemas();
    let cases = [
        ("/Task/properties/metadata/type", json!("object")),
        ("/Task/properties/metadata/additionalProperties", json!({})),
        ("/Task/properties/history/items/$ref", json!("#/components/schemas/Message")),
        ("/Task/properties/status/allOf/0/$ref", json!("#/components/schemas/TaskStatus")),
        ("/TaskStatus/properties/timestamp/format", json!("date-time")),
        ("/GetTaskRequest/properties/historyLength/format", json!("int32")),
        (
            "/AgentCard/properties/securitySchemes/additionalProperties/$ref",
            json!("#/components/schemas/SecurityScheme"),
        ),
        ("/Message/properties/messageId/allOf/0/$ref", json!("#/components/schemas/Id")),
        ("/Message/properties/referenceTaskIds/items/$ref", json!("#/components/schemas/Id")),
        ("/PollRequest/properties/agents/items/$ref", json!("#/components/schemas/AgentName")),
        ("/Part/oneOf/1/$ref", json!("#/components/schemas/PartRaw")),
        ("/SendMessageResponse/oneOf/0/$ref", json!("#/components/schemas/SendMessageResponseTask")),
        ("/UpdateRequireInput/properties/requireInput/allOf/0/$ref", json!("#/components/schemas/StatusChange")),
        ("/PartRaw/properties/raw/format", json!("byte")),
        ("/PartData/properties/data", json!({"description": "Any JSON value, null included."})),
        ("/PartText/properties/mediaType/type", json!("string")),
        ("/TaskState/type", json!("string")),
        ("/TaskState/enum/5", json!("TASK_STATE_INPUT_REQUIRED")),
        ("/Role/enum", json!(["ROLE_USER", "ROLE_AGENT"])),
        ("/Applied/properties/generation/format", json!("int64")),
    ];
    for (pointer, expected) in cases {
        assert_eq!(schemas.pointer(pointer), Some(&expected), "{pointer}");
    }
}

#[test]
fn the_catalog_registers_every_message() {
    let mut registry = Registry::new();
    wire::register_schemas(&mut registry);
    for message in wire::MESSAGES {
        assert!(registry.schemas.contains_key(message.name), "{}", message.name);
    }
}

#[test]
fn bounds_are_those_that_are_checked() {
    let schemas = schemas();
    let cases = [
        ("/Id", json!({"minLength": 1, "maxLength": 256})),
        ("/AgentName", json!({"minLength": 1, "maxLength": 64})),
        ("/Message/properties/parts", json!({"minItems": 1})),
        ("/AgentSkill/properties/tags", json!({"minItems": 1})),
        ("/SendMessageConfiguration/properties/historyLength", json!({"minimum": 0.0})),
        ("/ListTasksRequest/properties/pageSize", json!({"minimum": 1.0, "maximum": 100.0})),
        ("/ListTaskPushNotificationConfigsRequest/properties/pageSize", json!({"minimum": 0.0, "maximum": 100.0})),
        ("/ListTasksResponse/properties/nextPageToken", json!({})),
        ("/TaskPushNotificationConfig/properties/token", json!({"maxLength": 4096})),
        ("/TaskPushNotificationConfig/properties/url", json!({"minLength": 1})),
        ("/AuthenticationInfo/properties/scheme", json!({"minLength": 1, "maxLength": 64})),
        ("/ApplyRequest/properties/updates", json!({"minItems": 1, "maxItems": 100})),
        ("/PollRequest/properties/agents", json!({"minItems": 1})),
        ("/PollRequest/properties/max", json!({"minimum": 1.0, "maximum": 100.0})),
        ("/PollRequest/properties/waitSeconds", json!({"minimum": 0.0})),
    ];
    for (pointer, expected) in cases {
        let mut found = schemas.pointer(pointer).unwrap().clone();
        found.as_object_mut().unwrap().retain(|name, _| name.starts_with("min") || name.starts_with("max"));
        assert_eq!(found, expected, "{pointer}");
    }
}

#[test]
fn what_a_worker_says_needs_nothing_but_content() {
    let schemas = schemas();
    assert_eq!(schemas["MessageDraft"]["required"], json!(["parts"]));
    assert_eq!(schemas["MessageDraft"]["properties"], schemas["Message"]["properties"]);
    for schema in ["MoveRequest", "StatusChange", "Progress"] {
        let reference = &schemas[schema]["properties"]["statusMessage"]["allOf"][0]["$ref"];
        assert_eq!(*reference, "#/components/schemas/MessageDraft", "{schema}");
    }
}
