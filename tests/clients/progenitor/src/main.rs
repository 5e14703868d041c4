//! The round trip with the clients that progenitor made of the documents.
//!
//! Usage: progenitor-client-test RESULTS URL
//!
//! URL is that of a `taskyard dev` whose agent `plain` has no worker: this suite is it. RESULTS gets a line for each check: column,
//! check, result, separated by tabs. The exit code is 1 when a check failed; a panic is how one fails.

use std::env;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use futures_util::{FutureExt as _, StreamExt as _};
use progenitor_client::{Error, ResponseValue};
use progenitor_client_test::a2a;
use progenitor_client_test::a2a::types::{
    CancelTaskRequest, ErrorResponse, Message, Part, PartData, PartRaw, PartText, PartUrl, ProtocolVersion, Role,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    TaskPushNotificationConfig, TaskState,
};
use serde_json::json;
use uuid::Uuid;

mod served;

/// What every request says.
const VERSION: ProtocolVersion = ProtocolVersion::X10;

/// A deployment, and clients of it.
struct Suite {
    url: String,
    client: a2a::Client,
}

impl Suite {
    fn at(&self, path: &str) -> a2a::Client {
        a2a::Client::new(&format!("{}{path}", self.url))
    }
}

fn part(text: &str) -> Part {
    PartText { text: text.into(), filename: None, media_type: None, metadata: Default::default() }.into()
}

fn request(parts: Vec<Part>, at_once: bool) -> SendMessageRequest {
    let message =
        Message::builder().message_id(Uuid::new_v4().to_string()).role(Role::RoleUser).parts(parts).try_into();
    let message: Message = message.unwrap();
    let options = SendMessageConfiguration::builder().return_immediately(at_once).history_length(10).try_into();
    let options: SendMessageConfiguration = options.unwrap();
    SendMessageRequest::builder().message(message).configuration(options).try_into().unwrap()
}

async fn send(client: &a2a::Client, parts: Vec<Part>, at_once: bool) -> Task {
    let sent = client.send_message().a2a_version(VERSION).body(request(parts, at_once)).send().await.unwrap();
    match sent.into_inner() {
        SendMessageResponse::Task(answer) => answer.task,
        other => panic!("wanted a task, found {other:?}"),
    }
}

fn refused<T: Debug>(answer: Result<ResponseValue<T>, Error<ErrorResponse>>, code: u16, reason: &str) -> ErrorResponse {
    match answer {
        Err(Error::ErrorResponse(response)) => {
            assert_eq!(response.status().as_u16(), code);
            let error = response.into_inner();
            assert_eq!(error.error.details[0].reason.as_deref(), Some(reason));
            error
        }
        other => panic!("wanted {reason}, found {other:?}"),
    }
}

async fn card(suite: &Suite) {
    let card = suite.client.get_agent_card().send().await.unwrap();
    assert_eq!(card.capabilities.streaming, Some(true));
    let extended = suite.client.get_extended_agent_card().a2a_version(VERSION).send().await.unwrap();
    assert_ne!(*extended.description, *card.description);
    refused(suite.client.get_signing_keys().send().await, 404, "METHOD_NOT_FOUND");
}

async fn sends(suite: &Suite) {
    let task = send(&suite.client, vec![part("hello")], false).await;
    assert_eq!(task.status.state, TaskState::TaskStateCompleted);
    assert!(matches!(&task.artifacts[0].parts[0], Part::Text(part) if part.text == "hello"));
    assert_eq!(task.history[0].role, Role::RoleUser);
}

async fn parts(suite: &Suite) {
    let data = |data| PartData { data, filename: None, media_type: None, metadata: Default::default() };
    let raw: PartRaw =
        PartRaw::builder().raw("aGk=").media_type("application/octet-stream".to_owned()).try_into().unwrap();
    let url: PartUrl =
        PartUrl::builder().url("https://example.com/a.png").filename("a.png".to_owned()).try_into().unwrap();
    let parts =
        vec![raw.into(), url.into(), data(json!({"a": [null, 1, true]})).into(), data(json!(null)).into(), part("")];
    let task = send(&suite.client, parts.clone(), false).await;
    let task = suite.client.get_task().a2a_version(VERSION).id(task.id.clone()).send().await.unwrap();
    assert_eq!(json!(task.history[0].parts), json!(parts));
}

async fn get_and_list(suite: &Suite) {
    let task = send(&suite.client, vec![part("listed")], false).await;
    let found =
        suite.client.get_task().a2a_version(VERSION).id(task.id.clone()).history_length(0).send().await.unwrap();
    assert_eq!((&*found.id, found.history.len()), (&*task.id, 0));
    let context = task.context_id.clone().unwrap();
    let page = suite.client.list_tasks().a2a_version(VERSION).context_id(context);
    let page = page.status(TaskState::TaskStateCompleted).page_size(1).include_artifacts(true).send().await.unwrap();
    assert_eq!(page.tasks.iter().map(|task| &*task.id).collect::<Vec<_>>(), [&*task.id]);
    assert_eq!((page.page_size, page.total_size, &*page.next_page_token), (1, 1, ""));
}

