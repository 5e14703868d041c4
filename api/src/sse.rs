//! Streams as server-sent events, of every binding and version that has them.
//!
//! An event's `id` is its number, so that a client that sends it back as `Last-Event-ID` goes on after it. A stream that this replica has
//! to end early says where to resume. One item is taken from the engine when hyper asks for more, and none before: a client that does
//! not read holds up nothing but itself, until the engine cuts it off.

use std::io;
use std::time::Duration;

use engine::stream::{Cut, EventStream, Item};
use hyper::body::Bytes;
use poem::http::{HeaderValue, header};
use poem::{Body, IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type as _;
use wire::{Error, StreamResponse};

use crate::dialect::Dialect;
use crate::{jsonrpc, log};

mod control;
pub(crate) use control::Control;

/// The media type.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// A comment, which clients skip. A blank line after it would end an event without data, which the official Python client of 0.3 cannot
/// read.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";

/// How an item is said, and what is around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    dialect: Dialect,
    /// In JSON-RPC: the id of the request that is responded to, as it stood there.
    id: Option<Box<str>>,
}

impl Shape {
    /// Nothing is around it.
    pub(crate) fn bare(dialect: Dialect) -> Shape {
        Shape { dialect, id: None }
    }

    /// Each is a response to the request of this id.
    pub(crate) fn rpc(dialect: Dialect, id: &str) -> Shape {
        Shape { dialect, id: Some(id.into()) }
    }

    fn item(&self, item: &Item) -> Result<Bytes, Error> {
        let Item { generation, body, .. } = item;
        let body = self.dialect.item(body)?;
        // A message that is all of the answer is no event, and there is nothing to resume after it.
        let number = if *generation > 0 { format!("id: {generation}\n") } else { String::new() };
        Ok(match &self.id {
            None => format!("{number}data: {body}\n\n"),
            Some(id) => format!("{number}data: {}{body}}}\n\n", jsonrpc::opening(id, "result")),
        }
        .into())
    }

    /// Without an `id`: the client still has what it had.
    fn error(&self, error: &Error) -> Bytes {
        log::failure(error);
        match &self.id {
            None => format!("event: error\ndata: {}\n\n", error.status_body()),
            Some(id) => format!("event: error\ndata: {}\n\n", jsonrpc::error_text(self.dialect, id, error)),
        }
        .into()
    }

    /// The last that is sent of a stream to be resumed: come again in a second, and say that this is what you have. An official client of
    /// 0.3 takes what a blank line ends for an event and fails at one without data, so there it ends without.
    fn resume(&self, last: i64) -> Bytes {
        let end = if self.dialect == Dialect::V1 { "\n" } else { "" };
        format!("retry: 1000\nid: {last}\n{end}").into()
    }
}

/// A stream on its way to a client.
pub(crate) struct Stream {
    events: EventStream,
    shape: Shape,
    keep_alive: Duration,
    streamed: log::Streamed,
}

impl Stream {
    pub(crate) fn of(events: EventStream, shape: Shape, keep_alive: Duration) -> Stream {
        let streamed = log::Streamed::begin(&events);
        Stream { events, shape, keep_alive, streamed }
    }

    /// The next piece, and what follows it.
    async fn next(mut self) -> Option<(Bytes, Option<Stream>)> {
        let Ok(next) = tokio::time::timeout(self.keep_alive, self.events.next()).await else {
            return Some((Bytes::from_static(KEEP_ALIVE), Some(self)));
        };
        self.streamed.note(&next);
        match next {
            Ok(Some(item)) => Some(match self.shape.item(&item) {
                Ok(piece) => (piece, Some(self)),
                Err(error) => (self.shape.error(&error), None),
            }),
            Ok(None) => None,
            Err(Cut::Slow | Cut::Closing) => Some((self.shape.resume(self.events.last()), None)),
            Err(Cut::Failed(error)) => Some((self.shape.error(&error), None)),
        }
    }
}

impl IntoResponse for Stream {
    fn into_response(self) -> Response {
        let pieces = futures_util::stream::unfold(Some(self), async |stream| {
            let (piece, rest) = stream?.next().await?;
            Some((Ok::<_, io::Error>(piece), rest))
        });
        stream(Body::from_bytes_stream(pieces))
    }
}

/// The stream of a request that was refused: the refusal and nothing else.
pub(crate) fn refused(shape: &Shape, error: &Error) -> Response {
    stream(Body::from_bytes(shape.error(error)))
}

fn stream(body: Body) -> Response {
    let mut response = Response::builder().content_type(EVENT_STREAM).body(body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Or nginx would collect events before it passes them on.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl ApiResponse for Stream {
    fn meta() -> MetaResponses {
        let response = MetaResponse {
            description: "Server-sent events: `data` is one StreamResponse, `id` the event's number.",
            status: Some(200),
            status_range: None,
            content: vec![MetaMediaType { content_type: EVENT_STREAM, schema: StreamResponse::schema_ref() }],
            headers: vec![],
        };
        MetaResponses { responses: vec![response] }
    }

    fn register(registry: &mut Registry) {
        StreamResponse::register(registry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_meets_an_event_it_fails_at() {
        assert_eq!(Shape::bare(Dialect::V1).resume(7), "retry: 1000\nid: 7\n\n");
        for dialect in [Dialect::Rpc03, Dialect::Proto03] {
            assert_eq!(Shape::bare(dialect).resume(7), "retry: 1000\nid: 7\n");
        }
    }
}
