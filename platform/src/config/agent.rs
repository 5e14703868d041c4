//! Agents: the `[[agent]]` tables of the file.

use super::card;
use super::file::File;
use super::kind::Value;
use super::knob::AGENT_KEYS;
use super::refusal::Refusal;
use super::run;
use super::source::Source;
use super::table::Table;
use engine::settings::{Agent, Limits};

/// The agent there is when none is configured.
const DEMO: &str = "demo";

/// Every agent's effective keys, in the file's order. `knobs` gives the limits an agent does not.
pub(super) fn tables(file: &File, knobs: &Table, signed: bool, problems: &mut Vec<String>) -> Vec<Table> {
    let path = file.path.clone().unwrap_or_default();
    let mut tables = Vec::new();
    let mut seen: Vec<(String, usize)> = Vec::new();
    let mut default: Option<usize> = None;
    for (start, lines) in &file.agents {
        let mut table = Table::default();
        for key in AGENT_KEYS {
            let (value, source) = match lines.get(key.name) {
                Some((value, line)) => (Some(value.clone()), Source::File(path.clone(), *line)),
                None => inherited(key.name, key.default.map(|text| key.kind.lift(text)), knobs),
            };
            table.take(key, value, source, problems);
        }
        let line = |key: &str| lines.get(key).map_or(*start, |(_, line)| *line);
        if !lines.contains_key("name") {
            problems.push(format!("{}:{start}: this `[[agent]]` has no `name`", path.display()));
        }
        if let Some(name) = table.text("name") {
            if let Some((_, first)) = seen.iter().find(|(other, _)| other == name) {
                let line = line("name");
                problems
                    .push(format!("{}:{line}: the agent `{name}` is already defined in line {first}", path.display()));
            }
            seen.push((name.to_owned(), line("name")));
        }
        if table.value("default") == Some(&Value::Switch(true)) {
            let line = line("default");
            if let Some(first) = default {
                problems.push(format!(
                    "{}:{line}: only one agent can be the default one, and line {first} has it already",
                    path.display()
                ));
            }
            default = default.or(Some(line));
        }
        if table.switch("serial_contexts").is_ok_and(|on| on) && table.switch("direct").is_ok_and(|on| on) {
            let line = line("serial_contexts");
            problems.push(format!(
                "{}:{line}: `serial_contexts` and `direct` are both true, wanted is one of them: a direct answer waits for no task",
                path.display()
            ));
        }
        card::check(&table, &path, *start, signed, problems);
        run::check(&table, &path, *start, problems);
        tables.push(table);
    }
    if tables.is_empty() {
        let mut table = Table::default();
        for key in AGENT_KEYS {
            let default = if key.name == "name" { Some(DEMO) } else { key.default };
            let (value, source) = inherited(key.name, default.map(|text| key.kind.lift(text)), knobs);
            table.take(key, value, source, problems);
        }
        tables.push(table);
    }
    tables
}

/// What a key is when the agent does not say: its default, else the deployment's limit of the same name.
fn inherited(name: &str, default: Option<Value>, knobs: &Table) -> (Option<Value>, Source) {
    match knobs.iter().find(|(knob, _)| *knob == name) {
        Some((knob, entry)) => (entry.value.clone(), Source::Knob(knob)),
        None => (default, Source::Default),
    }
}

/// The agent a checked table describes.
pub(super) fn agent(table: &Table) -> Result<Agent, Refusal> {
    Ok(Agent {
        name: table.word("name")?.to_owned(),
        input_modes: table.texts("input_modes")?,
        client_contexts: table.switch("client_contexts")?,
        cancelable: table.switch("cancelable")?,
        streaming: table.switch("streaming")?,
        push_notifications: table.switch("push_notifications")?,
        push_snapshot: table.switch("push_snapshot")?,
        direct: table.switch("direct")?.then(|| table.seconds("direct_limit_seconds")).transpose()?,
        card: card::card(table)?,
        lease: table.seconds("lease_seconds")?,
        max_deliveries: table.whole("max_deliveries")?,
        max_running: table.whole("max_running")?,
        max_running_per_tenant: table.whole("max_running_per_tenant")?,
        serial_contexts: table.switch("serial_contexts")?,
        scheduling: table.switch("scheduling")?,
        priority_max: table.whole("priority_max")?,
        settings: table.free("settings"),
        limits: Limits {
            parts: table.whole("limits.parts")?,
            history: table.whole("limits.history")?,
            history_bytes: table.whole("limits.history_bytes")?,
            artifacts: table.whole("limits.artifacts")?,
            artifact_bytes: table.whole("limits.artifact_bytes")?,
            push_configs: table.whole("limits.push_configs")?,
        },
    })
}
