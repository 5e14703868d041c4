//! How a stream ends before its task does: by the client, by this process, by a reader that does not read, by a fault.

use std::time::{Duration, Instant};

use api::Options;
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use super::{apply, said};
use crate::client::{Platform, immediately, settings, text};
use crate::server::{Reader, call, server, server_with};

/// Wait until nobody waits for any task's news.
async fn nobody_watches<E: Endpoint<Output = Response>>(platform: &Platform<E>) {
    let began = Instant::now();
    while !platform.engine.bus().hub().watch.waiting().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(10), "somebody still watches");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_leaves_nothing_behind() {
    let server = server().await;
    let watch = &server.platform.engine.bus().hub().watch;
    let held = server.platform.hold().await;
    let mut first = server.subscribe(&held.task, None).await;
    let mut second =
        server.open("POST", "/rpc", &[], call(json!(1), "SubscribeToTask", json!({"id": held.task}))).await;
    let mut sent = server.open("POST", "/message:stream", &[], immediately(json!({}))).await;
    for reader in [&mut first, &mut second, &mut sent] {
        assert!(reader.event().await.is_some());
    }
    // One source a task, however many follow it.
    assert_eq!(watch.waiting().len(), 2);
    drop(sent);
    drop(first);
    // The other one goes on.
    apply(&server.platform, &held, json!([{"work": {}}])).await;
    assert_eq!(second.event().await.unwrap().0, 2);
    drop(second);
    nobody_watches(&server.platform).await;
    // The task did not notice, and is followed again.
    let mut again = server.subscribe(&held.task, Some("1")).await;
    apply(&server.platform, &held, json!([{"complete": {}}])).await;
    assert_eq!(again.numbers().await, [2, 3]);
    // Its connection is still there; the stream is not.
    nobody_watches(&server.platform).await;
}

#[tokio::test]
async fn a_process_that_ends_says_where_to_resume() {
    let mut server = server().await;
    let held = server.platform.hold().await;
    let rpc = |method: &str, params: Value| call(json!(1), method, params);
    let mut readers = vec![
        server.subscribe(&held.task, None).await,
        server.open("POST", "/rpc", &[], rpc("SubscribeToTask", json!({"id": held.task}))).await,
    ];
    apply(&server.platform, &held, json!([{"work": {}}, said("one")])).await;
    for reader in &mut readers {
        for number in 1..=3 {
            assert_eq!(reader.event().await.unwrap().0, number);
        }
    }
    // One that has everything and heard nothing yet; one that does not know its task's number.
    readers.push(server.subscribe(&held.task, Some("3")).await);
    let mut sent = server.open("POST", "/message:stream", &[], immediately(json!({}))).await;
    assert_eq!(sent.event().await.unwrap().0, 1);
    server.stop();
    for reader in &mut readers {
        assert_eq!(reader.next().await.unwrap(), "retry: 1000\nid: 3\n\n");
        assert_eq!(reader.next().await, None);
    }
    assert_eq!(sent.next().await.unwrap(), "retry: 1000\nid: 1\n\n");
    assert_eq!(sent.next().await, None);
    server.ended().await;
}

#[tokio::test]
async fn who_does_not_read_is_cut_off_and_costs_the_others_nothing() {
    // More than every buffer between holds, and than a stream may fall behind.
    const BATCHES: usize = 20;
    const EACH: usize = 20;
    let server = server().await;
    let held = server.platform.hold().await;
    let mut slow = server.subscribe(&held.task, None).await;
    let mut quick = server.subscribe(&held.task, None).await;
    assert_eq!(slow.event().await.unwrap().0, 1);
    assert_eq!(quick.event().await.unwrap().0, 1);
    apply(&server.platform, &held, json!([{"work": {}}])).await;
    assert_eq!(slow.event().await.unwrap().0, 2);
    assert_eq!(quick.event().await.unwrap().0, 2);
    let batch = batch_of(EACH);
    let mut last = 2;
    for _ in 0..BATCHES {
        apply(&server.platform, &held, batch.clone()).await;
        for _ in 0..EACH {
            last += 1;
            assert_eq!(quick.event().await.unwrap().0, last);
        }
    }
    apply(&server.platform, &held, json!([{"complete": {}}])).await;
    assert_eq!(quick.numbers().await, [last + 1]);
    // Longer than a reader may stay away while it falls behind.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let cut = read_until_cut(&mut slow, 2).await;
    assert!(cut < last, "the buffers held everything: {cut}");
    let resumed = server.subscribe(&held.task, Some(&cut.to_string())).await.numbers().await;
    assert_eq!(resumed, (cut + 1..=last + 1).collect::<Vec<_>>());
    nobody_watches(&server.platform).await;
}

