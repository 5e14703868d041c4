//! Declaring types as the proto does: `message!`, `union!` and `enumeration!`.
//!
//! A declaration is the only place that knows a field's name, number, JSON name, type and whether it is
//! REQUIRED. The struct, both directions of ProtoJSON, the OpenAPI schema, the check of §5.7 and the row
//! that a test compares with `fields.tsv` are all made from it.
//!
//! ```text
//! /// A message.
//! pub struct Message {
//!     /// What the field means.
//!     message_id: String as "messageId" = 1 [required], rules::id;
//! }
//! ```
//!
//! Label and presence follow from the Rust type ([`crate::json::Field`]); the word in brackets is a
//! [`Rule`]; the path after the comma is a further check, run when nothing REQUIRED is missing.

use crate::Violation;
use crate::description::{FieldDescription, Rule};
use crate::json::{Field, duplicate};
use crate::validate::Path;
use poem_openapi::registry::MetaSchemaRef;
use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use std::fmt;

mod enumeration;
mod message;
mod union;
pub(crate) use enumeration::enumeration;
pub(crate) use message::message;
pub(crate) use union::{choose, not_one, union, union_body};

/// Reads a key and finds the field it names, by its JSON name or its proto name. Gives the index of the
/// field, or `fields.len()` for a key that is to be ignored.
pub(crate) struct Key<'a> {
    pub(crate) fields: &'static [FieldDescription],
    /// One bit a field: which keys came already.
    pub(crate) seen: &'a mut u64,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }
    fn visit_str<E: de::Error>(self, key: &str) -> Result<usize, E> {
        let found = self.fields.iter().position(|field| field.json_name == key || field.name == key);
        let Some(index) = found else { return Ok(self.fields.len()) };
        let bit = 1 << index;
        if *self.seen & bit != 0 {
            return Err(duplicate(self.fields[index].json_name));
        }
        *self.seen |= bit;
        Ok(index)
    }
}

/// Checks a field by its rule. Gives whether the field's own check is worth running.
pub(crate) fn check_field<F: Field>(field: &F, rule: Rule, at: &Path<'_>, out: &mut Vec<Violation>) -> bool {
    match rule {
        Rule::Required if field.is_missing() => {
            out.push(at.violation("is required"));
            return false;
        }
        Rule::Draft => {}
        _ => field.check(at, out),
    }
    true
}

/// The schema of a field by its rule: where emptiness is a violation, the document says so.
pub(crate) fn filled(schema: MetaSchemaRef, rule: Rule) -> MetaSchemaRef {
    let MetaSchemaRef::Inline(mut schema) = schema else { return schema };
    if rule == Rule::Required {
        match schema.ty {
            "string" if schema.format.is_none() => schema.min_length = Some(1),
            "array" => schema.min_items = Some(1),
            _ => {}
        }
    }
    MetaSchemaRef::Inline(schema)
}

/// Whether ProtoJSON prints the field.
pub(crate) fn is_printed<F: Field>(field: &F, rule: Rule) -> bool {
    if rule.is_emitted() { !field.is_absent() } else { !field.is_default() }
}

macro_rules! number {
    () => {
        None
    };
    ($number:literal) => {
        Some($number)
    };
}
pub(crate) use number;

macro_rules! rule {
    () => {
        $crate::description::Rule::Plain
    };
    (required) => {
        $crate::description::Rule::Required
    };
    (present) => {
        $crate::description::Rule::Present
    };
    (emitted) => {
        $crate::description::Rule::Emitted
    };
    (draft) => {
        $crate::description::Rule::Draft
    };
}
pub(crate) use rule;

/// Gives a serde type that has a schema its place in documents and in messages.
macro_rules! documented {
    ($Name:ident, |$registry:ident| $schema:expr) => {
        impl ::poem_openapi::types::Type for $Name {
            const IS_REQUIRED: bool = true;
            type RawValueType = Self;
            type RawElementValueType = Self;
            fn name() -> ::std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }
            fn schema_ref() -> ::poem_openapi::registry::MetaSchemaRef {
                ::poem_openapi::registry::MetaSchemaRef::Reference(stringify!($Name).into())
            }
            fn register(registry: &mut ::poem_openapi::registry::Registry) {
                registry.create_schema::<Self, _>(stringify!($Name).into(), |$registry| $schema);
            }
            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }
            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(::std::iter::once(self))
            }
        }

        impl ::poem_openapi::types::ParseFromJSON for $Name {
            fn parse_from_json(value: Option<::serde_json::Value>) -> ::poem_openapi::types::ParseResult<Self> {
                ::serde_json::from_value(value.unwrap_or_default()).map_err(::poem_openapi::types::ParseError::custom)
            }
        }

        impl ::poem_openapi::types::ToJSON for $Name {
            fn to_json(&self) -> Option<::serde_json::Value> {
                ::serde_json::to_value(self).ok()
            }
        }

        impl $crate::json::Element for $Name {
            const TYPE: &'static str = stringify!($Name);
            const PRESENCE: $crate::description::Label = $crate::description::Label::Singular;
            fn read<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                ::serde::Deserialize::deserialize(deserializer)
            }
            fn schema() -> ::poem_openapi::registry::MetaSchemaRef {
                <Self as ::poem_openapi::types::Type>::schema_ref()
            }
            fn register(registry: &mut ::poem_openapi::registry::Registry) {
                <Self as ::poem_openapi::types::Type>::register(registry);
            }
            fn is_missing(&self) -> bool {
                $crate::json::Presence::is_unset(self)
            }
            fn check(&self, at: &$crate::Path<'_>, out: &mut Vec<$crate::Violation>) {
                $crate::Validate::check(self, at, out);
            }
        }
    };
}
pub(crate) use documented;
