//! Numbers: integers come as `5`, `"5"`, `5.0` or `5e0`; whatever would lose something is refused.

use super::{Element, refused};
use crate::description::Label;
use poem_openapi::registry::MetaSchemaRef;
use poem_openapi::types::Type;
use serde::de::{self, Deserializer, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Above this an `f64` no longer holds every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

struct Integer<T>(&'static str, PhantomData<T>);

impl<T: TryFrom<i64>> Integer<T> {
    fn narrow<E: de::Error>(&self, value: i64) -> Result<T, E> {
        T::try_from(value).map_err(|_| refused(self))
    }
    fn whole(value: f64) -> Option<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within what an i64 holds exactly")]
        (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
    }
}

impl<T: TryFrom<i64>> Visitor<'_> for Integer<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.narrow(value)
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        match i64::try_from(value) {
            Ok(value) => self.narrow(value),
            Err(_) => Err(refused(&self)),
        }
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        match Self::whole(value) {
            Some(whole) => self.narrow(whole),
            None => Err(refused(&self)),
        }
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<T, E> {
        let whole = value.parse().ok().or_else(|| value.parse().ok().and_then(Self::whole));
        match whole {
            Some(whole) => self.narrow(whole),
            None => Err(refused(&self)),
        }
    }
}

macro_rules! integer {
    ($type:ty, $proto:literal, $expected:literal) => {
        impl Element for $type {
            const TYPE: &'static str = $proto;
            const PRESENCE: Label = Label::Optional;
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Integer($expected, PhantomData))
            }
            fn schema() -> MetaSchemaRef {
                <$type as Type>::schema_ref()
            }
        }
    };
}

integer!(i32, "int32", "a 32 bit integer");
integer!(i64, "int64", "a 64 bit integer");

impl Element for f64 {
    const TYPE: &'static str = "double";
    const PRESENCE: Label = Label::Optional;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Double;
        impl Visitor<'_> for Double {
            type Value = f64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
                Ok(value)
            }
            fn visit_i64<E>(self, value: i64) -> Result<f64, E> {
                Ok(value as f64)
            }
            fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
                Ok(value as f64)
            }
        }
        deserializer.deserialize_f64(Double)
    }
    fn schema() -> MetaSchemaRef {
        <f64 as Type>::schema_ref()
    }
}
