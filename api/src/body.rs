//! Request bodies: bounded, checked for their media type, read by serde, called a `T` by the document.

use std::time::Duration;

use hyper::body::Bytes;
use poem::http::{HeaderMap, header};
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;
use wire::Error;

use crate::answer::{A2A_JSON, JSON};
use crate::call::Call;
use crate::failure::Failure;

/// A body. With `EMPTY`, one without a byte in it is `{}`.
pub(crate) struct Body<T, const EMPTY: bool = false>(pub(crate) T);

/// A body that may be left out.
pub(crate) type MaybeBody<T> = Body<T, true>;

impl<'a, T: Type + DeserializeOwned, const EMPTY: bool> ApiExtractor<'a> for Body<T, EMPTY> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        let content = [A2A_JSON, JSON].map(|content_type| MetaMediaType { content_type, schema: T::schema_ref() });
        Some(MetaRequest { description: None, content: content.into(), required: !EMPTY })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let limit = request.data::<Call>().map_or(0, |call| call.body_bytes);
        if !EMPTY {
            check_type(request.headers()).map_err(Failure)?;
        }
        let bytes = read(body.take()?, request.headers(), limit).await.map_err(Failure)?;
        if EMPTY {
            if bytes.is_empty() {
                return Ok(Body(wire::parse(b"{}").map_err(Failure)?));
            }
            check_type(request.headers()).map_err(Failure)?;
        }
        Ok(Body(wire::parse(&bytes).map_err(Failure)?))
    }
}

/// Refuse a media type that is not JSON. A body without one is taken for JSON.
///
/// # Errors
/// `ContentTypeNotSupported`.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Error> {
    let Some(found) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let found = String::from_utf8_lossy(found.as_bytes());
    let essence = found.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(A2A_JSON) || essence.eq_ignore_ascii_case(JSON) {
        return Ok(());
    }
    Err(Error::content_type_not_supported(&found))
}

/// How much of a body that is too long is read all the same, so that a client which sends before it listens hears why it is refused.
const DISCARDED: u64 = 64 << 20;

/// How long a body may take to arrive. What it holds meanwhile is memory.
pub(crate) const ARRIVES: Duration = Duration::from_secs(60);

/// Read a body of at most `limit` bytes.
///
/// # Errors
/// `PayloadTooLarge`; `InvalidRequest` when the body breaks off or takes too long.
pub(crate) async fn read(body: poem::Body, headers: &HeaderMap, limit: usize) -> Result<Bytes, Error> {
    tokio::time::timeout(ARRIVES, read_all(body, headers, limit)).await.map_err(|_| late())?
}

/// What a body that does not arrive is refused with.
pub(crate) fn late() -> Error {
    Error::invalid_request(format!("the request's body did not arrive within {} s", ARRIVES.as_secs()))
}

async fn read_all(body: poem::Body, headers: &HeaderMap, limit: usize) -> Result<Bytes, Error> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length <= limit) {
        // HTTP itself ends such a body at its length.
        let bytes = body.into_bytes().await.map_err(broken)?;
        return if bytes.len() > limit { Err(Error::payload_too_large(limit)) } else { Ok(bytes) };
    }
    let mut reader = body.into_async_read();
    let mut bytes = Vec::new();
    (&mut reader).take(limit as u64 + 1).read_to_end(&mut bytes).await.map_err(broken)?;
    if bytes.len() <= limit {
        return Ok(bytes.into());
    }
    // Whether all of it could be read changes nothing.
    let _read = tokio::io::copy(&mut reader.take(DISCARDED), &mut tokio::io::sink()).await;
    Err(Error::payload_too_large(limit))
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::invalid_request(format!("reading the request's body: {error}")).caused_by(error)
}
