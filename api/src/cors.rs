//! Which web pages may read what. Cards are for every page; the rest of A2A for the origins that the operator names. Browsers ask first
//! (a preflight), because A2A's headers are none of those that pages may send unasked.

use poem::Response;
use poem::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

/// What pages may send. Browsers do not count `Authorization` in `*`, so everything is named.
const SENT: &str = "Accept, Authorization, Content-Type, A2A-Version, A2A-Extensions, X-A2A-Extensions, Idempotency-Key, If-Modified-Since, \
                    If-None-Match, Last-Event-ID, X-API-Key, traceparent, tracestate";
/// What pages may read beyond what they always may.
const READ: &str = "A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate";
const METHODS: &str = "GET, HEAD, POST, DELETE";
/// How long a browser may remember a preflight, in seconds; more than two hours none does.
const REMEMBERED: &str = "7200";

/// The origin of the request, when it is one of these; `*` stands for every one.
pub(crate) fn allowed(origins: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    if origins.iter().any(|known| known == "*") {
        return Some(HeaderValue::from_static("*"));
    }
    origins.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes())).then(|| origin.clone())
}

/// Whether a browser asks what it may send.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// What it may send.
pub(crate) fn preflight() -> Response {
    Response::builder()
        .status(StatusCode::NO_CONTENT)
        .header(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS)
        .header(header::ACCESS_CONTROL_ALLOW_HEADERS, SENT)
        .header(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED)
        .finish()
}

/// Lets every page read the answer.
pub(crate) fn open(response: &mut Response) {
    set(response, header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    set(response, header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READ));
}

/// Lets pages of an allowed origin read the answer, and tells caches that it depends on who asks.
pub(crate) fn open_to(origin: Option<HeaderValue>, response: &mut Response) {
    response.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        set(response, header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        set(response, header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READ));
    }
}

fn set(response: &mut Response, name: HeaderName, value: HeaderValue) {
    response.headers_mut().insert(name, value);
}
