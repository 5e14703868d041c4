//! What must hold of a value beyond its types: REQUIRED fields, unspecified enums, bounds.
//!
//! A check reports every violation at once, each with the path of the field in its JSON spelling
//! (`message.parts[0].raw`), because a client that learns of one mistake a request pays for each.
//! Paths are a chain on the stack and become text only when there is something to report.

use crate::error::{Error, Violation};
use std::collections::BTreeMap;
use std::fmt;

/// Where in a value a check stands; prints as `message.parts[0].raw`.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The value itself.
    pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// The field or map key `name` of the value at this path.
    pub const fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// The element `index` of the list at this path.
    pub const fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// A violation of the field at this path.
    pub fn violation(&self, description: impl Into<String>) -> Violation {
        Violation::new(self.to_string(), description)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            fmt::Display::fmt(parent, f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Field(name) => {
                let first = self.parent.is_none_or(|parent| matches!(parent.step, Step::Root));
                write!(f, "{}{name}", if first { "" } else { "." })
            }
        }
    }
}

/// A type that can check itself against the protocol's rules (A2A §5.7).
pub trait Validate {
    /// Adds every violation found at or below `at` to `out`.
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>);
}

impl<T: Validate> Validate for Option<T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        if let Some(value) = self {
            value.check(at, out);
        }
    }
}

impl<T: Validate> Validate for Box<T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        (**self).check(at, out);
    }
}

impl<T: Validate> Validate for Vec<T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        for (index, value) in self.iter().enumerate() {
            value.check(&at.index(index), out);
        }
    }
}

impl<T: Validate> Validate for BTreeMap<String, T> {
    fn check(&self, at: &Path<'_>, out: &mut Vec<Violation>) {
        for (key, value) in self {
            value.check(&at.field(key), out);
        }
    }
}

/// Checks a value against the rules of its type.
///
/// # Errors
/// [`Kind::InvalidParams`](crate::Kind::InvalidParams) with every violation found.
pub fn validate<T: Validate>(value: &T) -> Result<(), Error> {
    let mut violations = Vec::new();
    value.check(&Path::ROOT, &mut violations);
    settle(violations)
}

/// `Ok` when nothing was found, else the error that names it all.
pub(crate) fn settle(violations: Vec<Violation>) -> Result<(), Error> {
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid_all(violations)) }
}
