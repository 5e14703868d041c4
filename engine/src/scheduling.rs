//! The scheduling extension: a client says with a message that no worker shall get it before a time, and how urgent it is.
//!
//! Both stand in the message's metadata under the extension's URI, and count whether or not the request activates the extension: a message
//! that says so means it.

use serde_json::Value;
use wire::{AgentExtension, Error, Message, Timestamp, Violation};

use crate::settings::Agent;

/// The extension's URI, and its key in a message's metadata.
pub const URI: &str = "https://taskyard.dev/extensions/scheduling/v1";

/// The longest a message can wait, in milliseconds: a year.
const LONGEST: i64 = 366 * 86_400_000;
/// Priorities run from minus this to this.
const MOST: i64 = 10;

/// When a message is due and how urgent it is, as far as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Schedule {
    /// No worker gets it before: later than when it was read.
    pub(crate) not_before: Option<i64>,
    /// Within what its agent permits.
    pub(crate) priority: Option<i16>,
}

/// How a card declares it.
pub fn extension() -> AgentExtension {
    AgentExtension {
        uri: URI.to_owned(),
        description: "Message metadata: notBefore, before which no worker gets the message, and priority, -10 to 10."
            .to_owned(),
        ..AgentExtension::default()
    }
}

impl Schedule {
    /// What `message` says, to an agent that listens.
    ///
    /// # Errors
    /// `InvalidParams` that names each field that is wrong.
    pub(crate) fn of(agent: &Agent, message: &Message, now: i64) -> Result<Schedule, Error> {
        let said = message.metadata.as_ref().and_then(|metadata| metadata.get(URI)).filter(|_| agent.scheduling);
        let Some(said) = said else { return Ok(Schedule::default()) };
        let field = format!("message.metadata.{URI}");
        let Value::Object(members) = said else {
            return Err(Error::invalid(field, "must be an object with notBefore, priority or both"));
        };
        let (mut schedule, mut wrong) = (Schedule::default(), Vec::new());
        if let Some(at) = members.get("notBefore").filter(|value| !value.is_null()) {
            match at.as_str().and_then(|text| text.parse::<Timestamp>().ok()).map(Timestamp::unix_millis) {
                Some(at) if at <= now + LONGEST => schedule.not_before = Some(at).filter(|at| *at > now),
                Some(_) => wrong.push(Violation::new(format!("{field}.notBefore"), "must be within a year from now")),
                None => {
                    let right = "must be a time as text, such as 2026-01-31T08:00:00Z";
                    wrong.push(Violation::new(format!("{field}.notBefore"), right));
                }
            }
        }
        if let Some(priority) = members.get("priority").filter(|value| !value.is_null()) {
            // Over gRPC every number is a double.
            match priority.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= MOST as f64) {
                Some(n) => schedule.priority = Some((n as i16).min(agent.priority_max)),
                None => {
                    wrong.push(Violation::new(format!("{field}.priority"), "must be a whole number from -10 to 10"))
                }
            }
        }
        if wrong.is_empty() { Ok(schedule) } else { Err(Error::invalid_all(wrong)) }
    }
}
