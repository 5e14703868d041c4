//! The agent `http`: what an endpoint is sent, and what its answers become.

use poem::http::StatusCode;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Request, Response, Server, endpoint};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use worker::builtin::Http;

use crate::surface::Surface;
use crate::{Running, options};

const WORKING: &str = "TASK_STATE_WORKING";

/// An endpoint that always answers the same: its URL, and what it is sent.
async fn endpoint(
    status: u16,
    kind: &'static str,
    body: &'static str,
) -> (String, mpsc::UnboundedReceiver<(Value, String)>) {
    serve(move || Response::builder().status(StatusCode::from_u16(status).unwrap()).content_type(kind).body(body)).await
}

async fn serve(
    answer: impl Fn() -> Response + Send + Sync + 'static,
) -> (String, mpsc::UnboundedReceiver<(Value, String)>) {
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
    let url = format!("http://{}/work", acceptor.local_addr()[0].as_socket_addr().unwrap());
    let (sent, received) = mpsc::unbounded_channel();
    let answer = std::sync::Arc::new(answer);
    let app = endpoint::make(move |mut request: Request| {
        let (sent, answer) = (sent.clone(), answer.clone());
        async move {
            let trace = request.header("traceparent").unwrap_or_default().to_owned();
            let body: Value = serde_json::from_slice(&request.take_body().into_vec().await.unwrap()).unwrap();
            let _ = sent.send((body, trace));
            Ok::<_, poem::Error>(answer())
        }
    });
    tokio::spawn(async move { Server::new_with_acceptor(acceptor).run(app).await });
    (url, received)
}

/// The updates of the one call that an endpoint's answer leads to.
async fn told(status: u16, kind: &'static str, body: &'static str) -> Vec<Value> {
    let (url, _received) = endpoint(status, kind, body).await;
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Http::new(&url, None).unwrap());
    surface.queue("a", WORKING, &["hello there"]);
    surface.until("the end", |book| book.updates("a").len() == 1).await;
    worker.stop().await;
    surface.look(|book| book.updates("a"))[0].as_array().unwrap().clone()
}

/// The release that it leads to.
async fn given_back(answer: impl Fn() -> Response + Send + Sync + 'static, attempt: i32) -> Value {
    let (url, _received) = serve(answer).await;
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Http::new(&url, None).unwrap());
    surface.queue_changed("a", WORKING, &["hello there"], |lease| lease["attempt"] = json!(attempt));
    surface.until("the release", |book| book.of("/leases/lease-a:release").len() == 1).await;
    worker.stop().await;
    surface.look(|book| book.of(":release")[0].body.clone())
}

#[tokio::test]
async fn it_is_sent_the_lease_and_the_trace() {
    let (url, mut received) = endpoint(204, "", "").await;
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Http::new(&url, None).unwrap());
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    surface
        .queue_changed("a", WORKING, &["hello there"], |lease| lease["traceContext"] = json!({"traceparent": trace}));
    let (body, traceparent) = received.recv().await.unwrap();
    assert_eq!(body["task"]["history"][0]["parts"], json!([{"text": "hello there"}]));
    assert_eq!(traceparent, trace);
    surface.until("the end", |book| book.updates("a").len() == 1).await;
    worker.stop().await;
    assert_eq!(surface.look(|book| book.updates("a"))[0], json!([{"complete": {}}]));
}

#[tokio::test]
async fn an_answer_is_an_artifact_by_its_media_type() {
    for (kind, body, part) in [
        ("text/plain; charset=utf-8", "words", json!({"text": "words", "mediaType": "text/plain"})),
        ("application/json", "{\"n\": 1}", json!({"data": {"n": 1}, "mediaType": "application/json"})),
        ("application/pdf", "%PDF", json!({"raw": "JVBERg==", "mediaType": "application/pdf"})),
    ] {
        let updates = told(200, kind, body).await;
        assert_eq!(updates[0]["artifact"]["artifact"]["artifactId"], "output");
        assert_eq!(updates[0]["artifact"]["artifact"]["parts"], json!([part]));
        assert_eq!(updates[1], json!({"complete": {}}));
    }
}

