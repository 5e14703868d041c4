//! An artifact that grows while it is made: written in pieces as small as they come, sent in chunks worth a commit.
//!
//! What is written waits until it is large enough or old enough, and travels with whatever is reported meanwhile. The turn sends what
//! grew old while the agent waits for something, so a writer needs no task of its own, and nothing of it outlives the turn.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use wire::worker::{UnfinishedArtifact, Update};
use wire::{Artifact, Content, Part};

use crate::context::{Context, chunk};
use crate::error::Error;
use crate::lease::locked;

/// Chunks are sent when they have so many bytes, unless the author says otherwise.
const CHUNK_BYTES: usize = 8 * 1024;
/// And when their first byte has waited so long.
const CHUNK_AGE: Duration = Duration::from_millis(100);

/// A growing artifact, from [`Context::stream`].
///
/// By default it begins anew: the first chunk replaces what an earlier attempt may have left of the artifact. What was written and
/// neither sent nor finished when the run ends goes out with its end, as a chunk that is not the last; after an error it does not.
#[derive(Debug)]
#[must_use = "what is streamed has to be finished"]
pub struct ArtifactStream {
    context: Context,
    growing: Arc<Growing>,
}

/// The part of it that the turn knows.
#[derive(Debug)]
pub(crate) struct Growing(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The first chunk without its parts; afterwards the id alone.
    artifact: Artifact,
    /// Whether the next chunk extends the artifact.
    append: bool,
    parts: Vec<Part>,
    bytes: usize,
    /// When the first of the parts was written.
    since: Option<Instant>,
    /// Whether nothing more will be written.
    whole: bool,
    chunk_bytes: usize,
    chunk_age: Duration,
}

impl Growing {
    fn new(id: String) -> Self {
        Self(Mutex::new(State {
            artifact: Artifact { artifact_id: id, ..Artifact::default() },
            append: false,
            parts: Vec::new(),
            bytes: 0,
            since: None,
            whole: false,
            chunk_bytes: CHUNK_BYTES,
            chunk_age: CHUNK_AGE,
        }))
    }

    /// When what waits has waited long enough.
    pub(crate) fn due(&self) -> Option<Instant> {
        let state = locked(&self.0);
        state.since.map(|since| since + state.chunk_age)
    }

    /// What waits, as the next chunk, if anything does.
    pub(crate) fn take(&self) -> Option<Update> {
        let mut state = locked(&self.0);
        state.since.take()?;
        state.bytes = 0;
        let mut parts = std::mem::take(&mut state.parts);
        if parts.is_empty() {
            // Nothing but the word that it is whole, and an artifact has parts.
            parts.push(Part::text(""));
        }
        let id = state.artifact.artifact_id.clone();
        let next = Artifact { artifact_id: id, ..Artifact::default() };
        let artifact = Artifact { parts, ..std::mem::replace(&mut state.artifact, next) };
        let append = std::mem::replace(&mut state.append, true);
        Some(chunk(artifact, append, state.whole))
    }

    /// Whether it needs no more looking after.
    pub(crate) fn is_over(&self) -> bool {
        let state = locked(&self.0);
        state.whole && state.since.is_none()
    }

    /// Adds a part; whether it is time to send.
    fn add(&self, part: Part) -> bool {
        let mut state = locked(&self.0);
        state.bytes += match &part.content {
            Some(Content::Text(text) | Content::Url(text)) => text.len(),
            Some(Content::Raw(bytes)) => bytes.len(),
            Some(Content::Data(data)) => data.to_string().len(),
            None => 0,
        };
        state.since.get_or_insert_with(Instant::now);
        match state.parts.last_mut() {
            Some(last) if is_plain_text(last) && is_plain_text(&part) => {
                if let (Some(Content::Text(text)), Some(Content::Text(more))) = (&mut last.content, &part.content) {
                    text.push_str(more);
                }
            }
            _ => state.parts.push(part),
        }
        state.bytes >= state.chunk_bytes
    }

    fn close(&self) {
        let mut state = locked(&self.0);
        state.whole = true;
        state.since.get_or_insert_with(Instant::now);
    }
}

/// A text and nothing about it, which can be joined with another.
fn is_plain_text(part: &Part) -> bool {
    matches!(part, Part { content: Some(Content::Text(_)), metadata: None, filename, media_type }
        if filename.is_empty() && media_type.is_empty())
}

impl ArtifactStream {
    pub(crate) fn new(context: Context, id: String) -> (Self, Arc<Growing>) {
        let growing = Arc::new(Growing::new(id));
        (Self { context, growing: growing.clone() }, growing)
    }

