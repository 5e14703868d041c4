//! A proxy between workers and the platform that knows what HTTP is: it hands a call on, and then may lose the answer, which no plain
//! pipe could do. It can also go dead, as a network does: nothing gets through and nothing is closed.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::Witness;
use crate::dice::Dice;

/// How many answers are lost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Loss {
    /// Of a hundred calls.
    pub percent: f64,
    /// What they are drawn from.
    pub seed: u64,
}

/// Why a call gets no answer: its connection is closed instead.
#[derive(Debug)]
struct Unanswered;

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy has no answer")
    }
}

impl std::error::Error for Unanswered {}

type Answer = Response<BoxBody<Bytes, reqwest::Error>>;

#[derive(Debug)]
struct Line {
    http: reqwest::Client,
    bases: Vec<String>,
    loss: Loss,
    calls: AtomicUsize,
    lost: AtomicUsize,
    lose_next: Mutex<Option<String>>,
    dead: watch::Sender<bool>,
    witness: Witness,
}

/// The proxy; ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    line: Arc<Line>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// In front of these base URLs, each call to the next one.
    ///
    /// # Panics
    /// When it cannot listen.
    pub async fn start(bases: Vec<String>, loss: Loss) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listening as a proxy");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let line = Arc::new(Line {
            http: reqwest::Client::builder().no_proxy().build().expect("building an HTTP client"),
            bases,
            loss,
            calls: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            lose_next: Mutex::new(None),
            dead: watch::Sender::new(false),
            witness: Witness::default(),
        });
        let serving = tokio::spawn(serve(listener, line.clone()));
        Proxy { url, line, serving }
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Calls that came.
    pub fn calls(&self) -> usize {
        self.line.calls.load(Ordering::Relaxed)
    }

    /// Answers that were lost.
    pub fn lost(&self) -> usize {
        self.line.lost.load(Ordering::Relaxed)
    }

    /// What went through.
    pub fn witness(&self) -> &Witness {
        &self.line.witness
    }

    /// Loses the answer of the next call whose path ends so.
    pub fn lose_next(&self, path: &str) {
        *self.line.lose_next.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_owned());
    }

    /// From now on nothing gets through in either direction, and nothing is closed; or, with `false`, everything again.
    pub fn die(&self, dead: bool) {
        self.line.dead.send_replace(dead);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, line: Arc<Line>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        // An answer is written whole; waiting for more of it only delays it.
        socket.set_nodelay(true).ok();
        let line = line.clone();
        connections.spawn(async move {
            let service = service_fn(|request| line.carry(request));
            // Workers die in the midst of calls, and lost answers end connections: that is what it is for.
            http1::Builder::new().serve_connection(TokioIo::new(socket), service).await.ok();
        });
    }
}

impl Line {
    async fn alive(&self) {
        self.dead.subscribe().wait_for(|dead| !dead).await.ok();
    }

    fn loses(&self, number: usize, path: &str) -> bool {
        let mut next = self.lose_next.lock().unwrap_or_else(PoisonError::into_inner);
        let named = next.take_if(|wanted| path.ends_with(wanted.as_str())).is_some();
        let drawn = (Dice::of(self.loss.seed, number).roll(10_000) as f64) < self.loss.percent * 100.0;
        let lost = named || drawn;
        self.lost.fetch_add(usize::from(lost), Ordering::Relaxed);
        lost
    }

    /// Hands a call on, and its answer back. Where the worker goes away meanwhile, so does the call.
    async fn carry(&self, request: Request<Incoming>) -> Result<Answer, Unanswered> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Unanswered)?.to_bytes();
        self.alive().await;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let call = self.witness.begin(path, &parts.headers);
        let url = format!("{}{path}", self.bases[number % self.bases.len()]);
        let asked = self.http.request(parts.method, url).headers(between(parts.headers)).body(body);
        let answer = asked.send().await.map_err(|_| Unanswered)?;
        let lost = self.loses(number, path);
        let is_stream = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        if is_stream && !lost {
            let (mut head, body) = Response::from(answer).into_parts();
            head.headers = between(head.headers);
            return Ok(Response::from_parts(head, body.boxed()));
        }
        let (status, headers) = (answer.status(), between(answer.headers().clone()));
        if !is_stream {
            let bytes = answer.bytes().await.map_err(|_| Unanswered)?;
            self.alive().await;
            self.witness.end(call, status.as_u16(), &bytes);
            if !lost {
                let mut answer = Response::new(Full::new(bytes).map_err(|never| match never {}).boxed());
                (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
                return Ok(answer);
            }
        }
        Err(Unanswered)
    }
}

/// Without what is each connection's own.
fn between(mut headers: HeaderMap) -> HeaderMap {
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    headers
}
