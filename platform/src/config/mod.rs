//! Everything an operator can decide. A value comes from a flag, an environment variable, the file `taskyard.toml` or its
//! default, in this order. What is unknown or wrong refuses to start, with every problem named at once: a knob that silently
//! does nothing costs more than a process that does not come up.

mod agent;
mod card;
#[cfg(test)]
mod card_tests;
mod file;
mod kind;
pub mod knob;
mod record;
mod refusal;
mod run;
#[cfg(test)]
mod run_tests;
mod show;
mod source;
mod table;
mod tenant;
#[cfg(test)]
mod tenant_tests;
#[cfg(test)]
mod tests;

pub use kind::Kind;
pub use refusal::Refusal;
pub use run::Run;
pub use source::{Environment, Flags, Source};

use engine::settings::{Settings, WebhookPolicy};
use file::File;
use knob::{CONFIG_ENV, CONFIG_FILE, KNOBS};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use table::Table;

/// The effective configuration, checked.
#[derive(Clone)]
pub struct Config {
    /// Where the surfaces listen.
    pub listen: SocketAddr,
    /// Where gRPC listens; `None` where it is off.
    pub listen_grpc: Option<SocketAddr>,
    /// The folder of the embedded store, relative to the working directory.
    pub data: PathBuf,
    /// Connections to Postgres that this process holds at most, 1 to 1,000.
    pub database_connections: u32,
    /// The key that push credentials are encrypted with. `None` where the operator gave none.
    pub secrets_key: Option<Secret<[u8; 32]>>,
    /// What is logged, and how.
    pub log: Log,
    /// How the surfaces are served.
    pub api: api::Options,
    /// The agents, bounds and times that the engine works with.
    pub settings: Settings,
    /// How webhooks are delivered.
    pub notifier: Notifier,
    /// What `taskyard worker` does.
    pub worker: Worker,
    database_url: Option<Secret<String>>,
    redis_url: Option<Secret<String>>,
    file: Option<PathBuf>,
    knobs: Table,
    agents: Vec<Table>,
    tenants: Vec<Table>,
}

/// What `taskyard config --json` prints, so that a log line cannot show a secret.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json().fmt(f)
    }
}

/// A value that never shows in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// The value. Whoever asks for it takes care where it goes.
    pub fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(kind::MASK)
    }
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Directives of tracing-subscriber's `EnvFilter`.
    pub filter: String,
    /// JSON lines instead of text.
    pub json: bool,
}

/// How webhooks are delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notifier {
    /// Deliveries in flight at most, 1 to 10,000.
    pub slots: usize,
    /// The wait before each attempt, the first included; 1 to 50 of them.
    pub schedule: Vec<Duration>,
    /// The longest one attempt takes, the answer's body included.
    pub timeout: Duration,
    /// The longest connecting takes, TLS included.
    pub connect_timeout: Duration,
}

/// What `taskyard worker` does.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// The platform's base URL, without a slash at its end.
    pub url: String,
    /// The key it shows, if it has one.
    pub key: Option<Secret<String>>,
    /// The agents whose tasks it pulls, and what works on them; possibly none.
    pub agents: Vec<(String, Run)>,
    /// Tasks it works on at a time, 1 to 1,000.
    pub concurrency: usize,
}

