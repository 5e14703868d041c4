//! The platform as a client sees it: HTTP+JSON (A2A §11), as cheap as it can be asked. Bodies and headers are made once, and
//! of an answer no more is read than whether it is the right one.

use std::cell::Cell;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Request, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/a2a+json");

/// The longest that a stream lasts, or a poll.
const LONG: Duration = Duration::from_secs(24 * 3_600);

/// Asks the platform, its replicas in turn.
pub(crate) struct Platform {
    far: String,
    http: reqwest::Client,
    bases: Vec<String>,
    sends: Vec<Url>,
    next: Cell<usize>,
    headers: HeaderMap,
}

/// The body of a send, but for the message's id.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    before: String,
    after: String,
}

/// A page of ListTasks, as much of it as is needed to go on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    #[serde(default)]
    pub(crate) next_page_token: String,
    #[serde(default)]
    pub(crate) total_size: i64,
}

impl Template {
    /// A message with that text, and with a webhook if there is one.
    pub(crate) fn new(text: &str, webhook: Option<&str>) -> Template {
        const MARK: &str = "\u{1}";
        let mut body = json!({"message": {"messageId": MARK, "role": "ROLE_USER", "parts": [{"text": text}]}});
        if let Some(url) = webhook {
            body["configuration"] = json!({"taskPushNotificationConfig": {"url": url}});
        }
        let body = body.to_string();
        // A control character is printed as an escape, and one in the text would be after it: `messageId` sorts first.
        let mark = Value::from(MARK).to_string();
        let (before, after) = body.split_once(&mark).unwrap_or((&body, ""));
        Template { before: format!("{before}\""), after: format!("\"{after}") }
    }

    fn body(&self) -> String {
        let mut buffer = Uuid::encode_buffer();
        let id: &str = Uuid::now_v7().simple().encode_lower(&mut buffer);
        [&self.before, id, &self.after].concat()
    }
}

