//! One request: what is sent, how long it may take, and what to call its outcome.
//!
//! Nothing of the receiver's is followed, decoded or kept: a redirect is a failure, a body is read only so far that the connection can be
//! used again. A URL, a token or credentials never reach a log line: each may be a secret.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::secret::SecretKey;
use engine::signing::{self, SigningKey};
use engine::store::delivery::Receiver;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, StatusCode, redirect};
use url::Url;
use uuid::Uuid;
use wire::Version;

use crate::Options;
use crate::address::{Guard, Refused};
use crate::schedule::retry_after;

/// How much of an answer is read.
const ANSWER: usize = 64 * 1024;
const AGENT: &str = concat!("taskyard-notifier/", env!("CARGO_PKG_VERSION"));

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Delivered,
    /// Answered with something other than 2xx.
    Status,
    RedirectRefused,
    /// The name led to an address that may not be dialled; it may lead elsewhere another time.
    AddressRefused,
    /// The URL spells out such an address, and always will.
    LiteralRefused,
    /// The name has no address.
    Dns,
    ConnectRefused,
    ConnectTimeout,
    Tls,
    Timeout,
    Reset,
    /// The answer was not HTTP.
    Protocol,
    /// It is our fault: nothing was sent, or the code panicked.
    Internal,
}

impl Class {
    /// As it stands in `push_attempt.outcome`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Class::Delivered => "delivered",
            Class::Status => "status",
            Class::RedirectRefused => "redirect_refused",
            Class::AddressRefused | Class::LiteralRefused => "address_refused",
            Class::Dns => "dns",
            Class::ConnectRefused => "connect_refused",
            Class::ConnectTimeout => "connect_timeout",
            Class::Tls => "tls",
            Class::Timeout => "timeout",
            Class::Reset => "reset",
            Class::Protocol => "protocol_error",
            Class::Internal => "internal",
        }
    }
}

/// A request that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) class: Class,
    pub(crate) status: Option<u16>,
    /// How long the receiver asks to be left alone.
    pub(crate) hint: Option<Duration>,
    pub(crate) took: Duration,
}

/// Why a delivery can never be sent as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Poison {
    #[error("the config's secrets do not open with this key")]
    Secret,
    #[error("the config's token, scheme or credentials cannot stand in a header")]
    Header,
    #[error("the config's url is no http or https url")]
    Url,
    #[error("the notification's body is missing or no JSON object")]
    Body,
    #[error("the config's version is none that is spoken here")]
    Version,
    #[error("the notification's body is no stream response that could be told in the config's version")]
    Untold,
}

/// Where the requests of one lane go, and what they all carry.
pub(crate) struct Target {
    url: Url,
    headers: HeaderMap,
    version: Version,
}

impl Target {
    /// The body to send: the stored text as it is, if it is a JSON object, or what another version makes of it.
    pub(crate) fn body(&self, stored: Option<String>) -> Result<String, Poison> {
        let body = stored.ok_or(Poison::Body)?;
        let object =
            serde_json::from_str::<&serde_json::value::RawValue>(&body).is_ok_and(|raw| raw.get().starts_with('{'));
        match self.version {
            _ if !object => Err(Poison::Body),
            Version::V1 => Ok(body),
            Version::V03 => wire::v03::notification(&body).map_err(|_| Poison::Untold),
        }
    }
}

/// One notification, ready to be sent.
pub(crate) struct Notification {
    pub(crate) lane: Uuid,
    pub(crate) sequence: i64,
    pub(crate) generation: i64,
    pub(crate) body: String,
}

/// What makes requests: one client for all lanes, so that connections are used again.
#[derive(Debug)]
pub(crate) struct Sender {
    client: Client,
    guard: Guard,
    secrets: Arc<SecretKey>,
}

impl Sender {
    pub(crate) fn new(options: &Options, secrets: Arc<SecretKey>) -> Result<Sender, reqwest::Error> {
        let guard = Guard { policy: Arc::new(options.webhooks.clone()), names: options.names.clone() };
        let builder = || {
            Client::builder()
                .redirect(redirect::Policy::none())
                .no_proxy()
                .dns_resolver(Arc::new(guard.clone()))
                .connect_timeout(options.connect_timeout)
                .timeout(options.total_timeout)
                .pool_idle_timeout(Duration::from_secs(30))
                .pool_max_idle_per_host(64)
                .referer(false)
        };
        let client = builder().build().or_else(|error| {
            tracing::warn!(
                error = deepest(&error),
                "no certificate authorities found; receivers over https cannot be verified"
            );
            builder().tls_certs_only([]).build()
        })?;
        Ok(Sender { client, guard, secrets })
    }

