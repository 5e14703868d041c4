//! The proto is the protocol's, row by row: what the descriptors that are compiled in say, against the tables.

use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, ServiceDescriptor};

use super::client::{POOL, POOL_V03, service, service_v03};

const FIELDS: &str = include_str!("../../../../wire/tests/spec/fields.tsv");
const ENUMS: &str = include_str!("../../../../wire/tests/spec/enums.tsv");
const HTTP: &str = include_str!("../../spec/http.tsv");
const FIELDS_V03: &str = include_str!("../../spec/v03_fields.tsv");
const ENUMS_V03: &str = include_str!("../../spec/v03_enums.tsv");
const METHODS_V03: &str = include_str!("../../spec/v03_methods.tsv");

fn rows(table: &'static str) -> Vec<Vec<&'static str>> {
    table.lines().skip(1).filter(|line| !line.is_empty()).map(|line| line.split('\t').collect()).collect()
}

/// A message or enum of the proto by its own name, any other by its full one.
fn short(name: &str) -> String {
    name.strip_prefix("lf.").unwrap_or(name).strip_prefix("a2a.v1.").unwrap_or(name).to_owned()
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

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

/// The fields of a package, as rows of a table.
fn fields(pool: &DescriptorPool, package: &str) -> Vec<String> {
    let messages = pool.all_messages().filter(|message| message.package_name() == package && !message.is_map_entry());
    let mut declared = Vec::new();
    for message in messages {
        for field in message.fields() {
            let number = field.number().to_string();
            let row = [message.name(), field.name(), field.json_name(), &number, &kind(&field), &label(&field)];
            declared.push(row.join(" "));
        }
    }
    sorted(declared)
}

#[test]
fn every_field_is_as_the_table_has_it() {
    for (pool, package, table, count) in [(&POOL, "lf.a2a.v1", FIELDS, 176), (&POOL_V03, "a2a.v1", FIELDS_V03, 163)] {
        let declared = fields(pool, package);
        assert_eq!(declared, sorted(rows(table).iter().map(|row| row[..6].join(" ")).collect()));
        assert_eq!(declared.len(), count);
    }
}

#[test]
fn every_enum_value_is_as_the_table_has_it() {
    for (pool, package, table) in [(&POOL, "lf.a2a.v1", ENUMS), (&POOL_V03, "a2a.v1", ENUMS_V03)] {
        let mut declared = Vec::new();
        for of in pool.all_enums().filter(|of| of.package_name() == package) {
            declared.extend(of.values().map(|value| format!("{} {} {}", of.name(), value.name(), value.number())));
        }
        assert_eq!(sorted(declared), sorted(rows(table).iter().map(|row| row.join(" ")).collect()));
    }
}

fn methods(service: &ServiceDescriptor) -> Vec<String> {
    let row = |method: prost_reflect::MethodDescriptor| {
        assert!(!method.is_client_streaming());
        let streams = if method.is_server_streaming() { "y" } else { "n" };
        let (input, output) = (method.input(), method.output());
        format!("{} {} {} {streams}", method.name(), short(input.full_name()), short(output.full_name()))
    };
    service.methods().map(row).collect()
}

#[test]
fn every_method_is_as_the_table_has_it() {
    let expected: Vec<String> =
        rows(HTTP).iter().map(|row| format!("{} {} {} {}", row[0], row[5], row[6], row[7])).collect();
    assert_eq!(methods(&service()), expected);
    let expected: Vec<String> = rows(METHODS_V03).iter().map(|row| row.join(" ")).collect();
    assert_eq!(methods(&service_v03()), expected);
}
