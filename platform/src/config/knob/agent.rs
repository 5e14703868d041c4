//! What an `[[agent]]` and a `[[tenant]]` table can say.

use super::{KNOB, Knob};
use crate::config::kind::Kind;
use wire::description::Described as _;
use wire::{AgentExtension, AgentSkill};

/// The schemes of what people open in a browser.
const WEB: &[&str] = &["http", "https"];

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Knob {
    Knob { name, kind, doc, ..KNOB }
}

/// Every key of a `[[tenant]]` table.
pub static TENANT_KEYS: &[Knob] = &[
    key("name", Kind::Tenant, "The tenant's name. Required."),
    key("weight", Kind::Whole(1, 100), "How many of its tasks are claimed where another tenant has one.").default("1"),
    key("max_running", Kind::Whole(0, 1_000_000), "Its tasks that run at a time, over all agents; 0 is no limit.")
        .default("0"),
];

/// Every key of an `[[agent]]` table. Its limits are the deployment's where it gives none.
pub static AGENT_KEYS: &[Knob] = &[
    key("name", Kind::Name, "The agent's name, which stands in URLs. Required."),
    key("default", Kind::Switch, "Whether it is the agent at the root; else the first one is.").default("false"),
    key("input_modes", Kind::MediaTypes, "Media types a client's parts may have; an empty list takes every one.")
        .default(""),
    key("client_contexts", Kind::Switch, "Whether a client may bring a context id of its own.").default("true"),
    key("cancelable", Kind::Switch, "Whether its tasks can be canceled.").default("true"),
    key("streaming", Kind::Switch, "Whether its tasks' events can be streamed.").default("true"),
    key("push_notifications", Kind::Switch, "Whether webhooks can be registered on its tasks.").default("true"),
    key("push_snapshot", Kind::Switch, "Whether a webhook registered on a running task first gets the task.")
        .default("true"),
    key(
        "direct",
        Kind::Switch,
        "Whether a worker may answer a message with a message and no task; what is not answered in time becomes a task.",
    )
    .default("false"),
    key("direct_limit_seconds", Kind::Seconds(1.0, 600.0), "How long a message waits for a direct answer.").default("10"),
    key("lease_seconds", Kind::Seconds(5.0, 3_600.0), "How long a lease lasts without a heartbeat.").default("30"),
    key("max_deliveries", Kind::Whole(1, 1_000), "Deliveries in a row without progress before the task fails.")
        .default("5"),
    key("max_running", Kind::Whole(0, 1_000_000), "Its tasks that run at a time, over all workers; 0 is no limit.")
        .default("0"),
    key(
        "max_running_per_tenant",
        Kind::Whole(0, 1_000_000),
        "Its tasks of one tenant that run at a time; 0 is no limit.",
    )
    .default("0"),
    key(
        "serial_contexts",
        Kind::Switch,
        "Whether tasks of one context run one at a time, in the order they came; not together with direct.",
    )
    .default("false"),
    key(
        "scheduling",
        Kind::Switch,
        "Whether clients may say when a task is due and how urgent it is, by the extension the card then declares.",
    )
    .default("true"),
    key(
        "priority_max",
        Kind::Whole(-10, 10),
        "The highest priority a client can give, -10 to 10; what asks for more gets this. 0 lets clients only stand back.",
    )
    .default("0"),
    key("settings", Kind::Free, "What its workers get with each lease: an [agent.settings] table of anything."),
    key("run.echo", Kind::Switch, "Whether `dev` and `worker` run the built-in demo agent on its tasks.").default("false"),
    key(
        "run.exec",
        Kind::Command,
        "The command that `dev` and `worker` run for each of its tasks: a list of the program and its arguments. No shell is involved.",
    ),
    key("run.http", Kind::Url(WEB), "The endpoint that `dev` and `worker` hand its tasks to."),
    key(
        "run.timeout_seconds",
        Kind::Seconds(0.1, 86_400.0),
        "How long run.exec or run.http may take for a task; else a command may take any time and an endpoint 10 minutes.",
    ),
    key(
        "run.grace_seconds",
        Kind::Seconds(0.0, 60.0),
        "How long a command of run.exec may take to end, before it is killed with everything it started.",
    )
    .default("5"),
    key(
        "run.messages",
        Kind::Switch,
        "Whether a command of run.exec has its stdin kept open, and gets a line for each further message of the client.",
    )
    .default("false"),
    key("limits.parts", Kind::Whole(1, 1_000_000), "Parts of one message or artifact update."),
    key("limits.history", Kind::Whole(1, 1_000_000), "Messages in one task's history."),
    key("limits.history_bytes", Kind::Whole(1, 1 << 32), "Bytes of one task's history."),
    key("limits.artifacts", Kind::Whole(1, 1_000_000), "Artifacts of one task."),
    key("limits.artifact_bytes", Kind::Whole(1, 1 << 40), "Bytes of all artifacts of one task."),
    key("limits.push_configs", Kind::Whole(1, 1_000), "Push notification configs of one task."),
    key("title", Kind::Text, "What the card calls the agent; else its name."),
    key("description", Kind::Text, "What the agent does, for its card."),
    key("version", Kind::Text, "The agent's own version, for its card.").default("1.0.0"),
    key("documentation_url", Kind::Url(WEB), "Where the agent's documentation is."),
    key("icon_url", Kind::Url(WEB), "An icon of the agent."),
    key("provider.organization", Kind::Text, "Who offers the agent."),
    key("provider.url", Kind::Url(WEB), "The site of who offers the agent."),
    key("output_modes", Kind::MediaTypes, "Media types the agent produces; an empty list is text/plain.").default(""),
    key(
        "skills",
        Kind::Records(&AgentSkill::DESCRIPTION),
        "What the agent can be asked for: [[agent.skills]] tables with id, name, description, tags, examples, input_modes and output_modes.",
    ),
    key(
        "extensions",
        Kind::Records(&AgentExtension::DESCRIPTION),
        "Extensions the agent knows: [[agent.extensions]] tables with uri, description, required and params.",
    ),
    key(
        "extended_card",
        Kind::Switch,
        "Whether the card declares an extended one; it does when [agent.extended] is there.",
    ),
    key("extended.description", Kind::Text, "The extended card's description, in place of the public one."),
    key("extended.version", Kind::Text, "The extended card's version, in place of the public one."),
    key("extended.documentation_url", Kind::Url(WEB), "The extended card's documentation, in place of the public one."),
    key(
        "extended.skills",
        Kind::Records(&AgentSkill::DESCRIPTION),
        "Skills that only the extended card tells of; one with the id of a public skill replaces it.",
    ),
];
