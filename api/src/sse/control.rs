//! A worker's control stream. Its events have names and no ids: there is nothing to resume, a heartbeat says what was missed.

use std::io;
use std::time::Duration;

use engine::operation::ControlStream;
use engine::stream::Cut;
use hyper::body::Bytes;
use poem::{Body, IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type as _;
use wire::worker::ControlEvent;

use super::{EVENT_STREAM, KEEP_ALIVE, stream};
use crate::log::Streamed;

/// What is sent at once, so that whoever reads knows that it is listened for him.
const LISTENING: &[u8] = b": listening\n\n";
/// What is sent last: come again in a second.
const RETRY: &[u8] = b"retry: 1000\n\n";

/// A control stream on its way to a worker.
pub(crate) struct Control {
    events: ControlStream,
    keep_alive: Duration,
    streamed: Streamed,
}

impl Control {
    pub(crate) fn of(events: ControlStream, keep_alive: Duration) -> Control {
        Control { events, keep_alive, streamed: Streamed::control() }
    }

    /// The next piece, and what follows it.
    async fn next(mut self) -> Option<(Bytes, Option<Control>)> {
        let Ok(next) = tokio::time::timeout(self.keep_alive, self.events.next()).await else {
            return Some((Bytes::from_static(KEEP_ALIVE), Some(self)));
        };
        self.streamed.note_control(&next);
        match next {
            Ok(event) => Some((frame(&event)?, Some(self))),
            Err(Cut::Slow | Cut::Closing | Cut::Failed(_)) => Some((Bytes::from_static(RETRY), None)),
        }
    }
}

fn frame(event: &ControlEvent) -> Option<Bytes> {
    let data = serde_json::to_string(event).ok()?;
    Some(format!("event: {}\ndata: {data}\n\n", event.kind).into())
}

impl IntoResponse for Control {
    fn into_response(self) -> Response {
        let first = futures_util::stream::iter([Ok::<_, io::Error>(Bytes::from_static(LISTENING))]);
        let pieces = futures_util::stream::unfold(Some(self), async |control| {
            let (piece, rest) = control?.next().await?;
            Some((Ok::<_, io::Error>(piece), rest))
        });
        stream(Body::from_bytes_stream(futures_util::StreamExt::chain(first, pieces)))
    }
}

impl ApiResponse for Control {
    fn meta() -> MetaResponses {
        let response = MetaResponse {
            description: "Server-sent events: `event` is the kind, `data` one ControlEvent. Comments keep the connection alive.",
            status: Some(200),
            status_range: None,
            content: vec![MetaMediaType { content_type: EVENT_STREAM, schema: ControlEvent::schema_ref() }],
            headers: vec![],
        };
        MetaResponses { responses: vec![response] }
    }

    fn register(registry: &mut Registry) {
        ControlEvent::register(registry);
    }
}
