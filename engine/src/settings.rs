//! What the operator decides: agents, bounds and times. Plain values, already checked; where they come from (flags, environment,
//! file) is the platform's business.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wire::worker::AgentSettings;

pub use crate::address::WebhookPolicy;
use crate::card::Card;
use crate::scheduling;

/// One agent: a queue, and the rules its card promises.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// 1-64 characters of `[A-Za-z0-9._-]`; stands in URLs and in every row.
    pub name: String,
    /// Media types a client's part may have. Empty accepts every one. `type/*` covers a whole type.
    pub input_modes: Vec<String>,
    /// Whether a client may bring a context id of its own (§3.4.1).
    pub client_contexts: bool,
    /// Whether tasks may be canceled; a worker may still forbid it for a stage.
    pub cancelable: bool,
    /// `capabilities.streaming` of the card (§3.3.4).
    pub streaming: bool,
    /// `capabilities.pushNotifications` of the card (§3.3.4).
    pub push_notifications: bool,
    /// Whether a push config created on a running task first hears a `{task}` snapshot.
    pub push_snapshot: bool,
    /// Whether a worker may answer a message with a message and no task (§3.1.1), and how long the sender waits for that before the
    /// message becomes a task: 1 s to 10 min.
    pub direct: Option<Duration>,
    /// How long a lease lasts without a heartbeat: 5 s to 1 h.
    pub lease: Duration,
    /// After so many deliveries in a row without progress the platform fails the task.
    pub max_deliveries: u32,
    /// Tasks of it that run at a time, over all workers; 0 is no limit.
    pub max_running: usize,
    /// The same of one tenant.
    pub max_running_per_tenant: usize,
    /// Whether tasks of one context run one at a time, in the order they came. Never together with `direct`.
    pub serial_contexts: bool,
    /// Whether clients may say when a task is due and how urgent it is, by the extension its card then declares.
    pub scheduling: bool,
    /// The highest priority a client can give: -10 to 10.
    pub priority_max: i16,
    /// What the operator wrote for its workers; it goes to them with each lease.
    pub settings: Option<wire::Struct>,
    /// Bounds of this agent's tasks.
    pub limits: Limits,
    /// What it says about itself.
    pub card: Card,
}

/// Bounds of requests and tasks. Going over one is refused and stores nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Parts of one message or artifact update.
    pub parts: usize,
    /// Messages in one task's history; checked on client sends.
    pub history: i32,
    /// Bytes of one task's history; checked on client sends, so that the last one may go over it by its own length.
    pub history_bytes: i64,
    /// Artifacts of one task.
    pub artifacts: i32,
    /// Bytes of all artifacts of one task, as stored.
    pub artifact_bytes: i64,
    /// Push notification configs of one task.
    pub push_configs: i32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            parts: 256,
            history: 1_000,
            history_bytes: 64 << 20,
            artifacts: 1_000,
            artifact_bytes: 64 << 20,
            push_configs: 50,
        }
    }
}

impl Agent {
    /// An agent with every default, which accepts everything.
    pub fn named(name: impl Into<String>) -> Agent {
        let name = name.into();
        Agent {
            card: Card::named(&name),
            name,
            input_modes: Vec::new(),
            client_contexts: true,
            cancelable: true,
            streaming: true,
            push_notifications: true,
            push_snapshot: true,
            direct: None,
            lease: Duration::from_secs(30),
            max_deliveries: 5,
            max_running: 0,
            max_running_per_tenant: 0,
            serial_contexts: false,
            scheduling: true,
            priority_max: 0,
            settings: None,
            limits: Limits::default(),
        }
    }

    /// What its workers need to know of it.
    pub(crate) fn for_workers(&self) -> AgentSettings {
        let capped = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        AgentSettings {
            lease_seconds: self.lease.as_secs_f64(),
            max_deliveries: capped(self.max_deliveries as usize),
            cancelable: self.cancelable,
            max_parts: capped(self.limits.parts),
            max_artifacts: self.limits.artifacts,
            max_artifact_bytes: self.limits.artifact_bytes,
            settings: self.settings.clone(),
        }
    }

    /// Whether claims for it count what is running, and so take turns over all replicas.
    pub(crate) fn takes_turns(&self) -> bool {
        self.max_running > 0 || self.max_running_per_tenant > 0 || self.serial_contexts
    }

    /// The extensions its card declares: the operator's, and what the platform itself understands.
    pub fn extensions(&self) -> Vec<wire::AgentExtension> {
        let mut extensions = self.card.extensions.clone();
        if self.scheduling && extensions.iter().all(|own| own.uri != scheduling::URI) {
            extensions.push(scheduling::extension());
        }
        extensions
    }

    /// Whether a part of this media type is welcome (§3.1.1). A part without one always is.
    pub fn accepts(&self, media_type: &str) -> bool {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        self.input_modes.is_empty()
            || essence.is_empty()
            || self.input_modes.iter().any(|mode| match mode.strip_suffix("/*") {
                Some("*") => true,
                Some(kind) => essence.split_once('/').is_some_and(|(k, _)| k.eq_ignore_ascii_case(kind)),
                None => mode.eq_ignore_ascii_case(essence),
            })
    }
}

/// What is said of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantSettings {
    /// How many of its tasks are claimed where another tenant has one: 1 to 100.
    pub weight: usize,
    /// Tasks of it that run at a time, over all agents; 0 is no limit.
    pub max_running: usize,
}

impl Default for TenantSettings {
    fn default() -> Self {
        TenantSettings { weight: 1, max_running: 0 }
    }
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Every agent by name.
    pub agents: BTreeMap<String, Arc<Agent>>,
    /// Tenants of which something is said, by name.
    pub tenants: BTreeMap<String, TenantSettings>,
    /// The agent that lives at the root; one of `agents`.
    pub default_agent: String,
    /// Tasks one tenant may hold.
    pub tasks_per_tenant: i64,
    /// Page size of lists when none is asked for.
    pub page_default: i32,
    /// The largest page size.
    pub page_max: i32,
    /// The longest a poll waits.
    pub poll_wait: Duration,
    /// How long an idempotency key is kept.
    pub key_lifetime: Duration,
    /// How often the sweeps look for what a hint missed. Under 2 s by promise 3.
    pub sweep: Duration,
    /// Where webhooks may point.
    pub webhooks: WebhookPolicy,
}

impl Settings {
    /// These agents (the first is the default one) and every other value as documented.
    pub fn with_agents(agents: impl IntoIterator<Item = Agent>) -> Settings {
        let agents: Vec<Agent> = agents.into_iter().collect();
        let default_agent = agents.first().map(|agent| agent.name.clone()).unwrap_or_default();
        Settings {
            agents: agents.into_iter().map(|agent| (agent.name.clone(), Arc::new(agent))).collect(),
            tenants: BTreeMap::new(),
            default_agent,
            tasks_per_tenant: 1_000_000,
            page_default: 50,
            page_max: 100,
            poll_wait: Duration::from_secs(30),
            key_lifetime: Duration::from_secs(24 * 3600),
            sweep: Duration::from_secs(1),
            webhooks: WebhookPolicy::default(),
        }
    }

    /// The weight of this tenant among the others.
    pub(crate) fn weight_of(&self, tenant: &str) -> usize {
        self.tenants.get(tenant).map_or(1, |own| own.weight)
    }

    /// Whether any tenant may run only so much.
    pub(crate) fn limits_tenants(&self) -> bool {
        self.tenants.values().any(|own| own.max_running > 0)
    }
}
