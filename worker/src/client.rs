//! Typed calls to the worker surface, one method a path.
//!
//! The runtime is built on it, and it is usable alone: it holds no state beyond its connections,
//! retries nothing and decides nothing. Connections are kept and reused, since a connection per
//! task would cost more than the task.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use wire::Move;
use wire::worker::{
    Applied, ApplyRequest, ArtifactUpdate, DrainRequest, DrainResponse, EPOCH_HEADER, HeartbeatRequest, LEASE_HEADER,
    Lease, LeaseStatus, ListQueuesResponse, MoveRequest, PollRequest, ReleaseRequest, Replied, ReplyRequest,
    SessionRequest, SessionResponse,
};

use crate::answer::Answer;
use crate::error::{Error, Refusal};

/// How long a call other than a poll may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a poll waits when the caller does not say, and at most.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// How much longer than the platform's wait a poll waits for its answer: an answer on its way when
/// the wait ends must not be thrown away, or its leases would wait for their expiry.
const POLL_MARGIN: Duration = Duration::from_secs(10);
/// How long a control stream lasts before it is opened anew.
const LONGEST_STREAM: Duration = Duration::from_secs(24 * 3_600);
/// Makes a write safe to repeat.
const KEY_HEADER: &str = "Idempotency-Key";

/// A lease's name and fencing number, as every write of a leased task carries them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseKey {
    /// The lease's id.
    pub lease: String,
    /// The lease's epoch.
    pub epoch: i64,
}

/// The worker surface of one platform.
///
/// Writes take an optional idempotency key: a call repeated with the same key, epoch and body is answered as the first was and
/// changes nothing more. One key stands for one call within an epoch.
///
/// Every call fails with [`Error::NoAnswer`], [`Error::Refused`] or [`Error::Unreadable`]; what to
/// make of that is the caller's, see [`Error::is_passing`] and [`Error::is_unclear`].
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    /// A client of the platform at `url` (its base URL, a path in it included), with the API key
    /// `key` where the platform asks for one. Nothing is dialled yet.
    ///
    /// # Errors
    /// [`Error::Options`] when `url` is not an http or https URL, or `key` does not fit a header.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, Error> {
        let parsed =
            Url::parse(url).map_err(|error| Error::Options(format!("reading the platform's url `{url}`: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(Error::Options(format!("the platform's url `{url}` is not an http(s) URL")));
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .map_err(|_| Error::Options("the key holds characters no header may".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("taskyard-worker/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .timeout(CALL_TIMEOUT);
        if parsed.scheme() == "http" {
            // Loading the machine's certificates takes time, and fails where there are none.
            builder = builder.tls_certs_only([]);
        }
        if is_loopback(&parsed) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| Error::Options(format!("making the HTTP client: {error}")))?;
        let base = format!("{}/worker/v1", parsed.as_str().trim_end_matches('/'));
        Ok(Self { http, base })
    }

    /// `GET /queues`: how long the queues are and who works on them, of one agent or of all.
    ///
    /// # Errors
    /// The platform does not answer, or refuses.
    pub async fn queues(&self, agent: Option<&str>) -> Result<ListQueuesResponse, Error> {
        let doing = "asking for the queues";
        let agent = agent.map(|agent| format!("?agent={}", segment(agent))).unwrap_or_default();
        let answer = self.http.get(format!("{}/queues{agent}", self.base)).send().await.map_err(no_answer(doing))?;
        let body = success(doing, answer).await?.bytes().await.map_err(no_answer(doing))?;
        serde_json::from_slice(&body).map_err(|error| unreadable(doing, error))
    }

    /// `POST /sessions`: introduces a worker, and hears at what pace to beat and poll.
    pub async fn open_session(&self, request: &SessionRequest) -> Result<SessionResponse, Error> {
        self.call("opening a session", self.post("/sessions"), request).await
    }

    /// `POST /leases:poll`: waits up to the request's `waitSeconds` for work.
    ///
    /// A lease that cannot be read is held all the same, until it is released or expires.
    pub async fn poll(&self, request: &PollRequest) -> Result<Answer<Lease>, Error> {
        let wait = request.wait_seconds.map(Duration::try_from_secs_f64);
        let timeout = wait.and_then(Result::ok).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT) + POLL_MARGIN;
        let doing = "polling for work";
        let body = self.exchange(doing, self.post("/leases:poll").timeout(timeout), request).await?;
        Answer::read(body.as_ref()).map_err(|error| unreadable(doing, error))
    }

    /// `POST /leases:heartbeat`: keeps leases, and hears of cancels and new messages.
    pub async fn heartbeat(&self, request: &HeartbeatRequest) -> Result<Answer<LeaseStatus>, Error> {
        let doing = "sending heartbeats";
        let body = self.exchange(doing, self.post("/leases:heartbeat"), request).await?;
        Answer::read(body.as_ref()).map_err(|error| unreadable(doing, error))
    }

    /// `POST /leases/{lease}:release`: gives work back undone.
    pub async fn release(&self, lease: &LeaseKey, request: &ReleaseRequest) -> Result<(), Error> {
        let path = format!("/leases/{}:release", segment(&lease.lease));
        let IgnoredAny = self.call("releasing a lease", fenced(self.post(&path), Some(lease)), request).await?;
        Ok(())
    }

    /// `POST /sessions/{session}:drain`: the session gets no more work, and its open polls answer at once. With `release` whatever it
    /// holds is given back in the same call.
    pub async fn drain(&self, session: &str, request: &DrainRequest) -> Result<DrainResponse, Error> {
        let path = format!("/sessions/{}:drain", segment(session));
        self.call("draining a session", self.post(&path), request).await
    }

    /// `GET /sessions/{session}/control`: server-sent events, each a [`ControlEvent`](wire::worker::ControlEvent). The answer as it
    /// begins.
    pub async fn control(&self, session: &str) -> Result<Response, Error> {
        let doing = "opening the control stream";
        let url = format!("{}/sessions/{}/control", self.base, segment(session));
        let request = self.http.get(url).header(ACCEPT, "text/event-stream").timeout(LONGEST_STREAM);
        let answer = request.send().await.map_err(no_answer(doing))?;
        success(doing, answer).await
    }

    /// `POST /tasks/{id}:apply`: several updates of one lease in one transaction.
    pub async fn apply(
        &self,
        task: &str,
        lease: Option<&LeaseKey>,
        key: Option<&str>,
        request: &ApplyRequest,
    ) -> Result<Applied, Error> {
        let path = format!("/tasks/{}:apply", segment(task));
        self.call("applying updates", keyed(fenced(self.post(&path), lease), key), request).await
    }

    /// `POST /tasks/{id}:work` and its like: one move. Without a lease it goes through only while
    /// nobody holds the task. `cancel` is not a worker's, and is refused.
    pub async fn make_move(
        &self,
        task: &str,
        lease: Option<&LeaseKey>,
        key: Option<&str>,
        to: Move,
        request: &MoveRequest,
    ) -> Result<Applied, Error> {
        let path = format!("/tasks/{}:{to}", segment(task));
        self.call("moving a task", keyed(fenced(self.post(&path), lease), key), request).await
    }

    /// `POST /tasks/{id}:update_artifact`: adds, replaces or extends one artifact.
    pub async fn update_artifact(
        &self,
        task: &str,
        lease: Option<&LeaseKey>,
        key: Option<&str>,
        request: &ArtifactUpdate,
    ) -> Result<Applied, Error> {
        let path = format!("/tasks/{}:update_artifact", segment(task));
        self.call("updating an artifact", keyed(fenced(self.post(&path), lease), key), request).await
    }

    /// `POST /tasks/{id}:reply`: answers the client with a message: all of the answer where the lease is `direct`, else the last word on
    /// the task.
    pub async fn reply(
        &self,
        task: &str,
        lease: Option<&LeaseKey>,
        key: Option<&str>,
        request: &ReplyRequest,
    ) -> Result<Replied, Error> {
        let path = format!("/tasks/{}:reply", segment(task));
        self.call("replying", keyed(fenced(self.post(&path), lease), key), request).await
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.base))
    }

    async fn call<B: Serialize, A: DeserializeOwned>(
        &self,
        doing: &'static str,
        request: RequestBuilder,
        body: &B,
    ) -> Result<A, Error> {
        let body = self.exchange(doing, request, body).await?;
        serde_json::from_slice(body.as_ref()).map_err(|error| unreadable(doing, error))
    }

    /// Sends a request and gives the body of a success.
    async fn exchange<B: Serialize>(
        &self,
        doing: &'static str,
        request: RequestBuilder,
        body: &B,
    ) -> Result<impl AsRef<[u8]> + use<B>, Error> {
        let body = serde_json::to_vec(body)
            .map_err(|error| Error::Options(format!("printing a request for {doing}: {error}")))?;
        let answer = request
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body)
            .send()
            .await
            .map_err(no_answer(doing))?;
        success(doing, answer).await?.bytes().await.map_err(no_answer(doing))
    }
}

