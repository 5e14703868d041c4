//! The public keys that a tenant's webhooks are signed with, for receivers that share no secret (RFC 7517).
//!
//! Each tenant has a document of its own, below its base: in one for all, every tenant's signature would pass for every other's.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use poem::http::{Method, header};
use poem::{Request, Response};
use serde_json::json;
use wire::Error;

use crate::answer::{JSON, Media};
use crate::app::Shared;
use crate::log::Served;
use crate::rest::not_allowed;
use crate::route::Base;
use crate::{cors, failure};

/// The path below a base.
const PATH: &str = "/.well-known/webhook-keys.json";

/// Whether this path is answered here. Agents have no keys of their own.
pub(crate) fn is_at(base: &Base<'_>) -> bool {
    base.rest == PATH && !base.names_agent()
}

/// Answer a request for the keys.
pub(crate) async fn answer(shared: &Arc<Shared>, request: &Request, base: &Base<'_>) -> Served {
    let media = Media::of(request.headers());
    let mut response = match *request.method() {
        Method::GET | Method::HEAD => keys(shared, base).await.unwrap_or_else(|error| failure::response(&error, media)),
        Method::OPTIONS => cors::preflight(),
        _ => not_allowed(request, "GET, HEAD, OPTIONS", media),
    };
    cors::open(&mut response);
    Served::of("GetWebhookKeys", response)
}

/// Empty for a tenant that was never notified for.
async fn keys(shared: &Shared, base: &Base<'_>) -> Result<Response, Error> {
    let caller = base.caller(shared, None)?;
    let keys = shared.engine.webhook_keys(&caller.tenant).await?;
    let each = keys.iter().map(|(id, public)| {
        json!({
            "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(public),
            "kid": id, "alg": "EdDSA", "use": "sig",
        })
    });
    let body = json!({"keys": each.collect::<serde_json::Value>()}).to_string();
    let age = format!("public, max-age={}", shared.options.card_max_age.as_secs());
    Ok(Response::builder().header(header::CACHE_CONTROL, age).content_type(JSON).body(body))
}