impl Config {
    /// Reads every source. `directory` is where a `taskyard.toml` is looked for; `dev` applies the defaults of `taskyard dev`.
    ///
    /// # Errors
    /// Whatever is unknown or wrong, all of it at once.
    pub fn load(flags: &Flags, environment: &Environment, directory: &Path, dev: bool) -> Result<Config, Refusal> {
        let mut problems = Vec::new();
        environment.check(&mut problems);
        let file = find_file(flags, environment, directory, &mut problems)?;
        let knobs = resolve(flags, environment, &file, dev, &mut problems);
        let signer = card::signer(&knobs, directory, dev, &mut problems);
        let agents = agent::tables(&file, &knobs, signer.is_some(), &mut problems);
        let tenants = tenant::tables(&file, &mut problems);
        if let (Ok(default), Ok(most)) = (knobs.whole::<i64>("limits.page_default"), knobs.whole("limits.page_max"))
            && default > most
        {
            let source = knobs.entry("limits.page_default").map_or(&Source::Default, |entry| &entry.source);
            problems.push(format!(
                "{source}: `limits.page_default` is `{default}`, wanted is at most limits.page_max, which is {most}"
            ));
        }
        if knobs.texts("worker.agents").is_ok_and(|agents| agents.is_empty()) {
            let source = knobs.entry("worker.agents").map_or(&Source::Default, |entry| &entry.source);
            problems.push(format!("{source}: `worker.agents` is empty, wanted is at least one agent name"));
        }
        if let (Some(exec), Some(http)) = (knobs.entry("worker.exec"), knobs.entry("worker.http"))
            && exec.value.is_some()
            && http.value.is_some()
        {
            problems.push(format!(
                "{}: `worker.http` is given beside `worker.exec` ({}), wanted is one of them",
                http.source, exec.source
            ));
        }
        if problems.is_empty() {
            Config::build(file.path, knobs, agents, tenants, signer)
        } else {
            Err(Refusal { problems })
        }
    }

    /// The Postgres database.
    ///
    /// # Errors
    /// None is configured; `who` is the subcommand that needs it.
    pub fn database_url(&self, who: &str) -> Result<&str, Refusal> {
        self.database_url.as_ref().map(|url| url.reveal().as_str()).ok_or_else(|| {
            Refusal::because(format!(
                "`taskyard {who}` keeps its data in Postgres and `database.url` is not set: give DATABASE_URL, --database-url, \
                 or `url` under `[database]` in {CONFIG_FILE}; `taskyard dev` needs no database"
            ))
        })
    }

    /// The Redis that carries hints, if there is one.
    pub fn redis_url(&self) -> Option<&str> {
        self.redis_url.as_ref().map(|url| url.reveal().as_str())
    }

    /// Who gave a knob its value. Unknown names count as defaults.
    pub fn source(&self, name: &str) -> &Source {
        self.knobs.entry(name).map_or(&Source::Default, |entry| &entry.source)
    }

    fn build(
        file: Option<PathBuf>,
        knobs: Table,
        agents: Vec<Table>,
        tenants: Vec<Table>,
        signer: Option<Arc<api::Signer>>,
    ) -> Result<Config, Refusal> {
        let host = match knobs.word("listen.host")? {
            "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            host => host.parse().map_err(|error| Refusal::because(format!("reading `listen.host`: {error}")))?,
        };
        let secret = |name: &str| knobs.text(name).map(|text| Secret(text.to_owned()));
        let settings = settings(&knobs, &agents, &tenants)?;
        Ok(Config {
            listen: SocketAddr::new(host, knobs.whole("listen.port")?),
            listen_grpc: knobs.port("listen.grpc_port")?.map(|port| SocketAddr::new(host, port)),
            data: knobs.word("data")?.into(),
            database_connections: knobs.whole("database.connections")?,
            secrets_key: knobs.text("secrets.key").and_then(kind::key).map(Secret),
            log: Log { filter: knobs.word("log.level")?.to_owned(), json: knobs.word("log.format")? == "json" },
            api: surfaces(&knobs, signer)?,
            notifier: Notifier {
                slots: knobs.whole("notifier.slots")?,
                schedule: knobs.delays("notifier.schedule_seconds")?,
                timeout: knobs.seconds("webhooks.timeout_seconds")?,
                connect_timeout: knobs.seconds("webhooks.connect_timeout_seconds")?,
            },
            worker: Worker {
                url: knobs.word("worker.url")?.trim_end_matches('/').to_owned(),
                key: secret("worker.key"),
                agents: run::agents(&knobs, &agents, &settings.default_agent)?,
                concurrency: knobs.whole("worker.concurrency")?,
            },
            settings,
            database_url: secret("database.url"),
            redis_url: secret("redis.url"),
            file,
            knobs,
            agents,
            tenants,
        })
    }
}