/// The answer, unless it is an error.
async fn success(doing: &'static str, answer: Response) -> Result<Response, Error> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let body = answer.bytes().await.map_err(no_answer(doing))?;
    Err(Error::Refused { doing, refusal: Box::new(Refusal::read(status.as_u16(), &body)) })
}

fn no_answer(doing: &'static str) -> impl Fn(reqwest::Error) -> Error {
    move |source| Error::NoAnswer { doing, reached: !source.is_connect() && !source.is_builder(), source }
}

fn unreadable(doing: &'static str, source: serde_json::Error) -> Error {
    Error::Unreadable { doing, source: Box::new(source) }
}

fn fenced(request: RequestBuilder, lease: Option<&LeaseKey>) -> RequestBuilder {
    match lease {
        Some(LeaseKey { lease, epoch }) => request.header(LEASE_HEADER, lease).header(EPOCH_HEADER, epoch.to_string()),
        None => request,
    }
}

fn keyed(request: RequestBuilder, key: Option<&str>) -> RequestBuilder {
    match key {
        Some(key) => request.header(KEY_HEADER, key),
        None => request,
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// An id as one path segment: whatever is not plainly harmless is percent-encoded.
fn segment(id: &str) -> std::borrow::Cow<'_, str> {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    if id.bytes().all(harmless) {
        return id.into();
    }
    let mut text = String::with_capacity(id.len() * 3);
    for byte in id.bytes() {
        if harmless(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_dialled_is_refused_by_name() {
        for url in ["", "127.0.0.1:8080", "ftp://host/", "unix:/tmp/socket"] {
            let error = Client::new(url, None).unwrap_err();
            assert!(error.to_string().contains(&format!("`{url}`")), "{error}");
        }
    }

    #[test]
    fn the_paths_follow_the_base_url() {
        for url in ["http://127.0.0.1:8080", "http://127.0.0.1:8080/"] {
            assert_eq!(Client::new(url, None).unwrap().base, "http://127.0.0.1:8080/worker/v1");
        }
        let nested = Client::new("https://host.example/yard/", Some("k")).unwrap();
        assert_eq!(nested.base, "https://host.example/yard/worker/v1");
    }

    #[test]
    fn an_id_stays_one_segment() {
        assert_eq!(segment("0197-a_b.c~"), "0197-a_b.c~");
        assert_eq!(segment("a/b:c d"), "a%2Fb%3Ac%20d");
    }
}
