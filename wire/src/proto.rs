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
use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use std::fmt;

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

/// Declares messages. See the module's description.
macro_rules! message {
    ($(
        $(#[doc = $doc:literal])*
        pub struct $Name:ident {
            $(
                $(#[doc = $about:literal])*
                $field:ident : $type:ty as $json:literal $(= $number:literal)? $([$rule:ident])? $(, $check:path)? ;
            )*
        }
    )*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $Name {
            $($(#[doc = $about])* pub $field: $type,)*
        }

        impl $crate::description::Described for $Name {
            const DESCRIPTION: $crate::description::MessageDescription = $crate::description::MessageDescription {
                name: stringify!($Name),
                fields: &[$($crate::description::FieldDescription {
                    name: stringify!($field),
                    json_name: $json,
                    number: $crate::proto::number!($($number)?),
                    element: <$type as $crate::json::Field>::TYPE,
                    label: <$type as $crate::json::Field>::LABEL,
                    rule: $crate::proto::rule!($($rule)?),
                }),*],
            };
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(if $crate::proto::is_printed(&self.$field, $crate::proto::rule!($($rule)?)) {
                    map.serialize_entry($json, &self.$field)?;
                })*
                map.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[expect(non_camel_case_types, reason = "a variant a field, named like it")]
                enum Index { $($field),* }
                struct Fields;
                impl<'de> ::serde::de::Visitor<'de> for Fields {
                    type Value = $Name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($Name), " object"))
                    }
                    fn visit_map<A: ::serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$Name, A::Error> {
                        let fields = <$Name as $crate::description::Described>::DESCRIPTION.fields;
                        let mut message = $Name::default();
                        let mut seen = 0;
                        while let Some(index) = map.next_key_seed($crate::proto::Key { fields, seen: &mut seen })? {
                            $(if index == Index::$field as usize {
                                message.$field = map.next_value_seed($crate::json::FieldSeed::new())?;
                                continue;
                            })*
                            map.next_value::<::serde::de::IgnoredAny>()?;
                        }
                        Ok(message)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }

        impl $crate::Validate for $Name {
            fn check(&self, at: &$crate::Path<'_>, out: &mut Vec<$crate::Violation>) {
                $({
                    let here = at.field($json);
                    let rule = $crate::proto::rule!($($rule)?);
                    if $crate::proto::check_field(&self.$field, rule, &here, out) {
                        $($check(&self.$field, &here, out);)?
                    }
                })*
            }
        }

        impl $crate::json::Presence for $Name {}

        $crate::proto::documented!($Name, |registry| {
            $(<$type as $crate::json::Field>::register(registry);)*
            ::poem_openapi::registry::MetaSchema {
                description: $crate::json::description(concat!($($doc),*)),
                required: <$Name as $crate::description::Described>::DESCRIPTION
                    .fields
                    .iter()
                    .filter(|field| field.rule.is_required())
                    .map(|field| field.json_name)
                    .collect(),
                properties: vec![$((
                    $json,
                    $crate::json::described(<$type as $crate::json::Field>::schema(), concat!($($about),*)),
                )),*],
                ..::poem_openapi::registry::MetaSchema::new("object")
            }
        });
    )*};
}
pub(crate) use message;

/// Declares a `oneof` that is all its message has: an object with exactly one of the members.
///
/// The word after the name is the `oneof`'s own name in the proto.
macro_rules! union {
    (
        $(#[doc = $doc:literal])*
        pub enum $Name:ident : $oneof:ident {
            $(
                $(#[doc = $about:literal])*
                $Member:ident($type:ty) as $json:literal / $field:ident $(= $number:literal)? ;
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $Name {
            $($(#[doc = $about])* $Member($type),)*
        }

        $(impl From<$type> for $Name {
            fn from(member: $type) -> Self {
                $Name::$Member(member)
            }
        })*

        $crate::proto::union_body! { $Name : $oneof, concat!($($doc),*), {
            $($Member($type) as $json / $field, $crate::proto::number!($($number)?), concat!($($about),*);)*
        }}
    };
}
pub(crate) use union;

/// What `union!` implements, for enums whose members do not tell their types apart.
macro_rules! union_body {
    ($Name:ident : $oneof:ident, $doc:expr, {
        $($Member:ident($type:ty) as $json:literal / $field:ident, $number:expr, $about:expr;)*
    }) => {
        impl $Name {
            /// The member's name on the wire.
            pub const fn member(&self) -> &'static str {
                match self { $($Name::$Member(_) => $json),* }
            }
        }

        impl $crate::description::Described for $Name {
            const DESCRIPTION: $crate::description::MessageDescription = $crate::description::MessageDescription {
                name: stringify!($Name),
                fields: &[$($crate::description::FieldDescription {
                    name: stringify!($field),
                    json_name: $json,
                    number: $number,
                    element: <$type as $crate::json::Element>::TYPE,
                    label: $crate::description::Label::OneOf(stringify!($oneof)),
                    rule: $crate::description::Rule::Plain,
                }),*],
            };
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(Some(1))?;
                match self { $($Name::$Member(member) => map.serialize_entry($json, member)?),* }
                map.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[expect(non_camel_case_types, reason = "a variant a field, named like it")]
                enum Index { $($field),* }
                struct Members;
                impl<'de> ::serde::de::Visitor<'de> for Members {
                    type Value = $Name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($Name), " object"))
                    }
                    fn visit_map<A: ::serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$Name, A::Error> {
                        let fields = <$Name as $crate::description::Described>::DESCRIPTION.fields;
                        let mut chosen = None;
                        let mut seen = 0;
                        while let Some(index) = map.next_key_seed($crate::proto::Key { fields, seen: &mut seen })? {
                            $(if index == Index::$field as usize {
                                let member: Option<$type> = map.next_value_seed($crate::json::FieldSeed::new())?;
                                $crate::proto::choose(&mut chosen, member.map($Name::$Member), fields)?;
                                continue;
                            })*
                            map.next_value::<::serde::de::IgnoredAny>()?;
                        }
                        chosen.ok_or_else(|| $crate::proto::not_one(fields))
                    }
                }
                deserializer.deserialize_map(Members)
            }
        }

        impl $crate::Validate for $Name {
            fn check(&self, at: &$crate::Path<'_>, out: &mut Vec<$crate::Violation>) {
                match self { $($Name::$Member(member) => $crate::json::Element::check(member, &at.field($json), out)),* }
            }
        }

        impl $crate::json::Presence for $Name {}

        $crate::proto::documented!($Name, |registry| {
            $(<$type as $crate::json::Element>::register(registry);)*
            ::poem_openapi::registry::MetaSchema {
                description: $crate::json::description($doc),
                one_of: vec![$($crate::json::member(
                    $json,
                    $crate::json::described(<$type as $crate::json::Element>::schema(), $about),
                    Vec::new(),
                )),*],
                ..::poem_openapi::registry::MetaSchema::new("object")
            }
        });
    };
}
pub(crate) use union_body;

/// Declares an enum: printed by name, read by name or number; what the proto does not know is refused.
macro_rules! enumeration {
    (
        $(#[doc = $doc:literal])*
        pub enum $Name:ident {
            $($(#[doc = $about:literal])* $Value:ident = $number:literal $text:literal;)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Name {
            #[default]
            $($(#[doc = $about])* $Value = $number,)*
        }

        impl $Name {
            /// Every value, in the order of the proto's numbers.
            pub const ALL: [$Name; [$($number),*].len()] = [$($Name::$Value),*];

            /// The proto's name.
            pub const fn name(self) -> &'static str {
                match self { $($Name::$Value => $text),* }
            }

            /// The proto's number.
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// The value of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some($Name::$Value),)* _ => None }
            }

            /// The value of that number.
            pub const fn from_number(number: i64) -> Option<Self> {
                match number { $($number => Some($Name::$Value),)* _ => None }
            }
        }

        impl ::std::fmt::Display for $Name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct NameOrNumber;
                impl ::serde::de::Visitor<'_> for NameOrNumber {
                    type Value = $Name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("the name of a ", stringify!($Name)))
                    }
                    fn visit_str<E: ::serde::de::Error>(self, name: &str) -> Result<$Name, E> {
                        $Name::from_name(name)
                            .ok_or_else(|| E::invalid_value(::serde::de::Unexpected::Str(name), &self))
                    }
                    fn visit_i64<E: ::serde::de::Error>(self, number: i64) -> Result<$Name, E> {
                        $Name::from_number(number)
                            .ok_or_else(|| E::invalid_value(::serde::de::Unexpected::Signed(number), &self))
                    }
                    fn visit_u64<E: ::serde::de::Error>(self, number: u64) -> Result<$Name, E> {
                        i64::try_from(number)
                            .ok()
                            .and_then($Name::from_number)
                            .ok_or_else(|| E::invalid_value(::serde::de::Unexpected::Unsigned(number), &self))
                    }
                }
                deserializer.deserialize_any(NameOrNumber)
            }
        }

        impl $crate::Validate for $Name {
            fn check(&self, _at: &$crate::Path<'_>, _out: &mut Vec<$crate::Violation>) {}
        }

        impl $crate::json::Presence for $Name {
            fn is_unset(&self) -> bool {
                self.number() == 0
            }
        }

        $crate::proto::documented!($Name, |_registry| ::poem_openapi::registry::MetaSchema {
            description: $crate::json::description(concat!($($doc),*)),
            enum_items: vec![$($text.into()),*],
            ..::poem_openapi::registry::MetaSchema::new("string")
        });
    };
}
pub(crate) use enumeration;

/// Takes the member of a union, unless one was taken already.
pub(crate) fn choose<T, E: de::Error>(
    chosen: &mut Option<T>,
    member: Option<T>,
    fields: &'static [FieldDescription],
) -> Result<(), E> {
    match (member, &chosen) {
        (Some(_), Some(_)) => Err(not_one(fields)),
        (Some(member), None) => {
            *chosen = Some(member);
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

/// The error for a union without, or with more than, one member.
pub(crate) fn not_one<E: de::Error>(fields: &'static [FieldDescription]) -> E {
    let names: Vec<&str> = fields.iter().map(|field| field.json_name).collect();
    E::custom(format_args!("exactly one of {} must be set", names.join(", ")))
}
