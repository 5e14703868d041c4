//! What a program says of its task, line by line: the words that the built-in agents `exec` and `http` understand.
//!
//! A line that is a JSON object is an update as `:apply` of the worker surface takes it (`{"progress": ...}`, `{"artifact": ...}`,
//! `{"complete": ...}` and so on). Every other line is text, and all text is one artifact, streamed. Updates that come close together
//! travel in one call.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tracing::warn;
use wire::worker::Update;

use super::lines::Lines;
use crate::error::Error;
use crate::{ArtifactStream, Context, Outcome};

/// The artifact that text becomes.
const OUTPUT: &str = "output";
/// How long an update waits for more to travel with.
const PAUSE: Duration = Duration::from_millis(20);
/// Updates, and bytes of them, that travel at once.
const MOST: usize = 50;
const MOST_BYTES: usize = 256 * 1024;

/// How much a program may say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of one line.
    pub(super) line: usize,
    /// Bytes of everything.
    pub(super) all: usize,
}

impl Default for Bounds {
    /// As much as the platform takes of one call, and of all artifacts of a task, unless it is configured otherwise.
    fn default() -> Self {
        Self { line: 4 << 20, all: 64 << 20 }
    }
}

/// Why a program is listened to no longer.
#[derive(Debug)]
pub(super) enum Fault {
    /// It said what it must not; for the client to read.
    Said(String),
    /// A report did not go through.
    Report(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Report(error)
    }
}

/// One program's words on one task.
pub(super) struct Script {
    context: Context,
    bounds: Bounds,
    lines: Lines,
    bytes: usize,
    number: usize,
    text: Option<ArtifactStream>,
    /// Since when updates wait, how many and how large.
    since: Option<Instant>,
    waiting: usize,
    waiting_bytes: usize,
    end: Option<Outcome>,
}

impl Script {
    pub(super) fn new(context: Context, bounds: Bounds) -> Self {
        Self {
            context,
            bounds,
            lines: Lines::new(bounds.line),
            bytes: 0,
            number: 0,
            text: None,
            since: None,
            waiting: 0,
            waiting_bytes: 0,
            end: None,
        }
    }

    /// Takes in what the program said; whether that was its last word.
    pub(super) async fn hear(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        self.bytes += bytes.len();
        if self.bytes > self.bounds.all {
            return Err(Fault::Said(format!("said more than {} bytes", self.bounds.all)));
        }
        self.lines.push(bytes);
        loop {
            let too_long = |_| Fault::Said(format!("said a line of more than {} bytes", self.bounds.line));
            match self.lines.next().map_err(too_long)? {
                Some(line) => self.line(&line, true).await?,
                None => return Ok(self.end.is_some()),
            }
        }
    }

    /// Takes in a last line without its end.
    pub(super) async fn hear_rest(&mut self) -> Result<(), Fault> {
        match self.lines.rest() {
            Some(line) => self.line(&line, false).await,
            None => Ok(()),
        }
    }

    /// Reports what waits, in a moment. Nothing happens as long as nothing waits.
    pub(super) async fn flush_soon(&mut self) -> Result<(), Fault> {
        match self.since {
            Some(since) => sleep_until(since + PAUSE).await,
            None => std::future::pending().await,
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Fault> {
        (self.since, self.waiting, self.waiting_bytes) = (None, 0, 0);
        Ok(self.context.flush().await?)
    }

    /// The end that the program told of, if it did. What it said last travels with the end of the run.
    pub(super) fn end(mut self) -> Option<Outcome> {
        if let Some(text) = self.text.take() {
            text.finish_later();
        }
        self.end
    }

    async fn line(&mut self, line: &[u8], whole: bool) -> Result<(), Fault> {
        self.number += 1;
        if self.end.is_some() {
            warn!(line = self.number, "what comes after the last update is left out");
            return Ok(());
        }
        let Some(update) = self.read(line)? else {
            let mut text = String::from_utf8_lossy(line).into_owned();
            if whole {
                text.push('\n');
            }
            let output = self.text.get_or_insert_with(|| self.context.stream(OUTPUT).named("Output"));
            return Ok(output.text(text).await?);
        };
        self.take(update, line.len()).await
    }

    /// Takes in one update by itself.
    pub(super) async fn update(&mut self, text: &str) -> Result<(), Fault> {
        self.number += 1;
        if self.end.is_some() {
            return Err(Fault::Said(format!("said more after its last update, in number {}", self.number)));
        }
        match self.read(text.as_bytes())? {
            Some(update) => self.take(update, text.len()).await,
            None => Err(Fault::Said(format!("said no update in number {}: it is no JSON object", self.number))),
        }
    }

    async fn take(&mut self, update: Update, bytes: usize) -> Result<(), Fault> {
        match Outcome::of(update) {
            Ok(end) => self.end = Some(end),
            Err(going_on) => {
                self.context.gather(*going_on);
                self.since.get_or_insert_with(Instant::now);
                self.waiting += 1;
                self.waiting_bytes += bytes;
                if self.waiting >= MOST || self.waiting_bytes >= MOST_BYTES {
                    self.flush().await?;
                }
            }
        }
        Ok(())
    }

    /// The update that the line is; nothing when it is text.
    fn read(&self, line: &[u8]) -> Result<Option<Update>, Fault> {
        if !line.trim_ascii_start().starts_with(b"{") || !matches!(serde_json::from_slice(line), Ok(Value::Object(_))) {
            return Ok(None);
        }
        let wrong = |error: wire::Error| Fault::Said(format!("said no update in line {}: {error}", self.number));
        let update: Update = wire::parse(line).map_err(wrong)?;
        wire::validate(&update).map_err(wrong)?;
        Ok(Some(update))
    }
}
