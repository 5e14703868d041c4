//! The declarations are the proto's: every message, field and enum value, row by row.

use crate::tsv::{ENUMS, FIELDS, rows};
use std::collections::BTreeSet;
use wire::description::Label;
use wire::{MESSAGES, Role, TaskState};

#[test]
fn every_field_of_the_proto_is_declared_as_the_proto_declares_it() {
    let expected: BTreeSet<String> = rows(FIELDS).map(|row| row.join(" ")).collect();
    let mut declared = BTreeSet::new();
    for message in MESSAGES {
        for field in message.fields {
            let label = match field.label {
                Label::Singular => "singular".to_owned(),
                Label::Optional => "optional".to_owned(),
                Label::Repeated => "repeated".to_owned(),
                Label::Map => "map".to_owned(),
                Label::OneOf(name) => format!("oneof:{name}"),
            };
            let number = field.number.map(|number| number.to_string()).unwrap_or_default();
            let kind = field.proto_type();
            let required = if field.rule.is_required() { "y" } else { "n" };
            let row = [message.name, field.name, field.json_name, &number, &kind, &label, required].join(" ");
            assert!(declared.insert(row.clone()), "declared twice: {row}");
        }
    }
    let missing: Vec<_> = expected.difference(&declared).collect();
    let invented: Vec<_> = declared.difference(&expected).collect();
    assert!(missing.is_empty() && invented.is_empty(), "missing: {missing:#?}\ninvented: {invented:#?}");
    assert_eq!(declared.len(), 176);
    assert_eq!(MESSAGES.len(), 44);
}

#[test]
fn every_message_declares_its_fields_in_the_order_of_the_proto() {
    let expected: Vec<(&str, &str)> = rows(FIELDS).map(|row| (row[0], row[1])).collect();
    for message in MESSAGES {
        let of_proto: Vec<&str> = expected.iter().filter(|(name, _)| *name == message.name).map(|row| row.1).collect();
        let declared: Vec<&str> = message.fields.iter().map(|field| field.name).collect();
        assert_eq!(declared, of_proto, "{}", message.name);
    }
}

#[test]
fn every_enum_value_has_the_name_and_number_of_the_proto() {
    let states = TaskState::ALL.map(|state| ("TaskState", state.name(), state.number()));
    let roles = Role::ALL.map(|role| ("Role", role.name(), role.number()));
    let declared: Vec<_> = states.into_iter().chain(roles).collect();
    let expected: Vec<_> = rows(ENUMS).map(|row| (row[0], row[1], row[2].parse().unwrap())).collect();
    assert_eq!(declared, expected);
    for state in TaskState::ALL {
        assert_eq!(TaskState::from_name(state.name()), Some(state));
        assert_eq!(TaskState::from_number(state.number().into()), Some(state));
    }
}
