//! A platform on a socket, and a reader of its streams that sees every byte.

use std::net::SocketAddr;
use std::time::Duration;

use api::Options;
use engine::Settings;
use poem::{Endpoint, Response};
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Platform, platform_with, settings};

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A platform that is served.
pub(crate) struct Server<E> {
    pub(crate) platform: Platform<E>,
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl<E> Drop for Server<E> {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(crate) async fn server() -> Server<impl Endpoint<Output = Response>> {
    server_with(settings(), Options::default()).await
}

pub(crate) async fn server_with(settings: Settings, options: Options) -> Server<impl Endpoint<Output = Response>> {
    let platform = platform_with(settings, options.clone()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(api::serve(platform.engine.clone(), listener, options, async {
        let _told = stopped.await;
    }));
    Server { platform, address, serving, stop: Some(stop) }
}

/// A JSON-RPC call as a body.
pub(crate) fn call(id: Value, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

impl<E: Endpoint<Output = Response>> Server<E> {
    /// A request with the version header, these `headers` and, unless it is null, a body.
    pub(crate) async fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Value) -> Reader {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nA2A-Version: 1.0\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        match body {
            Value::Null => request += "\r\n",
            body => {
                let body = body.to_string();
                let length = body.len();
                request += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
            }
        }
        socket.write_all(request.as_bytes()).await.unwrap();
        Reader::of(socket).await
    }

    /// Subscribe to a task over HTTP+JSON, after `last` if there is one.
    pub(crate) async fn subscribe(&self, task: &str, last: Option<&str>) -> Reader {
        let headers: Vec<(&str, &str)> = last.map(|last| ("Last-Event-ID", last)).into_iter().collect();
        self.open("GET", &format!("/tasks/{task}:subscribe"), &headers, Value::Null).await
    }

    /// Ask the process to end.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Wait until it has ended.
    pub(crate) async fn ended(&mut self) {
        tokio::time::timeout(PATIENCE, &mut self.serving).await.unwrap().unwrap();
    }

    /// The stored events of a task: number and body.
    pub(crate) async fn events(&self, task: &str) -> Vec<(i64, String)> {
        let db = self.platform.engine.store().read();
        let id = uuid::Uuid::parse_str(task).unwrap();
        let ask = "SELECT generation, body FROM task_event WHERE task_id = $1 ORDER BY generation";
        let ask = Statement::from_sql_and_values(db.get_database_backend(), ask, [id.into()]);
        let rows = db.query_all_raw(ask).await.unwrap();
        rows.iter().map(|row| (row.try_get("", "generation").unwrap(), row.try_get("", "body").unwrap())).collect()
    }
}

/// An answer as it comes off a socket.
pub(crate) struct Reader {
    socket: TcpStream,
    /// In lower case, the status line included.
    pub(crate) head: String,
    raw: Vec<u8>,
    text: String,
    /// Bytes that come without chunks, if that is how they come.
    length: Option<usize>,
    over: bool,
}

impl Reader {
    async fn of(socket: TcpStream) -> Reader {
        let mut reader =
            Reader { socket, head: String::new(), raw: Vec::new(), text: String::new(), length: None, over: false };
        let end = loop {
            if let Some(end) = reader.raw.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            assert!(reader.fill().await, "the connection ended within the head");
        };
        reader.head = String::from_utf8_lossy(&reader.raw[..end]).to_lowercase();
        reader.raw.drain(..end + 4);
        reader.length = reader.header("content-length").map(|length| length.parse().unwrap());
        reader
    }

    async fn fill(&mut self) -> bool {
        let read = tokio::time::timeout(PATIENCE, self.socket.read_buf(&mut self.raw)).await;
        read.unwrap_or_else(|_| panic!("nothing came for {PATIENCE:?} after {:?}", self.text)).unwrap() > 0
    }

    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Take one chunk out of what was read; whether there was a whole one.
    fn chunk(&mut self) -> bool {
        let Some(line) = self.raw.windows(2).position(|bytes| bytes == b"\r\n") else { return false };
        let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line]).unwrap(), 16).unwrap();
        let end = line + 2 + size + 2;
        if self.raw.len() < end {
            return false;
        }
        self.text += std::str::from_utf8(&self.raw[line + 2..end - 2]).unwrap();
        self.raw.drain(..end);
        self.over = size == 0;
        true
    }

    /// Everything up to the next blank line; nothing once the stream has ended as HTTP says it should.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                return Some(self.text.drain(..end + 2).collect());
            }
            if self.over {
                assert_eq!(self.text, "", "the stream ended within an event");
                return None;
            }
            if !self.chunk() {
                assert!(self.fill().await, "the connection broke after {:?}", self.text);
            }
        }
    }

    /// Wait until so much has come that nobody took yet.
    pub(crate) async fn text_of_length(&mut self, length: usize) {
        while self.text.len() < length {
            if !self.chunk() {
                assert!(self.fill().await, "the connection broke after {:?}", self.text);
            }
        }
    }

    /// The next event's number and body, which is `{"task":..}` and so on in either binding.
    pub(crate) async fn event(&mut self) -> Option<(i64, Value)> {
        let event = self.next().await?;
        let (id, data) = event.strip_prefix("id: ")?.split_once("\ndata: ")?;
        let data: Value = serde_json::from_str(data).unwrap();
        Some((id.parse().unwrap(), if data["jsonrpc"].is_string() { data["result"].clone() } else { data }))
    }

    /// The numbers of all events up to the end.
    pub(crate) async fn numbers(&mut self) -> Vec<i64> {
        let mut numbers = Vec::new();
        while let Some((number, _)) = self.event().await {
            numbers.push(number);
        }
        numbers
    }

    /// The body of an answer that is no stream.
    pub(crate) async fn json(&mut self) -> Value {
        let length = self.length.unwrap_or_else(|| panic!("no length: {}", self.head));
        while self.raw.len() < length {
            assert!(self.fill().await, "the connection broke within a body");
        }
        serde_json::from_slice(&self.raw[..length]).unwrap()
    }
}
