//! The effective values: each knob once, with who gave it. Typed reading happens here and only for values that passed their
//! kind's check.

use super::kind::{self, Kind, Value};
use super::knob::Knob;
use super::refusal::Refusal;
use super::source::Source;
use std::collections::BTreeMap;
use std::time::Duration;

/// One knob's effective value. Show it through `Kind::show`.
#[derive(Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) value: Option<Value>,
    pub(super) source: Source,
}

/// Effective values by the knob's name.
#[derive(Default, Clone, PartialEq)]
pub(super) struct Table(BTreeMap<&'static str, Entry>);

impl Table {
    /// Takes a knob's value in, or reports what is wrong with it. `place` is who gave it.
    pub(super) fn take(&mut self, knob: &Knob, value: Option<Value>, source: Source, problems: &mut Vec<String>) {
        let wrong = value.as_ref().is_some_and(|value| !knob.kind.check(value));
        if let (true, Some(value)) = (wrong, &value) {
            let shown = match knob.kind.show(value) {
                Value::Text(text) if text == super::kind::MASK => "its value (not shown, it is a secret)".to_owned(),
                value => format!("`{value}`"),
            };
            problems.push(format!("{source}: `{}` is {shown}, wanted is {}", knob.name, knob.kind.wanted()));
        }
        self.0.insert(knob.name, Entry { kind: knob.kind, value: value.filter(|_| !wrong), source });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Entry)> {
        self.0.iter().map(|(name, entry)| (*name, entry))
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.0.get(name)
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.entry(name)?.value.as_ref()
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A text that has a default.
    pub(super) fn word(&self, name: &str) -> Result<&str, Refusal> {
        self.text(name).ok_or_else(|| missing(name))
    }

    /// A whole number that has a default and fits by its bounds.
    pub(super) fn whole<T: TryFrom<i64>>(&self, name: &str) -> Result<T, Refusal> {
        match self.value(name) {
            Some(Value::Whole(n)) => T::try_from(*n).map_err(|_| missing(name)),
            _ => Err(missing(name)),
        }
    }

    /// A port that has a default; none when it is off.
    pub(super) fn port(&self, name: &str) -> Result<Option<u16>, Refusal> {
        match self.value(name) {
            Some(Value::Text(text)) if text == kind::OFF => Ok(None),
            _ => self.whole(name).map(Some),
        }
    }

    pub(super) fn seconds(&self, name: &str) -> Result<Duration, Refusal> {
        self.value(name).and_then(duration).ok_or_else(|| missing(name))
    }

    pub(super) fn delays(&self, name: &str) -> Result<Vec<Duration>, Refusal> {
        match self.value(name) {
            Some(Value::List(list)) => list.iter().map(|each| duration(each).ok_or_else(|| missing(name))).collect(),
            _ => Err(missing(name)),
        }
    }

    pub(super) fn switch(&self, name: &str) -> Result<bool, Refusal> {
        match self.value(name) {
            Some(Value::Switch(on)) => Ok(*on),
            _ => Err(missing(name)),
        }
    }

    /// A free table as JSON, if there is one.
    pub(super) fn free(&self, name: &str) -> Option<wire::Struct> {
        match self.value(name).map(serde_json::Value::from) {
            Some(serde_json::Value::Object(members)) => Some(members),
            _ => None,
        }
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Refusal> {
        match self.value(name) {
            Some(Value::List(list)) => Ok(list.iter().map(Value::to_string).collect()),
            _ => Err(missing(name)),
        }
    }
}

fn duration(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.number()?).ok()
}

/// What no configuration can bring about: the knob's table and its reader disagree.
fn missing(name: &str) -> Refusal {
    Refusal::because(format!("reading `{name}`: the table of knobs has no such value"))
}
