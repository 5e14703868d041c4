//! One line a request, written where it leaves, and for a stream one more when it ends. Faults of ours are told here with their causes,
//! and nowhere else.

use std::error::Error as _;
use std::time::Instant;

use engine::stream::{Cut, EventStream, Item};
use poem::http::Method;
use poem::{Request, Response};
use uuid::Uuid;
use wire::worker::ControlEvent;
use wire::{Error, Kind, Tenant};

/// What request lines are logged under.
const TARGET: &str = "taskyard::request";

/// An answer, and what the log says of it.
pub(crate) struct Served {
    pub(crate) response: Response,
    operation: &'static str,
    tenant: Tenant,
}

impl Served {
    pub(crate) fn of(operation: &'static str, response: Response) -> Served {
        Served { response, operation, tenant: Tenant::none() }
    }

    pub(crate) fn for_tenant(self, tenant: Tenant) -> Served {
        Served { tenant, ..self }
    }
}

/// A request under way.
pub(crate) struct Watch {
    method: Method,
    began: Instant,
}

impl Watch {
    pub(crate) fn begin(request: &Request) -> Watch {
        Watch { method: request.method().clone(), began: Instant::now() }
    }

    pub(crate) fn end(self, served: Served) -> Response {
        let Served { response, operation, tenant } = served;
        // What workers and probes ask all the time is not worth a line as long as it is answered.
        let routine = response.status().is_success()
            && matches!(operation, "PollLeases" | "HeartbeatLeases" | "Healthz" | "Readyz");
        let status = response.status().as_u16();
        // To the microsecond: more digits are noise.
        let duration_ms = self.began.elapsed().as_micros() as f64 / 1_000.0;
        let (method, tenant) = (&self.method, tenant.as_str());
        if routine {
            tracing::debug!(target: TARGET, %method, operation, status, duration_ms, tenant, "request");
        } else {
            tracing::info!(target: TARGET, %method, operation, status, duration_ms, tenant, "request");
        }
        response
    }
}

/// Tell of a call over gRPC; of a stream, when it begins.
pub(crate) fn called(operation: &'static str, status: i32, began: Instant, tenant: &Tenant) {
    let duration_ms = began.elapsed().as_micros() as f64 / 1_000.0;
    let tenant = tenant.as_str();
    tracing::info!(target: TARGET, method = "gRPC", operation, status, duration_ms, tenant, "request");
}

/// A stream under way; told of when it is dropped.
#[derive(Debug)]
pub(crate) struct Streamed {
    operation: &'static str,
    task: Option<Uuid>,
    began: Instant,
    items: u64,
    /// What ended it; its client, if nothing here did.
    end: &'static str,
}

impl Streamed {
    pub(crate) fn begin(events: &EventStream) -> Streamed {
        let (operation, task) = (events.operation(), events.task());
        Streamed { operation, task, began: Instant::now(), items: 0, end: "client" }
    }

    /// A worker's control stream.
    pub(crate) fn control() -> Streamed {
        Streamed { operation: "ControlSession", task: None, began: Instant::now(), items: 0, end: "client" }
    }

    /// Take note of what a control stream says next.
    pub(crate) fn note_control(&mut self, next: &Result<ControlEvent, Cut>) {
        match next {
            Ok(_) => self.items += 1,
            Err(cut) => self.end = end_of(cut),
        }
    }

    /// Take note of what comes next.
    pub(crate) fn note(&mut self, next: &Result<Option<Item>, Cut>) {
        match next {
            Ok(Some(_)) => self.items += 1,
            Ok(None) => self.end = "finished",
            Err(cut) => self.end = end_of(cut),
        }
    }
}

fn end_of(cut: &Cut) -> &'static str {
    match cut {
        Cut::Slow => "slow",
        Cut::Closing => "shutdown",
        Cut::Failed(_) => "failure",
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        let Streamed { operation, task, items, end, .. } = self;
        let duration_ms = self.began.elapsed().as_micros() as f64 / 1_000.0;
        tracing::info!(target: TARGET, operation, task.id = task.map(tracing::field::display), end, items, duration_ms, "stream ended");
    }
}

/// Tell of a failure what only the operator may read.
pub(crate) fn failure(error: &Error) {
    if error.kind != Kind::Internal && error.kind != Kind::Unavailable {
        return;
    }
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    let causes = causes.join(": ");
    match error.kind {
        Kind::Internal => tracing::error!(error = %error.message, causes, "a request failed by a fault of ours"),
        _ => tracing::warn!(error = %error.message, causes, "a request could not be served now"),
    }
}
