//! What can go wrong between a worker and the platform.
//!
//! The cases are split by what the caller does next: give up (`Refused`), try again (`NoAnswer` that never reached the
//! platform), find out what happened (`NoAnswer` that may have), or drop the work (`Lost`).

use std::collections::BTreeMap;
use std::error::Error as StdError;

use serde::Deserialize;
use wire::TaskState;

/// Why a call to the platform, or the work on a task, went no further.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The worker was set up wrongly; the text names the option.
    #[error("setting up the worker: {0}")]
    Options(String),
    /// The platform did not answer. With `reached` it may still have done what was asked.
    #[error("no answer while {doing}")]
    NoAnswer {
        /// What was being done.
        doing: &'static str,
        /// Whether the request may have reached the platform.
        reached: bool,
        /// What the HTTP client said.
        #[source]
        source: reqwest::Error,
    },
    /// The platform answered with an error.
    #[error("refused while {doing}: {refusal}")]
    Refused {
        /// What was being done.
        doing: &'static str,
        /// The error it answered with.
        refusal: Box<Refusal>,
    },
    /// The platform answered something this worker cannot read.
    #[error("reading the answer while {doing}")]
    Unreadable {
        /// What was being done.
        doing: &'static str,
        /// What did not parse.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The lease is no longer this worker's: nothing more can be written to the task, and the work should stop.
    #[error("the lease on task `{task}` is gone: {reason}")]
    Lost {
        /// The task's id.
        task: String,
        /// Why, in the platform's words.
        reason: String,
        /// The task's state when it was noticed, where known.
        state: Option<TaskState>,
    },
}

impl Error {
    /// Whether the same call may go through later: the platform was away, busy or failing.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::NoAnswer { .. } => true,
            Self::Refused { refusal, .. } => refusal.status == 429 || refusal.status >= 500,
            Self::Options(_) | Self::Unreadable { .. } | Self::Lost { .. } => false,
        }
    }

    /// Whether the platform may have done what was asked although it did not say so.
    pub fn is_unclear(&self) -> bool {
        match self {
            Self::NoAnswer { reached, .. } => *reached,
            // 503 is how a replica refuses before it starts; any other failure may have come after the commit.
            Self::Refused { refusal, .. } => refusal.status >= 500 && refusal.status != 503,
            Self::Unreadable { .. } => true,
            Self::Options(_) | Self::Lost { .. } => false,
        }
    }

    /// The platform's error, if it answered with one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal),
            _ => None,
        }
    }

    /// The error with its causes, in one line.
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// An error answer of the worker surface (`google.rpc.Status` with its ErrorInfo).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{status} {reason}: {message}")]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The ErrorInfo's reason, such as `LEASE_LOST`; empty when the answer had none (a proxy's, say).
    pub reason: String,
    /// The platform's explanation.
    pub message: String,
    /// The ErrorInfo's metadata.
    pub metadata: BTreeMap<String, String>,
}

impl Refusal {
    /// Reads an error answer; any body will do.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: Status,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Status {
            message: String,
            details: Vec<Detail>,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Detail {
            reason: String,
            metadata: BTreeMap<String, String>,
        }

        let Ok(Body { error }) = serde_json::from_slice::<Body>(body) else {
            let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
            return Self { status, reason: String::new(), message: text, metadata: BTreeMap::new() };
        };
        let info = error.details.into_iter().find(|detail| !detail.reason.is_empty()).unwrap_or_default();
        Self { status, reason: info.reason, message: error.message, metadata: info.metadata }
    }

    /// Whether it says that the lease is not current any more.
    pub fn is_lost(&self) -> bool {
        self.reason == "LEASE_LOST"
    }

    /// Whether it says that there is no such task, and no such message either.
    pub fn is_unknown(&self) -> bool {
        self.reason == "TASK_NOT_FOUND"
    }

    /// Whether it says that there is no such path, or nothing of that name.
    pub fn is_missing(&self) -> bool {
        self.status == 404
    }

    /// Whether it says that the task's state does not permit the move.
    pub fn is_conflict(&self) -> bool {
        self.reason == "TASK_STATE_CONFLICT"
    }

    /// The task's state, where the answer carries it.
    pub fn state(&self) -> Option<TaskState> {
        let name = self.metadata.get("state")?;
        serde_json::from_value(serde_json::Value::String(name.clone())).ok()
    }
}
