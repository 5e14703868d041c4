//! What a change does to a task's artifacts: a row a chunk, each with the bytes up to it, so that an append knows all it must from the last.

use entity::task_artifact;
use wire::{Artifact, Error, StreamResponse, Struct, TaskArtifactUpdateEvent};

use super::{Change, to_text};

/// What the store knows of an artifact that is about to be written to.
#[derive(Debug, Clone)]
pub(crate) struct KnownArtifact {
    pub(crate) ordinal: i32,
    pub(crate) last_chunk: i32,
    /// Bytes of all its chunks.
    pub(crate) bytes: i64,
}

impl Change<'_> {
    /// An artifact, or the next chunk of one.
    ///
    /// # Errors
    /// `TaskStateConflict` on a terminal task, `InvalidParams` for an append to an unknown artifact, `ResourceExhausted` over a bound.
    pub(crate) fn artifact(
        &mut self,
        artifact: Artifact,
        append: bool,
        last: bool,
        metadata: Option<Struct>,
    ) -> Result<(), Error> {
        if self.state().is_terminal() {
            return Err(Error::update_conflict(&self.task.id.to_string(), self.state(), "an artifact"));
        }
        let id = artifact.artifact_id.clone();
        let known = self.artifacts.get(&id).cloned();
        if append && known.is_none() {
            return Err(Error::invalid(
                "artifact.artifactId",
                format!("append needs an artifact that exists; there is no `{id}` on this task"),
            ));
        }
        let body = to_text(&artifact)?;
        let bytes = body.len() as i64;
        let mut total = self.task.artifact_bytes + bytes;
        let next = match (known, append) {
            (Some(known), true) => {
                KnownArtifact { last_chunk: known.last_chunk + 1, bytes: known.bytes + bytes, ..known }
            }
            (Some(known), false) => {
                total -= known.bytes;
                self.chunks.retain(|chunk| chunk.artifact_id != id);
                // Numbers go on rather than start again: rows removed and rows inserted then never share a key.
                self.removed_chunks.push((id.clone(), known.last_chunk));
                KnownArtifact { ordinal: known.ordinal, last_chunk: known.last_chunk + 1, bytes }
            }
            (None, _) => {
                let limit = self.agent.limits.artifacts;
                if self.task.artifact_count >= limit {
                    return Err(Error::resource_exhausted(
                        "artifacts",
                        format!("the task holds its maximum of {limit} artifacts"),
                    ));
                }
                self.task.artifact_count += 1;
                KnownArtifact { ordinal: self.task.artifact_count, last_chunk: 0, bytes }
            }
        };
        let limit = self.agent.limits.artifact_bytes;
        if total > limit {
            return Err(Error::resource_exhausted(
                "artifact_bytes",
                format!("the task's artifacts would hold {total} bytes; the maximum is {limit}"),
            ));
        }
        self.task.artifact_bytes = total;
        self.chunks.push(task_artifact::Model {
            task_id: self.task.id,
            artifact_id: id.clone(),
            chunk: next.last_chunk,
            ordinal: next.ordinal,
            last,
            bytes: next.bytes,
            body,
        });
        self.artifacts.insert(id, next);
        self.add_event(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.task.id.to_string(),
            context_id: self.task.context_id.clone(),
            artifact,
            append,
            last_chunk: last,
            metadata,
        }))
    }

    /// Whether the store may hold an artifact of that id that this change does not know yet.
    pub(crate) fn may_be_stored(&self, id: &str) -> bool {
        self.stored_artifacts > 0 && !self.artifacts.contains_key(id)
    }

    /// What the store knows of an artifact this change is about to write to.
    pub(crate) fn know_artifact(&mut self, id: &str, known: KnownArtifact) {
        self.artifacts.entry(id.to_owned()).or_insert(known);
    }
}
