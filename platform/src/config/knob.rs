//! The table of everything an operator can set. `--help`, the reading of variables and file, `taskyard config` and the
//! reference all come from it, so that a knob is added here and read in `Config`, and nowhere else.

use super::kind::Kind;

mod agent;
pub use agent::{AGENT_KEYS, TENANT_KEYS};

/// One thing that can be set.
#[derive(Debug)]
pub struct Knob {
    /// Its dotted name in the file.
    pub name: &'static str,
    /// Its environment variable. Empty for what only the file can say.
    pub env: &'static str,
    /// Its flag without the dashes. Empty for what only the file can say.
    pub flag: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The value when nobody gives one, written as a variable would be. `None` is no value.
    pub default: Option<&'static str>,
    /// The default under `taskyard dev`, where that is another one.
    pub dev: Option<&'static str>,
    /// What it means, in one sentence or two.
    pub doc: &'static str,
    /// Whether the short help (`-h`) names it too.
    pub common: bool,
}

const KNOB: Knob =
    Knob { name: "", env: "", flag: "", kind: Kind::Switch, default: None, dev: None, doc: "", common: false };

const fn knob(name: &'static str, env: &'static str, flag: &'static str, kind: Kind, doc: &'static str) -> Knob {
    Knob { name, env, flag, kind, doc, ..KNOB }
}

impl Knob {
    const fn default(self, default: &'static str) -> Knob {
        Knob { default: Some(default), ..self }
    }

    const fn dev(self, default: &'static str) -> Knob {
        Knob { dev: Some(default), ..self }
    }

    const fn common(self) -> Knob {
        Knob { common: true, ..self }
    }
}

/// The variable that names the configuration file.
pub const CONFIG_ENV: &str = "TASKYARD_CONFIG";

/// The file that is read from the working directory when none is named.
pub const CONFIG_FILE: &str = "taskyard.toml";

