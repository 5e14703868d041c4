//! The life of a task, as one table. A move that is not in it is refused.
//!
//! The refusals and the diagram in `ARCHITECTURE.md` derive from [`MOVES`], and a write names the state it was decided
//! on, so they cannot disagree. Creation is no move: a task begins as `Submitted`.

use crate::task::TaskState::{self, AuthRequired, InputRequired, Submitted, Working};
use std::fmt;
use std::fmt::Write as _;

/// What can happen to a task that changes its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// A worker starts or continues.
    Work,
    /// The agent waits for the client's input.
    RequireInput,
    /// The agent waits for an authorization.
    RequireAuth,
    /// Finished successfully.
    Complete,
    /// Finished with an error.
    Fail,
    /// The agent declines.
    Reject,
    /// The client cancels.
    Cancel,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Permission {
    /// The move.
    pub step: Move,
    /// Its name in the model, in paths (`/tasks/{id}:require_input`).
    pub name: &'static str,
    /// The states it may start from.
    pub sources: &'static [TaskState],
    /// The state it leads to.
    pub target: TaskState,
}

/// Every state that is not terminal.
const OPEN: &[TaskState] = &[Submitted, Working, InputRequired, AuthRequired];

/// Every permitted move, and nothing else.
pub const MOVES: &[Permission] = &[
    row(Move::Work, "work", &[Submitted, InputRequired, AuthRequired], Working),
    row(Move::RequireInput, "require_input", &[Submitted, Working, AuthRequired], InputRequired),
    row(Move::RequireAuth, "require_auth", &[Submitted, Working, InputRequired], AuthRequired),
    row(Move::Complete, "complete", OPEN, TaskState::Completed),
    row(Move::Fail, "fail", OPEN, TaskState::Failed),
    row(Move::Reject, "reject", OPEN, TaskState::Rejected),
    row(Move::Cancel, "cancel", OPEN, TaskState::Canceled),
];

const fn row(step: Move, name: &'static str, sources: &'static [TaskState], target: TaskState) -> Permission {
    Permission { step, name, sources, target }
}

impl Move {
    /// Every move, in the order of [`MOVES`].
    pub const ALL: [Move; 7] =
        [Move::Work, Move::RequireInput, Move::RequireAuth, Move::Complete, Move::Fail, Move::Reject, Move::Cancel];

    /// The move's row. The table stands in the order of the variants; a test holds it to that.
    const fn permission(self) -> &'static Permission {
        &MOVES[self as usize]
    }

    /// The state the move leads to.
    pub const fn target(self) -> TaskState {
        self.permission().target
    }

    /// The states the move may start from.
    pub const fn sources(self) -> &'static [TaskState] {
        self.permission().sources
    }

    /// The model's name: `work`, `require_input`, …
    pub const fn name(self) -> &'static str {
        self.permission().name
    }

    /// The move of that name.
    pub fn from_name(name: &str) -> Option<Move> {
        Move::ALL.into_iter().find(|step| step.name() == name)
    }

    /// Whether a task in `state` may make the move.
    pub fn permitted_from(self, state: TaskState) -> bool {
        self.sources().contains(&state)
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TaskState {
    /// Whether no move leads out: completed, failed, canceled, rejected.
    pub fn is_terminal(self) -> bool {
        self != TaskState::Unspecified && !Move::ALL.iter().any(|step| step.permitted_from(self))
    }

    /// Whether the agent waits for the client: input or authorization required.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, InputRequired | AuthRequired)
    }
}

/// The diagram of the docs, drawn from the table.
pub fn mermaid() -> String {
    let mut diagram = String::from("stateDiagram-v2\n    [*] --> Submitted\n");
    for row in MOVES {
        for from in row.sources {
            // Writing to a string cannot fail.
            let _ = writeln!(diagram, "    {from:?} --> {:?}: {}", row.target, row.name);
        }
    }
    for state in TaskState::ALL.into_iter().filter(|state| state.is_terminal()) {
        let _ = writeln!(diagram, "    {state:?} --> [*]");
    }
    diagram
}
