//! What enters a task's history: what the client said and every status message that was replaced. Progress never does.

use e2e::{Platform, Setup, said, text};
use serde_json::{Value, json};

on_both!(status_messages_move_into_history, progress_is_an_event_only, a_read_shows_as_much_history_as_it_asks_for);

fn words(task: &Value) -> Vec<String> {
    task["history"]
        .as_array()
        .map(|history| history.iter().map(|message| said(message).to_owned()).collect())
        .unwrap_or_default()
}

fn says(words: &str) -> Value {
    json!({"statusMessage": {"parts": [{"text": words}]}})
}

async fn status_messages_move_into_history(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let task = client.start(text("first")).await;
    let lease = worker.poll("raw", 1, 10.0, false).await.remove(0);
    assert_eq!(lease.body["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    worker.step(&task["id"], "work", Some(&lease.held()), &says("on it")).await.expect("work");
    let seen = client.task(&task["id"]).await;
    assert_eq!((words(&seen), said(&seen["status"]["message"])), (vec!["first".to_owned()], "on it"));
    let status = &seen["status"]["message"];
    assert_eq!((&status["role"], &status["taskId"]), (&json!("ROLE_AGENT"), &task["id"]));
    assert_eq!(status["contextId"], task["contextId"]);
    assert!(status["messageId"].as_str().is_some_and(|id| !id.is_empty()), "{status}");

    worker.step(&task["id"], "require_input", Some(&lease.held()), &says("which one?")).await.expect("a question");
    let seen = client.task(&task["id"]).await;
    assert_eq!(
        (words(&seen), said(&seen["status"]["message"])),
        (vec!["first".to_owned(), "on it".to_owned()], "which one?")
    );
    let mut answer = text("that one");
    answer["message"]["taskId"] = task["id"].clone();
    client.start(answer).await;
    // A client's message changes no status: the question stands until the next move.
    let lease = worker.poll("raw", 1, 10.0, false).await.remove(0);
    assert_eq!(lease.body["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(lease.body["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(said(&lease.body["messages"][0]), "that one");
    worker
        .apply(&task["id"], Some(&lease.held()), json!([{"work": {}}, {"complete": says("done")}]))
        .await
        .expect("the end");
    let seen = client.task(&task["id"]).await;
    assert_eq!(said(&seen["status"]["message"]), "done");
    assert_eq!(words(&seen), ["first", "on it", "that one", "which one?"]);
}

async fn progress_is_an_event_only(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let receiver = e2e::Receiver::start().await;
    let (client, worker) = (platform.client().of("", "raw"), platform.worker());
    let mut params = text("work");
    params["configuration"]["taskPushNotificationConfig"] = e2e::hook(&receiver.url("progress"));
    let task = client.start(params).await;
    let lease = worker.lease("raw").await;
    for n in 1..=3 {
        let updates = json!([{"progress": says(&format!("step {n}"))}]);
        worker.apply(&task["id"], Some(&lease.held()), updates).await.expect("progress");
        let seen = client.task(&task["id"]).await;
        assert_eq!(said(&seen["status"]["message"]), format!("step {n}"));
    }
    worker.apply(&task["id"], Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
    let seen = client.task(&task["id"]).await;
    assert_eq!(words(&seen), ["work"]);
    assert!(seen["status"].get("message").is_none(), "{seen}");
    let hits = receiver.until_the_end("progress").await;
    let told: Vec<&str> = hits.iter().map(|hit| said(&hit.body["statusUpdate"]["status"]["message"])).collect();
    assert_eq!(told, ["", "", "step 1", "step 2", "step 3", ""]);
}

async fn a_read_shows_as_much_history_as_it_asks_for(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let client = platform.client().of("", "raw");
    let task = client.start(text("one")).await;
    for more in ["two", "three"] {
        let mut params = text(more);
        params["message"]["taskId"] = task["id"].clone();
        client.start(params).await;
    }
    for (length, shown) in
        [(0, vec![]), (1, vec!["three"]), (2, vec!["two", "three"]), (9, vec!["one", "two", "three"])]
    {
        let seen = client.ask("GetTask", json!({"id": task["id"], "historyLength": length})).await;
        assert_eq!(words(&seen), shown);
        let listed = client.ask("ListTasks", json!({"historyLength": length})).await;
        assert_eq!(words(&listed["tasks"][0]), shown);
    }
    assert!(words(&client.ask("ListTasks", json!({})).await["tasks"][0]).is_empty());
    assert_eq!(
        client.refused("GetTask", json!({"id": task["id"], "historyLength": -1})).await.fields[0].0,
        "historyLength"
    );
}
