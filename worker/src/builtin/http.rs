//! The agent `http`: each task goes to a plain HTTP endpoint, and what that answers becomes of it.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::warn;
use wire::{Artifact, Content, Part};

use super::script::{Bounds, Fault, Script};
use crate::client::is_loopback;
use crate::error::{Error, chain};
use crate::{Agent, Context, Outcome, Result};

/// The artifact that an answer becomes.
const OUTPUT: &str = "output";
/// How long an endpoint may take, unless it is told otherwise.
const TIMEOUT: Duration = Duration::from_secs(600);
/// The pause after the first try that failed, doubled with each further one.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause, and the longest that an endpoint may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_ASKED: Duration = Duration::from_secs(3_600);
/// What a failure shows of an answer, in characters.
const SHOWN: usize = 1_000;

/// An endpoint that works on tasks.
#[derive(Debug, Clone)]
pub struct Http {
    client: Client,
    url: Url,
}

impl Http {
    /// The endpoint at `url`, with 10 minutes for each task unless `timeout` says otherwise.
    ///
    /// It is sent `POST` with the lease as a poll answers it: `task` with history and artifacts, `messages` that are to be answered,
    /// `attempt` and the rest; the trace in `traceparent` and `tracestate`. What it may answer with:
    ///
    /// - 2xx and `{"updates": [...]}`: updates in the format of the worker surface's `:apply`. Without a last one (`complete`, `fail`,
    ///   `reject`, `requireInput`, `requireAuth`) the task is completed;
    /// - 2xx and `application/x-ndjson` or `application/jsonl`: such updates, one a line, as they happen; a line that is no JSON object is
    ///   text of the artifact `output`;
    /// - 2xx and anything else: the artifact `output` of that media type, and the task is completed. Of an empty answer there is none;
    /// - 202: the task fails, for there is no way to tell the rest later;
    /// - 408, 425, 429, 5xx, a broken connection or none: another try after a pause, or after what `Retry-After` says in seconds, as often
    ///   as the agent's `max_deliveries` permits;
    /// - any other status: the task fails with the answer's text, which the client reads.
    ///
    /// # Errors
    /// [`Error::Options`] when `url` is not an http or https URL.
    pub fn new(url: &str, timeout: Option<Duration>) -> std::result::Result<Self, Error> {
        // The URL may hold a password.
        let url = Url::parse(url).map_err(|error| Error::Options(format!("reading the endpoint's URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(Error::Options(format!(
                "the endpoint's URL begins with `{}:`, wanted is http or https",
                url.scheme()
            )));
        }
        let mut builder = Client::builder()
            .user_agent(concat!("taskyard-worker/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .timeout(timeout.unwrap_or(TIMEOUT));
        if url.scheme() == "http" {
            builder = builder.tls_certs_only([]);
        }
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| Error::Options(format!("making the HTTP client: {error}")))?;
        Ok(Self { client, url })
    }

    async fn ask(&self, ctx: &Context) -> Result {
        let body = serde_json::to_vec(ctx.lease())?;
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("application/json, application/x-ndjson, */*"));
        if let Some(trace) = ctx.trace_context() {
            request = request.header("traceparent", &trace.traceparent);
            if !trace.tracestate.is_empty() {
                request = request.header("tracestate", &trace.tracestate);
            }
        }
        let answer = match request.body(body).send().await {
            Ok(answer) => answer,
            Err(error) => return Ok(later(ctx, None, &chain(&error.without_url()))),
        };
        let status = answer.status();
        match status {
            StatusCode::ACCEPTED => Ok(Outcome::fail(
                "The agent's endpoint answered 202, which promises more, and it has no way to tell more later.",
            )),
            _ if status.is_success() => take(ctx, answer).await,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                Ok(later(ctx, asked_pause(&answer), &format!("it answered {status}")))
            }
            _ if status.is_server_error() => Ok(later(ctx, asked_pause(&answer), &format!("it answered {status}"))),
            _ => {
                let code = status.as_u16();
                let text = read(answer, SHOWN * 4).await.unwrap_or_default();
                let text: String = String::from_utf8_lossy(&text).trim().chars().take(SHOWN).collect();
                let end = if text.is_empty() { ".".to_owned() } else { format!(": {text}") };
                Ok(Outcome::fail(format!("The agent's endpoint answered {code}{end}")))
            }
        }
    }
}

#[async_trait]
impl Agent for Http {
    async fn run(&self, ctx: Context) -> Result {
        tokio::select! {
            answered = self.ask(&ctx) => answered,
            // Dropping the call closes its connection: that is how the endpoint hears of it.
            () = ctx.stopped() => Ok(Outcome::retry_later(Duration::ZERO, "the worker is stopping")),
        }
    }
}

