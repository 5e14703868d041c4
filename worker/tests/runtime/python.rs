//! The Python worker of the README, as it stands in `examples/`.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::surface::{Surface, refusal};

/// The script at work; killed in the end, since it works until it is.
struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn it_echoes_and_goes_on_after_a_lost_lease() {
    let surface = Surface::start().await;
    surface.plan_applies([refusal(409, "LEASE_LOST", "TASK_STATE_CANCELED")]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/worker.py");
    let script = Command::new("python3")
        .arg(path)
        .arg("demo")
        .env("TASKYARD_URL", &surface.url)
        .env("no_proxy", "127.0.0.1")
        .stdout(Stdio::null())
        .spawn();
    let _script = match script {
        Ok(child) => Script(child),
        Err(error) => return eprintln!("left out, there is no python3 here: {error}"),
    };
    for task in ["a", "b"] {
        surface.queue(task, "TASK_STATE_WORKING", &["hello"]);
        surface.until("the end", |book| book.updates(task).len() == 1).await;
        surface.look(|book| {
            let updates = &book.updates(task)[0];
            assert_eq!(updates[0]["artifact"]["artifact"]["parts"], json!([{"text": "hello"}]));
            assert_eq!(updates[1], json!({"complete": {}}));
            let apply = book.of(":apply").into_iter().next_back().unwrap();
            assert_eq!(apply.lease, Some(format!("lease-{task}")));
            assert_eq!(apply.epoch.as_deref(), Some("7"));
        });
    }
    surface.look(|book| assert_eq!(book.of("/sessions").len(), 1));
}
