//! Whether this process lives, and whether it should be sent requests.

use poem::Response;
use poem::http::StatusCode;
use serde_json::json;
use wire::Version;

use crate::app::Shared;
use crate::{card, worker};

/// `GET /`: what this is and where to look.
pub(crate) fn index() -> Response {
    answer(
        StatusCode::OK,
        &json!({
            "product": "Taskyard",
            "version": env!("CARGO_PKG_VERSION"),
            "a2a": {"version": Version::V1.as_str(), "httpJson": "/", "jsonRpc": "/rpc", "card": card::AGENT_CARD},
            "workers": worker::PREFIX,
            "health": ["/healthz", "/readyz"],
        }),
    )
}

/// `GET /healthz`: the process answers.
pub(crate) fn alive() -> Response {
    Response::builder().content_type("text/plain; charset=utf-8").body("ok\n")
}

/// `GET /readyz`: 503 while shutting down or without a database. Without Redis everything works, later.
pub(crate) async fn ready(shared: &Shared) -> Response {
    let reasons = obstacles(shared).await;
    if !reasons.is_empty() {
        return answer(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "unavailable", "reasons": reasons}));
    }
    if !shared.engine.bus().reachable() {
        let reasons = ["Redis cannot be reached: hints come late"];
        return answer(StatusCode::OK, &json!({"status": "degraded", "reasons": reasons}));
    }
    answer(StatusCode::OK, &json!({"status": "ready", "reasons": []}))
}

/// Why no requests should be sent here.
pub(crate) async fn obstacles(shared: &Shared) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    if shared.is_draining() {
        reasons.push("shutting down");
    }
    if let Err(error) = shared.engine.check().await {
        tracing::warn!(%error, "the database does not answer");
        reasons.push("the database does not answer");
    }
    reasons
}

fn answer(status: StatusCode, body: &serde_json::Value) -> Response {
    Response::builder().status(status).content_type("application/json").body(body.to_string())
}
