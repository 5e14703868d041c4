//! How much room running limits leave: what runs is counted under a gate, so that no two replicas count at once and neither goes over.

use std::collections::HashMap;

use entity::{waiting_message, work};
use sea_orm::{ConnectionTrait, DbErr};

use crate::settings::Agent;
use crate::store::gate;
use crate::{Engine, store};

/// No limit.
const ENDLESS: usize = usize::MAX;

/// What may still be claimed of one agent. It shrinks with what is taken.
#[derive(Debug)]
pub(super) struct Room {
    agent: usize,
    per_tenant: usize,
    /// What each tenant runs of this agent.
    running: HashMap<String, usize>,
    /// What limited tenants may still take, over all agents; counted once one of them comes up.
    tenants: Option<HashMap<String, usize>>,
}

impl Room {
    /// Counts what runs, where the agent has a limit. Its gate is held.
    pub(super) async fn of<C: ConnectionTrait>(engine: &Engine, db: &C, agent: &Agent) -> Result<Room, DbErr> {
        let limit = |most: usize| if most == 0 { ENDLESS } else { most };
        let (most, per_tenant) = (limit(agent.max_running), limit(agent.max_running_per_tenant));
        let tenants = (!engine.settings().limits_tenants()).then(HashMap::new);
        let mut running: HashMap<String, usize> = HashMap::new();
        if (most, per_tenant) != (ENDLESS, ENDLESS) {
            let mut counted = gate::of_agent::<work::Model, _>(db, &agent.name).await?;
            if agent.direct.is_some() {
                counted.extend(gate::of_agent::<waiting_message::Model, _>(db, &agent.name).await?);
            }
            for of in counted {
                *running.entry(of.tenant).or_default() += of.running.max(0) as usize;
            }
        }
        let all: usize = running.values().sum();
        Ok(Room {
            agent: if most == ENDLESS { ENDLESS } else { most.saturating_sub(all) },
            per_tenant,
            running,
            tenants,
        })
    }

    /// Count what limited tenants run over all agents, once `tenant` is one of them.
    pub(super) async fn count_tenants<C: ConnectionTrait>(
        &mut self,
        engine: &Engine,
        db: &C,
        tenant: &str,
        now: i64,
    ) -> Result<(), DbErr> {
        let limits = &engine.settings().tenants;
        if self.tenants.is_some() || limits.get(tenant).is_none_or(|own| own.max_running == 0) {
            return Ok(());
        }
        // After the agent's own gate, whoever asks: so nobody waits in a circle.
        gate::lock(db, gate::TENANTS).await?;
        let agents = &engine.settings().agents;
        let mut counted = store::gate::of_agents::<work::Model, _>(db, agents.keys(), now).await?;
        if agents.values().any(|agent| agent.direct.is_some()) {
            counted.extend(store::gate::of_agents::<waiting_message::Model, _>(db, agents.keys(), now).await?);
        }
        let limited = limits.iter().filter(|(_, own)| own.max_running > 0);
        let mut left: HashMap<String, usize> = limited.map(|(name, own)| (name.clone(), own.max_running)).collect();
        for of in counted {
            if let Some(left) = left.get_mut(&of.tenant) {
                *left = left.saturating_sub(of.running.max(0) as usize);
            }
        }
        self.tenants = Some(left);
        Ok(())
    }

    /// What the agent may still take.
    pub(super) fn of_agent(&self) -> usize {
        self.agent
    }

    /// What the tenant may still take of it.
    pub(super) fn of_tenant(&self, tenant: &str) -> usize {
        let own = match self.per_tenant {
            ENDLESS => ENDLESS,
            most => most.saturating_sub(self.running.get(tenant).copied().unwrap_or(0)),
        };
        let over_all = self.tenants.as_ref().and_then(|tenants| tenants.get(tenant)).copied();
        own.min(self.agent).min(over_all.unwrap_or(ENDLESS))
    }

    /// Take a place, if there is one. A lease that has ended has its agent's place already, until it is claimed again.
    pub(super) fn take(&mut self, tenant: &str, expired: bool) -> bool {
        let over_all = self.tenants.as_mut().and_then(|tenants| tenants.get_mut(tenant));
        if let Some(0) = over_all.as_deref() {
            return false;
        }
        if !expired && self.of_tenant(tenant) == 0 {
            return false;
        }
        if let Some(left) = self.tenants.as_mut().and_then(|tenants| tenants.get_mut(tenant)) {
            *left -= 1;
        }
        if !expired {
            if self.agent != ENDLESS {
                self.agent -= 1;
            }
            if self.per_tenant != ENDLESS {
                *self.running.entry(tenant.to_owned()).or_default() += 1;
            }
        }
        true
    }
}
