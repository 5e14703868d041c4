//! Tenants of which something is said: the `[[tenant]]` tables of the file. All others are as by default, and none needs a table.

use super::file::File;
use super::knob::TENANT_KEYS;
use super::refusal::Refusal;
use super::source::Source;
use super::table::Table;
use engine::TenantSettings;

/// Every tenant's effective keys, in the file's order.
pub(super) fn tables(file: &File, problems: &mut Vec<String>) -> Vec<Table> {
    let path = file.path.clone().unwrap_or_default();
    let mut tables: Vec<Table> = Vec::new();
    for (start, lines) in &file.tenants {
        let mut table = Table::default();
        for key in TENANT_KEYS {
            let (value, source) = match lines.get(key.name) {
                Some((value, line)) => (Some(value.clone()), Source::File(path.clone(), *line)),
                None => (key.default.map(|text| key.kind.lift(text)), Source::Default),
            };
            table.take(key, value, source, problems);
        }
        let line = lines.get("name").map_or(*start, |(_, line)| *line);
        if !lines.contains_key("name") {
            problems.push(format!("{}:{start}: this `[[tenant]]` has no `name`", path.display()));
        }
        if let Some(name) = table.text("name")
            && tables.iter().any(|other| other.text("name") == Some(name))
        {
            problems.push(format!("{}:{line}: the tenant `{name}` has a table already", path.display()));
        }
        tables.push(table);
    }
    tables
}

/// The tenant a checked table describes.
pub(super) fn tenant(table: &Table) -> Result<(String, TenantSettings), Refusal> {
    let settings = TenantSettings { weight: table.whole("weight")?, max_running: table.whole("max_running")? };
    Ok((table.word("name")?.to_owned(), settings))
}
