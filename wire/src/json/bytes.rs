//! Bytes: base64, printed in the standard alphabet with padding, read in either alphabet with or without.

use super::{Element, inline, refused};
use crate::description::Label;
use base64::Engine as _;
use base64::alphabet::{self, Alphabet};
use base64::display::Base64Display;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use serde::de::{self, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;

/// Bytes as read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Bytes as printed.
pub(crate) struct Base64<'a>(pub(crate) &'a [u8]);

const fn lenient(alphabet: &Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, config)
}

const ANY_STANDARD: GeneralPurpose = lenient(&alphabet::STANDARD);
const ANY_URL_SAFE: GeneralPurpose = lenient(&alphabet::URL_SAFE);

impl Element for Bytes {
    const TYPE: &'static str = "bytes";
    const PRESENCE: Label = Label::Optional;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("base64")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
                let engine = if text.contains(['-', '_']) { &ANY_URL_SAFE } else { &ANY_STANDARD };
                engine.decode(text).map(Bytes).map_err(|_| refused(&self))
            }
        }
        deserializer.deserialize_str(Text)
    }

    fn schema() -> MetaSchemaRef {
        inline(MetaSchema::new_with_format("string", "byte"))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Base64(&self.0).serialize(serializer)
    }
}

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}
