//! Which agents are run, and by what.

use super::tests::{environment, of_environment, of_file, refused};
use super::*;

fn exec(words: &[&str]) -> Run {
    let command = words.iter().map(|&word| word.to_owned()).collect();
    Run::Exec { command, timeout: None, grace: Duration::from_secs(5), messages: false }
}

fn http(url: &str) -> Run {
    Run::Http { url: url.to_owned(), timeout: None }
}

fn named(agents: &[(&str, Run)]) -> Vec<(String, Run)> {
    agents.iter().map(|(name, run)| ((*name).to_owned(), run.clone())).collect()
}

const TABLES: &str = r#"
[[agent]]
name = "own"

[[agent]]
name = "upper"
[agent.run]
exec = ["tr", "a-z", "A-Z"]

[[agent]]
name = "far"
[agent.run]
http = "http://127.0.0.1:9000/work"
"#;

#[test]
fn the_demo_echoes_and_others_run_as_their_tables_say() {
    assert_eq!(of_environment(&[]).unwrap().worker.agents, named(&[("demo", Run::Echo)]));
    let far = ("far", http("http://127.0.0.1:9000/work"));
    let both = [("upper", exec(&["tr", "a-z", "A-Z"])), far.clone()];
    assert_eq!(of_file(TABLES).unwrap().worker.agents, named(&both));
    let folder = tests::Folder::with(TABLES);
    let some = environment(&[("TASKYARD_WORKER_AGENTS", "far, own,elsewhere")]);
    let config = Config::load(&Flags::default(), &some, &folder.0, false).unwrap();
    assert_eq!(config.worker.agents, named(&[far, ("own", Run::Echo), ("elsewhere", Run::Echo)]));
    assert_eq!(of_file("[[agent]]\nname = \"own\"").unwrap().worker.agents, []);
    let all = r#"
        [[agent]]
        name = "a"
        run = { exec = ["a"], timeout_seconds = 2.5, grace_seconds = 0, messages = true }
        [[agent]]
        name = "b"
        run.echo = true
    "#;
    let (timeout, grace) = (Some(Duration::from_millis(2_500)), Duration::ZERO);
    let a = Run::Exec { command: vec!["a".into()], timeout, grace, messages: true };
    assert_eq!(of_file(all).unwrap().worker.agents, named(&[("a", a), ("b", Run::Echo)]));
}

#[test]
fn a_command_of_the_flags_takes_the_default_agents_tasks_or_the_named_ones() {
    let of = |more: &[(&str, &str)]| of_environment(more).unwrap().worker.agents;
    let given = ("TASKYARD_WORKER_EXEC", "python3 'my agent.py' --fast");
    let run = exec(&["python3", "my agent.py", "--fast"]);
    assert_eq!(of(&[given]), named(&[("demo", run.clone())]));
    assert_eq!(of(&[given, ("TASKYARD_WORKER_AGENTS", "a,b")]), named(&[("a", run.clone()), ("b", run)]));
    assert_eq!(of(&[("TASKYARD_WORKER_HTTP", "http://h/x")]), named(&[("demo", http("http://h/x"))]));
}

#[test]
fn what_makes_no_sense_is_refused() {
    refused(
        "[[agent]]\nname = \"a\"\n[agent.run]\nexec = [\"x\"]\nhttp = \"http://h\"",
        &["taskyard.toml:5: `run.http` is given beside `run.exec`, wanted is one of run.echo, run.exec, run.http"],
    );
    refused(
        "[[agent]]\nname = \"a\"\n[agent.run]\nhttp = \"http://h\"\nmessages = true\ngrace_seconds = 3",
        &[
            "taskyard.toml:6: `run.grace_seconds` is given without run.exec, and means nothing by itself",
            "taskyard.toml:5: `run.messages` is given without run.exec, and means nothing by itself",
        ],
    );
    let wanted = "wanted is a program and its arguments, such as [\"python3\", \"agent.py\"] in the file or 'python3 agent.py' in a flag";
    refused(
        "[[agent]]\nname = \"a\"\n[agent.run]\nexec = \"sh -c x\"",
        &[&format!("taskyard.toml:4: `run.exec` is `sh -c x`, {wanted}")],
    );
    let of = |given: &[(&str, &str)]| of_environment(given).unwrap_err().problems;
    assert_eq!(
        of(&[("TASKYARD_WORKER_EXEC", "say 'it")]),
        [format!("TASKYARD_WORKER_EXEC: `worker.exec` is `say 'it`, {wanted}")]
    );
    assert_eq!(
        of(&[("TASKYARD_WORKER_EXEC", "x"), ("TASKYARD_WORKER_HTTP", "http://h")]),
        [
            "TASKYARD_WORKER_HTTP: `worker.http` is given beside `worker.exec` (TASKYARD_WORKER_EXEC), wanted is one of them"
        ]
    );
}

#[test]
fn a_key_is_not_shown() {
    let config = of_environment(&[("TASKYARD_KEY", "s3cret")]).unwrap();
    assert_eq!(config.worker.key.as_ref().map(|key| key.reveal().as_str()), Some("s3cret"));
    assert!(!config.table().contains("s3cret") && !format!("{config:?} {:?}", config.worker).contains("s3cret"));
}
