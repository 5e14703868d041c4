//! A webhook receiver: keeps what it is sent, by the name in the URL, in the order it came, and fails where it is told to.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use poem::http::StatusCode;
use poem::listener::TcpAcceptor;
use poem::{Endpoint, Request, Response, Server};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::eventually;

/// One request.
#[derive(Debug, Clone)]
pub struct Hit {
    /// `A2A-Notification-Generation`.
    pub generation: i64,
    /// `A2A-Notification-Sequence`.
    pub sequence: i64,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body; null when it was no JSON.
    pub body: Value,
    /// What it was answered.
    pub answered: u16,
}

impl Hit {
    /// The state the event tells, if it tells one.
    pub fn state(&self) -> Option<&str> {
        let status = ["task", "statusUpdate"].iter().find_map(|member| self.body.get(member));
        status.and_then(|of| of["status"]["state"].as_str())
    }

    /// Whether the event ends its task.
    pub fn is_terminal(&self) -> bool {
        self.state().is_some_and(is_terminal)
    }
}

/// Whether a state is an end.
pub(crate) fn is_terminal(state: &str) -> bool {
    let ends = ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];
    ends.contains(&state)
}

#[derive(Debug, Default)]
struct Book {
    hits: Mutex<HashMap<String, Vec<Hit>>>,
    plans: Mutex<HashMap<String, VecDeque<u16>>>,
}

fn open<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Ears(Arc<Book>);

impl Endpoint for Ears {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let name = request.uri().path().trim_start_matches('/').to_owned();
        let text = |value: &poem::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers: BTreeMap<String, String> =
            request.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
        let body = request.take_body().into_bytes().await?;
        let number = |header: &str| headers.get(header).and_then(|text| text.parse().ok()).unwrap_or(-1);
        let answered = open(&self.0.plans).get_mut(&name).and_then(VecDeque::pop_front).unwrap_or(200);
        let hit = Hit {
            generation: number("a2a-notification-generation"),
            sequence: number("a2a-notification-sequence"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            headers,
            answered,
        };
        open(&self.0.hits).entry(name).or_default().push(hit);
        Ok(Response::builder().status(StatusCode::from_u16(answered).unwrap_or_default()).finish())
    }
}

/// The receiver; stops when it is dropped.
#[derive(Debug)]
pub struct Receiver {
    base: String,
    book: Arc<Book>,
    serving: JoinHandle<()>,
}

impl Receiver {
    /// One that takes everything.
    ///
    /// # Panics
    /// When it cannot listen.
    pub async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listening as a receiver");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let book = Arc::new(Book::default());
        let acceptor = TcpAcceptor::from_tokio(listener).expect("a receiver's listener");
        let ears = Ears(book.clone());
        let serving = tokio::spawn(async move {
            Server::new_with_acceptor(acceptor).run(ears).await.expect("serving as a receiver");
        });
        Receiver { base, book, serving }
    }

    /// The URL of the webhook `name`.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }

    /// Answers the next requests to `name` with these statuses.
    pub fn fail(&self, name: &str, statuses: impl IntoIterator<Item = u16>) {
        open(&self.book.plans).entry(name.to_owned()).or_default().extend(statuses);
    }

    /// What `name` was sent so far, failed ones included.
    pub fn hits(&self, name: &str) -> Vec<Hit> {
        open(&self.book.hits).get(name).cloned().unwrap_or_default()
    }

    /// How many webhooks have been told of their task's end.
    pub fn finished(&self) -> usize {
        let ended = |hits: &&Vec<Hit>| hits.iter().any(|hit| hit.answered < 300 && hit.is_terminal());
        open(&self.book.hits).values().filter(ended).count()
    }

    /// What `name` has taken, once that satisfies `enough`.
    ///
    /// # Panics
    /// When it does not come to be.
    pub async fn taken(&self, name: &str, enough: impl Fn(&[Hit]) -> bool) -> Vec<Hit> {
        eventually(&format!("notifications at {name}"), async || {
            let taken: Vec<Hit> = self.hits(name).into_iter().filter(|hit| hit.answered < 300).collect();
            Some(taken).filter(|taken| enough(taken))
        })
        .await
    }

    /// What `name` has taken, once its task has ended.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn until_the_end(&self, name: &str) -> Vec<Hit> {
        self.taken(name, |hits| hits.iter().any(Hit::is_terminal)).await
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
