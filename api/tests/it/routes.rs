//! Every path of `http.tsv`, with and without a tenant, through every base; and what is no path.

use poem::http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, immediately, platform, text};

const HTTP: &str = include_str!("../spec/http.tsv");

/// A row of the table: the operation, its method, its path.
fn rows() -> Vec<(&'static str, Method, &'static str)> {
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        (cells[0], cells[1].parse().unwrap(), cells[2])
    };
    HTTP.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

#[tokio::test]
async fn every_path_leads_to_its_operation_for_every_tenant() {
    let platform = platform().await;
    let rows = rows();
    assert_eq!(rows.len(), 11);
    // A base, whether `/{tenant}` may follow it, and the tenant and the agent it leads to.
    for (base, tenant) in [
        ("", None),
        ("/acme", Some("acme")),
        ("/t/acme", Some("acme")),
        ("/agents/echo", None),
        ("/agents/echo/acme", Some("acme")),
        ("/t/acme/agents/echo", Some("acme")),
        ("/t/acme/agents/echo/acme", Some("acme")),
        ("/agents/other", None),
        ("/t/%61cme/agents/%6Fther", Some("acme")),
    ] {
        let created = platform.post(&format!("{base}/message:send"), immediately(json!({}))).await;
        assert_eq!(created.status, 200, "{base}: {created:?}");
        let id = text(&created.body["task"]["id"]);
        let url = json!({"id": "hook", "url": "http://127.0.0.1:2/"});
        let made = platform.post(&format!("{base}/tasks/{id}/pushNotificationConfigs"), url).await;
        assert_eq!(made.status, 200, "{base}: {made:?}");
        assert_eq!(made.body["tenant"].as_str(), tenant, "{base}: {made:?}");
        for (operation, method, path) in &rows {
            let path = path.replace("{id=*}", if path.contains("{task_id=*}") { "hook" } else { &id });
            let path = format!("{base}{}", path.replace("{task_id=*}", &id));
            let body = match *operation {
                "SendMessage" | "SendStreamingMessage" => immediately(json!({})),
                "CreateTaskPushNotificationConfig" => json!({"url": "http://127.0.0.1:2/"}),
                _ => Value::Null,
            };
            if *operation == "SendStreamingMessage" {
                // It does not end by itself: `streams.rs` reads what comes.
                let request = platform.client.post(path.clone()).header("A2A-Version", "1.0");
                let answer = request.content_type("application/json").body(body.to_string()).send().await.0;
                assert_eq!(
                    (answer.status().as_u16(), answer.content_type()),
                    (200, Some("text/event-stream")),
                    "{path}"
                );
                continue;
            }
            let answer = platform.ask(method.clone(), &path, body).await;
            match *operation {
                // The task is canceled by then.
                "SubscribeToTask" | "GetExtendedAgentCard" => {
                    assert_eq!((answer.status, answer.reason()), (400, "UNSUPPORTED_OPERATION"), "{path}: {answer:?}");
                }
                _ => assert_eq!(answer.status, 200, "{method} {path}: {answer:?}"),
            }
            let has = |pointer: &str| answer.body.pointer(pointer).is_some();
            match *operation {
                "SendMessage" => assert!(has("/task/id"), "{answer:?}"),
                "GetTask" => assert_eq!(answer.body["id"], id.as_str()),
                "ListTasks" => assert!(has("/tasks/0/id"), "{base}: {answer:?}"),
                "CancelTask" => assert_eq!(answer.body["status"]["state"], "TASK_STATE_CANCELED"),
                "CreateTaskPushNotificationConfig" => assert!(has("/url"), "{answer:?}"),
                "GetTaskPushNotificationConfig" => assert_eq!(answer.body["id"], "hook"),
                "ListTaskPushNotificationConfigs" => assert!(has("/configs/0/id"), "{answer:?}"),
                "DeleteTaskPushNotificationConfig" => assert_eq!(answer.body, json!({})),
                _ => {}
            }
        }
        let subscribed = platform.post(&format!("{base}/tasks/{id}:subscribe"), Value::Null).await;
        assert_eq!(subscribed.reason(), "UNSUPPORTED_OPERATION", "{base}");
    }
}

