//! Messages and what they are made of (A2A §4.1.4-4.1.7).

use crate::Violation;
use crate::description::{Described, FieldDescription, Label, MessageDescription, Rule};
use crate::json::{self, Any, Bytes, Element, Field, FieldSeed, Presence, Struct};
use crate::proto::{Key, choose, documented, enumeration, is_printed, message};
use crate::rules;
use crate::validate::{Path, Validate};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

enumeration! {
    /// Who wrote a message.
    pub enum Role {
        /// Nobody said; invalid in a message.
        Unspecified = 0 "ROLE_UNSPECIFIED";
        /// Client to server.
        User = 1 "ROLE_USER";
        /// Server to client.
        Agent = 2 "ROLE_AGENT";
    }
}

message! {
    /// One turn of a conversation between a client and an agent.
    pub struct Message {
        /// Chosen by the author, unique among the author's messages.
        message_id: String as "messageId" = 1 [required], rules::id;
        /// The conversation the message belongs to.
        context_id: String as "contextId" = 2, rules::id;
        /// The task the message continues.
        task_id: String as "taskId" = 3, rules::id;
        /// Who wrote it.
        role: Role as "role" = 4 [required];
        /// The content, at least one part.
        parts: Vec<Part> as "parts" = 5 [required];
        /// Free-form data, by convention keyed by extension URI.
        metadata: Option<Struct> as "metadata" = 6;
        /// URIs of the extensions that contributed to the message.
        extensions: Vec<String> as "extensions" = 7;
        /// Other tasks offered as context.
        reference_task_ids: Vec<String> as "referenceTaskIds" = 8, rules::ids;
    }

    /// Something an agent produced, or the next chunk of it.
    pub struct Artifact {
        /// Unique within its task; chunks of one artifact share it.
        artifact_id: String as "artifactId" = 1 [required], rules::id;
        /// A name for people.
        name: String as "name" = 2;
        /// A description for people.
        description: String as "description" = 3;
        /// The content, at least one part.
        parts: Vec<Part> as "parts" = 4 [required];
        /// Free-form data.
        metadata: Option<Struct> as "metadata" = 5;
        /// URIs of the extensions that contributed to the artifact.
        extensions: Vec<String> as "extensions" = 6;
    }
}

/// A piece of content: exactly one of text, raw, url and data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// The content. `None` is what a client sent that set no member; it is a violation.
    pub content: Option<Content>,
    /// Free-form data about this part.
    pub metadata: Option<Struct>,
    /// A file name, on any kind of part.
    pub filename: String,
    /// The media type, on any kind of part; empty is unspecified.
    pub media_type: String,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text, possibly empty.
    Text(String),
    /// Bytes; base64 in JSON.
    Raw(Vec<u8>),
    /// A reference to a file. Nothing here fetches it.
    Url(String),
    /// Any JSON value, null included.
    Data(Value),
}

impl Part {
    /// A part of one content and nothing else.
    pub fn new(content: Content) -> Self {
        Part { content: Some(content), ..Part::default() }
    }

    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Part::new(Content::Text(text.into()))
    }

    /// A data part.
    pub fn data(data: impl Into<Value>) -> Self {
        Part::new(Content::Data(data.into()))
    }
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Part::new(content)
    }
}

const fn part_field(
    name: &'static str,
    json_name: &'static str,
    number: u32,
    element: &'static str,
    label: Label,
) -> FieldDescription {
    FieldDescription { name, json_name, number: Some(number), element, label, rule: Rule::Plain }
}

const CONTENT: Label = Label::OneOf("content");
/// What is said of a part without content; two members are refused in the same words when read.
const MEMBERS: &str = "exactly one of text, raw, url, data must be set";
const PART: &[FieldDescription] = &[
    part_field("text", "text", 1, "string", CONTENT),
    part_field("raw", "raw", 2, "bytes", CONTENT),
    part_field("url", "url", 3, "string", CONTENT),
    part_field("data", "data", 4, "google.protobuf.Value", CONTENT),
    part_field("metadata", "metadata", 5, "google.protobuf.Struct", Label::Singular),
    part_field("filename", "filename", 6, "string", Label::Singular),
    part_field("media_type", "mediaType", 7, "string", Label::Singular),
];
const CONTENT_FIELDS: &[FieldDescription] = PART.split_at(4).0;

impl Described for Part {
    const DESCRIPTION: MessageDescription = MessageDescription { name: "Part", fields: PART };
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            Some(Content::Text(text)) => map.serialize_entry("text", text)?,
            Some(Content::Raw(bytes)) => map.serialize_entry("raw", &json::Base64(bytes))?,
            Some(Content::Url(url)) => map.serialize_entry("url", url)?,
            Some(Content::Data(data)) => map.serialize_entry("data", data)?,
            None => {}
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        for (name, text) in [("filename", &self.filename), ("mediaType", &self.media_type)] {
            if is_printed(text, Rule::Plain) {
                map.serialize_entry(name, text)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Part;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object (Part)")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
                let mut part = Part::default();
                let mut seen = 0;
                while let Some(index) = map.next_key_seed(Key { fields: PART, seen: &mut seen })? {
                    let member = match index {
                        0 => map.next_value_seed(FieldSeed::<Option<String>>::new())?.map(Content::Text),
                        1 => map.next_value_seed(FieldSeed::<Option<Bytes>>::new())?.map(|b| Content::Raw(b.0)),
                        2 => map.next_value_seed(FieldSeed::<Option<String>>::new())?.map(Content::Url),
                        3 => Some(Content::Data(map.next_value_seed(Any)?)),
                        other => {
                            match other {
                                4 => part.metadata = map.next_value_seed(FieldSeed::new())?,
                                5 => part.filename = map.next_value_seed(FieldSeed::new())?,
                                6 => part.media_type = map.next_value_seed(FieldSeed::new())?,
                                _ => drop(map.next_value::<IgnoredAny>()?),
                            }
                            None
                        }
                    };
                    choose(&mut part.content, member, CONTENT_FIELDS)?;
                }
                Ok(part)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl Validate for Part {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        match &self.content {
            None => out.push(at.violation(MEMBERS)),
            Some(Content::Data(data)) => json::check_nesting(data, &at.field("data"), out),
            Some(_) => {}
        }
        Field::check(&self.metadata, &at.field("metadata"), out);
    }
}

impl Presence for Part {}

documented!(Part, |registry| {
    let beside = || {
        vec![
            ("metadata", json::described(<Struct as Element>::schema(), "Free-form data about this part.")),
            ("filename", json::described(<String as Element>::schema(), "A file name.")),
            ("mediaType", json::described(<String as Element>::schema(), "The media type; absent is unspecified.")),
        ]
    };
    let mut one = |component: &str, name, schema: MetaSchemaRef, about| {
        json::member(registry, component.to_owned(), name, (schema, about), beside())
    };
    MetaSchema {
        description: Some("A piece of content: exactly one of text, raw, url and data."),
        one_of: vec![
            one("PartText", "text", <String as Element>::schema(), "Text, possibly empty."),
            one("PartRaw", "raw", <Bytes as Element>::schema(), "Bytes in base64."),
            one("PartUrl", "url", <String as Element>::schema(), "A reference to a file."),
            one("PartData", "data", json::inline(MetaSchema::ANY), "Any JSON value, null included."),
        ],
        ..MetaSchema::new("object")
    }
});
