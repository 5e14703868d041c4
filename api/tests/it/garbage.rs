//! Whatever arrives is answered, and never as a fault of ours: arbitrary and mutated requests to every surface (proptest).
//!
//! `PROPTEST_CASES` is how many there are of each kind. Clients that are gone before they are answered are among them.

use std::time::Duration;

use poem::{Endpoint, Response};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use tokio::runtime::Runtime;
use tonic::Code;

use crate::client::{Platform, platform};
use crate::grpc::client::Remote;

mod good;
mod strategy;
use strategy::{Sent, headers, mutated, pathed, plain_bytes, protobuf};

/// Every method of the protocol.
const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

/// What waits for an agent that is not there is left alone after this.
const PATIENCE: Duration = Duration::from_millis(100);

fn runner() -> TestRunner {
    TestRunner::new(Config { failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() })
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Send it, and say what is wrong with the answer.
async fn fault<E: Endpoint<Output = Response>>(platform: &Platform<E>, sent: &Sent) -> Option<String> {
    let mut request = platform.client.request(sent.method.clone(), sent.uri.clone());
    for (name, value) in &sent.headers {
        request = request.header(name.clone(), value.clone());
    }
    let answered = async {
        let response = request.body(sent.body.clone()).send().await.0;
        let status = response.status().as_u16();
        if response.content_type() == Some("text/event-stream") {
            return (status, Value::Null);
        }
        let text = response.into_body().into_string().await.unwrap_or_default();
        (status, serde_json::from_str(&text).unwrap_or_default())
    };
    let (status, body) = tokio::time::timeout(PATIENCE, answered).await.ok()?;
    // Not the code: 0.3 has no other one than that of an internal error for what it does not know.
    let internal = body.to_string().contains(wire::Kind::Internal.reason());
    (status >= 500 || internal).then(|| format!("{status} {body}"))
}

fn never_fails(strategy: impl Strategy<Value = Sent>) {
    let runtime = runtime();
    let platform = runtime.block_on(platform());
    let tried = runner().run(&strategy, |sent| match runtime.block_on(fault(&platform, &sent)) {
        None => Ok(()),
        Some(fault) => Err(TestCaseError::fail(fault)),
    });
    if let Err(error) = tried {
        panic!("{error}");
    }
}

#[test]
fn whatever_stands_in_a_body() {
    never_fails(plain_bytes());
}

#[test]
fn whatever_becomes_of_a_good_request() {
    never_fails(mutated());
}

#[test]
fn whatever_stands_in_headers() {
    never_fails(headers());
}

#[test]
fn whatever_stands_in_paths_and_queries() {
    never_fails(pathed());
}

/// Call it, and say what is wrong with the answer.
async fn fault_by_grpc(remote: &Remote, method: &str, bytes: Vec<u8>, metadata: &[(&str, &str)]) -> Option<String> {
    // Who names no version speaks 0.3, where most methods are called the same.
    let service = if metadata.iter().any(|(name, _)| *name == "a2a-version") { "lf.a2a.v1" } else { "a2a.v1" };
    let path = format!("/{service}.A2AService/{method}");
    let answer = tokio::time::timeout(PATIENCE, remote.at(&path, bytes, metadata)).await.ok()?;
    let status = answer.err()?;
    let faulty = matches!(status.code(), Code::Internal | Code::Unknown | Code::Unavailable | Code::DataLoss);
    // What a stream that is empty looks like to who reads one message.
    let empty = status.message().contains("Missing response message");
    (faulty && !empty).then(|| format!("{method}: {status:?}"))
}

#[test]
fn whatever_stands_in_a_protobuf_message() {
    let runtime = runtime();
    let (_platform, remote) = runtime.block_on(async {
        let platform = platform().await;
        let remote = Remote::of(&platform.engine).await;
        (platform, remote)
    });
    let tried = runner().run(&protobuf(), |(method, bytes, metadata)| {
        let metadata: Vec<(&str, &str)> = metadata.iter().map(|(name, value)| (*name, value.as_str())).collect();
        match runtime.block_on(fault_by_grpc(&remote, method, bytes, &metadata)) {
            None => Ok(()),
            Some(fault) => Err(TestCaseError::fail(fault)),
        }
    });
    if let Err(error) = tried {
        panic!("{error}");
    }
}
