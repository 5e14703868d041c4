//! `enumeration!`: enums.

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
                            .ok_or_else(|| $crate::json::refused(&self))
                    }
                    fn visit_i64<E: ::serde::de::Error>(self, number: i64) -> Result<$Name, E> {
                        $Name::from_number(number)
                            .ok_or_else(|| $crate::json::refused(&self))
                    }
                    fn visit_u64<E: ::serde::de::Error>(self, number: u64) -> Result<$Name, E> {
                        i64::try_from(number)
                            .ok()
                            .and_then($Name::from_number)
                            .ok_or_else(|| $crate::json::refused(&self))
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
            // Zero stands for absence: whoever means it leaves the field out.
            enum_items: $Name::ALL.iter().filter(|value| value.number() != 0).map(|value| value.name().into()).collect(),
            ..::poem_openapi::registry::MetaSchema::new("string")
        });
    };
}
pub(crate) use enumeration;
