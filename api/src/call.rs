//! What a handler is given besides its body: the engine, who asks, and the values in the path.

use std::sync::Arc;
use std::time::Duration;

use engine::{Caller, Engine, Worker};
use poem::http::HeaderMap;
use poem::{FromRequest, Request, RequestBody};
use poem_openapi::registry::{MetaParamIn, MetaSchemaRef};
use poem_openapi::types::Type as _;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use wire::Error;

use crate::app::Shared;
use crate::failure::Failure;
use crate::route;

/// A routed request.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) engine: Engine,
    /// Whom the path talks to; on the worker surface nobody is asked.
    pub(crate) caller: Option<Caller>,
    pub(crate) worker: Worker,
    pub(crate) body_bytes: usize,
    pub(crate) keep_alive: Duration,
    /// What cards are made from; workers need none.
    pub(crate) shared: Option<Arc<Shared>>,
    /// The decoded values of the path's parameters, in its order.
    pub(crate) params: Vec<String>,
}

impl Call {
    /// What cards are made from.
    ///
    /// # Errors
    /// `Internal` on the worker surface.
    pub(crate) fn shared(&self) -> Result<&Shared, Error> {
        self.shared.as_deref().ok_or_else(|| Error::internal("a card was asked for on the worker surface"))
    }

    /// The caller, given the tenant that body or query name.
    ///
    /// # Errors
    /// `InvalidParams` when it is not the path's.
    pub(crate) fn caller(&self, tenant: &str) -> Result<Caller, Error> {
        match &self.caller {
            Some(caller) => route::with_tenant(caller, tenant),
            None => Err(Error::internal("an A2A operation was routed without a caller")),
        }
    }
}

impl<'a> FromRequest<'a> for &'a Call {
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> poem::Result<Self> {
        request.data::<Call>().ok_or_else(|| Failure(Error::internal("a request was routed without its call")).into())
    }
}

/// A value in the path, decoded. Named so that poem-openapi numbers it: `param0`, `param1`.
pub(crate) struct Path(pub(crate) String);

impl<'a> ApiExtractor<'a> for Path {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];
    const PARAM_IS_REQUIRED: bool = true;
    type ParamType = String;
    type ParamRawType = String;

    fn param_in() -> Option<MetaParamIn> {
        Some(MetaParamIn::Path)
    }

    fn param_schema_ref() -> Option<MetaSchemaRef> {
        Some(String::schema_ref())
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        options: ExtractParamOptions<String>,
    ) -> poem::Result<Self> {
        let index = options.name.strip_prefix("param").and_then(|digits| digits.parse::<usize>().ok());
        let value = index.and_then(|index| request.data::<Call>()?.params.get(index).cloned());
        value.map(Path).ok_or_else(|| Failure(Error::internal("a path without its parameter")).into())
    }
}

/// The header that makes a send idempotent.
pub(crate) const KEY_HEADER: &str = "Idempotency-Key";

/// The header that says where a stream is to go on: the `id` of the last event that the client has.
pub(crate) const LAST_EVENT_HEADER: &str = "Last-Event-ID";

/// The request's `Idempotency-Key`.
pub(crate) struct Key(pub(crate) Option<String>);

/// The request's `Last-Event-ID`.
pub(crate) struct LastEvent(pub(crate) Option<i64>);

impl Key {
    /// # Errors
    /// `InvalidParams` when it is no text.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<String>, Error> {
        header_text(headers, KEY_HEADER)
    }
}

impl LastEvent {
    /// Empty is absent: a client that has no event yet may say so.
    ///
    /// # Errors
    /// `InvalidParams` when it is none of our ids, which are decimal numbers.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<i64>, Error> {
        let text = header_text(headers, LAST_EVENT_HEADER)?.unwrap_or_default();
        let number = match text.trim() {
            "" => return Ok(None),
            text if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            _ => None,
        };
        let wrong = || Error::invalid(LAST_EVENT_HEADER, "must be the `id` of an event, which is a decimal number");
        number.map(Some).ok_or_else(wrong)
    }
}

/// A header that an operation takes, read by `of`.
macro_rules! header {
    ($name:ident) => {
        impl<'a> ApiExtractor<'a> for $name {
            const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];
            type ParamType = String;
            type ParamRawType = String;

            fn param_in() -> Option<MetaParamIn> {
                Some(MetaParamIn::Header)
            }

            fn param_schema_ref() -> Option<MetaSchemaRef> {
                Some(String::schema_ref())
            }

            async fn from_request(
                request: &'a Request,
                _body: &mut RequestBody,
                _options: ExtractParamOptions<String>,
            ) -> poem::Result<Self> {
                Ok($name($name::of(request.headers()).map_err(Failure)?))
            }
        }
    };
}

header!(Key);
header!(LastEvent);

/// A header as text.
///
/// # Errors
/// `InvalidParams` naming the header when it is not ASCII.
pub(crate) fn header_text(headers: &HeaderMap, name: &str) -> Result<Option<String>, Error> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = value.to_str().map_err(|_| Error::invalid(name, "must be printable ASCII"))?;
    Ok(Some(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_is_a_number_or_nobody_has_any() {
        let of = |text: &str| {
            LastEvent::of(&HeaderMap::from_iter([(LAST_EVENT_HEADER.parse().unwrap(), text.parse().unwrap())]))
        };
        assert!(matches!(LastEvent::of(&HeaderMap::new()), Ok(None)));
        for (text, number) in
            [("", None), (" ", None), ("0", Some(0)), ("007", Some(7)), ("9223372036854775807", Some(i64::MAX))]
        {
            assert!(of(text).is_ok_and(|read| read == number), "{text:?}");
        }
        for bad in ["-1", "+1", "1.0", "1e3", "0x1", "one", "1 2", "9223372036854775808"] {
            assert_eq!(of(bad).unwrap_err().violations[0].field, LAST_EVENT_HEADER, "{bad:?}");
        }
    }
}