#[tokio::test]
async fn json_rpc_is_at_every_base_with_and_without_a_slash() {
    let platform = platform().await;
    for base in ["", "/t/acme", "/agents/other", "/t/acme/agents/echo"] {
        for end in ["", "/", "/rpc", "/rpc/"] {
            let path = if base.is_empty() && end.is_empty() { "/".to_owned() } else { format!("{base}{end}") };
            let answer = platform.post(&path, json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"})).await;
            assert!(answer.body["result"].is_object(), "{path}: {answer:?}");
        }
    }
    let answer = platform.rpc("GetExtendedAgentCard", json!([])).await;
    assert_eq!(answer.body["error"]["code"], -32004, "{answer:?}");
}

#[tokio::test]
async fn tenants_and_agents_are_sealed_from_each_other() {
    let platform = platform().await;
    let sent = platform.post("/acme/message:send", immediately(json!({}))).await;
    let id = text(&sent.body["task"]["id"]);
    for path in [format!("/acme/tasks/{id}"), format!("/t/acme/tasks/{id}"), format!("/tasks/{id}?tenant=acme")] {
        assert_eq!(platform.get(&path).await.status, 200, "{path}");
    }
    let elsewhere = ["", "/globex", "/t/globex", "/acme/agents/other", "/t/acme/agents/other"];
    for base in elsewhere.into_iter().filter(|base| *base != "/acme/agents/other") {
        let got = platform.get(&format!("{base}/tasks/{id}")).await;
        assert_eq!((got.status, got.reason()), (404, "TASK_NOT_FOUND"), "{base}");
        let unknown = platform.get(&format!("{base}/tasks/{}", uuid::Uuid::nil())).await;
        assert_eq!(
            got.body.to_string().replace(&id, "?"),
            unknown.body.to_string().replace(&uuid::Uuid::nil().to_string(), "?")
        );
        assert_eq!(platform.get(&format!("{base}/tasks")).await.body["totalSize"], 0, "{base}");
    }
}

#[tokio::test]
async fn what_is_no_path_says_so_in_the_protocols_shape() {
    let platform = platform().await;
    for path in [
        "/nothing",
        "/message",
        "/message:explode",
        "/acme",
        "/acme/nothing",
        "/admin/v1/tasks",
        "/tasks/1/2/3/4/5/6/7/8/9",
        "//tasks",
        "/tasks/",
        "/.well-known",
        "/acme/.well-known/agent-card.json",
        "/tasks/1/@cancel",
        "/message/@send",
    ] {
        let answer = platform.get(path).await;
        assert_eq!((answer.status, answer.reason()), (404, "METHOD_NOT_FOUND"), "{path}: {answer:?}");
        assert_eq!(answer.content_type, "application/a2a+json", "{path}");
        assert_eq!(answer.body["error"]["status"], "UNIMPLEMENTED", "{path}");
    }
    for (method, path, allow) in [
        (Method::GET, "/message:send", "POST"),
        (Method::DELETE, "/tasks", "GET"),
        (Method::POST, "/tasks/7", "GET"),
        (Method::GET, "/tasks/7:cancel", "POST"),
        (Method::PUT, "/tasks/7:subscribe", "GET, POST"),
        (Method::GET, "/message:stream", "POST"),
        (Method::PUT, "/acme/tasks/7/pushNotificationConfigs", "GET, POST"),
        (Method::POST, "/tasks/7/pushNotificationConfigs/c", "DELETE, GET"),
    ] {
        let answer = platform.ask(method, path, Value::Null).await;
        assert_eq!((answer.status, answer.reason()), (405, "METHOD_NOT_ALLOWED"), "{path}: {answer:?}");
        assert_eq!(answer.headers["allow"], allow, "{path}");
        assert_eq!(answer.content_type, "application/a2a+json", "{path}");
    }
    let nobody = platform.get("/agents/nobody/tasks").await;
    assert_eq!((nobody.status, nobody.reason()), (404, "METHOD_NOT_FOUND"));
    for path in ["/.acme/tasks", "/t/.acme/tasks", "/t/tasks/tasks", "/t/acme/globex/tasks", "/a%20b/tasks"] {
        let answer = platform.get(path).await;
        assert_eq!((answer.status, answer.fields()), (400, vec!["tenant"]), "{path}: {answer:?}");
    }
    assert_eq!(platform.get("/tasks/%FF").await.fields(), ["path"]);
    let worker = platform.get("/worker/v1/nothing").await;
    assert_eq!((worker.status, worker.content_type.as_str()), (404, "application/json"));
}

#[tokio::test]
async fn ids_are_decoded_and_may_hold_anything() {
    let platform = platform().await;
    for (path, id) in [
        ("/tasks/urn:x:7", "urn:x:7"),
        ("/tasks/a%2Fb", "a/b"),
        ("/tasks/a%3Acancel", "a:cancel"),
        ("/acme/tasks/tasks", "tasks"),
        ("/tasks/7:explode", "7:explode"),
    ] {
        let answer = platform.get(path).await;
        assert_eq!(answer.body["error"]["details"][0]["metadata"]["taskId"], id, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn the_version_is_asked_for_once_the_path_is_known() {
    let platform = platform().await;
    for version in [None, Some(""), Some("0.3"), Some("1.1"), Some("99.0"), Some("one")] {
        let mut request = platform.client.post("/message:send").content_type("text/plain").body("{");
        if let Some(version) = version {
            request = request.header("A2A-Version", version);
        }
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.reason()), (400, "VERSION_NOT_SUPPORTED"), "{version:?}: {answer:?}");
        assert_eq!(answer.body["error"]["details"][0]["metadata"]["supportedVersions"], "1.0, 0.3");
        assert_eq!(answer.body["error"]["status"], "FAILED_PRECONDITION");
    }
    for path in ["/tasks?A2A-Version=1.0", "/tasks?a2a-version=1.0.3", "/tasks?pageSize=2&A2A-VERSION=1.0"] {
        assert_eq!(Answer::of(platform.client.get(path)).await.status, 200, "{path}");
    }
    assert_eq!(Answer::of(platform.client.get("/nothing")).await.status, 404);
}

#[tokio::test]
async fn answers_are_in_the_media_type_asked_for() {
    let platform = platform().await;
    for (accept, media) in [
        ("application/json", "application/json"),
        ("application/a2a+json, application/json", "application/a2a+json"),
        ("*/*", "application/a2a+json"),
    ] {
        for path in ["/tasks", "/tasks/nope", "/nothing"] {
            let request = platform.client.get(path).header("A2A-Version", "1.0").header("Accept", accept);
            assert_eq!(Answer::of(request).await.content_type, media, "{accept} {path}");
        }
    }
}
