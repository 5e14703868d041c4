//! Each test is one rule of the configuration.

use super::*;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own, gone at the end of the test.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("taskyard-config-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(super) fn with(text: &str) -> Folder {
        let folder = Folder::new();
        std::fs::write(folder.0.join(CONFIG_FILE), text).unwrap();
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn flags(given: &[(&'static str, &str)]) -> Flags {
    Flags { config: None, values: given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect() }
}

pub(super) fn environment(given: &[(&str, &str)]) -> Environment {
    given.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

pub(super) fn of_file(text: &str) -> Result<Config, Refusal> {
    Config::load(&flags(&[]), &environment(&[]), &Folder::with(text).0, false)
}

pub(super) fn of_environment(given: &[(&str, &str)]) -> Result<Config, Refusal> {
    Config::load(&flags(&[]), &environment(given), &Folder::new().0, false)
}

/// The problems of a file, which must be these.
#[track_caller]
pub(super) fn refused(text: &str, problems: &[&str]) {
    assert_eq!(of_file(text).unwrap_err().problems, problems, "{text}");
}

#[test]
fn the_defaults_are_the_engines_own() {
    let config = of_environment(&[]).unwrap();
    assert_eq!(config.settings, Settings::with_agents([engine::settings::Agent::named("demo")]));
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.listen_grpc.map(|address| address.to_string()).as_deref(), Some("127.0.0.1:8081"));
    assert_eq!(config.api.body_bytes, 4 << 20);
    let options = api::Options::default();
    assert_eq!((config.api.keep_alive, config.api.stall), (options.keep_alive, options.stall));
    assert_eq!(config.notifier.schedule.iter().sum::<Duration>().as_secs(), 75 * 3600 + 35 * 60 + 35);
    assert!(config.database_url("api").unwrap_err().to_string().contains("DATABASE_URL"));
}

#[test]
fn clients_of_0_3_are_served_unless_they_are_switched_off() {
    assert!(of_environment(&[]).unwrap().api.v03);
    assert!(!of_environment(&[("TASKYARD_A2A_V03", "false")]).unwrap().api.v03);
    let folder = Folder::with("[a2a]\nv03 = false\n");
    let config = Config::load(&Flags::default(), &Environment::default(), &folder.0, false).unwrap();
    assert!(!config.api.v03);
}

#[test]
fn streams_wait_as_long_as_the_operator_says() {
    let config = of_file("[streams]\nkeep_alive_seconds = 2.5\nstall_seconds = 7\n").unwrap();
    assert_eq!((config.api.keep_alive, config.api.stall), (Duration::from_millis(2_500), Duration::from_secs(7)));
    for (name, wrong) in [("KEEP_ALIVE", "0"), ("KEEP_ALIVE", "301"), ("STALL", "0.5"), ("STALL", "soon")] {
        let refused = of_environment(&[(&format!("TASKYARD_STREAMS_{name}_SECONDS"), wrong)]).unwrap_err();
        assert_eq!(refused.problems.len(), 1, "{name}={wrong}");
    }
}

#[test]
fn grpc_can_be_off() {
    for (text, port) in [("off", None), ("0", Some(0)), ("9000", Some(9_000))] {
        let config = of_environment(&[("TASKYARD_LISTEN_GRPC_PORT", text)]).unwrap();
        assert_eq!(config.listen_grpc.map(|address| address.port()), port);
    }
    let folder = Folder::with("[listen]\ngrpc_port = \"off\"\n");
    let config = Config::load(&Flags::default(), &Environment::default(), &folder.0, false).unwrap();
    assert_eq!(config.listen_grpc, None);
    for wrong in ["no", "70000", "-1", "false"] {
        let refused = of_environment(&[("TASKYARD_LISTEN_GRPC_PORT", wrong)]).unwrap_err();
        assert!(refused.to_string().ends_with("wanted is a whole number from 0 to 65535, or off"), "{refused}");
    }
}

#[test]
fn a_flag_goes_before_a_variable_before_the_file_before_the_default() {
    let folder = Folder::with("[listen]\nport = 1\n");
    let variable = environment(&[("TASKYARD_LISTEN_PORT", "2")]);
    let flag = flags(&[("listen.port", "3")]);
    let port = |flags: &Flags, environment: &Environment, folder: &Folder| {
        let config = Config::load(flags, environment, &folder.0, false).unwrap();
        (config.listen.port(), config.source("listen.port").to_string())
    };
    assert_eq!(port(&flag, &variable, &folder), (3, "--port".into()));
    assert_eq!(port(&Flags::default(), &variable, &folder), (2, "TASKYARD_LISTEN_PORT".into()));
    assert_eq!(port(&Flags::default(), &Environment::default(), &folder), (1, "taskyard.toml:2".into()));
    assert_eq!(port(&Flags::default(), &Environment::default(), &Folder::new()), (8080, "default".into()));
}

#[test]
fn the_file_can_be_named_and_must_then_be_there() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("other.toml"), "data = \"elsewhere\"").unwrap();
    let by_variable = environment(&[("TASKYARD_CONFIG", "other.toml")]);
    assert_eq!(Config::load(&Flags::default(), &by_variable, &folder.0, false).unwrap().data, Path::new("elsewhere"));
    let by_flag = Flags { config: Some("missing.toml".into()), ..Flags::default() };
    let refusal = Config::load(&by_flag, &by_variable, &folder.0, false).unwrap_err();
    assert!(refusal.problems[0].starts_with("reading `missing.toml`: "), "{refusal}");
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
    let text = "data = \"x\"\n\n[listen]\nprot = 1\n";
    refused(text, &["taskyard.toml:4: unknown key `listen.prot`; did you mean `listen.port`?"]);
    refused("port = 1\n", &["taskyard.toml:1: unknown key `port`; did you mean `listen.port`?"]);
    refused("colour = 1\n", &["taskyard.toml:1: unknown key `colour`"]);
    refused("[limit]\nparts = 1\n", &["taskyard.toml:1: unknown key `limit`; did you mean `limits`?"]);
    refused("listen = 1\n", &["taskyard.toml:1: `listen` is a table: write `[listen]` and its keys below it"]);
    refused(
        "[agent]\nname = \"a\"\n",
        &["taskyard.toml:1: `agent` is a list of tables: write `[[agent]]` before each agent"],
    );
    let text = "[[agent]]\nname = \"a\"\nlease = 5\nlimits.part = 3\n";
    refused(
        text,
        &[
            "taskyard.toml:3: unknown key `lease`",
            "taskyard.toml:4: unknown key `limits.part`; did you mean `limits.parts`?",
        ],
    );
}

#[test]
fn what_is_no_toml_is_named_with_its_line() {
    let refusal = of_file("data = \"x\"\n[listen\n").unwrap_err();
    assert!(refusal.problems[0].starts_with("taskyard.toml:2: this is no TOML: "), "{refusal}");
}

#[test]
fn an_unknown_variable_is_named_with_the_nearest_known_one() {
    let problems = |name: &str| of_environment(&[(name, "1")]).unwrap_err().problems;
    let unknown = |name: &str, meant: &str| {
        assert_eq!(problems(name), [format!("environment: unknown variable `{name}`; did you mean `{meant}`?")]);
    };
    unknown("TASKYARD_PORT", "TASKYARD_LISTEN_PORT");
    unknown("TASKYARD_LISTEN_PROT", "TASKYARD_LISTEN_PORT");
    unknown("TASKYARD_DATABASE_URL", "DATABASE_URL");
    assert_eq!(problems("TASKYARD_COLOUR_OF_SHED"), ["environment: unknown variable `TASKYARD_COLOUR_OF_SHED`"]);
    assert!(of_environment(&[("TASKYARD_TEST_POSTGRES", "1"), ("HOME", "1"), ("TASKYARD_LISTEN_PORT", "")]).is_ok());
}

#[test]
fn a_bad_value_is_named_with_its_source_and_what_would_be_right() {
    let problems = |name: &str, value: &str| of_environment(&[(name, value)]).unwrap_err().problems;
    assert_eq!(
        problems("TASKYARD_LISTEN_PORT", "70000"),
        ["TASKYARD_LISTEN_PORT: `listen.port` is `70000`, wanted is a whole number from 0 to 65535"]
    );
    assert_eq!(
        problems("TASKYARD_LOG_FORMAT", "xml"),
        ["TASKYARD_LOG_FORMAT: `log.format` is `xml`, wanted is one of text, json"]
    );
    assert_eq!(
        problems("REDIS_URL", "http://:s3cret@cache"),
        [
            "REDIS_URL: `redis.url` is `http://:***@cache/`, wanted is a URL that begins with redis:// or redis+unix:// or unix://"
        ]
    );
    refused(
        "[listen]\nport = \"80\"\nhost = \"nowhere\"\n[notifier]\nschedule_seconds = [0, -1]\n",
        &[
            "taskyard.toml:3: `listen.host` is `nowhere`, wanted is an IP address, such as 127.0.0.1 or ::1, or localhost",
            "taskyard.toml:2: `listen.port` is `80`, wanted is a whole number from 0 to 65535",
            "taskyard.toml:5: `notifier.schedule_seconds` is `0,-1`, wanted is a list of 1 to 50 times in seconds, each from 0 to 360000",
        ],
    );
    refused(
        "[limits]\npage_default = 60\npage_max = 40\n",
        &["taskyard.toml:2: `limits.page_default` is `60`, wanted is at most limits.page_max, which is 40"],
    );
}

#[test]
fn a_wrong_secret_is_refused_without_showing_it() {
    let refusal =
        of_environment(&[("TASKYARD_SECRETS_KEY", "s3cret"), ("DATABASE_URL", "bob:s3cret@db/x")]).unwrap_err();
    assert_eq!(refusal.problems.len(), 2);
    assert!(!refusal.to_string().contains("s3cret"), "{refusal}");
}

#[test]
fn secrets_show_nowhere() {
    let key = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=";
    let config = of_environment(&[
        ("DATABASE_URL", "postgres://bob:hunter2@db/taskyard"),
        ("REDIS_URL", "redis://:hunter2@cache"),
        ("TASKYARD_SECRETS_KEY", key),
    ])
    .unwrap();
    assert_eq!(config.database_url("api").unwrap(), "postgres://bob:hunter2@db/taskyard");
    assert_eq!(config.secrets_key.as_ref().map(|key| &key.reveal()[..6]), Some(&b"secret"[..]));
    for shown in [config.table(), config.json().to_string(), format!("{config:?}")] {
        assert!(shown.contains("postgres://bob:***@db/taskyard"), "{shown}");
        assert!(!shown.contains("hunter2") && !shown.contains(key), "{shown}");
    }
    let logs = format!("{:?} {:?} {:?}", config.secrets_key, config.database_url, config.redis_url);
    assert_eq!(logs, "Some(***) Some(***) Some(***)");
}

#[test]
fn dev_allows_loopback_receivers_unless_told_otherwise() {
    let allowed = |given: &[(&str, &str)], dev| {
        let config = Config::load(&Flags::default(), &environment(given), &Folder::new().0, dev).unwrap();
        config.settings.webhooks.allow_loopback
    };
    assert!(allowed(&[], true));
    assert!(!allowed(&[], false));
    assert!(!allowed(&[("TASKYARD_WEBHOOKS_ALLOW_LOOPBACK", "false")], true));
}

#[test]
fn the_operator_says_where_webhooks_may_be() {
    let load = |given: &[(&str, &str)]| Config::load(&Flags::default(), &environment(given), &Folder::new().0, false);
    let config = load(&[
        ("TASKYARD_WEBHOOKS_ALLOW_HOSTS", "hooks.internal, *.svc.example"),
        ("TASKYARD_WEBHOOKS_ALLOW_NETWORKS", "10.1.0.0/16"),
    ])
    .unwrap();
    let webhooks = &config.settings.webhooks;
    let may = |name, address: &str| webhooks.permits(name, address.parse().unwrap());
    assert!(may(Some("hooks.internal"), "192.168.1.1") && may(None, "10.1.2.3") && !may(None, "10.2.0.1"));
    assert!(!webhooks.allow_http && load(&[]).unwrap().settings.webhooks == engine::address::WebhookPolicy::default());
    for (name, wrong) in [
        ("TASKYARD_WEBHOOKS_ALLOW_HOSTS", "10.0.0.1"),
        ("TASKYARD_WEBHOOKS_ALLOW_HOSTS", "*"),
        ("TASKYARD_WEBHOOKS_ALLOW_NETWORKS", "10.1.0.1/16"),
        ("TASKYARD_WEBHOOKS_ALLOW_NETWORKS", "hooks.internal"),
    ] {
        let refusal = load(&[(name, wrong)]).unwrap_err().to_string();
        assert!(refusal.contains(name) && refusal.contains(wrong) && refusal.contains("such as"), "{refusal}");
    }
}

#[test]
fn agents_come_from_the_file_and_inherit_the_limits() {
    let text = r#"
        [limits]
        parts = 7
        [[agent]]
        name = "first"
        [[agent]]
        name = "second"
        default = true
        input_modes = ["text/plain", "image/*"]
        client_contexts = false
        cancelable = false
        streaming = false
        push_notifications = false
        push_snapshot = false
        lease_seconds = 5
        max_deliveries = 1
        [agent.limits]
        history = 3
    "#;
    let config = of_file(text).unwrap();
    assert_eq!(config.settings.default_agent, "second");
    let second = &config.settings.agents["second"];
    assert_eq!(second.input_modes, ["text/plain", "image/*"]);
    assert!(!(second.client_contexts || second.cancelable || second.streaming));
    assert!(!(second.push_notifications || second.push_snapshot));
    assert!(config.settings.agents["first"].streaming);
    assert_eq!((second.lease, second.max_deliveries), (Duration::from_secs(5), 1));
    assert_eq!((second.limits.parts, second.limits.history, second.limits.artifacts), (7, 3, 1_000));
    assert_eq!(config.settings.agents["first"].limits.history, 1_000);
    assert_eq!(config.json()["agents"]["second"]["limits.parts"]["source"], "limits.parts");
    assert_eq!(of_file("[[agent]]\nname = \"a\"\n[[agent]]\nname = \"b\"\n").unwrap().settings.default_agent, "a");
}

#[test]
fn a_wrong_agent_is_refused() {
    refused("[[agent]]\ncancelable = true\n", &["taskyard.toml:1: this `[[agent]]` has no `name`"]);
    refused(
        "[[agent]]\nname = \"a\"\ndefault = true\n[[agent]]\nname = \"a\"\ndefault = true\n",
        &[
            "taskyard.toml:5: the agent `a` is already defined in line 2",
            "taskyard.toml:6: only one agent can be the default one, and line 3 has it already",
        ],
    );
    refused(
        "[[agent]]\nname = \"a/b\"\nlease_seconds = 1\n",
        &[
            "taskyard.toml:2: `name` is `a/b`, wanted is 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
            "taskyard.toml:3: `lease_seconds` is `1`, wanted is a number of seconds from 5 to 3600",
        ],
    );
}
