//! A reader of a worker's control stream.

use serde_json::Value;

/// A control stream on the wire.
#[derive(Debug)]
pub struct Control {
    answer: reqwest::Response,
    buffer: Vec<u8>,
}

impl Control {
    pub(crate) fn of(answer: reqwest::Response) -> Control {
        Control { answer, buffer: Vec::new() }
    }

    /// Everything up to the next blank line; nothing once the stream has ended.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|bytes| bytes == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Some(String::from_utf8(block).expect("events are UTF-8"));
            }
            self.buffer.extend_from_slice(&self.answer.chunk().await.expect("a control stream's next bytes")?);
        }
    }

    /// Waits until it is listened.
    pub(crate) async fn begin(mut self) -> Control {
        let first = self.block().await;
        assert_eq!(first.as_deref(), Some(": listening\n\n"), "how a control stream begins");
        self
    }

    /// The next event's data; nothing once the stream has ended, which it says first.
    ///
    /// # Panics
    /// When the connection breaks, or what comes is no event of ours.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let block = self.block().await?;
            let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            match (line("event: "), line("data: ")) {
                (Some(event), Some(data)) => {
                    let data: Value = serde_json::from_str(data).expect("an event's data is JSON");
                    assert_eq!(data["kind"], event, "{block}");
                    return Some(data);
                }
                _ => assert!(line("retry: ").is_some(), "{block}"),
            }
        }
    }
}
