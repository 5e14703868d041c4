//! How a command ends when it does not end well, and the exit code that says so.

use crate::config::Refusal;
use std::error::Error;
use std::fmt;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// It cannot run as it was asked to: exit code 2.
    Refused(Refusal),
    /// It ran and failed: exit code 1.
    Failed(Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// What the process ends with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Refused(_) => ExitCode::from(2),
            Failure::Failed(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(refusal) => refusal.fmt(f),
            Failure::Failed(error) => {
                error.fmt(f)?;
                let mut source = error.source();
                while let Some(error) = source {
                    write!(f, ": {error}")?;
                    source = error.source();
                }
                Ok(())
            }
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::Refused(refusal)
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Failed(error.into())
    }
}