/// So many events of 64 KB.
fn batch_of(count: usize) -> Value {
    let long = "x".repeat(64_000);
    let progress = json!({"progress": {"statusMessage": {"parts": [{"text": long}]}}});
    Value::Array(vec![progress; count])
}

#[tokio::test]
async fn who_never_reads_is_not_waited_for() {
    let options = Options { stall: Duration::from_millis(500), ..Options::default() };
    let server = server_with(settings(), options).await;
    let held = server.platform.hold().await;
    let mut idle = server.subscribe(&held.task, None).await;
    let mut slow = server.subscribe(&held.task, None).await;
    assert_eq!(idle.event().await.unwrap().0, 1);
    assert_eq!(slow.event().await.unwrap().0, 1);
    apply(&server.platform, &held, json!([{"work": {}}])).await;
    let mut last = 2;
    assert_eq!(idle.event().await.unwrap().0, last);
    // As much as the buffers between take, and then some.
    for _ in 0..20 {
        apply(&server.platform, &held, batch_of(20)).await;
        for _ in 0..20 {
            last += 1;
            assert_eq!(idle.event().await.unwrap().0, last);
        }
    }
    // Silence is no stall: longer than the patience, and the one that reads is still there.
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    apply(&server.platform, &held, json!([said("one")])).await;
    assert_eq!(idle.event().await.unwrap().0, last + 1);
    drop(idle);
    // The other one was not: it never left, and yet nothing is left of it.
    nobody_watches(&server.platform).await;
    drop(slow);
}

/// Read what follows number `last` without a gap; where the stream says it was cut.
async fn read_until_cut(reader: &mut Reader, mut last: i64) -> i64 {
    loop {
        let event = reader.next().await.unwrap();
        if event.starts_with("retry") {
            assert_eq!(event, format!("retry: 1000\nid: {last}\n\n"));
            assert_eq!(reader.next().await, None);
            return last;
        }
        last += 1;
        assert!(event.starts_with(&format!("id: {last}\n")), "{} instead of {last}", &event[..20]);
    }
}

#[tokio::test]
async fn an_error_after_the_first_item_is_the_last_event() {
    let server = server().await;
    let task = text(&server.platform.submit().await["id"]);
    let mut rest = server.subscribe(&task, None).await;
    let body = call(json!("x"), "SubscribeToTask", json!({"id": task}));
    let mut rpc = server.open("POST", "/rpc", &[], body).await;
    assert_eq!(rest.event().await.unwrap().0, 1);
    assert_eq!(rpc.event().await.unwrap().0, 1);
    server.platform.engine.store().close().await;
    server.platform.engine.bus().hub().watch.hear(task.parse().unwrap(), 2, 2);
    let data = async |reader: &mut Reader| -> Value {
        let event = reader.next().await.unwrap();
        let data = event.strip_prefix("event: error\ndata: ").unwrap_or_else(|| panic!("{event}"));
        assert_eq!(reader.next().await, None);
        assert_eq!(data.find('\n'), Some(data.len() - 2));
        serde_json::from_str(data).unwrap()
    };
    let error = data(&mut rest).await["error"].take();
    assert_eq!((&error["code"], &error["status"]), (&json!(503), &json!("UNAVAILABLE")), "{error}");
    assert_eq!(error["details"][0]["reason"], "UNAVAILABLE");
    let response = data(&mut rpc).await;
    assert_eq!((&response["jsonrpc"], &response["id"]), (&json!("2.0"), &json!("x")), "{response}");
    assert_eq!(response["error"]["code"], -32603, "{response}");
    assert_eq!(response["error"]["data"][0]["reason"], "UNAVAILABLE");
    // Now there is no beginning any more.
    let mut refused = server.subscribe(&task, Some("1")).await;
    assert_eq!((refused.status(), refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.json().await["error"]["code"], 503);
}
