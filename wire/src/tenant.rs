//! Names that route: tenants and agents.
//!
//! A tenant's name stands in paths before the operations, so it must not be a word that a path begins with.

use crate::error::Error;
use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use std::fmt;

/// The longest tenant name, in characters.
pub const TENANT_LENGTH: usize = 128;
/// The longest agent name, in characters.
pub const AGENT_LENGTH: usize = 64;
/// Words that paths begin with and tenants therefore cannot be called.
pub const RESERVED: &[&str] = &[
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

/// A tenant, or none. In JSON a string or null; empty is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Option<Box<str>>);

impl Tenant {
    /// No tenant.
    pub const fn none() -> Self {
        Tenant(None)
    }

    /// Reads a name; the empty one is no tenant.
    ///
    /// # Errors
    /// `InvalidParams` on `tenant` unless the name is 1 to 128 characters of `[A-Za-z0-9._-]`, begins with a
    /// letter or digit and is no reserved word.
    pub fn parse(name: &str) -> Result<Self, Error> {
        if name.is_empty() {
            return Ok(Tenant(None));
        }
        if !is_name(name, TENANT_LENGTH) {
            return Err(Error::invalid("tenant", rule(TENANT_LENGTH)));
        }
        if RESERVED.contains(&name) {
            return Err(Error::invalid("tenant", "must not be a reserved word"));
        }
        Ok(Tenant(Some(name.into())))
    }

    /// The name; empty for none.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The name, if there is a tenant.
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Whether there is no tenant.
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Tenant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tenant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        Tenant::parse(&name).map_err(de::Error::custom)
    }
}

/// An agent's name: 1 to 64 characters of `[A-Za-z0-9._-]`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(Box<str>);

impl AgentName {
    /// Reads a name.
    ///
    /// # Errors
    /// `InvalidParams` on `agent` when the name breaks the rule of its characters or its length.
    pub fn parse(name: &str) -> Result<Self, Error> {
        if !is_name(name, AGENT_LENGTH) {
            return Err(Error::invalid("agent", rule(AGENT_LENGTH)));
        }
        Ok(AgentName(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for AgentName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for AgentName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for AgentName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AgentName::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

fn is_name(name: &str, longest: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.len() <= longest
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(allowed)
}

fn rule(longest: usize) -> String {
    format!("must be 1 to {longest} characters of A-Z, a-z, 0-9, `.`, `_` and `-`, and begin with a letter or digit")
}
