//! Push configs, and what they lead to.

use a2a::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, SendMessageConfiguration, TaskPushNotificationConfig, TaskState,
    error_code,
};

use crate::Checked;
use crate::agent::texts;
use crate::receiver::Receiver;
use crate::suite::{Client, Suite, answer, configuration, fails, request, send};

/// A config for a receiver, of a task or to go with a send.
pub(super) fn hook(task: &str, url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: url.to_owned(),
        id: None,
        task_id: task.to_owned(),
        token: None,
        authentication: None,
        tenant: None,
    }
}

/// The same with both kinds of secret.
fn secret(hook: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    let authentication = AuthenticationInfo { scheme: "Bearer".to_owned(), credentials: Some("secret".to_owned()) };
    TaskPushNotificationConfig { token: Some("t-1".to_owned()), authentication: Some(authentication), ..hook }
}

async fn list(client: &Client, task: &str) -> Checked<Vec<TaskPushNotificationConfig>> {
    let everything = ListTaskPushNotificationConfigsRequest {
        task_id: task.to_owned(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    let mut configs = client.list_push_configs(&everything).await?.configs;
    configs.sort_by(|one, other| one.url.cmp(&other.url));
    Ok(configs)
}

pub(super) async fn push_configs(on: Suite) -> Checked {
    // Also on a finished task, and for a receiver that no name leads to.
    let task = on.send("hello").await?.id;
    let mut mine = secret(hook(&task, "https://hooks.example.com/one"));
    mine.id = Some("mine".to_owned());
    let created = on.here.create_push_config(&mine).await?;
    // The tenant of its interface goes with every request over gRPC; it is no part of what was made.
    assert_eq!(TaskPushNotificationConfig { tenant: None, ..created }, mine, "the config as it was created");
    let assigned = on.there.create_push_config(&hook(&task, "https://hooks.example.com/two")).await?.id;
    let assigned = assigned.filter(|id| !id.is_empty() && id != "mine").expect("an id of its own");

    let get = GetTaskPushNotificationConfigRequest { task_id: task.clone(), id: "mine".to_owned(), tenant: None };
    let read = on.there.get_push_config(&get).await?;
    assert_eq!((&read.task_id, &read.id, &read.url), (&task, &mine.id, &mine.url), "the config from the other replica");
    // Only the answer to whoever set them says secrets.
    assert_eq!(read.token.unwrap_or_default(), "");
    let authentication = read.authentication.expect("how it authenticates");
    assert_eq!((&*authentication.scheme, &*authentication.credentials.unwrap_or_default()), ("Bearer", ""));
    let listed = list(&on.here, &task).await?;
    assert_eq!(listed.iter().map(|each| each.id.as_deref()).collect::<Vec<_>>(), [Some("mine"), Some(&*assigned)]);
    // The same id replaces.
    mine.url = "https://hooks.example.com/three".to_owned();
    on.there.create_push_config(&mine).await?;
    let listed = list(&on.here, &task).await?;
    assert_eq!(
        listed.iter().map(|each| &*each.url).collect::<Vec<_>>(),
        ["https://hooks.example.com/three", "https://hooks.example.com/two"]
    );
    // Deleting what is not there is fine.
    let delete = DeleteTaskPushNotificationConfigRequest { task_id: task.clone(), id: "mine".to_owned(), tenant: None };
    on.here.delete_push_config(&delete).await?;
    on.there.delete_push_config(&delete).await?;
    let listed = list(&on.there, &task).await?;
    assert_eq!(listed.iter().map(|each| each.id.as_deref()).collect::<Vec<_>>(), [Some(&*assigned)]);
    fails(error_code::TASK_NOT_FOUND, on.here.get_push_config(&get).await);
    Ok(())
}

pub(super) async fn webhook(on: Suite) -> Checked {
    let mut receiver = Receiver::start().await?;
    let mut streamed = request("stream 3");
    let config = secret(hook("", &receiver.url("/inline")));
    streamed.configuration =
        Some(SendMessageConfiguration { task_push_notification_config: Some(config), ..configuration() });
    let task = send(&on.here, streamed).await?;
    assert_eq!(task.status.state, TaskState::Completed);
    let posts = receiver.until_completed().await?;
    for post in &posts {
        assert_eq!(post.path, "/inline");
        assert_eq!(post.headers.get("authorization").map(String::as_str), Some("Bearer secret"));
        assert_eq!(post.headers.get("x-a2a-notification-token").map(String::as_str), Some("t-1"));
    }
    let kinds: Vec<_> = posts.iter().filter_map(|post| post.body.as_object()?.keys().next()).collect();
    let artifact = "artifactUpdate";
    assert_eq!(kinds, ["task", "statusUpdate", artifact, artifact, artifact, "statusUpdate"]);
    let parts = posts.iter().filter_map(|post| post.body[artifact]["artifact"]["parts"].as_array()).flatten();
    let told: String = parts.filter_map(|part| part["text"].as_str()).collect();
    assert_eq!([told].as_slice(), texts(&task));
    // One that is registered while the task runs, over this binding too.
    let asking = on.send("ask").await?;
    on.there.create_push_config(&hook(&asking.id, &receiver.url("/later"))).await?;
    send(&on.here, answer(&asking.id, "this")).await?;
    let posts = receiver.until_completed().await?;
    assert!(posts.iter().all(|post| post.path == "/later"));
    Ok(())
}
