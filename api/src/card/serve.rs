//! Cards and keys as resources of HTTP: cacheable, conditional, readable from any web page, and never refused over a version.

use std::sync::Arc;
use std::time::SystemTime;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use poem::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use poem::{IntoResponse, Request, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type as _;
use serde_json::json;
use wire::{AgentCard, Error, Version, v03};

use super::location::{AGENT_CARD, KEYS, Place, VARY};
use crate::answer::{A2A_JSON, JSON, Media};
use crate::app::Shared;
use crate::log::Served;
use crate::rest::not_allowed;
use crate::route::Base;
use crate::{cors, failure, version};

/// How caches treat what depends on who asks.
pub(crate) const PRIVATE: &str = "private";

/// Whether this path, or this rest of one, is answered here.
pub(crate) fn is_at(base: &Base<'_>) -> bool {
    base.rest == AGENT_CARD || (base.rest == KEYS && base.is_root())
}

/// Answer a request for a card or for the keys.
pub(crate) fn answer(shared: &Arc<Shared>, request: &Request, base: &Base<'_>) -> Served {
    let operation = if base.rest == KEYS { "GetSigningKeys" } else { "GetAgentCard" };
    let media = Media::of(request.headers());
    let mut response = match *request.method() {
        Method::GET | Method::HEAD => match of(shared, request, base) {
            Ok(response) => response,
            Err(error) => failure::response(&error, media),
        },
        Method::OPTIONS => cors::preflight(),
        _ => not_allowed(request, "GET, HEAD, OPTIONS", media),
    };
    cors::open(&mut response);
    Served::of(operation, response)
}

fn of(shared: &Shared, request: &Request, base: &Base<'_>) -> Result<Response, Error> {
    if base.rest == KEYS {
        let signer = shared.options.signer.as_ref();
        let signer = signer.ok_or_else(|| Error::method_not_found(KEYS).doing("cards are not signed here"))?;
        let body = json!({"keys": [signer.jwk()]}).to_string().into_bytes();
        let tag = format!("\"{}\"", hash(&body));
        return conditional(shared, request, &tag, || Ok(body));
    }
    let caller = base.caller(shared, None)?;
    let place = Place::of(&shared.options, &shared.engine.settings().default_agent, request, &caller);
    let card = super::unsigned(shared, &caller, &place);
    let old = shared.served().contains(&Version::V03);
    let merged = old && !version::is_new(request.headers(), request.uri().query());
    let mut content = super::canonical::of(&card)?;
    if merged {
        content.extend_from_slice(Version::V03.as_str().as_bytes());
    }
    let tag = match &shared.options.signer {
        // Each answer may hold another signature over the same card: equal enough, and not the same bytes.
        Some(signer) => {
            content.extend_from_slice(signer.id().as_bytes());
            format!("W/\"{}\"", hash(&content))
        }
        None => format!("\"{}\"", hash(&content)),
    };
    let body = || {
        let card = super::sign(shared, card, &place)?;
        let body = if merged { serde_json::to_vec(&v03::card(&card)?) } else { serde_json::to_vec(&card) };
        body.map_err(Error::internal)
    };
    let mut response = conditional(shared, request, &tag, body)?;
    let told = shared.options.trust_forwarded && shared.options.public_url.is_none();
    let varies = [old.then_some(version::HEADER), told.then_some(VARY)];
    let varies = varies.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if let Ok(varies) = HeaderValue::from_str(&varies)
        && !varies.is_empty()
    {
        response.headers_mut().insert(header::VARY, varies);
    }
    Ok(response)
}

/// 304 when the client has it already, else the body; HEAD hears how long that is.
fn conditional(
    shared: &Shared,
    request: &Request,
    tag: &str,
    body: impl FnOnce() -> Result<Vec<u8>, Error>,
) -> Result<Response, Error> {
    let builder = Response::builder()
        .header(header::CACHE_CONTROL, format!("public, max-age={}", shared.options.card_max_age.as_secs()))
        .header(header::ETAG, tag)
        .header(header::LAST_MODIFIED, httpdate::fmt_http_date(shared.started));
    if is_known(request.headers(), tag, shared.started) {
        return Ok(builder.status(StatusCode::NOT_MODIFIED).finish());
    }
    let body = body()?;
    let builder = builder.content_type(JSON).header(header::CONTENT_LENGTH, body.len());
    Ok(if *request.method() == Method::HEAD { builder.finish() } else { builder.body(body) })
}

/// Whether the client's copy is the current one (RFC 9110 §13.2.2): tags are compared weakly, and only without any does the date count.
fn is_known(headers: &HeaderMap, tag: &str, modified: SystemTime) -> bool {
    let texts = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if headers.contains_key(header::IF_NONE_MATCH) {
        let mut known = texts(header::IF_NONE_MATCH).flat_map(|value| value.split(','));
        return known.any(|known| known.trim() == "*" || opaque(known) == opaque(tag));
    }
    let since = texts(header::IF_MODIFIED_SINCE).next().and_then(|date| httpdate::parse_http_date(date).ok());
    since.is_some_and(|since| since >= modified)
}

fn hash(content: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, content).as_ref().get(..18).unwrap_or_default())
}

/// The extended card as HTTP+JSON answers it: not for shared caches.
pub(crate) struct Extended(pub(crate) AgentCard);

impl IntoResponse for Extended {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => Response::builder().content_type(A2A_JSON).header(header::CACHE_CONTROL, PRIVATE).body(body),
            Err(error) => failure::response(&Error::internal(error), Media::A2a),
        }
    }
}

impl ApiResponse for Extended {
    fn meta() -> MetaResponses {
        let content = vec![MetaMediaType { content_type: A2A_JSON, schema: AgentCard::schema_ref() }];
        let response =
            MetaResponse { description: "OK", status: Some(200), status_range: None, content, headers: vec![] };
        MetaResponses { responses: vec![response] }
    }

    fn register(registry: &mut Registry) {
        AgentCard::register(registry);
    }
}
