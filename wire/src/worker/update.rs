//! One entry of a batched update, and the rules of the worker surface's own fields.

use super::{ArtifactUpdate, HEARTBEAT_MAX, HeldLease, POLL_MAX, Progress, StatusChange};
use crate::Violation;
use crate::json::Field;
use crate::lifecycle::Move;
use crate::message::{Message, Role};
use crate::proto::union_body;
use crate::rules::{self, Told, told};
use crate::validate::Path;
use poem_openapi::registry::{MetaSchemaRef, Registry};

/// How many updates one batch may hold.
pub const UPDATES: usize = 100;

/// One update of a batch: exactly one of the members.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// Moves the task to working.
    Work(StatusChange),
    /// Tells the same state anew with a message.
    Progress(Progress),
    /// Adds to the artifacts.
    Artifact(ArtifactUpdate),
    /// Waits for the client's input.
    RequireInput(StatusChange),
    /// Waits for an authorization.
    RequireAuth(StatusChange),
    /// Finishes successfully.
    Complete(StatusChange),
    /// Finishes with an error.
    Fail(StatusChange),
    /// Declines.
    Reject(StatusChange),
}

union_body! { Update : update, "One update of a batch: exactly one of the members.", {
    Work(StatusChange) as "work" / work, None, "Moves the task to working.";
    Progress(Progress) as "progress" / progress, None, "Tells the same state anew with a message.";
    Artifact(ArtifactUpdate) as "artifact" / artifact, None, "Adds to the artifacts.";
    RequireInput(StatusChange) as "requireInput" / require_input, None, "Waits for the client's input; comes last.";
    RequireAuth(StatusChange) as "requireAuth" / require_auth, None, "Waits for an authorization; comes last.";
    Complete(StatusChange) as "complete" / complete, None, "Finishes successfully; comes last.";
    Fail(StatusChange) as "fail" / fail, None, "Finishes with an error; comes last.";
    Reject(StatusChange) as "reject" / reject, None, "Declines; comes last.";
}}

impl Update {
    /// The move the update makes; `None` for progress and artifacts.
    pub const fn step(&self) -> Option<Move> {
        match self {
            Update::Work(_) => Some(Move::Work),
            Update::Progress(_) | Update::Artifact(_) => None,
            Update::RequireInput(_) => Some(Move::RequireInput),
            Update::RequireAuth(_) => Some(Move::RequireAuth),
            Update::Complete(_) => Some(Move::Complete),
            Update::Fail(_) => Some(Move::Fail),
            Update::Reject(_) => Some(Move::Reject),
        }
    }

    /// Whether the worker's turn ends with the update, so that nothing may follow it.
    pub fn ends_turn(&self) -> bool {
        self.step().is_some_and(|step| step != Move::Work)
    }
}

told! {
    updates { max_items: UPDATES }
    held { max_items: HEARTBEAT_MAX }
    poll_max { minimum: 1.0, maximum: f64::from(POLL_MAX) }
    seconds { minimum: 0.0 }
}

/// At most [`UPDATES`], and nothing after what ends the worker's turn.
pub(super) fn updates(values: &[Update], at: &Path<'_>, out: &mut Vec<Violation>) {
    if values.len() > UPDATES {
        out.push(at.violation(format!("must be at most {UPDATES} updates")));
    }
    if let Some(last) = values.iter().position(Update::ends_turn).filter(|last| last + 1 < values.len()) {
        let member = values[last].member();
        out.push(at.index(last).field(member).violation("must be the last update"));
    }
}

/// What an agent says: only the content is asked for, the platform fills in the rest.
pub(super) fn status_message(value: &Option<Message>, at: &Path<'_>, out: &mut Vec<Violation>) {
    let Some(message) = value else { return };
    let parts = at.field("parts");
    if message.parts.is_empty() {
        out.push(parts.violation("is required"));
    }
    Field::check(&message.parts, &parts, out);
    Field::check(&message.metadata, &at.field("metadata"), out);
    if message.role == Role::User {
        out.push(at.field("role").violation("must be ROLE_AGENT"));
    }
    for (name, id) in
        [("messageId", &message.message_id), ("contextId", &message.context_id), ("taskId", &message.task_id)]
    {
        rules::id(id, &at.field(name), out);
    }
    rules::ids(&message.reference_task_ids, &at.field("referenceTaskIds"), out);
}

/// A reply is a message to the client and belongs to no task.
pub(super) fn reply(value: &Option<Message>, at: &Path<'_>, out: &mut Vec<Violation>) {
    progress_message(value, at, out);
    if value.as_ref().is_some_and(|message| !message.task_id.is_empty()) {
        out.push(at.field("taskId").violation("must be left out: the answer is a message and no task"));
    }
}

/// Progress is nothing without words.
pub(super) fn progress_message(value: &Option<Message>, at: &Path<'_>, out: &mut Vec<Violation>) {
    if value.is_none() {
        out.push(at.violation("is required"));
    }
    status_message(value, at, out);
}

/// What documents call a message of which only the content is asked for.
const DRAFT: &str = "MessageDraft";

macro_rules! told_as_draft {
    ($rule:ident, $required:literal) => {
        #[expect(non_camel_case_types, reason = "the function's own name")]
        pub(super) enum $rule {}
        impl Told for $rule {
            const REQUIRED: bool = $required;
            fn schema(_schema: MetaSchemaRef, registry: &mut Registry) -> MetaSchemaRef {
                if let Some(mut message) = registry.schemas.get("Message").cloned() {
                    message.required.retain(|field| *field == "parts");
                    message.description = Some("What an agent says. The platform fills in what is left out.");
                    registry.schemas.insert(DRAFT.to_owned(), message);
                }
                MetaSchemaRef::Reference(DRAFT.to_owned())
            }
        }
    };
}

told_as_draft!(status_message, false);
told_as_draft!(progress_message, true);
told_as_draft!(reply, true);

/// At most [`HEARTBEAT_MAX`].
pub(super) fn held(values: &[HeldLease], at: &Path<'_>, out: &mut Vec<Violation>) {
    if values.len() > HEARTBEAT_MAX {
        out.push(at.violation(format!("must be at most {HEARTBEAT_MAX} leases; send several heartbeats")));
    }
}

/// How many leases a poll asks for.
pub(super) fn poll_max(value: &Option<i32>, at: &Path<'_>, out: &mut Vec<Violation>) {
    if value.is_some_and(|max| !(1..=POLL_MAX).contains(&max)) {
        out.push(at.violation(format!("must be between 1 and {POLL_MAX}")));
    }
}

/// A duration: not negative.
pub(super) fn seconds(value: &Option<f64>, at: &Path<'_>, out: &mut Vec<Violation>) {
    if value.is_some_and(|seconds| seconds < 0.0) {
        out.push(at.violation("must not be negative"));
    }
}
