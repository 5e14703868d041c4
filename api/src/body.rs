//! Request bodies: bounded, checked for their media type, read by serde, called a `T` by the document.

use poem::error::ReadBodyError;
use poem::http::{HeaderMap, header};
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde::de::DeserializeOwned;
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

/// Read a body of at most `limit` bytes.
///
/// # Errors
/// `PayloadTooLarge`; `InvalidRequest` when the body breaks off.
pub(crate) async fn read(body: poem::Body, headers: &HeaderMap, limit: usize) -> Result<Vec<u8>, Error> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let read = match declared {
        Some(length) if length > limit => Err(ReadBodyError::PayloadTooLarge),
        // HTTP itself ends such a body at its length.
        Some(_) => body.into_vec().await,
        None => body.into_bytes_limit(limit).await.map(Into::into),
    };
    match read {
        Ok(bytes) if bytes.len() > limit => Err(Error::payload_too_large(limit)),
        Ok(bytes) => Ok(bytes),
        Err(ReadBodyError::PayloadTooLarge) => Err(Error::payload_too_large(limit)),
        Err(error) => Err(Error::invalid_request(format!("reading the request's body: {error}")).caused_by(error)),
    }
}
