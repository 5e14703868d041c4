//! What only a socket shows: how a process ends, and how a body that is too long is refused.

use std::time::Duration;

use api::Options;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::client::platform;

/// Send one request, and read its status and its body.
async fn ask(address: std::net::SocketAddr, path: &str, body: &str) -> (String, Value) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test]
async fn a_process_that_ends_answers_everybody() {
    let platform = platform().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let options = Options { drain: Duration::from_secs(5), ..Options::default() };
    let serving = tokio::spawn(api::serve(platform.engine.clone(), listener, options, async {
        let _told = stopped.await;
    }));
    let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}});
    let send = tokio::spawn(async move { ask(address, "/message:send", &message.to_string()).await });
    let poll = tokio::spawn(async move { ask(address, "/worker/v1/leases:poll", r#"{"agents":["other"]}"#).await });
    // A connection without a request does not hold anybody up.
    let _idle = TcpStream::connect(address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.send(()).unwrap();
    let (head, body) = send.await.unwrap();
    assert!(head.starts_with("http/1.1 503") && head.contains("retry-after: 1"), "{head} {body}");
    assert!(body["error"]["details"][0]["metadata"]["taskId"].is_string(), "{body}");
    let (head, body) = poll.await.unwrap();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(body, json!({"leases": []}));
    tokio::time::timeout(Duration::from_secs(2), serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_so_that_its_sender_hears_it() {
    let platform = platform().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving =
        tokio::spawn(api::serve(platform.engine.clone(), listener, Options::default(), std::future::pending()));
    let long = "x".repeat(9 << 20);
    let (head, body) = ask(address, "/message:send", &long).await;
    assert!(head.starts_with("http/1.1 413"), "{head}");
    assert_eq!(body["error"]["details"][0]["metadata"]["limitBytes"], "4194304");
    let (head, body) = ask(address, "/rpc", &long).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!((&body["id"], &body["error"]["code"]), (&Value::Null, &json!(-32600)));
    serving.abort();
}
