//! Resource names of the proto's dialect: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`.

use crate::Violation;
use crate::rules::{self, told};
use crate::validate::Path;

told! {
    check_task {}
    check_parent {}
    check_config {}
}

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs";

/// The id in a task's name.
pub(crate) fn task(name: &str) -> Option<&str> {
    name.strip_prefix(TASKS).filter(|id| !id.is_empty() && !id.contains('/'))
}

/// The ids of task and config in a config's name.
pub(crate) fn config(name: &str) -> Option<(&str, &str)> {
    let (parent, id) = name.split_once(CONFIGS)?;
    let id = id.strip_prefix('/').filter(|id| !id.is_empty())?;
    Some((task(parent)?, id))
}

/// The id of the task that configs belong to. HTTP's rule of the proto has the name of the collection as parent, where
/// gRPC has the task.
pub(crate) fn task_of_parent(name: &str) -> Option<&str> {
    task(name.strip_suffix(CONFIGS).unwrap_or(name))
}

/// A config's name.
pub(crate) fn of_config(task: &str, id: &str) -> String {
    format!("{TASKS}{task}{CONFIGS}/{id}")
}

pub(crate) fn check_task(name: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    check(task(name), at, out);
}

/// Empty is absent; where it must not be, the declaration says so.
pub(crate) fn check_parent(name: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    if !name.is_empty() {
        check(task_of_parent(name), at, out);
    }
}

pub(crate) fn check_config(name: &str, at: &Path<'_>, out: &mut Vec<Violation>) {
    match config(name) {
        None => out.push(at.violation("must be `tasks/{id}/pushNotificationConfigs/{id}`")),
        Some((task, id)) => {
            rules::id(task, at, out);
            rules::id(id, at, out);
        }
    }
}

fn check(id: Option<&str>, at: &Path<'_>, out: &mut Vec<Violation>) {
    match id {
        None => out.push(at.violation("must be `tasks/{id}`")),
        Some(id) => rules::id(id, at, out),
    }
}
