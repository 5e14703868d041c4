//! The checks that declarations name after a field: bounds and alphabets beyond the type.
//!
//! A rule is two things of one name, so that a declaration names it once: a function, which says to a value what is wrong with it, and a
//! type, which says to documents what is right ([`Told`]).

use crate::Violation;
use crate::json::inline;
use crate::tenant::AGENT_LENGTH;
use crate::validate::Path;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};

/// What a rule says in documents.
pub(crate) trait Told {
    /// Whether it asks for a value.
    const REQUIRED: bool = false;
    /// The field's schema, bounded by the rule.
    fn schema(schema: MetaSchemaRef, registry: &mut Registry) -> MetaSchemaRef;
}

/// Bounds that documents know: of numbers, of texts and, in a list, of its elements; what is `None` is unbounded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) max_items: Option<usize>,
}

impl Bounds {
    /// The schema within the bounds. A reference stays what it is.
    pub(crate) fn of(self, schema: MetaSchemaRef) -> MetaSchemaRef {
        let MetaSchemaRef::Inline(mut schema) = schema else { return schema };
        if let Some(items) = schema.items.take() {
            schema.max_items = self.max_items;
            schema.items = Some(Box::new(Bounds { max_items: None, ..self }.of(*items)));
            return MetaSchemaRef::Inline(schema);
        }
        let Bounds { minimum, maximum, min_length, max_length, max_items: _ } = self;
        inline(MetaSchema { minimum, maximum, min_length, max_length, ..*schema })
    }
}

/// The types of rules that are bounds, or nothing that a document could say.
macro_rules! told {
    ($($rule:ident { $($bound:ident: $value:expr),* })*) => {$(
        #[expect(non_camel_case_types, reason = "the function's own name")]
        pub(crate) enum $rule {}
        impl $crate::rules::Told for $rule {
            fn schema(
                schema: ::poem_openapi::registry::MetaSchemaRef,
                _registry: &mut ::poem_openapi::registry::Registry,
            ) -> ::poem_openapi::registry::MetaSchemaRef {
                let bounds = $crate::rules::Bounds::default();
                $(let bounds = $crate::rules::Bounds { $bound: Some($value), ..bounds };)*
                bounds.of(schema)
            }
        }
    )*};
}
pub(crate) use told;

/// The types of rules about names: what they are about has a name in documents, so that generators make one type of it. Documents know no
/// empty name, although one is read as none: whoever means that leaves it out.
macro_rules! told_by_name {
    ($($rule:ident: $schema:literal, $about:literal, 1..=$most:expr, |$reference:ident| $field:expr;)*) => {$(
        #[expect(non_camel_case_types, reason = "the function's own name")]
        pub(crate) enum $rule {}
        impl Told for $rule {
            fn schema(_schema: MetaSchemaRef, registry: &mut Registry) -> MetaSchemaRef {
                let bounds = Bounds { min_length: Some(1), max_length: Some($most), ..Bounds::default() };
                let schema = MetaSchema { description: Some($about), ..MetaSchema::new("string") };
                if let MetaSchemaRef::Inline(schema) = bounds.of(inline(schema)) {
                    registry.schemas.insert($schema.to_owned(), *schema);
                }
                let $reference = MetaSchemaRef::Reference($schema.to_owned());
                $field
            }
        }
    )*};
}

told_by_name! {
    id: "Id", "What something is called.", 1..=ID_LENGTH, |id| id;
    ids: "Id", "What something is called.", 1..=ID_LENGTH, |id| list(id);
    names: "AgentName", "What an agent is called.", 1..=AGENT_LENGTH, |name| list(name);
}

fn list(items: MetaSchemaRef) -> MetaSchemaRef {
    inline(MetaSchema { items: Some(Box::new(items)), ..MetaSchema::new("array") })
}

told! {
    length { minimum: 0.0 }
    page_size { minimum: 1.0, maximum: f64::from(PAGE_SIZE) }
    page_size_or_zero { minimum: 0.0, maximum: f64::from(PAGE_SIZE) }
    header_text {}
    token { max_length: TOKEN_BYTES }
    credentials { max_length: CREDENTIALS_BYTES }
    scheme { max_length: SCHEME_BYTES }
}

