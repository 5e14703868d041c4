//! A webhook that keeps what it got and answers as it is told.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poem::http::{HeaderMap, StatusCode};
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Body, Endpoint, Request, Response, Server};
use tokio::sync::watch;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn sequence(&self) -> i64 {
        self.header("a2a-notification-sequence").parse().unwrap()
    }
}

/// How to answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) delay: Duration,
    /// Not before this one says so.
    pub(crate) gate: Option<watch::Receiver<bool>>,
    pub(crate) body: usize,
}

impl From<u16> for Answer {
    fn from(status: u16) -> Answer {
        Answer { status, ..Answer::default() }
    }
}

/// Requests that are open, and the most that ever were, by the host they name.
#[derive(Debug, Default)]
struct Load(Mutex<HashMap<String, (usize, usize)>>);

/// One that is open, until it is answered or given up.
struct Open {
    load: Arc<Load>,
    host: String,
}

impl Open {
    fn new(load: Arc<Load>, host: &str) -> Open {
        for host in [host, ""] {
            let mut all = load.0.lock().unwrap();
            let (now, most) = all.entry(host.to_owned()).or_default();
            *now += 1;
            *most = (*most).max(*now);
        }
        Open { load, host: host.to_owned() }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        for host in [&self.host, ""] {
            self.load.0.lock().unwrap().get_mut(host).unwrap().0 -= 1;
        }
    }
}

type Script = Arc<dyn Fn(&Seen, usize) -> Answer + Send + Sync>;

#[derive(Clone)]
struct Hook {
    seen: Arc<Mutex<Vec<Seen>>>,
    load: Arc<Load>,
    script: Script,
}

impl Endpoint for Hook {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let path = request.uri().path().to_owned();
        let headers = request.headers().clone();
        let body = request.take_body().into_string().await?;
        let seen = Seen { path, headers, body };
        let before = {
            let mut all = self.seen.lock().unwrap();
            all.push(seen.clone());
            all.len() - 1
        };
        let _open = Open::new(self.load.clone(), seen.header("host"));
        let answer = (self.script)(&seen, before);
        tokio::time::sleep(answer.delay).await;
        if let Some(mut gate) = answer.gate {
            gate.wait_for(|open| *open).await.unwrap();
        }
        let mut response = Response::builder().status(StatusCode::from_u16(answer.status).unwrap());
        for (name, value) in answer.headers {
            response = response.header(name, value);
        }
        Ok(response.body(Body::from_vec(vec![b'x'; answer.body])))
    }
}

/// A receiver on a port of its own, until it is dropped.
pub(crate) struct Receiver {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    load: Arc<Load>,
    server: tokio::task::JoinHandle<()>,
}

impl Receiver {
    /// Answers every request as `script` says, which is told the request and how many came before.
    pub(crate) async fn new<A: Into<Answer>>(script: impl Fn(&Seen, usize) -> A + Send + Sync + 'static) -> Receiver {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let load = Arc::new(Load::default());
        let hook = Hook {
            seen: seen.clone(),
            load: load.clone(),
            script: Arc::new(move |seen, before| script(seen, before).into()),
        };
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
        let address = *acceptor.local_addr()[0].as_socket_addr().unwrap();
        let server = tokio::spawn(async move { Server::new_with_acceptor(acceptor).run(hook).await.unwrap() });
        Receiver { address, seen, load, server }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The same under the machine's name, which makes it another origin.
    pub(crate) fn named(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.address.port())
    }

    /// Requests that are open at this moment.
    pub(crate) fn open(&self) -> usize {
        self.load.0.lock().unwrap().get("").map_or(0, |(now, _)| *now)
    }

    /// The most requests that were ever open at once: in all, and for any one origin.
    pub(crate) fn most(&self) -> (usize, usize) {
        let all = self.load.0.lock().unwrap();
        let most = |of_all| all.iter().filter(move |(host, _)| host.is_empty() == of_all).map(|(_, (_, most))| *most);
        (most(true).max().unwrap_or_default(), most(false).max().unwrap_or_default())
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// The sequences that came to `path`, in the order they came.
    pub(crate) fn sequences(&self, path: &str) -> Vec<i64> {
        self.seen().iter().filter(|seen| seen.path == path).map(Seen::sequence).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}