async fn cancel(suite: &Suite) {
    let task = send(&suite.client, vec![part("wait 30")], true).await;
    let cancel =
        || suite.client.cancel_task().a2a_version(VERSION).id(task.id.clone()).body(CancelTaskRequest::builder());
    assert_eq!(cancel().send().await.unwrap().status.state, TaskState::TaskStateCanceled);
    refused(cancel().send().await, 400, "TASK_NOT_CANCELABLE");
}

async fn stream(suite: &Suite) {
    let stream =
        suite.client.send_streaming_message().a2a_version(VERSION).body(request(vec![part("stream 3")], false));
    let mut pieces = stream.send().await.unwrap().into_inner();
    let mut text = Vec::new();
    while let Some(piece) = pieces.next().await {
        text.extend_from_slice(&piece.unwrap());
    }
    let text = String::from_utf8(text).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let items: Vec<StreamResponse> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let [StreamResponse::Task(first), .., StreamResponse::StatusUpdate(last)] = &*items else { panic!("{items:?}") };
    assert_eq!(last.status_update.status.state, TaskState::TaskStateCompleted);
    let ended = suite.client.subscribe_to_task().a2a_version(VERSION).id(first.task.id.clone()).send().await;
    assert_eq!(ended.err().and_then(|error| error.status()).map(|status| status.as_u16()), Some(400));
}

async fn push_configs(suite: &Suite) {
    let task = send(&suite.client, vec![part("wait 30")], true).await;
    let config =
        TaskPushNotificationConfig::builder().url("http://127.0.0.1:2/hook").token(Some("t-1".parse().unwrap()));
    let create = suite.client.create_task_push_notification_config().a2a_version(VERSION).task_id(task.id.clone());
    let created = create.body(config).send().await.unwrap();
    let id = created.id.clone().unwrap();
    let get = || {
        suite.client.get_task_push_notification_config().a2a_version(VERSION).task_id(task.id.clone()).id(id.clone())
    };
    let found = get().send().await.unwrap();
    assert_eq!((&*found.url, &found.token), (&*created.url, &None));
    let list = suite.client.list_task_push_notification_configs().a2a_version(VERSION).task_id(task.id.clone());
    assert_eq!(list.send().await.unwrap().configs.len(), 1);
    let delete = suite
        .client
        .delete_task_push_notification_config()
        .a2a_version(VERSION)
        .task_id(task.id.clone())
        .id(id.clone());
    delete.send().await.unwrap();
    assert!(get().send().await.is_err());
}

async fn errors(suite: &Suite) {
    refused(suite.client.get_task().a2a_version(VERSION).id("nobody").send().await, 404, "TASK_NOT_FOUND");
    let empty = suite.client.send_message().a2a_version(VERSION).body(request(vec![], false));
    let error = refused(empty.send().await, 400, "INVALID_PARAMS");
    assert_eq!(error.error.details[1].field_violations[0].field, "message.parts");
    // What is out of bounds is not even sent.
    let long = suite.client.get_task().a2a_version(VERSION).id("x".repeat(257)).send().await;
    assert!(matches!(long, Err(Error::InvalidRequest(_))));
}

async fn servers(suite: &Suite) {
    let task = send(&suite.at("/t/generated/agents/demo"), vec![part("mine")], false).await;
    refused(suite.client.get_task().a2a_version(VERSION).id(task.id.clone()).send().await, 404, "TASK_NOT_FOUND");
    let found = suite.at("/generated").get_task().a2a_version(VERSION).id(task.id.clone()).send().await.unwrap();
    assert_eq!(*found.id, *task.id);
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [results, url] = &*arguments else {
        eprintln!("usage: progenitor-client-test RESULTS URL");
        return ExitCode::from(2);
    };
    let mut results = OpenOptions::new().append(true).create(true).open(results).unwrap();
    let suite = Suite { client: a2a::Client::new(url), url: url.clone() };
    let mut code = ExitCode::SUCCESS;
    macro_rules! checks {
        ($($check:path),*) => {$(
            let outcome = AssertUnwindSafe($check(&suite)).catch_unwind().await;
            if outcome.is_err() {
                code = ExitCode::FAILURE;
            }
            let name = stringify!($check).replace('_', " ").replace("served::", "");
            writeln!(results, "Rust\t{name}\t{}", if outcome.is_ok() { "ok" } else { "FAILED" }).unwrap();
        )*};
    }
    checks!(card, sends, parts, get_and_list, cancel, stream, push_configs, errors, servers, served::worker);
    code
}