/// The longest id, in characters.
pub const ID_LENGTH: usize = 256;
/// How many objects and lists of free-form JSON may stand one in the other. Protobuf's readers end at 100 messages, and
/// an object is three of them (a value, its struct, the struct's entry); what stands around it (a part of a message of a task of a
/// list's answer) is six at most. What one binding takes the others must be able to give.
pub const NESTING: usize = 30;
/// The longest token of a push config, in bytes.
pub const TOKEN_BYTES: usize = 4096;
/// The longest credentials, in bytes.
pub const CREDENTIALS_BYTES: usize = 8192;
/// The longest name of an authentication scheme, in bytes.
pub const SCHEME_BYTES: usize = 64;
/// The largest page.
pub const PAGE_SIZE: i32 = 100;

/// An id: at most [`ID_LENGTH`] characters, none of them NUL, which Postgres cannot hold. Empty is absent.
pub(crate) fn id(value: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    // Bytes bound characters from above, so that the count is made for long ids only.
    if value.len() > ID_LENGTH && value.chars().count() > ID_LENGTH {
        out.push(at.violation(format!("must be at most {ID_LENGTH} characters")));
    }
    if value.contains('\0') {
        out.push(at.violation("must not contain NUL"));
    }
}

/// Ids, each present.
pub(crate) fn ids(values: &[String], at: &Path<'_>, out: &mut Vec<Violation>) {
    for (index, value) in values.iter().enumerate() {
        let here = at.index(index);
        if value.is_empty() {
            out.push(here.violation("must not be empty"));
        }
        id(value, &here, out);
    }
}

/// Agent names, each present; at least one is asked for by the field's own rule.
pub(crate) fn names(values: &[String], at: &Path<'_>, out: &mut Vec<Violation>) {
    for (index, value) in values.iter().enumerate() {
        if crate::AgentName::parse(value).is_err() {
            out.push(at.index(index).violation("is not an agent name"));
        }
    }
}

/// A length that may be zero but not less.
pub(crate) fn length(value: &Option<i32>, at: &Path<'_>, out: &mut Vec<Violation>) {
    if value.is_some_and(|length| length < 0) {
        out.push(at.violation("must not be negative"));
    }
}

/// A page size with presence: an explicit zero is an error.
pub(crate) fn page_size(value: &Option<i32>, at: &Path<'_>, out: &mut Vec<Violation>) {
    if value.is_some_and(|size| !(1..=PAGE_SIZE).contains(&size)) {
        out.push(at.violation(format!("must be between 1 and {PAGE_SIZE}")));
    }
}

/// A page size without presence: zero is unset.
pub(crate) fn page_size_or_zero(value: &i32, at: &Path<'_>, out: &mut Vec<Violation>) {
    page_size(&Some(*value).filter(|size| *size != 0), at, out);
}

/// Text that goes into a header: no CR, LF or NUL.
pub(crate) fn header_text(value: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    if value.contains(['\r', '\n', '\0']) {
        out.push(at.violation("must not contain CR, LF or NUL"));
    }
}

/// The value of a header: visible ASCII, spaces and tabs, so that it can neither end its header nor be read in two ways.
fn header_value(value: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        out.push(at.violation("must be visible ASCII, spaces and tabs: it goes into a header"));
    }
}

fn bytes(value: &str, most: usize, at: &Path<'_>, out: &mut Vec<Violation>) {
    if value.len() > most {
        out.push(at.violation(format!("must be at most {most} bytes")));
    }
}

/// A push config's token: goes into a header.
pub(crate) fn token(value: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    bytes(value, TOKEN_BYTES, at, out);
    header_value(value, at, out);
}

/// Credentials: go into a header.
pub(crate) fn credentials(value: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    bytes(value, CREDENTIALS_BYTES, at, out);
    header_value(value, at, out);
}

/// An HTTP authentication scheme: a token of RFC 9110 §5.6.2.
pub(crate) fn scheme(value: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    bytes(value, SCHEME_BYTES, at, out);
    let token = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    if !token {
        out.push(at.violation("must be an HTTP authentication scheme"));
    }
}
