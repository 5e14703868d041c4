//! A worker surface small enough to see through: a real HTTP server that hands out the leases it is
//! given, writes down every call, and answers as a test told it to.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poem::http::StatusCode;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Body, Endpoint, Request, Response, Server, endpoint};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use wire::Validate;
use wire::worker::{
    ApplyRequest, DrainRequest, HeartbeatRequest, PollRequest, ReleaseRequest, ReplyRequest, SessionRequest,
};

/// How long a test waits for what must happen before it calls it missing.
pub(crate) const MISSING: Duration = Duration::from_secs(30);

/// What a planned answer is.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A status and a body.
    Of(u16, Value),
    /// The connection breaks before the answer is whole.
    Broken,
    /// It never comes.
    Stuck,
}

/// One call as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    pub(crate) lease: Option<String>,
    pub(crate) epoch: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) body: Value,
}

#[derive(Default)]
pub(crate) struct Book {
    queue: VecDeque<Value>,
    pub(crate) calls: Vec<Call>,
    pub(crate) connections: HashSet<String>,
    pub(crate) polling: usize,
    /// How often somebody listened to the control stream.
    pub(crate) listened: usize,
    applies: VecDeque<Answer>,
    beats: HashMap<String, Value>,
    /// Whether sessions can be drained and controlled, as older platforms do not know.
    modern: bool,
    drained: bool,
    /// Seconds between heartbeats.
    pace: f64,
    nudges: VecDeque<String>,
}

impl Book {
    /// The calls whose path ends so.
    pub(crate) fn of(&self, end: &str) -> Vec<&Call> {
        self.calls.iter().filter(|call| call.path.ends_with(end)).collect()
    }

    /// The updates of every apply on a task.
    pub(crate) fn updates(&self, task: &str) -> Vec<Value> {
        let end = format!("/tasks/{task}:apply");
        self.of(&end).iter().map(|call| call.body["updates"].clone()).collect()
    }

    /// How many heartbeats named the lease.
    pub(crate) fn beats(&self, lease: &str) -> usize {
        let named = |call: &&Call| {
            let leases = call.body["leases"].as_array();
            leases.is_some_and(|leases| leases.iter().any(|one| one["lease"] == lease))
        };
        self.of("/leases:heartbeat").into_iter().filter(named).count()
    }
}

pub(crate) struct Surface {
    pub(crate) url: String,
    book: Arc<Mutex<Book>>,
    turned: watch::Sender<()>,
    server: JoinHandle<()>,
}

impl Drop for Surface {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Surface {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub(crate) async fn start_at(address: &str) -> Self {
        let acceptor = TcpListener::bind(address.to_owned()).into_acceptor().await.unwrap();
        let local = acceptor.local_addr()[0].as_socket_addr().copied().unwrap();
        let book = Arc::new(Mutex::new(Book { pace: 0.05, ..Book::default() }));
        let turned = watch::Sender::new(());
        let app = app(book.clone(), turned.clone());
        let server = tokio::spawn(async move {
            Server::new_with_acceptor(acceptor).run(app).await.unwrap();
        });
        Self { url: format!("http://{local}"), book, turned, server }
    }

    /// Queues a task with these messages of the client, as lease `lease-{task}`.
    pub(crate) fn queue(&self, task: &str, state: &str, texts: &[&str]) {
        self.queue_changed(task, state, texts, |_| {});
    }