#[tokio::test]
async fn updates_are_taken_at_their_word() {
    let body = r#"{"updates": [{"artifact": {"artifact": {"artifactId": "x", "parts": [{"text": "y"}]}}}, {"requireInput": {}}]}"#;
    let updates = told(200, "application/json", body).await;
    assert_eq!(updates[0]["artifact"]["artifact"]["artifactId"], "x");
    assert_eq!(updates[1], json!({"requireInput": {}}));
    let lines = "first\n{\"complete\": {\"statusMessage\": {\"parts\": [{\"text\": \"done\"}]}}}\n";
    let updates = told(200, "application/x-ndjson", lines).await;
    assert_eq!(updates[0]["artifact"]["artifact"]["parts"], json!([{"text": "first\n"}]));
    assert!(updates[1].get("complete").is_some());
}

#[tokio::test]
async fn what_no_other_try_would_mend_fails_the_task() {
    for (status, kind, body, text) in [
        (404, "text/plain", "no such thing", "The agent's endpoint answered 404: no such thing"),
        (302, "text/plain", "", "The agent's endpoint answered 302."),
        (202, "text/plain", "", "answered 202, which promises more"),
        (200, "application/json", "{\"updates\": 5}", "said `updates` that are no list"),
        (200, "application/json", "{\"updates\": [{\"complete\": 5}]}", "said no update"),
        (
            200,
            "application/json",
            "{\"updates\": [{\"complete\": {}}, {\"work\": {}}]}",
            "said more after its last update",
        ),
        (200, "application/json", "{", "said JSON that is none"),
    ] {
        let updates = told(status, kind, body).await;
        let failed = updates[0]["fail"]["statusMessage"]["parts"][0]["text"].as_str().unwrap_or_default();
        assert!(failed.contains(text), "{updates:?}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_later() {
    let status = |code: StatusCode| move || Response::builder().status(code).finish();
    let released = given_back(status(StatusCode::BAD_GATEWAY), 3).await;
    assert_eq!((&released["delaySeconds"], &released["failed"]), (&json!(4.0), &json!(true)), "{released}");
    let asked = || Response::builder().status(StatusCode::TOO_MANY_REQUESTS).header("retry-after", "7").finish();
    assert_eq!(given_back(asked, 1).await["delaySeconds"], json!(7.0));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (cut, mut told) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\nbegun\n{\"compl";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut request = [0; 64 * 1024];
        // As long as somebody sends, until told to cut the connection.
        loop {
            tokio::select! {
                _ = &mut told => return,
                read = stream.read(&mut request) => assert!(read.unwrap() > 0),
            }
        }
    });
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Http::new(&url, None).unwrap());
    surface.queue("a", WORKING, &["go"]);
    surface.until("the first words", |book| book.updates("a").len() == 1).await;
    cut.send(()).unwrap();
    surface.until("the release", |book| book.of("/leases/lease-a:release").len() == 1).await;
    worker.stop().await;
    let released = surface.look(|book| book.of(":release")[0].body.clone());
    assert!(released["reason"].as_str().unwrap().contains("broke off"), "{released}");
    assert_eq!(released["failed"], json!(true));
}

#[tokio::test]
async fn a_cancel_drops_the_call() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\nbegun\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // Reads the request, and then that there is nobody any more.
        let mut request = Vec::new();
        let _ = stream.read_to_end(&mut request).await;
        String::from_utf8(request).unwrap()
    });
    let surface = Surface::start().await;
    let worker = Running::start(options(&surface.url), Http::new(&url, None).unwrap());
    surface.queue("a", WORKING, &["go"]);
    surface.until("the first words", |book| book.updates("a").len() == 1).await;
    surface.plan_beats("lease-a", json!({"held": false, "cancel": true}));
    let request = tokio::time::timeout(crate::surface::MISSING, server).await.unwrap().unwrap();
    assert!(request.starts_with("POST / HTTP/1.1"), "{request}");
    worker.stop().await;
}

#[test]
fn what_cannot_be_called_is_refused_at_once() {
    for url in ["", "localhost:80", "ftp://host/x", "unix:/tmp/socket"] {
        assert!(Http::new(url, None).is_err(), "{url}");
    }
}
