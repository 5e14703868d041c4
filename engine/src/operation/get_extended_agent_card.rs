//! GetExtendedAgentCard (A2A §3.1.11).

use wire::Error;

use crate::card::{Card, Extended};
use crate::{Caller, Engine};

impl Engine {
    /// What the caller's agent says to clients that have shown who they are. Surfaces add where it can be reached.
    ///
    /// # Errors
    /// `UnsupportedOperation` when the agent declares no extended card, `ExtendedAgentCardNotConfigured` when it has none.
    pub fn get_extended_agent_card(&self, caller: &Caller) -> Result<Card, Error> {
        let card = &caller.agent.card;
        match &card.extended {
            Extended::Undeclared => {
                Err(Error::unsupported_operation(format!("agent `{}` declares no extended card", caller.agent.name)))
            }
            Extended::Unconfigured => Err(Error::extended_agent_card_not_configured()),
            Extended::Configured(more) => Ok(card.extended_by(more)),
        }
    }
}
