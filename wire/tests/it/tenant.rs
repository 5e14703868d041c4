//! Names that route: their characters, lengths and the words they must not be.

use serde_json::json;
use wire::{AgentName, Kind, Tenant};

#[test]
fn names_within_the_rule_are_taken() {
    let long = "x".repeat(128);
    for name in ["a", "9", "acme", "Acme-1.eu_west", "v10", "Tasks", long.as_str()] {
        let tenant = Tenant::parse(name).unwrap();
        assert_eq!((tenant.as_str(), tenant.name(), tenant.is_none()), (name, Some(name), false));
        assert_eq!(json!(tenant), json!(name));
        assert_eq!(serde_json::from_value::<Tenant>(json!(name)).unwrap(), tenant);
    }
    assert_eq!(AgentName::parse(&"x".repeat(64)).unwrap().as_str().len(), 64);
    assert_eq!(AgentName::parse("tasks").unwrap().as_str(), "tasks");
}

#[test]
fn names_outside_the_rule_are_refused() {
    let long = "x".repeat(129);
    let broken = [".a", "-a", "_a", "a/b", "a b", "a:b", "é", "a\0", "a\n", ".well-known", long.as_str()];
    let reserved = [
        "message",
        "tasks",
        "extendedAgentCard",
        "rpc",
        "agents",
        "t",
        "v1",
        "worker",
        "admin",
        "healthz",
        "readyz",
        "metrics",
    ];
    for name in broken.into_iter().chain(reserved) {
        let error = Tenant::parse(name).expect_err(name);
        assert_eq!((error.kind, error.violations[0].field.as_str()), (Kind::InvalidParams, "tenant"), "{name}");
        assert!(serde_json::from_value::<Tenant>(json!(name)).is_err());
    }
    for name in broken.into_iter().chain([""]).chain(["x".repeat(65).as_str()]) {
        let error = AgentName::parse(name).expect_err(name);
        assert_eq!(error.violations[0].field, "agent", "{name}");
    }
}

#[test]
fn empty_and_null_are_no_tenant() {
    assert_eq!(Tenant::parse("").unwrap(), Tenant::none());
    assert_eq!(Tenant::none().as_str(), "");
    assert_eq!(json!(Tenant::none()), json!(null));
    for value in [json!(null), json!("")] {
        assert_eq!(serde_json::from_value::<Tenant>(value).unwrap(), Tenant::none());
    }
}
