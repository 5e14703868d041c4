//! A reader of a stream's server-sent events.

use reqwest::Response;
use serde_json::Value;

use crate::Failure;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its `id`, to resume after; empty of a message that is all of the answer.
    pub id: String,
    /// The `StreamResponse`, out of its JSON-RPC envelope if it came in one.
    pub body: Value,
}

/// A stream on the wire. Dropping it is how the client leaves.
#[derive(Debug)]
pub struct Events {
    answer: Response,
    buffer: Vec<u8>,
}

/// How a stream went on.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// An event.
    Event(Event),
    /// The body is over.
    Ended,
    /// To be resumed after this `id`.
    Resume(String),
}

impl Events {
    pub(crate) fn of(answer: Response) -> Events {
        Events { answer, buffer: Vec::new() }
    }

    /// What comes next.
    ///
    /// # Errors
    /// The connection broke.
    ///
    /// # Panics
    /// When what comes is no event of ours.
    pub async fn next(&mut self) -> Result<Next, Failure> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|bytes| bytes == b"\n\n") {
                let lines: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Ok(read(&String::from_utf8(lines).expect("events are UTF-8")));
            }
            match self.answer.chunk().await {
                Ok(Some(more)) => self.buffer.extend_from_slice(&more),
                Ok(None) => return Ok(Next::Ended),
                Err(error) => return Err(Failure::Broken(format!("within a stream: {error:?}"))),
            }
        }
    }
}

/// One event; comments may stand before it.
fn read(text: &str) -> Next {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let id = field("id").map(str::to_owned);
    let Some(data) = field("data") else {
        return Next::Resume(id.unwrap_or_else(|| panic!("nothing to resume after: {text}")));
    };
    assert_eq!(field("event"), None, "{text}");
    let mut body: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
    if body.get("jsonrpc").is_some() {
        body = body["result"].take();
    }
    assert!(id.is_some() || body["message"].is_object(), "an event without an id: {text}");
    Next::Event(Event { id: id.unwrap_or_default(), body })
}
