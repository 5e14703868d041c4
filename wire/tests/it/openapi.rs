//! The document says what the declarations say: names, descriptions, required lists, references that resolve.

use crate::samples::for_every_type;
use poem_openapi::registry::Registry;
use poem_openapi::types::Type;
use serde_json::{Value, json};
use wire::description::{Described, Label};

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
            for (field, alternative) in message.fields.iter().zip(alternatives) {
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
        let required: Vec<&str> =
            message.fields.iter().filter(|field| field.rule.is_required()).map(|field| field.json_name).collect();
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
        ("/Part/oneOf/1/properties/raw/format", json!("byte")),
        ("/Part/oneOf/3/properties/data", json!({"description": "Any JSON value, null included."})),
        ("/Part/oneOf/0/properties/mediaType/type", json!("string")),
        ("/TaskState/type", json!("string")),
        ("/TaskState/enum/6", json!("TASK_STATE_INPUT_REQUIRED")),
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
