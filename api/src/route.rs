//! What a path says before any surface looks at it: the tenant and the agent of its base, percent-decoded names.

use std::borrow::Cow;

use engine::Caller;
use wire::{Error, Tenant};

use crate::app::Shared;

/// A path, taken apart: `/t/{tenant}` and `/agents/{agent}`, both optional, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base<'a> {
    /// As it stands in the path, percent-encoded.
    tenant: Option<&'a str>,
    agent: Option<&'a str>,
    /// Begins with `/`, or is empty.
    pub(crate) rest: &'a str,
}

impl<'a> Base<'a> {
    pub(crate) fn of(path: &'a str) -> Base<'a> {
        let (tenant, rest) = take(path, "/t/");
        let (agent, rest) = take(rest, "/agents/");
        Base { tenant, agent, rest }
    }

    /// Whether the path names an agent.
    pub(crate) fn names_agent(&self) -> bool {
        self.agent.is_some()
    }

    /// Whether the path names neither a tenant nor an agent.
    pub(crate) fn is_root(&self) -> bool {
        self.tenant.is_none() && self.agent.is_none()
    }

    /// Whom the path talks to on whose behalf; `prefix` is HTTP+JSON's own `/{tenant}`.
    ///
    /// # Errors
    /// `MethodNotFound` for an agent that does not exist, `InvalidParams` for a tenant that cannot be.
    pub(crate) fn caller(&self, shared: &Shared, prefix: Option<&str>) -> Result<Caller, Error> {
        let agent = self.agent.map(|agent| decode("agent", agent)).transpose()?;
        let mut tenant = Tenant::none();
        for name in [self.tenant, prefix].into_iter().flatten() {
            tenant = same(&tenant, Tenant::parse(&decode("tenant", name)?)?)?;
        }
        find(shared, tenant, agent.as_deref())
    }
}

/// Whom a routing key talks to on whose behalf: `[tenant]["/" agent]`, for a binding without paths.
///
/// # Errors
/// As [`Base::caller`].
pub(crate) fn by_key(shared: &Shared, key: &str) -> Result<Caller, Error> {
    let (tenant, agent) = match key.split_once('/') {
        Some((tenant, agent)) => (tenant, Some(agent)),
        None => (key, None),
    };
    find(shared, Tenant::parse(tenant)?, agent)
}

fn find(shared: &Shared, tenant: Tenant, agent: Option<&str>) -> Result<Caller, Error> {
    shared.engine.caller(tenant, agent).ok_or_else(|| {
        let name = agent.unwrap_or_default();
        Error::method_not_found(&format!("/agents/{name}")).doing(format!("there is no agent `{name}`"))
    })
}

fn take<'a>(path: &'a str, prefix: &str) -> (Option<&'a str>, &'a str) {
    match path.strip_prefix(prefix) {
        Some(after) if !after.is_empty() && !after.starts_with('/') => {
            let (name, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
            (Some(name), rest)
        }
        _ => (None, path),
    }
}

/// Whether JSON-RPC is what lives at this rest of a path.
pub(crate) fn is_rpc(rest: &str) -> bool {
    matches!(rest, "" | "/" | "/rpc" | "/rpc/")
}

/// The caller of a request that may name its tenant a second time, in its body or query.
///
/// # Errors
/// `InvalidParams` on `tenant` when it cannot be one or differs from the path's.
pub(crate) fn with_tenant(caller: &Caller, named: &str) -> Result<Caller, Error> {
    let tenant = same(&caller.tenant, Tenant::parse(named)?)?;
    Ok(Caller { tenant, ..caller.clone() })
}

fn same(path: &Tenant, named: Tenant) -> Result<Tenant, Error> {
    match (path.name(), named.name()) {
        (_, None) => Ok(path.clone()),
        (Some(path), Some(named)) if path != named => {
            Err(Error::invalid("tenant", format!("is `{named}`, but the path says `{path}`")))
        }
        (_, Some(_)) => Ok(named),
    }
}

/// The text that a piece of a path stands for.
///
/// # Errors
/// `InvalidParams` naming `field` when it is not UTF-8.
pub(crate) fn decode<'a>(field: &str, text: &'a str) -> Result<Cow<'a, str>, Error> {
    percent_decode(text).ok_or_else(|| Error::invalid(field, "is not UTF-8"))
}

/// The text without its percent escapes; nothing when it is not UTF-8. A `%` that begins no escape stands for itself.
pub(crate) fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_taken_off() {
        let of = |path| {
            let base = Base::of(path);
            (base.tenant, base.agent, base.rest)
        };
        assert_eq!(of("/tasks/1"), (None, None, "/tasks/1"));
        assert_eq!(of("/t/acme"), (Some("acme"), None, ""));
        assert_eq!(of("/t/acme/"), (Some("acme"), None, "/"));
        assert_eq!(of("/agents/echo/rpc"), (None, Some("echo"), "/rpc"));
        assert_eq!(of("/t/acme/agents/echo/tasks"), (Some("acme"), Some("echo"), "/tasks"));
        assert_eq!(of("/t/"), (None, None, "/t/"));
        assert_eq!(of("/tasks"), (None, None, "/tasks"));
    }

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(percent_decode("a%2Fb%252F").as_deref(), Some("a/b%2F"));
        assert_eq!(percent_decode("100%").as_deref(), Some("100%"));
        assert_eq!(percent_decode("%C3%A4").as_deref(), Some("ä"));
        assert_eq!(percent_decode("%FF"), None);
    }
}
