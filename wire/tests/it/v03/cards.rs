//! Cards that clients of both versions read.

use serde_json::{Value, json};
use wire::{AgentCard, v03};

fn card() -> Value {
    let requirement = json!([{"schemes": {"oauth": {"list": ["read"]}, "key": {}}}]);
    json!({
        "name": "Flights", "description": "Books flights", "version": "1.4.0",
        "supportedInterfaces": [
            {"url": "https://a/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": "https://a/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": "https://a/old", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"}
        ],
        "capabilities": {"streaming": true, "extendedAgentCard": true},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key", "description": "d"}},
            "http": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "oauth": {"oauth2SecurityScheme": {"oauth2MetadataUrl": "https://m", "flows": {"authorizationCode": {
                "authorizationUrl": "https://o/a", "tokenUrl": "https://o/t", "scopes": {"read": "r"}, "pkceRequired": true
            }}}},
            "device": {"oauth2SecurityScheme": {"flows": {"deviceCode": {
                "deviceAuthorizationUrl": "https://o/d", "tokenUrl": "https://o/t", "scopes": {}
            }}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o/c"}},
            "tls": {"mtlsSecurityScheme": {}}
        },
        "securityRequirements": requirement,
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "a", "name": "A", "description": "d", "tags": ["t"], "securityRequirements": requirement},
            {"id": "b", "name": "B", "description": "d", "tags": ["t"]}
        ],
        "signatures": [{"protected": "p", "signature": "s"}]
    })
}

#[test]
fn one_document_serves_both_versions() {
    let pure = card();
    let typed: AgentCard = serde_json::from_value(pure.clone()).unwrap();
    let merged = v03::card(&typed).unwrap();
    assert_eq!(serde_json::from_value::<AgentCard>(merged.clone()).unwrap(), typed, "1.0 reads what it wrote");
    for (name, member) in [
        ("url", json!("https://a/rpc")),
        ("preferredTransport", json!("JSONRPC")),
        ("protocolVersion", json!("0.3.0")),
        (
            "additionalInterfaces",
            json!([{"url": "https://a/rpc", "transport": "JSONRPC"}, {"url": "https://a/old", "transport": "HTTP+JSON"}]),
        ),
        ("supportsAuthenticatedExtendedCard", json!(true)),
        ("security", json!([{"oauth": ["read"], "key": []}])),
        ("signatures", pure["signatures"].clone()),
    ] {
        assert_eq!(merged[name], member, "{name}");
    }
    let flow = json!({"authorizationUrl": "https://o/a", "tokenUrl": "https://o/t", "scopes": {"read": "r"}});
    for (name, scheme) in [
        ("key", json!({"type": "apiKey", "in": "header", "name": "X-Key", "description": "d"})),
        ("http", json!({"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"})),
        ("oauth", json!({"type": "oauth2", "oauth2MetadataUrl": "https://m", "flows": {"authorizationCode": flow}})),
        ("device", json!({"type": "oauth2", "flows": {}})),
        ("oidc", json!({"type": "openIdConnect", "openIdConnectUrl": "https://o/c"})),
        ("tls", json!({"type": "mutualTLS"})),
    ] {
        let mut both = merged["securitySchemes"][name].as_object().unwrap().clone();
        for (member, value) in pure["securitySchemes"][name].as_object().unwrap() {
            assert_eq!(both.remove(member).as_ref(), Some(value), "{name}");
        }
        assert_eq!(Value::Object(both), scheme, "{name}");
    }
    assert_eq!(merged["skills"][0]["security"], json!([{"oauth": ["read"], "key": []}]));
    assert!(merged["skills"][1].get("security").is_none());
}

#[test]
fn a_card_without_an_interface_of_0_3_stays_what_it_is() {
    let mut pure = card();
    pure["supportedInterfaces"].as_array_mut().unwrap().truncate(1);
    assert_eq!(v03::card(&serde_json::from_value(pure.clone()).unwrap()).unwrap(), pure);
}

#[test]
fn the_card_of_the_proto_has_the_members_of_the_proto() {
    let pure = card();
    let mut expected = pure.clone();
    let flows = &mut expected["securitySchemes"]["oauth"]["oauth2SecurityScheme"]["flows"];
    flows["authorizationCode"].as_object_mut().unwrap().remove("pkceRequired");
    expected["securitySchemes"]["device"]["oauth2SecurityScheme"]["flows"] = json!({});
    expected["capabilities"].as_object_mut().unwrap().remove("extendedAgentCard");
    let security = pure["securityRequirements"].clone();
    let skill = expected["skills"][0].as_object_mut().unwrap();
    skill.remove("securityRequirements");
    skill.insert("security".into(), security.clone());
    let card = expected.as_object_mut().unwrap();
    card.remove("supportedInterfaces");
    card.remove("securityRequirements");
    for (name, member) in [
        ("security", security),
        ("url", json!("https://a/rpc")),
        ("preferredTransport", json!("JSONRPC")),
        ("protocolVersion", json!("0.3.0")),
        (
            "additionalInterfaces",
            json!([{"url": "https://a/rpc", "transport": "JSONRPC"}, {"url": "https://a/old", "transport": "HTTP+JSON"}]),
        ),
        ("supportsAuthenticatedExtendedCard", json!(true)),
    ] {
        card.insert(name.into(), member);
    }
    assert_eq!(v03::proto::card(&serde_json::from_value(pure).unwrap()).unwrap(), expected);
}
