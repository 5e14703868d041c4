//! Tables that become the protocol's own messages: skills and extensions. What the protocol would not allow on a card is refused here,
//! with its line.

use super::kind::{self, Given, Value};
use super::refusal::suggestion;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use std::path::Path;
use url::Url;
use wire::description::{Described, FieldDescription, Label};
use wire::{AgentExtension, AgentSkill, Validate, Violation};

/// Reads records and reports what is wrong with them.
pub(super) struct Reader<'a> {
    /// The file, as it is shown.
    pub(super) path: &'a Path,
    pub(super) problems: &'a mut Vec<String>,
}

impl Reader<'_> {
    /// The skills under `name`.
    pub(super) fn skills(&mut self, name: &str, value: Option<&Value>) -> Vec<AgentSkill> {
        self.read(name, value, "id", |skill: &AgentSkill| &skill.id)
    }

    /// The extensions under `name`. With `signed`, their parameters must be what verifiers make of them.
    pub(super) fn extensions(&mut self, name: &str, value: Option<&Value>, signed: bool) -> Vec<AgentExtension> {
        let mut extensions = self.read(name, value, "uri", |extension: &AgentExtension| &extension.uri);
        for (index, extension) in extensions.iter_mut().enumerate() {
            extension.params = extension.params.take().filter(|params| !params.is_empty());
            if signed && extension.params.iter().flat_map(Map::values).any(is_hollow) {
                let line = given(value, index).map_or(0, |given| line_of(given, "params"));
                self.refuse(line, &format!(
                    "`{name}[{index}].params` has an empty text, list or table, which verifiers of signed cards leave out; leave it out too"
                ));
            }
        }
        extensions
    }

    fn refuse(&mut self, line: usize, problem: &str) {
        self.problems.push(format!("{}:{line}: {problem}", self.path.display()));
    }

    /// The records, each told from the others by its `key`.
    fn read<T: Described + Validate + DeserializeOwned>(
        &mut self,
        name: &str,
        value: Option<&Value>,
        key: &str,
        key_of: impl Fn(&T) -> &String,
    ) -> Vec<T> {
        let Some(Value::List(list)) = value else { return Vec::new() };
        let mut records: Vec<T> = Vec::new();
        let mut seen: Vec<(String, usize)> = Vec::new();
        for (index, each) in list.iter().enumerate() {
            let Value::Table(given) = each else { continue };
            let at = format!("{name}[{index}]");
            let Some(record) = self.record::<T>(&at, given, key) else { continue };
            let id = key_of(&record).clone();
            let line = line_of(given, key);
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == id) {
                self.refuse(line, &format!("`{at}.{key}` is `{id}`, which line {first} has already"));
            }
            seen.push((id, line));
            records.push(record);
        }
        records
    }

    fn record<T: Described + Validate + DeserializeOwned>(&mut self, at: &str, given: &Given, key: &str) -> Option<T> {
        let before = self.problems.len();
        let description = T::DESCRIPTION;
        let mut members = Map::new();
        for (name, line, value) in &given.members {
            let Some(field) = kind::fields(&description).find(|field| field.name == name) else {
                let known = kind::fields(&description).map(|field| field.name);
                self.refuse(*line, &format!("unknown key `{at}.{name}`{}", suggestion(name, known)));
                continue;
            };
            match right(field, value) {
                Ok(value) => {
                    members.insert(field.json_name.to_owned(), value);
                }
                Err(wanted) => {
                    self.refuse(*line, &format!("`{at}.{name}` is `{value}`, wanted is {wanted}"));
                }
            }
        }
        if before < self.problems.len() {
            return None;
        }
        let keyless = !members.contains_key(key);
        let record: T = serde_json::from_value(Json::Object(members)).ok()?;
        let mut violations = Vec::new();
        record.check(&wire::Path::ROOT, &mut violations);
        // The proto does not ask for an extension's URI, and without one it is none.
        if keyless && !violations.iter().any(|violation| violation.field == key) {
            violations.push(Violation::new(key, "is required"));
        }
        for violation in &violations {
            let name = kind::fields(&description)
                .find(|field| field.json_name == violation.field)
                .map_or(violation.field.as_str(), |field| field.name);
            self.refuse(line_of(given, name), &format!("`{at}.{name}` {}", violation.description));
        }
        violations.is_empty().then_some(record)
    }
}

fn given(value: Option<&Value>, index: usize) -> Option<&Given> {
    match value {
        Some(Value::List(list)) => list.get(index).and_then(|each| match each {
            Value::Table(given) => Some(&**given),
            _ => None,
        }),
        _ => None,
    }
}

/// The line of a key, else of the table that lacks it.
fn line_of(given: &Given, name: &str) -> usize {
    given.members.iter().find(|(key, ..)| key == name).map_or(given.line, |(_, line, _)| *line)
}

/// The value in JSON, or what would be right.
fn right(field: &FieldDescription, value: &Value) -> Result<Json, &'static str> {
    let text = |value: &Value| matches!(value, Value::Text(text) if !text.trim().is_empty());
    let texts =
        |value: &Value, each: &dyn Fn(&Value) -> bool| matches!(value, Value::List(list) if list.iter().all(each));
    let media_type = |value: &Value| matches!(value, Value::Text(text) if kind::is_media_type(text));
    let (is_right, wanted) = match (field.name, field.element, field.label) {
        ("uri", ..) => (matches!(value, Value::Text(text) if is_uri(text)), "an absolute URI without comma and blank"),
        ("input_modes" | "output_modes", ..) => {
            (texts(value, &media_type), "a list of media types, such as text/plain or image/*")
        }
        (_, "string", Label::Repeated) => (texts(value, &text), "a list of texts that are not empty"),
        (_, "string", _) => (text(value), "text that is not empty"),
        (_, "bool", _) => (matches!(value, Value::Switch(_)), "true or false"),
        _ => (
            matches!(value, Value::Table(_)) && is_json(value),
            "a table of texts, numbers below 2^53, switches, lists and tables",
        ),
    };
    if is_right { Ok(Json::from(value)) } else { Err(wanted) }
}

/// What can stand in a header that separates by commas.
fn is_uri(text: &str) -> bool {
    Url::parse(text).is_ok() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
}

fn is_json(value: &Value) -> bool {
    match value {
        Value::Table(given) => given.members.iter().all(|(.., value)| is_json(value)),
        Value::List(list) => list.iter().all(is_json),
        // Numbers of a Struct are doubles; a larger whole number would reach clients as another one.
        Value::Whole(n) => n.unsigned_abs() < 1 << 53,
        Value::Fraction(n) => n.is_finite(),
        Value::Date(_) | Value::Other(_) => false,
        _ => true,
    }
}

fn is_hollow(value: &Json) -> bool {
    match value {
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty() || items.iter().any(is_hollow),
        Json::Object(members) => members.is_empty() || members.values().any(is_hollow),
        _ => false,
    }
}
