//! ListTasks: newest status first, pages that neither repeat nor leave out.

use e2e::{Binding, Platform, Setup, text};
use serde_json::{Value, json};

on_both!(pages_hold_every_task_once, filters_narrow, a_page_stays_where_it_began_while_tasks_move);

async fn pages(client: &e2e::Client, mut params: Value) -> Vec<Value> {
    let mut tasks: Vec<Value> = Vec::new();
    loop {
        let mut page = client.ask("ListTasks", params.clone()).await;
        let more = page["tasks"].as_array_mut().map(std::mem::take).expect("tasks");
        tasks.extend(more);
        params["pageToken"] = page["nextPageToken"].take();
        if params["pageToken"] == "" {
            return tasks;
        }
    }
}

async fn pages_hold_every_task_once(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    let client = platform.client().of("", "raw");
    for _ in 0..23 {
        client.start(text("hello")).await;
    }
    for binding in Binding::ALL {
        let client = client.over(binding);
        let whole = client.ask("ListTasks", json!({"pageSize": 100})).await;
        assert_eq!(
            (&whole["totalSize"], &whole["pageSize"], &whole["nextPageToken"]),
            (&json!(23), &json!(100), &json!(""))
        );
        for size in [1, 5, 23] {
            let tasks = pages(&client, json!({"pageSize": size})).await;
            assert_eq!(json!(tasks), whole["tasks"]);
        }
        let order: Vec<(&str, &str)> = whole["tasks"]
            .as_array()
            .expect("tasks")
            .iter()
            .map(|task| (task["status"]["timestamp"].as_str().expect("a time"), task["id"].as_str().expect("an id")))
            .collect();
        assert!(order.is_sorted_by(|newer, older| newer >= older), "{order:?}");
        let first = client.ask("ListTasks", json!({"pageSize": 5})).await;
        assert_eq!(first["totalSize"], 23);
        // A token is of its query, and is not to be made up.
        let token = first["nextPageToken"].clone();
        for (params, field) in [
            (json!({"pageToken": token, "contextId": "other"}), "pageToken"),
            (json!({"pageToken": "made-up"}), "pageToken"),
            (json!({"pageSize": 0}), "pageSize"),
            (json!({"pageSize": 101}), "pageSize"),
        ] {
            let refusal = client.refused("ListTasks", params.clone()).await;
            assert_eq!((refusal.reason.as_str(), refusal.fields[0].0.as_str()), ("INVALID_PARAMS", field), "{params}");
        }
        let other = client.of("acme", "raw").refused("ListTasks", json!({"pageToken": token})).await;
        assert_eq!(other.fields[0].0, "pageToken");
    }
}

async fn filters_narrow(setup: Setup) {
    let platform = Platform::start(setup).await;
    let client = platform.client();
    let done = client.send(text("hello")).await;
    let failed = client.send(text("fail")).await;
    let mut params = text("stream 2");
    params["message"]["contextId"] = done["contextId"].clone();
    let second = client.send(params).await;
    assert_eq!(second["contextId"], done["contextId"]);
    // In the order of the list; the clocks of two replicas may differ by more than two sends are apart.
    let order = |task: &Value| (task["status"]["timestamp"].to_string(), task["id"].to_string());
    let listed = async |params: Value, mut expected: Vec<&Value>| {
        let listed = client.ask("ListTasks", params.clone()).await;
        let ids: Vec<&Value> = listed["tasks"].as_array().expect("tasks").iter().map(|task| &task["id"]).collect();
        expected.sort_by_key(|task| std::cmp::Reverse(order(task)));
        assert_eq!(ids, expected.iter().map(|task| &task["id"]).collect::<Vec<_>>(), "{params}");
    };
    listed(json!({}), vec![&done, &failed, &second]).await;
    listed(json!({"contextId": done["contextId"]}), vec![&done, &second]).await;
    listed(json!({"status": "TASK_STATE_FAILED"}), vec![&failed]).await;
    listed(json!({"contextId": done["contextId"], "status": "TASK_STATE_FAILED"}), vec![]).await;
    for from in [&done, &failed, &second] {
        let since = [&done, &failed, &second].into_iter().filter(|task| order(task).0 >= order(from).0).collect();
        listed(json!({"statusTimestampAfter": from["status"]["timestamp"]}), since).await;
    }
    // Artifacts only where they are asked for, and then also where there are none.
    let listed = client.ask("ListTasks", json!({})).await;
    assert!(listed["tasks"].as_array().expect("tasks").iter().all(|task| task.get("artifacts").is_none()));
    let listed = client.ask("ListTasks", json!({"includeArtifacts": true})).await;
    for task in listed["tasks"].as_array().expect("tasks") {
        let expected =
            if task["id"] == failed["id"] { json!([]) } else { client.task(&task["id"]).await["artifacts"].take() };
        assert_eq!(task["artifacts"], expected);
    }
}

/// What changes moves to the front, so a reader of pages sees every task that did not change exactly once.
async fn a_page_stays_where_it_began_while_tasks_move(setup: Setup) {
    let platform = Platform::start(setup.agent("raw", "")).await;
    // One replica, because what is newest is so by its replica's clock.
    let client = platform.client().of("", "raw").at(0);
    let mut made = Vec::new();
    for _ in 0..12 {
        made.push(client.start(text("hello")).await["id"].take());
    }
    let first = client.ask("ListTasks", json!({"pageSize": 4})).await;
    // One that was shown, one that was not, and new ones.
    client.ask("CancelTask", json!({"id": made[11]})).await;
    client.ask("CancelTask", json!({"id": made[2]})).await;
    for _ in 0..3 {
        client.start(text("hello")).await;
    }
    let rest = pages(&client, json!({"pageSize": 4, "pageToken": first["nextPageToken"]})).await;
    let rest: Vec<&Value> = rest.iter().map(|task| &task["id"]).collect();
    let expected: Vec<&Value> = (0..8).rev().filter(|n| *n != 2).map(|n| &made[n]).collect();
    assert_eq!(rest, expected);
}

/// The long run of `./test list`, small: it seeds by SQL, walks every page and explains both.
#[test]
fn the_long_run_holds_for_a_few_thousand_tasks() {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_list"))
        .args(["--tasks", "5000", "--page", "50", "--requests", "10"])
        .output()
        .expect("the list run starts");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains("they held 5000 tasks, 5000 of them different"), "{said}");
}