    /// Queues a task whose lease was changed.
    pub(crate) fn queue_changed(&self, task: &str, state: &str, texts: &[&str], change: impl FnOnce(&mut Value)) {
        let history: Vec<Value> = texts
            .iter()
            .map(|text| json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}))
            .collect();
        self.change(|book| {
            let mut lease = json!({
                "lease": format!("lease-{task}"), "epoch": 7, "attempt": 1, "secondsLeft": 30.0,
                "agent": "demo", "historyCursor": history.len(), "messages": history,
                "task": {"id": task, "contextId": "c", "status": {"state": state}, "history": history},
            });
            change(&mut lease);
            book.queue.push_back(lease);
        });
    }

    /// Plans the answers of the next applies and replies; without a plan they succeed.
    pub(crate) fn plan_applies(&self, answers: impl IntoIterator<Item = Answer>) {
        self.change(|book| book.applies.extend(answers));
    }

    /// Plans what heartbeats say of a lease, over `held: true`.
    pub(crate) fn plan_beats(&self, lease: &str, says: Value) {
        self.change(|book| {
            book.beats.insert(lease.to_owned(), says);
        });
    }

    /// Serves what older platforms do not: draining and the control stream.
    pub(crate) fn modernize(&self) {
        self.change(|book| book.modern = true);
    }

    /// Drains every session, as an operator would.
    pub(crate) fn drain(&self) {
        self.change(|book| book.drained = true);
    }

    /// Tells sessions to beat so often, from the next one on.
    pub(crate) fn pace(&self, seconds: f64) {
        self.change(|book| book.pace = seconds);
    }

    /// Sends an event on the control stream.
    pub(crate) fn nudge(&self, kind: &str, lease: &str) {
        let data = json!({"kind": kind, "lease": lease, "taskId": "t"});
        self.change(|book| book.nudges.push_back(format!(": a comment\n\nevent: {kind}\ndata: {data}\n\n")));
    }

    fn change(&self, change: impl FnOnce(&mut Book)) {
        change(&mut self.book.lock().unwrap());
        self.turned.send_replace(());
    }

    /// What is in the book now.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Book) -> T) -> T {
        look(&self.book.lock().unwrap())
    }

    /// Waits until the book says so.
    pub(crate) async fn until(&self, what: &str, mut so: impl FnMut(&Book) -> bool) {
        let mut turned = self.turned.subscribe();
        let waited = tokio::time::timeout(MISSING, async {
            while !so(&self.book.lock().unwrap()) {
                turned.changed().await.unwrap();
            }
        });
        if waited.await.is_err() {
            panic!("missing: {what}; calls: {:#?}", self.look(|book| book.calls.clone()));
        }
    }
}

fn app(book: Arc<Mutex<Book>>, turned: watch::Sender<()>) -> impl Endpoint<Output = Response> + 'static {
    endpoint::make(move |request: Request| {
        let (book, turned) = (book.clone(), turned.clone());
        async move { Ok::<_, poem::Error>(serve(request, &book, &turned).await) }
    })
}

async fn serve(mut request: Request, book: &Arc<Mutex<Book>>, turned: &watch::Sender<()>) -> Response {
    let header = |name: &str| request.header(name).map(str::to_owned);
    let (lease, epoch) = (header("Taskyard-Lease"), header("Taskyard-Epoch"));
    let key = header("Idempotency-Key");
    let Some(path) = request.uri().path().strip_prefix("/worker/v1").map(str::to_owned) else {
        return answer(401, &json!({}));
    };
    let is_control = path == "/sessions/s1/control";
    if (is_control || path.ends_with(":drain")) && !book.lock().unwrap().modern {
        return answer(404, &json!({}));
    }
    if is_control {
        return control(book.clone(), turned);
    }
    let peer = request.remote_addr().to_string();
    let bytes = request.take_body().into_vec().await.unwrap();
    check(&path, &bytes);
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    {
        let mut book = book.lock().unwrap();
        book.connections.insert(peer);
        book.calls.push(Call { path: path.clone(), lease, epoch, key, body: body.clone() });
    }
    turned.send_replace(());
    match path.as_str() {
        "/sessions" => answer(
            200,
            &json!({
                "session": "s1", "heartbeatSeconds": book.lock().unwrap().pace, "leaseSeconds": 30.0, "pollSeconds": 20.0,
                "maxLeases": 100,
            }),
        ),
        "/leases:poll" => poll(&body, book, turned).await,
        "/sessions/s1:drain" => {
            book.lock().unwrap().drained = true;
            turned.send_replace(());
            answer(200, &json!({"released": 0}))
        }
        "/leases:heartbeat" => beat(&body, &book.lock().unwrap()),
        path if path.ends_with(":apply") => {
            let planned = book.lock().unwrap().applies.pop_front();
            match planned {
                None => answer(200, &applied(path, &body)),
                Some(Answer::Of(status, body)) => answer(status, &body),
                Some(Answer::Broken) => broken(),
                Some(Answer::Stuck) => std::future::pending().await,
            }
        }
        path if path.ends_with(":reply") => {
            let planned = book.lock().unwrap().applies.pop_front();
            match planned {
                None => answer(200, &json!({"direct": true})),
                Some(Answer::Of(status, body)) => answer(status, &body),
                Some(Answer::Broken) => broken(),
                Some(Answer::Stuck) => std::future::pending().await,
            }
        }
        _ => answer(200, &json!({})),
    }
}

