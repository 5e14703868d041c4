//! The effective configuration, for people as a table and for programs as JSON. Secrets are masked in both.

use super::Config;
use super::knob::{AGENT_KEYS, KNOBS, Knob, TENANT_KEYS};
use super::table::Entry;
use super::table::Table;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

impl Config {
    /// Every value with its source, a line each: what `taskyard config` prints.
    pub fn table(&self) -> String {
        let rows: Vec<[String; 3]> = self
            .rows()
            .map(|(name, entry)| {
                let value = shown(entry).map_or_else(|| "-".to_owned(), |value| value.to_string());
                [name, if value.is_empty() { "-".to_owned() } else { value }, entry.source.to_string()]
            })
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (name_width, value_width) = (width(0), width(1));
        let mut out = match &self.file {
            Some(path) => format!("configuration file: {}\n\n", path.display()),
            None => "configuration file: none\n\n".to_owned(),
        };
        for [name, value, source] in &rows {
            writeln!(out, "{name:name_width$}  {value:value_width$}  {source}").ok();
        }
        out
    }

    /// The same for programs: `{"file", "values": {name: {"value", "source"}}, "agents": {name: {key: {...}}}, "tenants": {...}}`.
    pub fn json(&self) -> Value {
        let entry = |entry: &Entry| {
            let value = shown(entry).map_or(Value::Null, |value| Value::from(&value));
            json!({ "value": value, "source": entry.source.to_string() })
        };
        let values: Map<String, Value> = self.knobs.iter().map(|(name, each)| (name.to_owned(), entry(each))).collect();
        let named = |tables: &[Table]| -> Map<String, Value> {
            let one = |table: &Table| {
                let keys: Map<String, Value> =
                    table.iter().map(|(name, each)| (name.to_owned(), entry(each))).collect();
                (table.text("name").unwrap_or_default().to_owned(), Value::Object(keys))
            };
            tables.iter().map(one).collect()
        };
        let (agents, tenants) = (named(&self.agents), named(&self.tenants));
        let file = self.file.as_ref().map(|path| path.display().to_string());
        json!({ "file": file, "values": values, "agents": agents, "tenants": tenants })
    }

    fn rows(&self) -> impl Iterator<Item = (String, &Entry)> {
        let knobs = KNOBS.iter().filter_map(|knob| Some((knob.name.to_owned(), self.knobs.entry(knob.name)?)));
        let agents = self.agents.iter().flat_map(|table| named("agent", AGENT_KEYS, table));
        let tenants = self.tenants.iter().flat_map(|table| named("tenant", TENANT_KEYS, table));
        knobs.chain(agents).chain(tenants)
    }
}

/// The keys of one table of `kind`, under its name.
fn named<'a>(
    kind: &'static str,
    keys: &'static [Knob],
    table: &'a Table,
) -> impl Iterator<Item = (String, &'a Entry)> + use<'a> {
    let name = table.text("name").unwrap_or_default();
    keys.iter().filter_map(move |key| Some((format!("{kind}.{name}.{}", key.name), table.entry(key.name)?)))
}

fn shown(entry: &Entry) -> Option<super::kind::Value> {
    entry.value.as_ref().map(|value| entry.kind.show(value))
}
