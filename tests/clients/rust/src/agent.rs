//! What goes to the demo agent, and how what it does is read.

use a2a::{Artifact, Message, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState};

/// The extension that the agent `loyal` wants.
pub(crate) const LOYALTY: &str = "https://example.com/loyalty/v1";

/// What a user says.
pub(crate) fn message(words: &str) -> Message {
    Message::new(Role::User, vec![Part::text(words)])
}

fn joined(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}

/// The text of an artifact.
pub(crate) fn text(artifact: &Artifact) -> String {
    joined(&artifact.parts)
}

/// The text of a message.
pub(crate) fn said(message: &Message) -> String {
    joined(&message.parts)
}

/// The texts of all artifacts of a task.
pub(crate) fn texts(task: &Task) -> Vec<String> {
    task.artifacts.iter().flatten().map(text).collect()
}

/// The history of a task, whether it is left out or empty.
pub(crate) fn history(task: &Task) -> &[Message] {
    task.history.as_deref().unwrap_or_default()
}

/// The texts of one side in the history.
pub(crate) fn said_by(task: &Task, role: Role) -> Vec<String> {
    history(task).iter().filter(|message| message.role == role).map(said).collect()
}

/// Whether the task is on its way.
pub(crate) fn is_open(task: &Task) -> bool {
    matches!(task.status.state, TaskState::Submitted | TaskState::Working)
}

/// The state that an item of a stream says, if it says one.
pub(crate) fn state(item: &StreamResponse) -> Option<TaskState> {
    match item {
        StreamResponse::Task(task) => Some(task.status.state.clone()),
        StreamResponse::StatusUpdate(update) => Some(update.status.state.clone()),
        StreamResponse::Message(_) | StreamResponse::ArtifactUpdate(_) => None,
    }
}

/// What the last item of a stream says.
#[track_caller]
pub(crate) fn end(items: &[StreamResponse]) -> TaskState {
    items.last().and_then(state).expect("a stream ends with a status")
}

/// The task that an item has to be.
#[track_caller]
pub(crate) fn task(item: Option<&StreamResponse>) -> &Task {
    match item {
        Some(StreamResponse::Task(task)) => task,
        other => panic!("wanted a task, found {other:?}"),
    }
}

/// The artifacts' events of a stream.
pub(crate) fn artifacts(items: &[StreamResponse]) -> Vec<&TaskArtifactUpdateEvent> {
    items
        .iter()
        .filter_map(|item| match item {
            StreamResponse::ArtifactUpdate(update) => Some(update),
            _ => None,
        })
        .collect()
}

/// Every item in a word.
pub(crate) fn kinds(items: &[StreamResponse]) -> Vec<&'static str> {
    items
        .iter()
        .map(|item| match item {
            StreamResponse::Task(_) => "task",
            StreamResponse::Message(_) => "message",
            StreamResponse::StatusUpdate(_) => "statusUpdate",
            StreamResponse::ArtifactUpdate(_) => "artifactUpdate",
        })
        .collect()
}
