//! The agent `exec`: what a command reads, says, and how it ends.

use std::time::Duration;

use serde_json::{Value, json};
use worker::builtin::Exec;

use crate::surface::Surface;
use crate::{Running, options};

const WORKING: &str = "TASK_STATE_WORKING";

fn shell(script: &str) -> Exec {
    Exec::new(["sh", "-c", script].map(str::to_owned).into()).unwrap()
}

/// The updates of the task, call by call, once one of them is `ends`.
async fn told(exec: Exec, ends: &str) -> Vec<Value> {
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), exec);
    surface.queue_changed("a", WORKING, &["hello there"], |lease| {
        lease["tenant"] = json!("acme");
        lease["traceContext"] = json!({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"});
    });
    surface.until(ends, |book| all(&book.updates("a")).iter().any(|update| update.get(ends).is_some())).await;
    worker.stop().await;
    surface.look(|book| book.updates("a"))
}

fn all(calls: &[Value]) -> Vec<Value> {
    calls.iter().flat_map(|call| call.as_array().unwrap().clone()).collect()
}

/// All text of the artifact `output`.
fn output(calls: &[Value]) -> String {
    let updates = all(calls);
    let chunks = updates.iter().filter(|update| update["artifact"]["artifact"]["artifactId"] == "output");
    chunks.map(|chunk| chunk["artifact"]["artifact"]["parts"][0]["text"].as_str().unwrap()).collect()
}

fn failure(calls: &[Value]) -> String {
    all(calls).last().unwrap()["fail"]["statusMessage"]["parts"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn it_reads_the_lease_and_what_it_prints_is_the_result() {
    let calls = told(shell("sed 's/^/read: /'; printf 'no end'"), "complete").await;
    let text = output(&calls);
    let (lease, rest) = text.split_once('\n').unwrap();
    let lease: Value = serde_json::from_str(lease.strip_prefix("read: ").unwrap()).unwrap();
    assert_eq!(lease["task"]["history"][0]["parts"], json!([{"text": "hello there"}]));
    assert_eq!((&lease["messages"][0]["messageId"], &lease["attempt"]), (&json!("m"), &json!(1)));
    assert_eq!(rest, "no end");
    assert_eq!(calls.len(), 1, "a quick command costs one call");
    assert_eq!(calls[0][0]["artifact"]["lastChunk"], json!(true));
}

#[tokio::test]
async fn it_knows_its_task_by_the_environment() {
    let script = "echo $TASKYARD_TASK_ID $TASKYARD_CONTEXT_ID $TASKYARD_TENANT $TASKYARD_AGENT $TASKYARD_ATTEMPT; echo $TRACEPARENT";
    let calls = told(shell(script), "complete").await;
    assert_eq!(output(&calls), "a c acme demo 1\n00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n");
}

#[tokio::test]
async fn lines_of_json_are_updates_in_order() {
    let script = r#"
        echo first
        echo '{"progress": {"statusMessage": {"parts": [{"text": "half way"}]}}}'
        echo '[1, 2]'
        echo '{"artifact": {"artifact": {"artifactId": "x", "parts": [{"data": {"n": 1}}]}, "lastChunk": true}}'
        echo '{"requireInput": {"statusMessage": {"parts": [{"text": "which?"}]}}}'
        sleep 1000
    "#;
    let calls = told(shell(script), "requireInput").await;
    let updates = all(&calls);
    let names: Vec<&str> =
        updates.iter().map(|update| update.as_object().unwrap().keys().next().unwrap().as_str()).collect();
    assert_eq!(names, ["artifact", "progress", "artifact", "artifact", "artifact", "requireInput"]);
    assert_eq!(output(&calls), "first\n[1, 2]\n");
    let last = &updates.last().unwrap()["requireInput"]["statusMessage"]["parts"];
    assert_eq!(*last, json!([{"text": "which?"}]));
}

#[tokio::test]
async fn a_failure_says_what_stderr_said() {
    let calls = told(shell("echo partly; echo oh no >&2; exit 3"), "fail").await;
    assert_eq!(failure(&calls), "The command ended with exit code 3: oh no");
    assert_eq!(output(&calls), "partly\n");
    let calls = told(shell("kill -KILL $$"), "fail").await;
    assert!(failure(&calls).contains("signal: 9"), "{}", failure(&calls));
}

#[tokio::test]
async fn what_is_no_update_fails_the_task() {
    for (script, text) in [
        (r#"echo '{"complete": 5}'; sleep 1000"#, "said no update in line 1"),
        (r#"echo; echo '{"result": 5}'; sleep 1000"#, "said no update in line 2"),
        ("head -c 5000000 /dev/zero; sleep 1000", "said a line of more than 4194304 bytes"),
    ] {
        let calls = told(shell(script).with_grace(Duration::from_millis(10)), "fail").await;
        assert!(failure(&calls).contains(text), "{}", failure(&calls));
    }
}

#[tokio::test]
async fn what_outlives_the_command_or_its_time_is_killed() {
    // The sleeper holds stdout, and would for long.
    let calls = told(shell("sleep 1000 & printf $!"), "complete").await;
    gone(output(&calls).trim()).await;
    let slow = shell("echo $$; trap '' TERM; sleep 1000").with_grace(Duration::from_millis(50));
    let calls = told(slow.with_timeout(Duration::from_secs(3)), "fail").await;
    assert_eq!(failure(&calls), "The command was not done within 3 seconds.");
    gone(output(&calls).trim()).await;
}

/// Waits until there is no such process.
async fn gone(process: &str) {
    let path = format!("/proc/{process}/stat");
    let waited = tokio::time::timeout(crate::surface::MISSING, async {
        // What has ended and was not waited for is a Z.
        while std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(waited.await.is_ok(), "process {process} lives on");
}

#[tokio::test]
async fn a_cancel_ends_the_whole_group() {
    let surface = Surface::start().await;
    let script = "sleep 1000 & echo $! $$; trap 'echo stopped >&2; exit 0' TERM; wait; sleep 1000";
    let worker = Running::start(options(&surface.url), shell(script).with_grace(Duration::from_secs(5)));
    surface.queue("a", WORKING, &["go"]);
    surface.until("the first words", |book| book.updates("a").len() == 1).await;
    let said = output(&surface.look(|book| book.updates("a")));
    surface.plan_beats("lease-a", json!({"held": false, "cancel": true, "state": "TASK_STATE_CANCELED"}));
    for process in said.split_whitespace() {
        gone(process).await;
    }
    worker.stop().await;
    assert_eq!(surface.look(|book| book.updates("a").len()), 1);
}

#[tokio::test]
async fn a_stop_gives_the_task_back_and_leaves_no_process() {
    let surface = Surface::start().await;
    let hasty = worker::Options { grace: Duration::ZERO, ..options(&surface.url) };
    let worker = Running::start(hasty, shell("echo $$; sleep 1000"));
    surface.queue("a", WORKING, &["go"]);
    surface.until("the first words", |book| book.updates("a").len() == 1).await;
    let said = output(&surface.look(|book| book.updates("a")));
    worker.stop().await;
    gone(said.trim()).await;
    surface.look(|book| {
        let released: Vec<_> = book.of("/leases/lease-a:release").iter().map(|call| call.body.clone()).collect();
        assert_eq!(released, [json!({"reason": "the worker is stopping"})]);
    });
}

#[tokio::test]
async fn the_client_is_heard_on_an_open_stdin() {
    let surface = Surface::start().await;
    let worker = Running::start(
        options(&surface.url),
        shell("read lease; echo ready; read more; echo \"$more\"").with_messages(),
    );
    surface.queue("a", WORKING, &["go"]);
    surface.until("the first words", |book| book.updates("a").len() == 1).await;
    let message = json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "more"}]});
    surface.plan_beats("lease-a", json!({"messages": [message.clone()]}));
    // A line that is a JSON object, and no update: that it came is what counts here.
    surface.until("the end", |book| all(&book.updates("a")).iter().any(|update| update.get("fail").is_some())).await;
    worker.stop().await;
    let failed = failure(&surface.look(|book| book.updates("a")));
    assert!(failed.contains("line 2"), "{failed}");
}

#[test]
fn what_cannot_be_run_is_refused_at_once() {
    for command in [&[][..], &["", "x"], &["/no/such/program"], &["no-such-program-anywhere"], &["/etc/passwd"]] {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        let error = Exec::new(command.clone()).unwrap_err().to_string();
        assert!(error.contains("command"), "{command:?}: {error}");
    }
}