    /// Open what is sealed in a config.
    pub(crate) fn target(&self, lane: Uuid, receiver: &Receiver) -> Result<Target, Poison> {
        let url = Url::parse(&receiver.url).map_err(|_| Poison::Url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Poison::Url);
        }
        let version = Version::parse(&receiver.version).ok_or(Poison::Version)?;
        let open = |sealed: &Option<Vec<u8>>| match sealed {
            Some(sealed) => self.secrets.open(lane, sealed).map(|plain| Some(plain).filter(|plain| !plain.is_empty())),
            None => Ok(None),
        };
        let token = open(&receiver.token).map_err(|_| Poison::Secret)?;
        let credentials = open(&receiver.credentials).map_err(|_| Poison::Secret)?;
        let scheme = receiver.scheme.as_deref().filter(|scheme| !scheme.is_empty());

        let mut headers = HeaderMap::new();
        let content_type = match version {
            Version::V1 => "application/a2a+json",
            Version::V03 => "application/json",
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(HeaderName::from_static("a2a-version"), HeaderValue::from_static(version.as_str()));
        if let (Some(scheme), Some(credentials)) = (scheme, credentials) {
            headers.insert(AUTHORIZATION, secret(&format!("{scheme} {credentials}"))?);
        }
        if let Some(token) = token {
            let token = secret(&token)?;
            headers.insert(HeaderName::from_static("x-a2a-notification-token"), token.clone());
            headers.insert(HeaderName::from_static("a2a-notification-token"), token);
        }
        Ok(Target { url, headers, version })
    }

    /// Send one notification, signed as of `now`, which is also for dates in the answer.
    pub(crate) async fn send(
        &self,
        target: &Target,
        notification: Notification,
        keys: &[SigningKey],
        now: i64,
    ) -> Outcome {
        let began = Instant::now();
        let outcome = |class, status: Option<StatusCode>, hint| Outcome {
            class,
            status: status.map(|status| status.as_u16()),
            hint,
            took: began.elapsed(),
        };
        if self.guard.check(&target.url).is_err() {
            return outcome(Class::LiteralRefused, None, None);
        }
        let mut headers = target.headers.clone();
        let Notification { lane, sequence, generation, body } = notification;
        headers.insert(HeaderName::from_static("a2a-notification-sequence"), sequence.into());
        headers.insert(HeaderName::from_static("a2a-notification-generation"), generation.into());
        let id = format!("{lane}.{sequence}");
        let timestamp = now.div_euclid(1000);
        let signature = signing::sign(keys, &id, timestamp, body.as_bytes(), now);
        headers.insert(HeaderName::from_static("webhook-timestamp"), timestamp.into());
        for (name, value) in [("webhook-id", id), ("webhook-signature", signature)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        // `headers` comes last and replaces: a name and password in the url never stand beside the config's own credentials.
        let sent = self.client.post(target.url.clone()).body(body).headers(headers).send().await;
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) => return outcome(classify(&error, target.url.scheme() == "https"), None, None),
        };
        let status = answer.status();
        let hint = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                answer.headers().get(RETRY_AFTER).and_then(|value| retry_after(value.as_bytes(), now))
            }
            _ => None,
        };
        // Whatever happens to the rest, the status has been said.
        let mut left = ANSWER;
        while let Ok(Some(chunk)) = answer.chunk().await {
            match left.checked_sub(chunk.len()) {
                Some(rest) if rest > 0 => left = rest,
                _ => break,
            }
        }
        let class = match status {
            status if status.is_success() => Class::Delivered,
            status if status.is_redirection() => Class::RedirectRefused,
            _ => Class::Status,
        };
        outcome(class, Some(status), hint)
    }
}

fn secret(text: &str) -> Result<HeaderValue, Poison> {
    let mut value = HeaderValue::from_str(text).map_err(|_| Poison::Header)?;
    value.set_sensitive(true);
    Ok(value)
}

fn classify(error: &reqwest::Error, https: bool) -> Class {
    let mut io = None;
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<Refused>() {
            return Class::AddressRefused;
        }
        io = cause.downcast_ref::<io::Error>().or(io);
        source = cause.source();
    }
    if error.is_dns() {
        return Class::Dns;
    }
    if error.is_timeout() {
        return if error.is_connect() { Class::ConnectTimeout } else { Class::Timeout };
    }
    if error.is_connect() {
        return match io.map(|io| (io.kind(), io.raw_os_error())) {
            Some((io::ErrorKind::ConnectionReset, _)) => Class::Reset,
            // What the system did not say comes from the TLS handshake.
            Some((_, None)) | None if https => Class::Tls,
            _ => Class::ConnectRefused,
        };
    }
    // hyper tells an unreadable answer apart by its words only.
    let words = deepest(error);
    if io.is_none() && ["invalid", "too large"].iter().any(|word| words.contains(word)) {
        return Class::Protocol;
    }
    Class::Reset
}

fn deepest(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = cause.to_string();
        source = cause.source();
    }
    words
}
