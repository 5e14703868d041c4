//! One line a request, written where it leaves. Faults of ours are told here with their causes, and nowhere else.

use std::error::Error as _;
use std::time::Instant;

use poem::http::Method;
use poem::{Request, Response};
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