    /// The same with a name for people.
    pub fn named(self, name: impl Into<String>) -> Self {
        locked(&self.growing.0).artifact.name = name.into();
        self
    }

    /// The same with everything but the parts of `artifact`, which keeps its id: description, metadata, extensions.
    pub fn like(self, artifact: Artifact) -> Self {
        {
            let mut state = locked(&self.growing.0);
            let id = state.artifact.artifact_id.clone();
            state.artifact = Artifact { artifact_id: id, parts: Vec::new(), ..artifact };
        }
        self
    }

    /// The same with other bounds: a chunk is sent once it has `bytes`, or once its first byte has waited for `age`. Each is a commit
    /// of the platform's and an event to every listener.
    pub fn batched(self, bytes: usize, age: Duration) -> Self {
        {
            let mut state = locked(&self.growing.0);
            (state.chunk_bytes, state.chunk_age) = (bytes.max(1), age);
        }
        self
    }

    /// The same, going on where an earlier attempt stopped, if there is something of it: what is there stays, and every chunk extends
    /// it. [`Context::unfinished`] tells how much there is, and the task's artifacts what.
    pub fn resumed(self) -> Self {
        {
            let mut state = locked(&self.growing.0);
            state.append = self.context.unfinished(&state.artifact.artifact_id).is_some();
        }
        self
    }

    /// Writes text. It joins the text before it.
    ///
    /// # Errors
    /// As [`Context::progress`], also for a chunk that was sent meanwhile.
    pub async fn text(&mut self, words: impl Into<String>) -> Result<(), Error> {
        self.part(Part::text(words)).await
    }

    /// Writes a part.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub async fn part(&mut self, part: Part) -> Result<(), Error> {
        if self.growing.add(part) {
            return self.context.flush().await;
        }
        self.context.stir()
    }

    /// Sends what was written so far.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub async fn flush(&mut self) -> Result<(), Error> {
        self.context.flush().await
    }

    /// Sends the rest; the artifact is whole.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub async fn finish(self) -> Result<(), Error> {
        self.growing.close();
        self.context.flush().await
    }

    /// The artifact is whole, and its last chunk travels with the next report or the end of the run.
    pub fn finish_later(self) {
        self.growing.close();
    }
}

impl Context {
    /// Begins an artifact that is written in pieces and sent in chunks; see [`ArtifactStream`].
    ///
    /// ```
    /// # async fn example(ctx: worker::Context) -> worker::Result {
    /// let mut answer = ctx.stream("answer").named("The answer");
    /// for word in ["in ", "many ", "words"] {
    ///     answer.text(word).await?;
    /// }
    /// answer.finish_later();
    /// Ok(worker::Outcome::complete())
    /// # }
    /// ```
    pub fn stream(&self, id: impl Into<String>) -> ArtifactStream {
        let (stream, growing) = ArtifactStream::new(self.clone(), id.into());
        self.watch(growing);
        stream
    }

    /// What an earlier attempt left of the artifact `id`, when its last chunk is not there.
    pub fn unfinished(&self, id: &str) -> Option<&UnfinishedArtifact> {
        self.lease().unfinished_artifacts.iter().find(|artifact| artifact.artifact_id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::worker::ArtifactUpdate;

    /// Text, whether it extends, whether it is the last, how many parts.
    fn shown(update: Option<Update>) -> Option<(String, bool, bool, usize)> {
        match update? {
            Update::Artifact(ArtifactUpdate { artifact, append, last_chunk, .. }) => {
                Some((crate::text_of(&artifact.parts), append, last_chunk, artifact.parts.len()))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_join_and_the_first_chunk_begins_anew() {
        let growing = Growing::new("a".to_owned());
        assert_eq!(growing.take(), None);
        assert!(!growing.add(Part::text("one ")));
        assert!(!growing.add(Part::text("two")));
        growing.add(Part::data(5));
        growing.add(Part::text("three"));
        assert_eq!(shown(growing.take()), Some(("one two\nthree".to_owned(), false, false, 3)));
        assert!(growing.add(Part::text("x".repeat(CHUNK_BYTES))), "a full chunk wants to be sent");
        assert_eq!(shown(growing.take()).map(|(_, append, last, _)| (append, last)), Some((true, false)));
        growing.close();
        assert!(!growing.is_over());
        assert_eq!(shown(growing.take()), Some((String::new(), true, true, 1)));
        assert!(growing.is_over());
        assert_eq!(growing.take(), None);
    }
}