fn find_file(
    flags: &Flags,
    environment: &Environment,
    directory: &Path,
    problems: &mut Vec<String>,
) -> Result<File, Refusal> {
    let named = flags.config.clone().or_else(|| environment.get(CONFIG_ENV, problems).map(PathBuf::from));
    match named {
        Some(path) => File::read(&directory.join(&path), &path, problems),
        None if directory.join(CONFIG_FILE).exists() => {
            File::read(&directory.join(CONFIG_FILE), Path::new(CONFIG_FILE), problems)
        }
        None => Ok(File::default()),
    }
}

fn resolve(flags: &Flags, environment: &Environment, file: &File, dev: bool, problems: &mut Vec<String>) -> Table {
    let mut table = Table::default();
    for knob in KNOBS {
        let lift = |text: &str| Some(knob.kind.lift(text));
        let (value, source) = if let Some(text) = flags.values.get(knob.name) {
            (lift(text), Source::Flag(knob.flag))
        } else if let Some(text) = environment.get(knob.env, problems) {
            (lift(&text), Source::Variable(knob.env))
        } else if let (Some((value, line)), Some(path)) = (file.values.get(knob.name), &file.path) {
            (Some(value.clone()), Source::File(path.clone(), *line))
        } else if let (true, Some(text)) = (dev, knob.dev) {
            (lift(text), Source::Dev)
        } else {
            (knob.default.and_then(lift), Source::Default)
        };
        table.take(knob, value, source, problems);
    }
    table
}

fn surfaces(knobs: &Table, signer: Option<Arc<api::Signer>>) -> Result<api::Options, Refusal> {
    Ok(api::Options {
        body_bytes: knobs.whole("limits.body_bytes")?,
        keep_alive: knobs.seconds("streams.keep_alive_seconds")?,
        stall: knobs.seconds("streams.stall_seconds")?,
        public_url: knobs.text("public_url").map(str::to_owned),
        grpc_url: knobs.text("public_grpc").map(str::to_owned),
        trust_forwarded: knobs.switch("trust_forwarded")?,
        card_max_age: Duration::from_secs(knobs.whole("cards.max_age_seconds")?),
        cors_origins: knobs.texts("cors.origins")?,
        v03: knobs.switch("a2a.v03")?,
        signer,
        ..api::Options::default()
    })
}

fn settings(knobs: &Table, tables: &[Table], tenants: &[Table]) -> Result<Settings, Refusal> {
    let mut settings = Settings::with_agents([]);
    for table in tables {
        let agent = agent::agent(table)?;
        if settings.agents.is_empty() || table.switch("default")? {
            settings.default_agent.clone_from(&agent.name);
        }
        settings.agents.insert(agent.name.clone(), Arc::new(agent));
    }
    for table in tenants {
        let (name, tenant) = tenant::tenant(table)?;
        settings.tenants.insert(name, tenant);
    }
    settings.tasks_per_tenant = knobs.whole("limits.tasks_per_tenant")?;
    settings.page_default = knobs.whole("limits.page_default")?;
    settings.page_max = knobs.whole("limits.page_max")?;
    settings.poll_wait = knobs.seconds("poll.wait_seconds")?;
    settings.key_lifetime = Duration::from_secs(knobs.whole::<u64>("idempotency.hours")? * 3_600);
    settings.sweep = Duration::from_millis(knobs.whole("sweep.milliseconds")?);
    settings.webhooks = WebhookPolicy {
        allow_loopback: knobs.switch("webhooks.allow_loopback")?,
        allow_http: knobs.switch("webhooks.allow_http")?,
        hosts: knobs.texts("webhooks.allow_hosts")?.iter().filter_map(|host| host.parse().ok()).collect(),
        networks: knobs.texts("webhooks.allow_networks")?.iter().filter_map(|network| network.parse().ok()).collect(),
    };
    Ok(settings)
}