/// What the platform would refuse, the runtime must not send.
fn check(path: &str, body: &[u8]) {
    fn valid<T: serde::de::DeserializeOwned + Validate>(body: &[u8]) {
        wire::validate(&wire::parse::<T>(body).unwrap()).unwrap();
    }
    match path {
        "/sessions" => valid::<SessionRequest>(body),
        "/leases:poll" => valid::<PollRequest>(body),
        "/leases:heartbeat" => valid::<HeartbeatRequest>(body),
        "/sessions/s1:drain" => valid::<DrainRequest>(body),
        path if path.ends_with(":release") => valid::<ReleaseRequest>(body),
        path if path.ends_with(":apply") => valid::<ApplyRequest>(body),
        path if path.ends_with(":reply") => valid::<ReplyRequest>(body),
        path => panic!("`{path}` is not a path of the surface"),
    }
}

/// Counts a poll for as long as it waits, also when its client goes away.
struct Polling<'a>(&'a Mutex<Book>, &'a watch::Sender<()>);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().polling -= 1;
        self.1.send_replace(());
    }
}

async fn poll(body: &Value, book: &Mutex<Book>, turned: &watch::Sender<()>) -> Response {
    let mut changed = turned.subscribe();
    book.lock().unwrap().polling += 1;
    let _polling = Polling(book, turned);
    turned.send_replace(());
    let most = body["max"].as_u64().unwrap_or(1) as usize;
    loop {
        let (drained, leases): (bool, Vec<Value>) = {
            let mut book = book.lock().unwrap();
            let count = if book.drained { 0 } else { book.queue.len().min(most) };
            (book.drained, book.queue.drain(..count).collect())
        };
        if drained || !leases.is_empty() {
            return answer(200, &json!({"leases": leases, "drain": drained}));
        }
        changed.changed().await.unwrap();
    }
}

/// Every nudge as it comes, to whoever listens first.
fn control(book: Arc<Mutex<Book>>, turned: &watch::Sender<()>) -> Response {
    book.lock().unwrap().listened += 1;
    turned.send_replace(());
    let nudges = futures_util::stream::unfold((book, turned.subscribe()), async |(book, mut turned)| {
        loop {
            let nudge = book.lock().unwrap().nudges.pop_front();
            if let Some(nudge) = nudge {
                return Some((Ok::<_, io::Error>(nudge), (book, turned)));
            }
            turned.changed().await.ok()?;
        }
    });
    Response::builder().content_type("text/event-stream").body(Body::from_bytes_stream(nudges))
}

fn beat(body: &Value, book: &Book) -> Response {
    let leases: Vec<Value> = body["leases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lease| {
            let id = lease["lease"].as_str().unwrap();
            let mut says = json!({"lease": id, "held": true, "secondsLeft": 30.0, "cancel": false});
            if let Some(planned) = book.beats.get(id) {
                says.as_object_mut().unwrap().extend(planned.as_object().unwrap().clone());
            }
            says
        })
        .collect();
    answer(200, &json!({"leases": leases}))
}

/// A plain success: the state is the one the last update leads to.
fn applied(path: &str, body: &Value) -> Value {
    let last = body["updates"].as_array().unwrap().last().unwrap().as_object().unwrap();
    let state = match last.keys().next().unwrap().as_str() {
        "complete" => "TASK_STATE_COMPLETED",
        "fail" => "TASK_STATE_FAILED",
        "reject" => "TASK_STATE_REJECTED",
        "requireInput" => "TASK_STATE_INPUT_REQUIRED",
        "requireAuth" => "TASK_STATE_AUTH_REQUIRED",
        _ => "TASK_STATE_WORKING",
    };
    let task = path.trim_start_matches("/tasks/").trim_end_matches(":apply");
    json!({
        "taskId": task, "state": state, "generation": 2, "leaseHeld": state == "TASK_STATE_WORKING",
        "statusTimestamp": "2026-11-30T12:00:00.000Z",
    })
}

/// A refusal in the surface's shape.
pub(crate) fn refusal(status: u16, reason: &str, state: &str) -> Answer {
    Answer::Of(
        status,
        json!({"error": {
            "code": status, "status": "FAILED_PRECONDITION", "message": format!("refused: {reason}"),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason,
                "domain": "taskyard.dev", "metadata": {"state": state},
            }],
        }}),
    )
}

fn answer(status: u16, body: &Value) -> Response {
    Response::builder()
        .status(StatusCode::from_u16(status).unwrap())
        .content_type("application/json")
        .body(body.to_string())
}

fn broken() -> Response {
    let chunks: [Result<&'static [u8], io::Error>; 2] = [Ok(b"{\"task"), Err(io::Error::other("broken on purpose"))];
    Response::builder().header("content-length", 1000).body(Body::from_bytes_stream(futures_util::stream::iter(chunks)))
}
