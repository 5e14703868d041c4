//! Agent cards (A2A §4.4, §8): what the operator says of an agent, put together with where it answers and what it can do.
//!
//! Only what answers is declared: capabilities are those that `capability.rs` checks requests against, and interfaces those that are
//! served.

use engine::{Agent, Caller, Card};
use poem::Request;
use wire::{AgentCard, AgentInterface, Error, Tenant};

use crate::app::Shared;
use crate::{capability, version};

mod canonical;
mod document;
mod location;
mod serve;
mod signer;

pub(crate) use document::{paths, schemas};
pub(crate) use location::AGENT_CARD;
use location::{KEYS, Place};
pub(crate) use serve::{Extended, PRIVATE, answer, is_at};
pub use signer::{Signer, SigningKeyError};

/// What an agent takes that takes everything; the first is what everybody can send.
const EVERYTHING: [&str; 2] = ["text/plain", "*/*"];

/// The card that everybody may read, without a signature.
fn public(shared: &Shared, caller: &Caller, place: &Place) -> AgentCard {
    compose(shared, caller, &caller.agent.card, place)
}

/// The card for clients that have shown who they are, signed like the public one. gRPC has no request to find the place in.
///
/// # Errors
/// `UnsupportedOperation` or `ExtendedAgentCardNotConfigured` when there is none.
pub(crate) fn extended(shared: &Shared, caller: &Caller, request: Option<&Request>) -> Result<AgentCard, Error> {
    let card = shared.engine.get_extended_agent_card(caller)?;
    let (options, default_agent) = (&shared.options, &shared.engine.settings().default_agent);
    let place = match request {
        Some(request) => Place::of(options, default_agent, request, caller),
        None => Place::of_grpc(options, default_agent, caller),
    };
    sign(shared, compose(shared, caller, &card, &place), &place)
}

/// The card with its signature, when a key is configured.
fn sign(shared: &Shared, mut card: AgentCard, place: &Place) -> Result<AgentCard, Error> {
    if let Some(signer) = &shared.options.signer {
        let keys = format!("{}{KEYS}", place.root);
        card.signatures = vec![signer.sign(&canonical::of(&card)?, &keys)?];
    }
    Ok(card)
}

fn compose(shared: &Shared, caller: &Caller, card: &Card, place: &Place) -> AgentCard {
    let Agent { input_modes, .. } = &*caller.agent;
    AgentCard {
        name: card.name.clone(),
        description: card.description.clone(),
        supported_interfaces: interfaces(shared, caller, place),
        provider: card.provider.clone(),
        version: card.version.clone(),
        documentation_url: card.documentation_url.clone(),
        capabilities: capability::of(&caller.agent),
        default_input_modes: match input_modes.is_empty() {
            true => EVERYTHING.map(str::to_owned).into(),
            false => input_modes.clone(),
        },
        default_output_modes: card.output_modes.clone(),
        skills: card.skills.clone(),
        icon_url: card.icon_url.clone(),
        ..AgentCard::default()
    }
}

/// Every way to the caller's agent, the preferred one first. Over HTTP the URL alone leads to agent and tenant; gRPC has no path, so
/// its `tenant` names both.
fn interfaces(shared: &Shared, caller: &Caller, place: &Place) -> Vec<AgentInterface> {
    let interface = |url: String, binding: &str| AgentInterface {
        url,
        protocol_binding: binding.to_owned(),
        protocol_version: version::SERVED.to_owned(),
        ..AgentInterface::default()
    };
    let base = place.base();
    let mut interfaces = vec![interface(base.clone(), "HTTP+JSON"), interface(format!("{base}/rpc"), "JSONRPC")];
    if let Some(url) = &shared.options.grpc_url {
        let agent = (caller.agent.name != shared.engine.settings().default_agent).then_some(&*caller.agent.name);
        let tenant = routing_key(&caller.tenant, agent);
        interfaces.push(AgentInterface { tenant, ..interface(url.clone(), "GRPC") });
    }
    interfaces
}

/// `[tenant]["/" agent]`: what `tenant` says where no path can.
fn routing_key(tenant: &Tenant, agent: Option<&str>) -> String {
    let agent = agent.map(|agent| format!("/{agent}")).unwrap_or_default();
    format!("{tenant}{agent}")
}
