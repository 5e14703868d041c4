//! What a message declares about itself, as data: one row a field, as `a2a.proto` has it.
//!
//! The rows exist so that a test can hold the Rust types against the protocol's own descriptor set
//! (§1.4 permits hand-written types only with such a comparison).

use std::borrow::Cow;

/// How often a field may occur, and whether absence can be told from the zero value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// At most once; a scalar's absence is its zero value, a message's absence shows.
    Singular,
    /// proto3 `optional`: absence shows.
    Optional,
    /// Any number of times.
    Repeated,
    /// A map from strings.
    Map,
    /// A member of the named `oneof`.
    OneOf(&'static str),
}

/// What the protocol asks of a field, and what we print although ProtoJSON would not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Nothing is asked.
    Plain,
    /// REQUIRED: always printed, and a violation when missing or empty.
    Required,
    /// REQUIRED, but the empty value is a legal one: always printed, never a violation.
    Present,
    /// Not REQUIRED, yet always printed.
    Emitted,
    /// Checked by its own rule only, because what the type asks is not asked here.
    Draft,
}

impl Rule {
    /// Whether the protocol marks the field REQUIRED.
    pub const fn is_required(self) -> bool {
        matches!(self, Rule::Required | Rule::Present)
    }

    /// Whether the field is printed even when it holds its default.
    pub const fn is_emitted(self) -> bool {
        matches!(self, Rule::Required | Rule::Present | Rule::Emitted)
    }
}

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDescription {
    /// The proto's snake_case name.
    pub name: &'static str,
    /// The lowerCamelCase name on the wire.
    pub json_name: &'static str,
    /// The field number; `None` for types that no proto declares.
    pub number: Option<u32>,
    /// The proto type of one element: `string`, `Part`, `google.protobuf.Struct`.
    pub element: &'static str,
    /// Cardinality and presence.
    pub label: Label,
    /// What is asked of it.
    pub rule: Rule,
}

impl FieldDescription {
    /// The type as the proto writes it, maps included: `map<string,SecurityScheme>`.
    pub fn proto_type(&self) -> Cow<'static, str> {
        match self.label {
            Label::Map => format!("map<string,{}>", self.element).into(),
            _ => self.element.into(),
        }
    }
}

/// One message: its proto name and its fields in order of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageDescription {
    /// The proto's name, which is also the Rust type's and the schema's.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [FieldDescription],
}

/// A type that can say what it consists of.
pub trait Described {
    /// Name and fields.
    const DESCRIPTION: MessageDescription;
}