impl Platform {
    /// Of these base URLs, and of the one where streams are followed; else that is the last of them.
    ///
    /// # Errors
    /// No client can be made.
    pub(crate) fn new(bases: &[Url], far: Option<&Url>, timeout: Duration) -> Result<Platform, String> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .http1_only()
            .tcp_nodelay(true)
            .pool_max_idle_per_host(usize::MAX)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .build()
            .map_err(|error| format!("making a client: {}", chain(&error)))?;
        let base = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
        let far = far.or(bases.last()).map(base).unwrap_or_default();
        let bases: Vec<String> = bases.iter().map(base).collect();
        let sends = bases.iter().map(|base| url(&format!("{base}/message:send"))).collect::<Result<_, _>>()?;
        let mut headers = HeaderMap::new();
        headers.insert("a2a-version", HeaderValue::from_static("1.0"));
        headers.insert(ACCEPT, MEDIA_TYPE);
        Ok(Platform { far, http, bases, sends, next: Cell::new(0), headers })
    }

    /// Sends a message and waits until its task is complete.
    pub(crate) async fn send(&self, template: &Template) -> Result<Vec<u8>, String> {
        const COMPLETE: &[u8] = b"\"TASK_STATE_COMPLETED\"";
        let mut request = Request::new(Method::POST, self.sends[self.turn()].clone());
        request.headers_mut().insert(CONTENT_TYPE, MEDIA_TYPE);
        *request.body_mut() = Some(template.body().into());
        let body = self.ask(request).await?;
        if !body.windows(COMPLETE.len()).any(|window| window == COMPLETE) {
            return Err(format!("the task did not complete: {}", beginning(&body)));
        }
        Ok(body)
    }

    /// Sends a message and tells the id of its task.
    pub(crate) async fn make_task(&self, template: &Template) -> Result<String, String> {
        let body: Value = parse(&self.send(template).await?)?;
        let id = body["task"]["id"].as_str();
        id.map(str::to_owned).ok_or_else(|| format!("no task in the answer to a send: {body}"))
    }

    /// Reads something; `path` begins with a slash.
    pub(crate) async fn get(&self, path: &str) -> Result<Vec<u8>, String> {
        let target = url(&format!("{}{path}", self.bases[self.turn()]))?;
        self.ask(Request::new(Method::GET, target)).await
    }

    /// Reads one page of the tasks.
    pub(crate) async fn page(&self, path: &str) -> Result<Page, String> {
        parse(&self.get(path).await?)
    }

    /// Posts something to a replica, counted round and round.
    ///
    /// # Errors
    /// It is refused, or not answered.
    pub(crate) async fn post(
        &self,
        replica: usize,
        path: &str,
        headers: &[(&'static str, String)],
        body: &Value,
    ) -> Result<Value, String> {
        parse(&self.ask(self.to_post(replica, path, headers, body)?).await?)
    }

    /// Asks a replica for work, as long as it lets us wait.
    ///
    /// # Errors
    /// It is refused, or not answered.
    pub(crate) async fn poll(&self, replica: usize, body: &Value) -> Result<Value, String> {
        let mut request = self.to_post(replica, "/worker/v1/leases:poll", &[], body)?;
        *request.timeout_mut() = Some(LONG);
        parse(&self.ask(request).await?)
    }

    fn to_post(
        &self,
        replica: usize,
        path: &str,
        headers: &[(&'static str, String)],
        body: &Value,
    ) -> Result<Request, String> {
        let base = &self.bases[replica % self.bases.len()];
        let mut request = Request::new(Method::POST, url(&format!("{base}{path}"))?);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).map_err(|error| format!("the header {name}: {error}"))?;
            request.headers_mut().insert(*name, value);
        }
        *request.body_mut() = Some(body.to_string().into());
        Ok(request)
    }

    /// How many replicas there are: those that are asked in turn, and the far one.
    pub(crate) fn replicas(&self) -> usize {
        self.bases.len() + usize::from(!self.bases.contains(&self.far))
    }

    /// Whether an agent is there.
    ///
    /// # Errors
    /// The platform does not answer.
    pub(crate) async fn knows(&self, agent: &str) -> Result<bool, String> {
        match self.get(&format!("/agents/{agent}/tasks?pageSize=1")).await {
            Ok(_) => Ok(true),
            Err(why) if why.starts_with("HTTP 404") => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// Whether streams are followed at another replica than the one that is written to.
    pub(crate) fn has_far(&self) -> bool {
        self.far != self.bases[0]
    }

    /// Opens a stream of events, far from the first replica where there is another.
    ///
    /// # Errors
    /// It is refused, or not answered.
    pub(crate) async fn follow(&self, path: &str) -> Result<Stream, String> {
        let mut request = Request::new(Method::GET, url(&format!("{}{path}", self.far))?);
        request.headers_mut().insert("a2a-version", HeaderValue::from_static("1.0"));
        *request.timeout_mut() = Some(LONG);
        let answer = self.http.execute(request).await.map_err(|error| chain(&error.without_url()))?;
        match answer.status().is_success() {
            true => Ok(Stream { answer, read: Vec::new() }),
            false => Err(format!("HTTP {} to a subscription", answer.status().as_u16())),
        }
    }

    async fn ask(&self, mut request: Request) -> Result<Vec<u8>, String> {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let answer = self.http.execute(request).await.map_err(|error| chain(&error.without_url()))?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(|error| chain(&error.without_url()))?;
        if !status.is_success() {
            return Err(format!("HTTP {}: {}", status.as_u16(), beginning(&body)));
        }
        Ok(body.into())
    }

    fn turn(&self) -> usize {
        let turn = self.next.get();
        self.next.set((turn + 1) % self.bases.len());
        turn
    }
}

/// Server-sent events as they come.
pub(crate) struct Stream {
    answer: reqwest::Response,
    read: Vec<u8>,
}

impl Stream {
    /// The data of the next event; nothing at the end.
    ///
    /// # Errors
    /// The connection broke, or what came is no JSON.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|bytes| bytes == b"\n\n") {
                let event: Vec<u8> = self.read.drain(..end + 2).collect();
                if let Some(data) = event.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data: ")) {
                    return parse(data).map(Some);
                }
                continue;
            }
            match self.answer.chunk().await.map_err(|error| chain(&error.without_url()))? {
                Some(more) => self.read.extend_from_slice(&more),
                None => return Ok(None),
            }
        }
    }
}

fn url(text: &str) -> Result<Url, String> {
    Url::parse(text).map_err(|error| format!("the URL `{text}`: {error}"))
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| format!("reading an answer: {error}: {}", beginning(body)))
}

/// As much of a body as one can read in a table of errors.
fn beginning(body: &[u8]) -> String {
    const LENGTH: usize = 160;
    String::from_utf8_lossy(&body[..body.len().min(LENGTH)]).into_owned()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_makes_a_new_message_each_time() {
        let template = Template::new("say \"\u{1}\"", Some("http://127.0.0.1:1/hook"));
        let bodies: Vec<Value> = (0..2).map(|_| parse(template.body().as_bytes()).unwrap()).collect();
        assert_ne!(bodies[0]["message"]["messageId"], bodies[1]["message"]["messageId"]);
        assert_eq!(bodies[0]["message"]["messageId"].as_str().map(str::len), Some(32));
        assert_eq!(bodies[0]["message"]["parts"][0]["text"], "say \"\u{1}\"");
        assert_eq!(bodies[0]["configuration"]["taskPushNotificationConfig"]["url"], "http://127.0.0.1:1/hook");
    }

    #[test]
    fn replicas_take_turns() {
        let bases = ["http://a:1/", "http://b:2/x/"].map(|text| Url::parse(text).unwrap());
        let platform = Platform::new(&bases, None, Duration::from_secs(1)).unwrap();
        assert_eq!([platform.turn(), platform.turn(), platform.turn()], [0, 1, 0]);
        assert!(platform.has_far() && platform.far == "http://b:2/x");
        assert_eq!(platform.sends[1].as_str(), "http://b:2/x/message:send");
    }
}
