//! A webhook's other end: HTTP as far as a notification needs it.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::Checked;

/// One notification.
pub(crate) struct Post {
    pub(crate) path: String,
    /// By names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

/// It answers 200 to everything for as long as it is kept.
pub(crate) struct Receiver {
    port: u16,
    posts: mpsc::UnboundedReceiver<Post>,
    accepting: AbortHandle,
}

impl Receiver {
    pub(crate) async fn start() -> Checked<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (sender, posts) = mpsc::unbounded_channel();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sender = sender.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, &sender).await {
                        eprintln!("a notification that cannot be read: {error}");
                    }
                });
            }
        });
        Ok(Self { port, posts, accepting: accepting.abort_handle() })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Every post up to the one that says the task is completed.
    pub(crate) async fn until_completed(&mut self) -> Checked<Vec<Post>> {
        let mut posts = Vec::new();
        loop {
            let post =
                tokio::time::timeout(Duration::from_secs(15), self.posts.recv()).await?.ok_or("no more posts")?;
            let done = post.body["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED";
            posts.push(post);
            if done {
                return Ok(posts);
            }
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(stream: TcpStream, posts: &mpsc::UnboundedSender<Post>) -> Checked {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 0 {
        let path = line.split(' ').nth(1).ok_or("no request line")?.to_owned();
        let mut headers = HashMap::new();
        loop {
            line.clear();
            stream.read_line(&mut line).await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let mut body = vec![0; headers.get("content-length").ok_or("no content length")?.parse()?];
        stream.read_exact(&mut body).await?;
        // Nobody may be waiting for it any more.
        let _ = posts.send(Post { path, headers, body: serde_json::from_slice(&body)? });
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
        line.clear();
    }
    Ok(())
}
