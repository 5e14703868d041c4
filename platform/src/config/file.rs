//! The configuration file. Read with TOML's own positions, so that what is refused is named with its line.

use super::kind::{Given, Value};
use super::knob::{AGENT_KEYS, KNOBS, Knob, TENANT_KEYS};
use super::refusal::{Refusal, suggestion};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and the line it stands in, by the knob's name.
pub(super) type Lines = BTreeMap<&'static str, (Value, usize)>;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct File {
    /// The path as it is shown; `None` when there is no file.
    pub(super) path: Option<PathBuf>,
    /// The values given once.
    pub(super) values: Lines,
    /// The `[[agent]]` tables in their order, each with the line it begins in.
    pub(super) agents: Vec<(usize, Lines)>,
    /// The `[[tenant]]` tables likewise.
    pub(super) tenants: Vec<(usize, Lines)>,
}

impl File {
    /// Reads a file. Values are only collected here; whether they are right is checked with everyone else's.
    pub(super) fn read(path: &Path, shown: &Path, problems: &mut Vec<String>) -> Result<File, Refusal> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Refusal::because(format!("reading `{}`: {error}", shown.display())))?;
        File::parse(&text, shown, problems)
    }

    fn parse(text: &str, shown: &Path, problems: &mut Vec<String>) -> Result<File, Refusal> {
        let mut reader = Reader { text, shown, problems };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(1, |span| reader.line(span.start));
            Refusal::because(reader.place(at, &format!("this is no TOML: {}", error.message().trim())))
        })?;
        let mut file = File { path: Some(shown.to_owned()), ..File::default() };
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                "agent" => file.agents = reader.tables(key, value, AGENT_KEYS),
                "tenant" => file.tenants = reader.tables(key, value, TENANT_KEYS),
                _ => reader.collect(KNOBS, "", key, value, &mut file.values),
            }
        }
        Ok(file)
    }
}

struct Reader<'a> {
    text: &'a str,
    shown: &'a Path,
    problems: &'a mut Vec<String>,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;
type Said<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn place(&self, line: usize, problem: &str) -> String {
        format!("{}:{line}: {problem}", self.shown.display())
    }

    fn refuse(&mut self, key: &Key<'_>, problem: &str) {
        let line = self.line(key.span().start);
        let placed = self.place(line, problem);
        self.problems.push(placed);
    }

    fn tables(&mut self, key: &Key<'_>, value: &Said<'_>, known: &'static [Knob]) -> Vec<(usize, Lines)> {
        let name = key.get_ref();
        let tables = value.get_ref().as_array().map(|array| {
            array.iter().map(|each| each.get_ref().as_table().map(|table| (each.span().start, table))).collect()
        });
        let Some(Some(tables)) = tables.map(|tables: Vec<_>| tables.into_iter().collect::<Option<Vec<_>>>()) else {
            self.refuse(key, &format!("`{name}` is a list of tables: write `[[{name}]]` before each {name}"));
            return Vec::new();
        };
        let read = |(start, table): (usize, &DeTable<'_>)| {
            let mut lines = Lines::new();
            for (key, value) in table {
                self.collect(known, "", key, value, &mut lines);
            }
            (self.line(start), lines)
        };
        tables.into_iter().map(read).collect()
    }

    fn collect(&mut self, known: &'static [Knob], prefix: &str, key: &Key<'_>, value: &Said<'_>, out: &mut Lines) {
        let name = format!("{prefix}{}", key.get_ref());
        if let Some(knob) = known.iter().find(|knob| knob.name == name) {
            out.insert(knob.name, (self.raw(value), self.line(key.span().start)));
            return;
        }
        let within = format!("{name}.");
        match value.get_ref().as_table() {
            Some(table) if known.iter().any(|knob| knob.name.starts_with(&within)) => {
                for (key, value) in table {
                    self.collect(known, &within, key, value, out);
                }
            }
            _ if known.iter().any(|knob| knob.name.starts_with(&within)) => {
                self.refuse(key, &format!("`{name}` is a table: write `[{name}]` and its keys below it"));
            }
            _ => {
                let names = known.iter().map(|knob| knob.name);
                let tables = known.iter().filter_map(|knob| knob.name.split_once('.')).map(|(table, _)| table);
                let problem = format!(
                    "unknown key `{name}`{}",
                    suggestion(&name, names.chain(tables).chain(["agent", "tenant"]))
                );
                self.refuse(key, &problem);
            }
        }
    }

    /// The value as it stands there, with the lines of what is in it.
    fn raw(&self, value: &Said<'_>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(n) => {
                i64::from_str_radix(n.as_str(), n.radix()).map_or(Value::Other("a number too large"), Value::Whole)
            }
            DeValue::Float(n) => n.as_str().parse().map_or(Value::Other("a float"), Value::Fraction),
            DeValue::Boolean(on) => Value::Switch(*on),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(array) => Value::List(array.iter().map(|each| self.raw(each)).collect()),
            DeValue::Table(table) => {
                let member = |(key, value): (&Key<'_>, &Said<'_>)| {
                    (key.get_ref().to_string(), self.line(key.span().start), self.raw(value))
                };
                let line = self.line(value.span().start);
                let mut members: Vec<_> = table.iter().map(member).collect();
                members.sort_by_key(|(_, line, _)| *line);
                Value::Table(Box::new(Given { line, members }))
            }
        }
    }
}
