//! The proto is the protocol's, row by row: what the descriptors that are compiled in say, against the tables.

use prost_reflect::{Cardinality, FieldDescriptor, Kind};

use super::client::{POOL, service};

const FIELDS: &str = include_str!("../../../../wire/tests/spec/fields.tsv");
const ENUMS: &str = include_str!("../../../../wire/tests/spec/enums.tsv");
const HTTP: &str = include_str!("../../spec/http.tsv");

fn rows(table: &'static str) -> Vec<Vec<&'static str>> {
    table.lines().skip(1).filter(|line| !line.is_empty()).map(|line| line.split('\t').collect()).collect()
}

/// A message or enum of the proto by its own name, any other by its full one.
fn short(name: &str) -> String {
    name.strip_prefix("lf.a2a.v1.").unwrap_or(name).to_owned()
}

fn kind(field: &FieldDescriptor) -> String {
    match field.kind() {
        Kind::Message(entry) if entry.is_map_entry() => {
            format!("map<{},{}>", kind(&entry.map_entry_key_field()), kind(&entry.map_entry_value_field()))
        }
        Kind::Message(message) => short(message.full_name()),
        Kind::Enum(of) => short(of.full_name()),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

fn label(field: &FieldDescriptor) -> String {
    match (field.containing_oneof(), field.cardinality()) {
        _ if field.is_map() => "map".to_owned(),
        (_, Cardinality::Repeated) => "repeated".to_owned(),
        (Some(of), _) if !of.is_synthetic() => format!("oneof:{}", of.name()),
        (Some(_), _) => "optional".to_owned(),
        (None, _) => "singular".to_owned(),
    }
}

#[test]
fn every_field_is_as_the_table_has_it() {
    let mut expected: Vec<String> = rows(FIELDS).iter().map(|row| row[..6].join(" ")).collect();
    let mut declared = Vec::new();
    let messages =
        POOL.all_messages().filter(|message| message.package_name() == "lf.a2a.v1" && !message.is_map_entry());
    for message in messages {
        for field in message.fields() {
            let number = field.number().to_string();
            let row = [message.name(), field.name(), field.json_name(), &number, &kind(&field), &label(&field)];
            declared.push(row.join(" "));
        }
    }
    expected.sort();
    declared.sort();
    assert_eq!(declared, expected);
    assert_eq!(declared.len(), 176);
}

#[test]
fn every_enum_value_is_as_the_table_has_it() {
    let mut declared = Vec::new();
    for of in POOL.all_enums().filter(|of| of.package_name() == "lf.a2a.v1") {
        declared.extend(of.values().map(|value| format!("{} {} {}", of.name(), value.name(), value.number())));
    }
    let mut expected: Vec<String> = rows(ENUMS).iter().map(|row| row.join(" ")).collect();
    expected.sort();
    declared.sort();
    assert_eq!(declared, expected);
}

#[test]
fn every_method_is_as_the_table_has_it() {
    let declared: Vec<String> = service()
        .methods()
        .map(|method| {
            assert!(!method.is_client_streaming());
            let streams = if method.is_server_streaming() { "y" } else { "n" };
            let (input, output) = (method.input(), method.output());
            format!("{} {} {} {streams}", method.name(), short(input.full_name()), short(output.full_name()))
        })
        .collect();
    let expected: Vec<String> =
        rows(HTTP).iter().map(|row| format!("{} {} {} {}", row[0], row[5], row[6], row[7])).collect();
    assert_eq!(declared, expected);
}
