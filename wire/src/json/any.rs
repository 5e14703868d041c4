//! Free-form JSON: `google.protobuf.Value` and `google.protobuf.Struct`.
//!
//! serde_json's own `Value` lets the last of two equal keys win; ProtoJSON refuses them.

use super::{Element, inline};
use crate::Violation;
use crate::description::Label;
use crate::rules::NESTING;
use crate::validate::Path;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use std::fmt;

/// A free-form JSON object: `metadata`, `params`, `header`.
pub type Struct = serde_json::Map<String, Value>;

/// Reads any JSON value, null included, refusing duplicate keys at every depth.
pub(crate) struct Any;

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number must be finite"))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Any)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        Object.visit_map(map).map(Value::Object)
    }
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Struct;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Struct, A::Error> {
        let mut object = Struct::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(super::repeated_key());
            }
            let value = map.next_value_seed(Any)?;
            object.insert(key, value);
        }
        Ok(object)
    }
}

impl Element for Struct {
    const TYPE: &'static str = "google.protobuf.Struct";
    const PRESENCE: Label = Label::Singular;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object)
    }
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        if self.values().any(|value| is_deeper(value, NESTING - 1)) {
            out.push(too_deep(at));
        }
    }
    fn schema() -> MetaSchemaRef {
        inline(MetaSchema {
            additional_properties: Some(Box::new(inline(MetaSchema::ANY))),
            ..MetaSchema::new("object")
        })
    }
}

/// Checks a free-form value: every reader of JSON has a bound on nesting, and what is stored here is sent on
/// inside of other things.
pub(crate) fn check_nesting(value: &Value, at: &Path<'_>, out: &mut Vec<Violation>) {
    if is_deeper(value, NESTING) {
        out.push(too_deep(at));
    }
}

fn too_deep(at: &Path<'_>) -> Violation {
    at.violation(format!("must not be nested deeper than {NESTING} levels"))
}

/// Whether more than `levels` objects and lists stand one in the other. Looks no deeper than that.
fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(values) => levels == 0 || values.iter().any(|value| is_deeper(value, levels - 1)),
        Value::Object(members) => levels == 0 || members.values().any(|value| is_deeper(value, levels - 1)),
        _ => false,
    }
}
