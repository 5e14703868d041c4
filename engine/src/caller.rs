//! Who asks. Every operation takes one, so that "on whose behalf" cannot be forgotten.

use std::sync::Arc;

use wire::{Error, Tenant, Version};

use crate::Engine;
use crate::settings::Agent;

/// A client that talks to one agent on behalf of one tenant.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose tasks.
    pub tenant: Tenant,
    /// Which agent's.
    pub agent: Arc<Agent>,
    /// The version it speaks, in which it is also notified. Operations do the same in every version.
    pub version: Version,
    /// The W3C trace context of its request, as JSON: what it makes ready carries it to the worker.
    pub trace: Option<String>,
}

impl Caller {
    /// The same caller, speaking this version.
    #[must_use]
    pub fn speaking(self, version: Version) -> Caller {
        Caller { version, ..self }
    }
}

/// A worker, and the agents it may work for.
#[derive(Debug, Clone, Default)]
pub struct Worker {
    /// None: every agent.
    pub agents: Option<Vec<String>>,
}

impl Worker {
    /// Whether this agent's tasks are its business.
    pub(crate) fn may(&self, agent: &str) -> bool {
        self.agents.as_ref().is_none_or(|own| own.iter().any(|name| name == agent))
    }
}

impl Engine {
    /// A caller of this tenant at this agent (none: the default one) that speaks the current version, or nothing when
    /// there is no such agent.
    pub fn caller(&self, tenant: Tenant, agent: Option<&str>) -> Option<Caller> {
        let name = agent.unwrap_or(&self.settings().default_agent);
        let agent = self.settings().agents.get(name)?.clone();
        Some(Caller { tenant, agent, version: Version::default(), trace: None })
    }

    /// The agent a task belongs to. One that has left the configuration still has tasks to finish.
    pub(crate) fn agent_of(&self, name: &str) -> Arc<Agent> {
        self.settings().agents.get(name).cloned().unwrap_or_else(|| Arc::new(Agent::named(name)))
    }

    /// Refuse agents that are not configured or not this worker's.
    pub(crate) fn check_agents(&self, worker: &Worker, agents: &[String]) -> Result<(), Error> {
        for (n, agent) in agents.iter().enumerate() {
            let known = self.settings().agents.contains_key(agent);
            let permitted = worker.may(agent);
            if !known || !permitted {
                let names: Vec<&str> = self.settings().agents.keys().map(String::as_str).collect();
                return Err(Error::invalid(
                    format!("agents[{n}]"),
                    format!("there is no agent `{agent}` for this worker; there are: {}", names.join(", ")),
                ));
            }
        }
        Ok(())
    }
}
