//! `union!`: messages that are nothing but a `oneof`.

use crate::description::FieldDescription;
use serde::de;

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
                        f.write_str(concat!("an object (", stringify!($Name), ")"))
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
                    registry,
                    concat!(stringify!($Name), stringify!($Member)).to_owned(),
                    $json,
                    (<$type as $crate::json::Element>::schema(), $about),
                    Vec::new(),
                )),*],
                ..::poem_openapi::registry::MetaSchema::new("object")
            }
        });
    };
}
pub(crate) use union_body;

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