/// Another try, later each time.
fn later(ctx: &Context, asked: Option<Duration>, why: &str) -> Outcome {
    let tries = u32::try_from(ctx.attempt() - 1).unwrap_or_default().min(16);
    let pause = asked.unwrap_or_else(|| PAUSE.saturating_mul(1 << tries).min(LONGEST_PAUSE));
    warn!(why, pause_ms = pause.as_millis() as u64, "the endpoint does not serve, trying again later");
    Outcome::try_again(pause, format!("the agent's endpoint does not serve: {why}"))
}

fn asked_pause(answer: &Response) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_ASKED))
}

/// What an answer that brings something makes of the task.
async fn take(ctx: &Context, mut answer: Response) -> Result {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let media = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if matches!(media.as_str(), "application/x-ndjson" | "application/ndjson" | "application/jsonl") {
        let mut script = Script::new(ctx.clone(), Bounds::default());
        return match hear(&mut answer, &mut script).await {
            Ok(None) => Ok(script.end().unwrap_or_else(Outcome::complete)),
            Ok(Some(broken)) => Ok(later(ctx, None, &broken)),
            Err(fault) => failed(fault),
        };
    }
    let body = match read(answer, Bounds::default().all).await {
        Ok(body) => body,
        Err(Broken::TooLong) => return failed(Fault::Said(format!("said more than {} bytes", Bounds::default().all))),
        Err(Broken::Off(error)) => return Ok(later(ctx, None, &error)),
    };
    if body.is_empty() {
        return Ok(Outcome::complete());
    }
    let content = if media == "application/json" || media.ends_with("+json") {
        #[derive(Deserialize)]
        struct Updates<'a> {
            #[serde(borrow)]
            updates: Vec<&'a RawValue>,
        }
        match serde_json::from_slice::<Value>(&body) {
            Ok(Value::Object(object)) if object.contains_key("updates") => {
                let Ok(Updates { updates }) = serde_json::from_slice(&body) else {
                    return failed(Fault::Said("said `updates` that are no list".to_owned()));
                };
                return told(ctx, &updates).await;
            }
            Ok(value) => Content::Data(value),
            Err(_) => return failed(Fault::Said("said JSON that is none".to_owned())),
        }
    } else {
        match String::from_utf8(body) {
            Ok(text) if media.is_empty() || media.starts_with("text/") => Content::Text(text),
            Ok(text) => Content::Raw(text.into_bytes()),
            Err(bytes) => Content::Raw(bytes.into_bytes()),
        }
    };
    let part = Part { content: Some(content), media_type: media, ..Part::default() };
    let (artifact_id, name) = (OUTPUT.to_owned(), "Output".to_owned());
    ctx.then().artifact(Artifact { artifact_id, name, parts: vec![part], ..Artifact::default() });
    Ok(Outcome::complete())
}

/// Updates that came all at once. They are read as lines are, so that both mean the same.
async fn told(ctx: &Context, updates: &[&RawValue]) -> Result {
    let mut script = Script::new(ctx.clone(), Bounds::default());
    for update in updates {
        if let Err(fault) = script.update(update.get()).await {
            return failed(fault);
        }
    }
    Ok(script.end().unwrap_or_else(Outcome::complete))
}

fn failed(fault: Fault) -> Result {
    match fault {
        Fault::Said(fault) => Ok(Outcome::fail(format!("The agent's endpoint {fault}"))),
        Fault::Report(error) => Err(error)?,
    }
}

/// Follows an answer line by line; says why when it broke off.
async fn hear(answer: &mut Response, script: &mut Script) -> std::result::Result<Option<String>, Fault> {
    loop {
        let chunk = tokio::select! {
            biased;
            chunk = answer.chunk() => chunk,
            flushed = script.flush_soon() => {
                flushed?;
                continue;
            }
        };
        match chunk {
            Ok(Some(bytes)) => {
                if script.hear(&bytes).await? {
                    return Ok(None);
                }
            }
            Ok(None) => break,
            Err(error) => return Ok(Some(format!("its answer broke off: {}", chain(&error.without_url())))),
        }
    }
    script.hear_rest().await?;
    Ok(None)
}

/// Why there is no whole answer.
#[derive(Debug)]
enum Broken {
    TooLong,
    Off(String),
}

async fn read(mut answer: Response, most: usize) -> std::result::Result<Vec<u8>, Broken> {
    let mut body = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(bytes)) if body.len() + bytes.len() > most => return Err(Broken::TooLong),
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Ok(None) => return Ok(body),
            Err(error) => return Err(Broken::Off(format!("its answer broke off: {}", chain(&error.without_url())))),
        }
    }
}
