//! `message!`: structs with fields.

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
                        f.write_str(concat!("an object (", stringify!($Name), ")"))
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
                required: [$((
                    $json,
                    $crate::proto::rule!($($rule)?).is_required() $(|| <$check as $crate::rules::Told>::REQUIRED)?,
                )),*]
                    .into_iter()
                    .filter_map(|(name, required)| required.then_some(name))
                    .collect(),
                properties: vec![$({
                    let schema = <$type as $crate::json::Field>::schema();
                    $(let schema = <$check as $crate::rules::Told>::schema(schema, registry);)?
                    let schema = $crate::proto::filled(schema, $crate::proto::rule!($($rule)?));
                    ($json, $crate::json::described(schema, concat!($($about),*)))
                }),*],
                ..::poem_openapi::registry::MetaSchema::new("object")
            }
        });
    )*};
}
pub(crate) use message;
