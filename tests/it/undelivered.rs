//! Tasks that were given up: the operator's command finds them beside the running platform, and sends them again.

use e2e::{Platform, Setup, said, text};
use serde_json::{Value, json};

on_both!(what_was_given_up_is_sent_again);

async fn what_was_given_up_is_sent_again(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 5\nmax_deliveries = 1")).await;
    let (client, worker) = (platform.client().of("acme", "raw"), platform.worker());
    let list = |more: &[&str]| {
        let (well, out, err) = platform.command(&[&["undelivered", "list"], more].concat());
        assert!(well, "{err}");
        out
    };
    let json = |more: &[&str]| serde_json::from_str::<Value>(&list(&[&["--json"], more].concat())).expect("JSON");
    assert!(list(&[]).contains("No undelivered task"));
    assert_eq!(json(&[]), json!([]));

    let mut params = text("poison");
    params["metadata"] = json!({"n": 1});
    let old = client.start(params).await;
    assert_eq!(worker.lease("raw").await.task(), &old["id"]);
    let waiting = tokio::spawn(async move { worker.poll("raw", 1, 20.0, true).await });
    let failed = client.task_in(&old["id"], "TASK_STATE_FAILED").await;
    assert!(said(&failed["status"]["message"]).contains("once"), "{failed}");
    let id = old["id"].as_str().expect("an id");
    let told = json(&["--tenant", "acme", "--agent", "raw"]);
    assert_eq!((&told[0]["task"], &told[0]["deliveries"], told[1].is_null()), (&old["id"], &json!(1), true), "{told}");
    assert_eq!(json(&["--tenant", ""]), json!([]));
    assert!(list(&[]).contains(id));

    // The worker that polls is handed the new task without any hint.
    let (well, out, err) = platform.command(&["undelivered", "resend", id]);
    assert!(well && out.contains(id), "{out}{err}");
    let lease = waiting.await.expect("a poll").pop().expect("the new task");
    let new = lease.task().as_str().expect("an id").to_owned();
    assert!(out.contains(&new) && new != id, "{out}");
    assert_eq!(lease.body["task"]["metadata"], json!({"n": 1}));
    assert_eq!(said(&lease.body["messages"][0]), "poison");
    assert_eq!(lease.body["messages"][0]["referenceTaskIds"], json!([id]));
    assert_eq!(lease.body["task"]["contextId"], old["contextId"]);
    platform.worker().apply(lease.task(), Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
    client.task_in(&json!(new), "TASK_STATE_COMPLETED").await;
    assert_eq!(json(&[])[0]["resentAs"], json!(new));
    assert!(list(&[]).contains(&new));

    // A second time it is the same one; what is unknown is said, and the exit code tells.
    let (well, out, _) = platform.command(&["undelivered", "resend", id]);
    assert!(well && out.contains(&new), "{out}");
    let (well, out, err) = platform.command(&["undelivered", "resend", "nonsense", id]);
    assert!(!well && out.contains(&new) && err.contains("`nonsense` is no undelivered task"), "{out}{err}");
    let (well, out, _) = platform.command(&["undelivered", "resend", "--all"]);
    assert!(well && out.contains("Nothing to send again"), "{out}");
}