/// Everything that can be set once.
pub static KNOBS: &[Knob] = &[
    knob("listen.host", "TASKYARD_LISTEN_HOST", "host", Kind::Host, "Address to listen on.")
        .default("127.0.0.1")
        .common(),
    knob(
        "listen.port",
        "TASKYARD_LISTEN_PORT",
        "port",
        Kind::Whole(0, 65_535),
        "Port to listen on; 0 takes a free one.",
    )
    .default("8080")
    .common(),
    knob(
        "listen.grpc_port",
        "TASKYARD_LISTEN_GRPC_PORT",
        "grpc-port",
        Kind::Port,
        "Port for gRPC, on the same address; 0 takes a free one, off serves none.",
    )
    .default("8081")
    .common(),
    knob("data", "TASKYARD_DATA", "data", Kind::Path, "Folder of the embedded store (`dev`).")
        .default("./taskyard-data")
        .common(),
    knob(
        "database.url",
        "DATABASE_URL",
        "database-url",
        Kind::Url(&["postgres", "postgresql"]),
        "The Postgres database that `api`, `notifier` and `migrate` share. `dev` keeps its own store.",
    )
    .common(),
    knob(
        "database.connections",
        "TASKYARD_DATABASE_CONNECTIONS",
        "database-connections",
        Kind::Whole(1, 1_000),
        "Connections to Postgres that one process holds at most.",
    )
    .default("16"),
    knob(
        "redis.url",
        "REDIS_URL",
        "redis-url",
        Kind::Url(&["redis", "redis+unix", "unix"]),
        "The Redis that carries hints between processes. Without one the sweeps find everything, later.",
    )
    .common(),
    knob(
        "secrets.key",
        "TASKYARD_SECRETS_KEY",
        "secrets-key",
        Kind::Key,
        "The key that push credentials and signing keys are encrypted with at rest, such as `openssl rand -base64 32` makes one; every process needs the same. Without one the deployment makes its own and keeps it in its database. It can be set or changed only while nothing is sealed: no credential and no signing key, of which a tenant has one from its first webhook on. Prefer the variable: other users can see flags.",
    ),
    knob(
        "log.level",
        "TASKYARD_LOG_LEVEL",
        "log-level",
        Kind::Filter,
        "What is logged: a level, or directives per module.",
    )
    .default("info,sqlx=warn,sea_orm_migration=warn")
    .common(),
    knob(
        "log.format",
        "TASKYARD_LOG_FORMAT",
        "log-format",
        Kind::Word(&["text", "json"]),
        "How log lines look on stderr: text for people, json for machines.",
    )
    .default("text"),
    knob(
        "limits.body_bytes",
        "TASKYARD_LIMITS_BODY_BYTES",
        "limits-body-bytes",
        Kind::Whole(1_024, 1 << 30),
        "Bytes of one request body.",
    )
    .default("4194304"),
    knob(
        "limits.parts",
        "TASKYARD_LIMITS_PARTS",
        "limits-parts",
        Kind::Whole(1, 1_000_000),
        "Parts of one message or artifact update.",
    )
    .default("256"),
    knob(
        "limits.history",
        "TASKYARD_LIMITS_HISTORY",
        "limits-history",
        Kind::Whole(1, 1_000_000),
        "Messages in one task's history.",
    )
    .default("1000"),
    knob(
        "limits.history_bytes",
        "TASKYARD_LIMITS_HISTORY_BYTES",
        "limits-history-bytes",
        Kind::Whole(1, 1 << 32),
        "Bytes of one task's history.",
    )
    .default("67108864"),
    knob(
        "limits.artifacts",
        "TASKYARD_LIMITS_ARTIFACTS",
        "limits-artifacts",
        Kind::Whole(1, 1_000_000),
        "Artifacts of one task.",
    )
    .default("1000"),
    knob(
        "limits.artifact_bytes",
        "TASKYARD_LIMITS_ARTIFACT_BYTES",
        "limits-artifact-bytes",
        Kind::Whole(1, 1 << 40),
        "Bytes of all artifacts of one task.",
    )
    .default("67108864"),
    knob(
        "limits.push_configs",
        "TASKYARD_LIMITS_PUSH_CONFIGS",
        "limits-push-configs",
        Kind::Whole(1, 1_000),
        "Push notification configs of one task.",
    )
    .default("50"),
    knob(
        "limits.tasks_per_tenant",
        "TASKYARD_LIMITS_TASKS_PER_TENANT",
        "limits-tasks-per-tenant",
        Kind::Whole(1, 1 << 40),
        "Tasks one tenant may hold.",
    )
    .default("1000000"),
    knob(
        "limits.page_default",
        "TASKYARD_LIMITS_PAGE_DEFAULT",
        "limits-page-default",
        Kind::Whole(1, 100),
        "Page size of lists when a client asks for none; at most limits.page_max.",
    )
    .default("50"),
    knob(
        "limits.page_max",
        "TASKYARD_LIMITS_PAGE_MAX",
        "limits-page-max",
        Kind::Whole(1, 100),
        "The largest page size a client may ask for; the protocol permits 100.",
    )
    .default("100"),
    knob(
        "poll.wait_seconds",
        "TASKYARD_POLL_WAIT_SECONDS",
        "poll-wait-seconds",
        Kind::Seconds(0.0, 300.0),
        "The longest a worker's poll waits for work.",
    )
    .default("30"),
    knob(
        "streams.keep_alive_seconds",
        "TASKYARD_STREAMS_KEEP_ALIVE_SECONDS",
        "streams-keep-alive-seconds",
        Kind::Seconds(1.0, 300.0),
        "How long a stream may be silent before a comment (gRPC: a ping) tells the proxies between here and the client that it lives; less than the shortest of their timeouts.",
    )
    .default("15"),
    knob(
        "streams.stall_seconds",
        "TASKYARD_STREAMS_STALL_SECONDS",
        "streams-stall-seconds",
        Kind::Seconds(1.0, 3_600.0),
        "How long a client may take nothing of what it is sent before its connection is closed.",
    )
    .default("60"),
    knob(
        "idempotency.hours",
        "TASKYARD_IDEMPOTENCY_HOURS",
        "idempotency-hours",
        Kind::Whole(1, 720),
        "How long an Idempotency-Key is remembered, in hours.",
    )
    .default("24"),
    knob(
        "sweep.milliseconds",
        "TASKYARD_SWEEP_MILLISECONDS",
        "sweep-milliseconds",
        Kind::Whole(10, 1_900),
        "How often the sweeps look for what a hint missed.",
    )
    .default("1000"),
    knob(
        "public_url",
        "TASKYARD_PUBLIC_URL",
        "public-url",
        Kind::Base,
        "Where clients find this deployment, path prefix included; cards say it. Without it they say what the client called us.",
    )
    .common(),
    knob(
        "public_grpc",
        "TASKYARD_PUBLIC_GRPC",
        "public-grpc",
        Kind::Text,
        "Where clients find gRPC, as host:port; cards say it. Without it they say where gRPC listens, if public_url is not set either and that is one address.",
    ),
    knob(
        "trust_forwarded",
        "TASKYARD_TRUST_FORWARDED",
        "trust-forwarded",
        Kind::Switch,
        "Whether a proxy in front sets or drops Forwarded and X-Forwarded-Proto, -Host and -Prefix, so that cards may believe them.",
    )
    .default("false"),
    knob(
        "cards.max_age_seconds",
        "TASKYARD_CARDS_MAX_AGE_SECONDS",
        "cards-max-age-seconds",
        Kind::Whole(0, 31_536_000),
        "How long clients and caches may keep an agent's card before they ask again.",
    )
    .default("300"),
    knob(
        "cards.signing_key",
        "TASKYARD_CARDS_SIGNING_KEY",
        "cards-signing-key",
        Kind::Pem,
        "The private key that cards are signed with, EC P-256 or Ed25519 in PEM. Prefer the variable: other users can see flags.",
    ),
    knob(
        "cards.signing_key_file",
        "TASKYARD_CARDS_SIGNING_KEY_FILE",
        "cards-signing-key-file",
        Kind::Path,
        "The file with the private key that cards are signed with, instead of the key itself.",
    ),
    knob(
        "cards.key_id",
        "TASKYARD_CARDS_KEY_ID",
        "cards-key-id",
        Kind::Text,
        "What verifiers know the signing key as (`kid`). Give a new key a new one.",
    ),
    knob(
        "cors.origins",
        "TASKYARD_CORS_ORIGINS",
        "cors-origins",
        Kind::Origins,
        "Origins of web pages that may call A2A, such as https://app.example; * is every one. Every page may read cards.",
    )
    .default(""),
    knob(
        "a2a.v03",
        "TASKYARD_A2A_V03",
        "a2a-v03",
        Kind::Switch,
        "Whether clients of A2A 0.3 are served too: /v1 paths, category/action methods, package a2a.v1, and their members on cards.",
    )
    .default("true"),
    knob(
        "webhooks.allow_loopback",
        "TASKYARD_WEBHOOKS_ALLOW_LOOPBACK",
        "webhooks-allow-loopback",
        Kind::Switch,
        "Whether webhooks may point at this machine and be plain http. `dev` sets it; nothing else should.",
    )
    .default("false")
    .dev("true"),
    knob(
        "webhooks.allow_http",
        "TASKYARD_WEBHOOKS_ALLOW_HTTP",
        "webhooks-allow-http",
        Kind::Switch,
        "Whether webhooks may be plain http, which shows whoever carries it what is in a task and the credentials.",
    )
    .default("false"),
    knob(
        "webhooks.allow_hosts",
        "TASKYARD_WEBHOOKS_ALLOW_HOSTS",
        "webhooks-allow-hosts",
        Kind::Hosts,
        "Names of receivers that may lead to private networks (10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7), such as hooks.internal, or *.internal for all below.",
    )
    .default(""),
    knob(
        "webhooks.allow_networks",
        "TASKYARD_WEBHOOKS_ALLOW_NETWORKS",
        "webhooks-allow-networks",
        Kind::Networks,
        "Networks that are not public and in which receivers may be, such as 10.1.0.0/16, whatever name or literal leads there. Metadata services of clouds are refused in any.",
    )
    .default(""),
    knob(
        "webhooks.timeout_seconds",
        "TASKYARD_WEBHOOKS_TIMEOUT_SECONDS",
        "webhooks-timeout-seconds",
        Kind::Seconds(0.1, 28.0),
        "The longest one delivery attempt takes, the answer's body included.",
    )
    .default("20"),
    knob(
        "webhooks.connect_timeout_seconds",
        "TASKYARD_WEBHOOKS_CONNECT_TIMEOUT_SECONDS",
        "webhooks-connect-timeout-seconds",
        Kind::Seconds(0.1, 28.0),
        "The longest connecting to a receiver takes, TLS included.",
    )
    .default("5"),
    knob(
        "notifier.slots",
        "TASKYARD_NOTIFIER_SLOTS",
        "notifier-slots",
        Kind::Whole(1, 10_000),
        "Deliveries that one notifier has in flight at most.",
    )
    .default("512"),
    knob(
        "notifier.schedule_seconds",
        "TASKYARD_NOTIFIER_SCHEDULE_SECONDS",
        "notifier-schedule-seconds",
        Kind::Delays(0.0, 360_000.0),
        "The wait before each attempt of a delivery; the first is made at once, whatever stands there. After the last one it is dead.",
    )
    .default("0,5,30,300,1800,7200,18000,36000,50400,72000,86400"),
    knob(
        "worker.url",
        "TASKYARD_URL",
        "url",
        Kind::Url(&["http", "https"]),
        "The platform that `worker` pulls its tasks from.",
    )
    .default("http://127.0.0.1:8080")
    .common(),
    knob(
        "worker.key",
        "TASKYARD_KEY",
        "key",
        Kind::Secret,
        "What `worker` shows the platform, or what asks in front of it, as its Bearer token. Prefer the variable: other users can see flags.",
    ),
    knob(
        "worker.agents",
        "TASKYARD_WORKER_AGENTS",
        "agents",
        Kind::Names,
        "The agents that `worker` and `dev` work for. Without it those whose tables say how ([agent.run]), and `demo`.",
    )
    .common(),
    knob(
        "worker.exec",
        "TASKYARD_WORKER_EXEC",
        "exec",
        Kind::Command,
        "A command for each task of these agents, whatever their tables say; without `--agents` of the default agent. Split into words as a shell does, and run without one.",
    )
    .common(),
    knob(
        "worker.http",
        "TASKYARD_WORKER_HTTP",
        "http",
        Kind::Url(&["http", "https"]),
        "An HTTP endpoint for the tasks of these agents, whatever their tables say; without `--agents` of the default agent.",
    )
    .common(),
    knob(
        "worker.concurrency",
        "TASKYARD_WORKER_CONCURRENCY",
        "worker-concurrency",
        Kind::Whole(1, 1_000),
        "Tasks that one worker works on at a time.",
    )
    .default("16"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_default_is_right() {
        for knob in KNOBS.iter().chain(AGENT_KEYS).chain(TENANT_KEYS) {
            for default in knob.default.iter().chain(&knob.dev) {
                assert!(knob.kind.check(&knob.kind.lift(default)), "{} = {default}", knob.name);
            }
        }
    }

    #[test]
    fn no_name_is_used_twice() {
        for of in [|knob: &Knob| knob.name, |knob: &Knob| knob.env, |knob: &Knob| knob.flag] {
            assert_eq!(KNOBS.iter().map(of).collect::<BTreeSet<_>>().len(), KNOBS.len());
        }
    }
}
