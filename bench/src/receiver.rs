//! The webhooks' receiver: answers at once, and notes when which event came.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use poem::http::StatusCode;
use poem::listener::{Acceptor as _, Listener as _, TcpListener};
use poem::{Endpoint, Request, Server};
use serde::Deserialize;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::figures::Notes;

/// A receiver that runs until the process ends.
#[derive(Clone)]
pub(crate) struct Receiver {
    /// Where webhooks are to be sent.
    pub(crate) url: String,
    received: Arc<Mutex<Received>>,
}

/// What came since the last [`Receiver::take`].
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Everything that came.
    pub(crate) deliveries: usize,
    /// Tasks that were told to be complete.
    pub(crate) completed: usize,
    /// From the time of a status to its receipt; artifacts bear no time.
    pub(crate) latency: Notes,
    /// When the last one came.
    pub(crate) last: Option<Instant>,
}

/// The body of a delivery, as much of it as matters.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    task: Option<Told<'a>>,
    status_update: Option<Told<'a>>,
    #[serde(borrow)]
    artifact_update: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    status: Status<'a>,
}

#[derive(Deserialize)]
struct Status<'a> {
    state: &'a str,
    timestamp: Option<&'a str>,
}

impl Receiver {
    /// Starts to listen there; port 0 takes a free one.
    pub(crate) async fn start(at: SocketAddr) -> Result<Receiver, String> {
        let acceptor = TcpListener::bind(at).into_acceptor().await;
        let acceptor = acceptor.map_err(|error| format!("listening for webhooks on {at}: {error}"))?;
        let bound = acceptor.local_addr().iter().find_map(|local| local.as_socket_addr().copied()).unwrap_or(at);
        let received = Arc::<Mutex<Received>>::default();
        let receive = Receive(received.clone());
        tokio::spawn(async move { Server::new_with_acceptor(acceptor).run(receive).await });
        Ok(Receiver { url: format!("http://{bound}/"), received })
    }

    /// What came so far; counting begins anew.
    pub(crate) fn take(&self) -> Received {
        self.with(std::mem::take)
    }

    /// Whether that many tasks were told to be complete.
    pub(crate) fn completed(&self, tasks: usize) -> bool {
        self.with(|received| received.completed >= tasks)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Received) -> T) -> T {
        look(&mut self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Receive(Arc<Mutex<Received>>);

impl Endpoint for Receive {
    type Output = StatusCode;

    async fn call(&self, mut request: Request) -> poem::Result<StatusCode> {
        let now = now();
        let body = request.take_body().into_vec().await?;
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        received.note(&body, now);
        Ok(StatusCode::OK)
    }
}

impl Received {
    fn note(&mut self, body: &[u8], now: OffsetDateTime) {
        self.deliveries += 1;
        self.last = Some(Instant::now());
        match serde_json::from_slice::<Event>(body) {
            Ok(Event { task: Some(told), .. } | Event { status_update: Some(told), .. }) => {
                if told.status.state == "TASK_STATE_COMPLETED" {
                    self.completed += 1;
                }
                match told.status.timestamp.and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok()) {
                    // The clocks of two machines may differ.
                    Some(at) => self.latency.took(Duration::try_from(now - at).unwrap_or_default()),
                    None => self.latency.failed("a status without its time".to_owned()),
                }
            }
            Ok(Event { artifact_update: Some(_), .. }) => {}
            Ok(_) => self.latency.failed("neither task nor update".to_owned()),
            Err(error) => self.latency.failed(format!("reading a delivery: {error}")),
        }
    }
}

fn now() -> OffsetDateTime {
    #[expect(clippy::disallowed_methods, reason = "the receiver is no part of the platform and has a clock of its own")]
    OffsetDateTime::now_utc()
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn a_status_is_noted_with_its_age() {
        let now = datetime!(2030-01-02 03:04:05.250 UTC);
        let mut received = Received::default();
        for body in [
            r#"{"task":{"id":"1","contextId":"2","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2030-01-02T03:04:05.000Z"}}}"#,
            r#"{"artifactUpdate":{"taskId":"1","contextId":"2","artifact":{"artifactId":"echo","parts":[{"text":"x"}]}}}"#,
            r#"{"statusUpdate":{"taskId":"1","contextId":"2","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2030-01-02T03:04:05.240Z"}}}"#,
        ] {
            received.note(body.as_bytes(), now);
        }
        assert_eq!((received.deliveries, received.completed), (3, 1));
        let figures = received.latency.sum_up(Duration::from_secs(1));
        assert_eq!((figures.count, figures.median, figures.max, figures.errors), (2, 10.0, 250.0, 0));
    }

    #[test]
    fn what_is_no_event_is_an_error() {
        let mut received = Received::default();
        received.note(b"{}", now());
        received.note(b"no json", now());
        assert_eq!((received.deliveries, received.latency.sum_up(Duration::from_secs(1)).errors), (2, 2));
    }
}
