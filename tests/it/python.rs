//! The worker in Python from the README, as it stands in `examples/`.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use e2e::{Platform, Setup, said, text};

on_both!(the_python_worker_works_as_it_stands);

/// Killed in the end, since it works until it is.
struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

async fn the_python_worker_works_as_it_stands(setup: Setup) {
    let platform = Platform::start(setup.agent("snake", "")).await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/worker.py");
    let script = Command::new("python3")
        .arg(path)
        .arg("snake")
        .env("TASKYARD_URL", platform.url())
        .env("no_proxy", "127.0.0.1")
        .stdout(Stdio::null())
        .spawn();
    let _script = match script {
        Ok(child) => Script(child),
        Err(error) => return eprintln!("LEFT OUT: there is no python3 here: {error}"),
    };
    let client = platform.client().of("", "snake");
    for words in ["hello", "and again"] {
        let task = client.send(text(words)).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(said(&task["artifacts"][0]), words);
    }
}
