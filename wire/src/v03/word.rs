//! What 0.3 calls roles and states, in either dialect.

use super::answer::Dialect;
use crate::Violation;
use crate::message::Role;
use crate::rules::told;
use crate::task::TaskState;
use crate::validate::Path;

told! {
    check_role {}
}

/// The metadata of a part whose `data` was no object in 1.0.
pub(crate) const WRAPPED: &str = "data_part_compat";
/// The member that such a value stands in.
pub(crate) const VALUE: &str = "value";

/// A role's name.
pub(crate) fn role(role: Role, dialect: Dialect) -> &'static str {
    match (dialect, role) {
        (Dialect::Rpc, Role::User) => "user",
        // 0.3 has no third role; who is not the client is the agent.
        (Dialect::Rpc, _) => "agent",
        (Dialect::Proto, role) => role.name(),
    }
}

/// The role of that name in either dialect.
pub(crate) fn role_of(name: &str) -> Option<Role> {
    match name {
        "user" => Some(Role::User),
        "agent" => Some(Role::Agent),
        name => Role::from_name(name),
    }
}

/// Checks a role's name.
pub(crate) fn check_role(name: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    match role_of(name) {
        Some(Role::Unspecified) => out.push(at.violation("is required")),
        Some(_) => {}
        None => out.push(at.violation("must be `user` or `agent`; in the proto's dialect ROLE_USER or ROLE_AGENT")),
    }
}

/// A state's name.
pub(crate) fn state(state: TaskState, dialect: Dialect) -> &'static str {
    match (dialect, state) {
        (Dialect::Rpc, TaskState::Unspecified) => "unknown",
        (Dialect::Rpc, TaskState::Submitted) => "submitted",
        (Dialect::Rpc, TaskState::Working) => "working",
        (Dialect::Rpc, TaskState::Completed) => "completed",
        (Dialect::Rpc, TaskState::Failed) => "failed",
        (Dialect::Rpc, TaskState::Canceled) => "canceled",
        (Dialect::Rpc, TaskState::InputRequired) => "input-required",
        (Dialect::Rpc, TaskState::Rejected) => "rejected",
        (Dialect::Rpc, TaskState::AuthRequired) => "auth-required",
        (Dialect::Proto, TaskState::Canceled) => "TASK_STATE_CANCELLED",
        (Dialect::Proto, state) => state.name(),
    }
}
