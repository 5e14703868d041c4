//! ProtoJSON on the way in: what each proto type may look like (A2A §5.5-5.7).
//!
//! An [`Element`] is one value (a scalar, an enum, a message), a [`Field`] is what a message holds:
//! an element, an `Option`, a list or a map of them. `null` means absent for every field and is an
//! error for every element, so `null` in a list is refused. Nothing passes through
//! [`serde_json::Value`] except what is free-form by declaration. Output needs nothing of this:
//! serde's own `Serialize` already prints what ProtoJSON asks.

use crate::Violation;
use crate::description::Label;
use crate::validate::Path;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::Type;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

mod any;
mod bytes;
mod number;
pub use any::Struct;
pub(crate) use any::{Any, check_nesting};
pub(crate) use bytes::{Base64, Bytes};

/// One value of a proto type. `null` is not one.
pub(crate) trait Element: Sized {
    /// The proto's name of the type.
    const TYPE: &'static str;
    /// The label of `Option<Self>`: messages have presence by nature, scalars by `optional`.
    const PRESENCE: Label;

    /// Reads a value.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
    /// Whether a REQUIRED field holding this counts as missing.
    fn is_missing(&self) -> bool {
        false
    }
    /// The schema of the type, or a reference to it.
    fn schema() -> MetaSchemaRef;
    /// Adds referenced schemas to the document.
    fn register(_registry: &mut Registry) {}
    /// Reports what is wrong with the value.
    fn check(&self, _at: &Path<'_>, _out: &mut Vec<Violation>) {}
}

/// What a message holds under one name. `null` and absence give the default.
pub(crate) trait Field: Sized + Default {
    /// The proto's name of the element's type.
    const TYPE: &'static str;
    /// Cardinality and presence.
    const LABEL: Label;

    /// Reads a value that is not null.
    fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
    /// Whether ProtoJSON leaves the field out.
    fn is_default(&self) -> bool;
    /// Whether there is nothing that could be printed at all.
    fn is_absent(&self) -> bool {
        false
    }
    /// Whether a REQUIRED field holding this counts as missing.
    fn is_missing(&self) -> bool;
    /// The schema of the field.
    fn schema() -> MetaSchemaRef;
    /// Adds referenced schemas to the document.
    fn register(registry: &mut Registry);
    /// Reports what is wrong with the elements.
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>);

    /// Reads a value or null.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(Nullable(PhantomData))
    }
}

struct Nullable<F>(PhantomData<F>);

impl<'de, F: Field> Visitor<'de> for Nullable<F> {
    type Value = F;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} or null", F::TYPE)
    }
    fn visit_none<E>(self) -> Result<F, E> {
        Ok(F::default())
    }
    fn visit_unit<E>(self) -> Result<F, E> {
        Ok(F::default())
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<F, D::Error> {
        F::read_present(deserializer)
    }
}

/// Reads a field's value where serde wants a seed.
pub(crate) struct FieldSeed<F>(PhantomData<F>);

impl<F> FieldSeed<F> {
    pub(crate) const fn new() -> Self {
        FieldSeed(PhantomData)
    }
}

impl<'de, F: Field> DeserializeSeed<'de> for FieldSeed<F> {
    type Value = F;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<F, D::Error> {
        F::read(deserializer)
    }
}

struct ElementSeed<T>(PhantomData<T>);

impl<'de, T: Element> DeserializeSeed<'de> for ElementSeed<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

impl<T: Element + Default + PartialEq> Field for T {
    const TYPE: &'static str = T::TYPE;
    const LABEL: Label = Label::Singular;

    fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer)
    }
    fn is_default(&self) -> bool {
        *self == T::default()
    }
    fn is_missing(&self) -> bool {
        Element::is_missing(self)
    }
    fn schema() -> MetaSchemaRef {
        <T as Element>::schema()
    }
    fn register(registry: &mut Registry) {
        <T as Element>::register(registry);
    }
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        Element::check(self, at, out);
    }
}

impl<T: Element> Field for Option<T> {
    const TYPE: &'static str = T::TYPE;
    const LABEL: Label = T::PRESENCE;

    fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Some)
    }
    fn is_default(&self) -> bool {
        self.is_none()
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
    fn is_missing(&self) -> bool {
        self.as_ref().is_none_or(Element::is_missing)
    }
    fn schema() -> MetaSchemaRef {
        T::schema()
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        if let Some(value) = self {
            value.check(at, out);
        }
    }
}

impl<T: Element> Field for Vec<T> {
    const TYPE: &'static str = T::TYPE;
    const LABEL: Label = Label::Repeated;

    fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T>(PhantomData<T>);
        impl<'de, T: Element> Visitor<'de> for List<T> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of {}", T::TYPE)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element_seed(ElementSeed(PhantomData))? {
                    values.push(value);
                }
                Ok(values)
            }
        }
        deserializer.deserialize_seq(List(PhantomData))
    }
    fn is_default(&self) -> bool {
        self.is_empty()
    }
    fn is_missing(&self) -> bool {
        self.is_empty()
    }
    fn schema() -> MetaSchemaRef {
        inline(MetaSchema { items: Some(Box::new(T::schema())), ..MetaSchema::new("array") })
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        for (index, value) in self.iter().enumerate() {
            value.check(&at.index(index), out);
        }
    }
}

impl<T: Element> Field for BTreeMap<String, T> {
    const TYPE: &'static str = T::TYPE;
    const LABEL: Label = Label::Map;

    fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Element> Visitor<'de> for Entries<T> {
            type Value = BTreeMap<String, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object of {}", T::TYPE)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if entries.contains_key(&key) {
                        return Err(repeated_key());
                    }
                    entries.insert(key, map.next_value_seed(ElementSeed(PhantomData))?);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
    fn is_default(&self) -> bool {
        self.is_empty()
    }
    /// An empty map is a legal value even where one is REQUIRED (an OAuth flow without scopes).
    fn is_missing(&self) -> bool {
        false
    }
    fn schema() -> MetaSchemaRef {
        inline(MetaSchema { additional_properties: Some(Box::new(T::schema())), ..MetaSchema::new("object") })
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        for (key, value) in self {
            value.check(&at.field(key), out);
        }
    }
}

impl Element for String {
    const TYPE: &'static str = "string";
    const PRESENCE: Label = Label::Optional;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de::Deserialize::deserialize(deserializer)
    }
    fn is_missing(&self) -> bool {
        self.is_empty()
    }
    fn schema() -> MetaSchemaRef {
        <String as Type>::schema_ref()
    }
}

impl Element for bool {
    const TYPE: &'static str = "bool";
    const PRESENCE: Label = Label::Optional;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de::Deserialize::deserialize(deserializer)
    }
    fn schema() -> MetaSchemaRef {
        <bool as Type>::schema_ref()
    }
}

/// A schema written in place.
pub(crate) fn inline(schema: MetaSchema) -> MetaSchemaRef {
    MetaSchemaRef::Inline(Box::new(schema))
}

/// The schema of a property, with its own description beside a reference if need be.
pub(crate) fn described(schema: MetaSchemaRef, description: &'static str) -> MetaSchemaRef {
    match self::description(description) {
        None => schema,
        text => schema.merge(MetaSchema { description: text, ..MetaSchema::ANY }),
    }
}

/// The error for a field given twice, camelCase and snake_case counting as the same.
pub(crate) fn duplicate<E: de::Error>(name: &'static str) -> E {
    E::custom(format_args!("`{name}` is given twice"))
}

/// The error for a key given twice where any key may stand: it is the sender's text, and not repeated.
pub(crate) fn repeated_key<E: de::Error>() -> E {
    E::custom("must not hold a key that is given twice")
}

/// The error for a value that its type does not have: what is expected, and never the value, which may be a secret.
pub(crate) fn refused<E: de::Error>(expected: &dyn de::Expected) -> E {
    E::custom(format_args!("must be {expected}"))
}

/// The first doc comment of a type or field as a description; `None` when there is none.
pub(crate) fn description(text: &'static str) -> Option<&'static str> {
    Some(text.trim_ascii()).filter(|text| !text.is_empty())
}

/// One alternative of a union's schema: an object in which `name` must stand, with what else may. It gets a name of
/// its own in the document, because generators call a schema in place by its title or by its property, and either
/// collides with the type of the property.
pub(crate) fn member(
    registry: &mut Registry,
    component: String,
    name: &'static str,
    (schema, about): (MetaSchemaRef, &'static str),
    beside: Vec<(&'static str, MetaSchemaRef)>,
) -> MetaSchemaRef {
    let schema = MetaSchema {
        description: description(about),
        required: vec![name],
        properties: std::iter::once((name, described(schema, about))).chain(beside).collect(),
        ..MetaSchema::new("object")
    };
    registry.schemas.insert(component.clone(), schema);
    MetaSchemaRef::Reference(component)
}

/// Whether a value of a type that cannot be absent stands for absence: an enum's zero.
pub(crate) trait Presence {
    /// Messages are what they hold; their own fields report what is missing.
    fn is_unset(&self) -> bool {
        false
    }
}
