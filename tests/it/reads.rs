//! Read your writes: what one replica answered, every other one shows.

use e2e::{Platform, Receiver, Setup, hook, text};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_replica_answered_the_other_shows() {
    let Some(setup) = Setup::replicas(2, 0, 0) else { return };
    let platform = Platform::start(setup.agent("raw", "")).await;
    let receiver = Receiver::start().await;
    let client = platform.client().of("", "raw");
    let worker = platform.worker();
    for n in 0..20 {
        let (one, other) = (client.at(n % 2), client.at((n + 1) % 2));
        let task = one.start(text("hello")).await;
        assert_eq!(other.task(&task["id"]).await["status"], task["status"]);
        let listed = other.ask("ListTasks", json!({"contextId": task["contextId"]})).await;
        assert_eq!(listed["tasks"][0]["id"], task["id"]);
        let mut params = hook(&receiver.url("unused"));
        params["taskId"] = task["id"].clone();
        let made = one.ask("CreateTaskPushNotificationConfig", params).await;
        let listed = other.ask("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})).await;
        assert_eq!(listed["configs"][0]["id"], made["id"]);
        one.ask("DeleteTaskPushNotificationConfig", json!({"taskId": task["id"], "id": made["id"]})).await;
        let listed = other.ask("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})).await;
        assert_eq!(listed["configs"], json!([]));
        // A worker's writes as well: it takes turns over both replicas.
        let moved = worker.step(&task["id"], "work", None, &json!({})).await.expect("work");
        assert_eq!(one.task(&task["id"]).await["status"]["timestamp"], moved["statusTimestamp"]);
        assert_eq!(other.task(&task["id"]).await["status"]["state"], "TASK_STATE_WORKING");
        one.ask("CancelTask", json!({"id": task["id"]})).await;
        assert_eq!(other.task(&task["id"]).await["status"]["state"], "TASK_STATE_CANCELED");
        assert_eq!(worker.all_tasks().await.len(), n + 1);
    }
}
