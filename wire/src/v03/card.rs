//! Cards for 0.3 clients: one document that clients of both versions read, and the card of `a2a.v1`.
//!
//! Both versions call different things `securitySchemes`. In the one document each scheme has the members of both: a
//! reader of 1.0 finds its wrapper and passes over `type`, a reader of 0.3 the other way round. What the one does not
//! know of the other is unknown members, which is also why signatures over 1.0's members hold.

use super::answer::Dialect;
use crate::Version;
use crate::card::{AgentCard, AgentInterface};
use crate::error::Error;
use crate::security::{OAuth2SecurityScheme, OAuthFlows, SecurityRequirement, SecurityScheme};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The version as 0.3 cards have it, patch number and all.
const PROTOCOL_VERSION: &str = "0.3.0";

/// The card with the members of both versions. The first interface of 0.3 is the one that 0.3 calls its own; a card
/// without any is left as it is.
///
/// # Errors
/// `Internal`, when a card cannot be printed.
pub fn card(card: &AgentCard) -> Result<Value, Error> {
    let mut document = serde_json::to_value(card).map_err(Error::internal)?;
    if let Some(members) = Members::of(card, Dialect::Rpc)? {
        merge(&mut document, serde_json::to_value(members).map_err(Error::internal)?);
    }
    Ok(document)
}

/// The card as the proto has it, without the members of 1.0.
pub(crate) fn of_proto(card: &AgentCard) -> Result<Value, Error> {
    let mut document = serde_json::to_value(card).map_err(Error::internal)?;
    document["capabilities"].as_object_mut().and_then(|capabilities| capabilities.remove("extendedAgentCard"));
    let skills = document["skills"].as_array_mut().into_iter().flatten();
    for skill in skills.filter_map(Value::as_object_mut) {
        skill.remove("securityRequirements");
    }
    if let Some(card) = document.as_object_mut() {
        // Schemes are the same but for OAuth's flows, and come with the members.
        for name in ["supportedInterfaces", "securityRequirements", "securitySchemes"] {
            card.remove(name);
        }
    }
    if let Some(members) = Members::of(card, Dialect::Proto)? {
        merge(&mut document, serde_json::to_value(members).map_err(Error::internal)?);
    }
    Ok(document)
}

/// Adds what is not there, at every depth; lists of the same things side by side.
fn merge(into: &mut Value, members: Value) {
    match (into, members) {
        (Value::Object(into), Value::Object(members)) => {
            for (name, member) in members {
                match into.get_mut(&name) {
                    Some(known) => merge(known, member),
                    None => drop(into.insert(name, member)),
                }
            }
        }
        (Value::Array(into), Value::Array(members)) => {
            for (known, member) in into.iter_mut().zip(members) {
                merge(known, member);
            }
        }
        _ => {}
    }
}

/// What 0.3 has on a card and 1.0 has not.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    protocol_version: &'static str,
    url: &'a str,
    preferred_transport: &'a str,
    additional_interfaces: Vec<Interface<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    supports_authenticated_extended_card: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<Value>,
    skills: Vec<Skill>,
}

#[derive(Serialize)]
struct Interface<'a> {
    url: &'a str,
    transport: &'a str,
}

#[derive(Serialize)]
struct Skill {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<Value>,
}

impl<'a> Members<'a> {
    /// `None` when 0.3 is spoken nowhere.
    fn of(card: &'a AgentCard, dialect: Dialect) -> Result<Option<Self>, Error> {
        let is_old = |interface: &&AgentInterface| Version::parse(&interface.protocol_version) == Some(Version::V03);
        let interfaces = || card.supported_interfaces.iter().filter(is_old);
        let Some(own) = interfaces().next() else { return Ok(None) };
        let security = |requirements: &[SecurityRequirement]| -> Result<Vec<Value>, Error> {
            requirements.iter().map(|requirement| security(requirement, dialect)).collect()
        };
        let skills = card.skills.iter().map(|skill| Ok(Skill { security: security(&skill.security_requirements)? }));
        let schemes = card.security_schemes.iter().map(|(name, of)| Ok((name.as_str(), scheme(of, dialect)?)));
        Ok(Some(Members {
            protocol_version: PROTOCOL_VERSION,
            url: &own.url,
            preferred_transport: &own.protocol_binding,
            additional_interfaces: interfaces()
                .map(|interface| Interface { url: &interface.url, transport: &interface.protocol_binding })
                .collect(),
            supports_authenticated_extended_card: card.capabilities.extended_agent_card == Some(true),
            security_schemes: schemes.collect::<Result<_, Error>>()?,
            security: security(&card.security_requirements)?,
            skills: skills.collect::<Result<_, Error>>()?,
        }))
    }
}

fn security(requirement: &SecurityRequirement, dialect: Dialect) -> Result<Value, Error> {
    match dialect {
        Dialect::Rpc => {
            let scopes: BTreeMap<_, _> =
                requirement.schemes.iter().map(|(name, scopes)| (name, &scopes.list)).collect();
            serde_json::to_value(scopes)
        }
        Dialect::Proto => serde_json::to_value(requirement),
    }
    .map_err(Error::internal)
}

/// A scheme in 0.3: told apart by `type` in JSON-RPC's dialect, by its wrapper in the proto's.
fn scheme(scheme: &SecurityScheme, dialect: Dialect) -> Result<Value, Error> {
    let mut wrapped = serde_json::to_value(scheme).map_err(Error::internal)?;
    let inner = &mut wrapped[scheme.member()];
    let name = match scheme {
        SecurityScheme::ApiKey(key) => {
            if dialect == Dialect::Rpc {
                inner["in"] = json!(key.location);
                inner.as_object_mut().and_then(|members| members.remove("location"));
            }
            "apiKey"
        }
        SecurityScheme::HttpAuth(_) => "http",
        SecurityScheme::OAuth2(oauth2) => {
            inner["flows"] = flows(oauth2, inner["flows"].take());
            "oauth2"
        }
        SecurityScheme::OpenIdConnect(_) => "openIdConnect",
        SecurityScheme::MutualTls(_) => "mutualTLS",
    };
    if dialect == Dialect::Proto {
        return Ok(wrapped);
    }
    inner["type"] = json!(name);
    Ok(inner.take())
}

/// 0.3 knows neither the device code flow nor whether PKCE is asked for.
fn flows(scheme: &OAuth2SecurityScheme, mut flows: Value) -> Value {
    match &scheme.flows {
        None | Some(OAuthFlows::DeviceCode(_)) => json!({}),
        Some(flow) => {
            flows[flow.member()].as_object_mut().and_then(|members| members.remove("pkceRequired"));
            flows
        }
    }
}
