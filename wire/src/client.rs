//! What is asked of a client's message beyond its type.

use crate::error::Error;
use crate::message::Role;
use crate::request::SendMessageRequest;
use crate::validate::{Path, Validate, settle};

/// Bounds that the operator sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many parts a message may have.
    pub parts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { parts: 256 }
    }
}

/// Checks a send: the rules of the types, the role a client has, and the operator's bounds.
///
/// # Errors
/// `InvalidParams` with every violation found.
pub fn validate_send(request: &SendMessageRequest, limits: &Limits) -> Result<(), Error> {
    let mut violations = Vec::new();
    request.check(&Path::ROOT, &mut violations);
    if let Some(message) = &request.message {
        let at = Path::ROOT.field("message");
        if message.role == Role::Agent {
            violations.push(at.field("role").violation("must be ROLE_USER"));
        }
        if message.parts.len() > limits.parts {
            violations.push(at.field("parts").violation(format!("must be at most {} parts", limits.parts)));
        }
    }
    settle(violations)
}
