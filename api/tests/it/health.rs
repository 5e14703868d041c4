//! What a load balancer and a curious person see.

use serde_json::json;

use crate::client::{Answer, platform};

#[tokio::test]
async fn a_platform_that_works_says_so() {
    let platform = platform().await;
    let root = Answer::of(platform.client.get("/")).await;
    assert_eq!((root.status, &root.body["product"]), (200, &json!("Taskyard")));
    assert_eq!(Answer::of(platform.client.head("/")).await.status, 200);
    assert_eq!(Answer::of(platform.client.get("/healthz")).await.status, 200);
    let ready = Answer::of(platform.client.get("/readyz")).await;
    assert_eq!((ready.status, ready.body), (200, json!({"status": "ready", "reasons": []})));
}

#[tokio::test]
async fn without_a_database_nothing_is_ready_and_requests_may_be_repeated() {
    let platform = platform().await;
    platform.engine.store().close().await;
    assert_eq!(Answer::of(platform.client.get("/healthz")).await.status, 200);
    let ready = Answer::of(platform.client.get("/readyz")).await;
    assert_eq!((ready.status, &ready.body["status"]), (503, &json!("unavailable")));
    let listed = platform.get("/tasks").await;
    assert_eq!((listed.status, listed.reason()), (503, "UNAVAILABLE"), "{listed:?}");
    assert_eq!(listed.headers["retry-after"], "1");
}

#[tokio::test]
async fn a_blocked_send_is_told_to_come_again_when_the_process_ends() {
    let platform = platform().await;
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    let send = platform.post("/message:send", json!({"message": message}));
    let call = platform.rpc("SendMessage", json!({"message": message}));
    let poll = platform.post("/worker/v1/leases:poll", json!({"agents": ["other"]}));
    let close = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        platform.engine.close();
    };
    let (sent, called, polled, ()) = tokio::join!(send, call, poll, close);
    assert_eq!((sent.status, sent.reason()), (503, "UNAVAILABLE"), "{sent:?}");
    assert_eq!(sent.headers["retry-after"], "1");
    assert_eq!((called.status, called.body["error"]["code"].as_i64()), (503, Some(-32603)), "{called:?}");
    assert_eq!(called.headers["retry-after"], "1");
    assert_eq!((polled.status, polled.body), (200, json!({"leases": []})));
}
