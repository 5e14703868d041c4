//! Several agents in one worker.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Agent, Context, Outcome, Result};

/// An agent for each name: one worker, one session and one bound for all of them together.
///
/// ```
/// use worker::{Roster, builtin::Demo};
///
/// let roster = Roster::default().with("demo", Demo).with("another", Demo);
/// assert_eq!(roster.names(), ["another", "demo"]);
/// ```
#[derive(Clone, Default)]
pub struct Roster(BTreeMap<String, Arc<dyn Agent>>);

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Roster").field(&self.names()).finish()
    }
}

impl Roster {
    /// The same with one more; one of the same name makes way.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, agent: impl Agent) -> Self {
        self.0.insert(name.into(), Arc::new(agent));
        self
    }

    /// The agents' names, as [`Options::agents`](crate::Options::agents) wants them.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

#[async_trait]
impl Agent for Roster {
    async fn run(&self, ctx: Context) -> Result {
        match self.0.get(ctx.agent()) {
            Some(agent) => agent.run(ctx).await,
            // Nobody asked for it.
            None => Ok(Outcome::retry_later(std::time::Duration::ZERO, "this worker has no such agent")),
        }
    }
}
