//! Agent cards (A2A §4.4, §8): what the operator says of an agent, put together with where it answers and what it can do.
//!
//! Only what answers is declared: capabilities are those that `capability.rs` checks requests against, and interfaces those that are
//! served.

use engine::{Agent, Caller, Card};
use poem::Request;
use wire::{AgentCard, AgentInterface, Error, Tenant, Version};

use crate::app::Shared;
use crate::capability;

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
fn unsigned(shared: &Shared, caller: &Caller, place: &Place) -> AgentCard {
    compose(shared, caller, &caller.agent.card, place)
}

/// The card that everybody may read, for bindings that give it as an operation's answer.
///
/// # Errors
/// `Internal` when it cannot be signed.
pub(crate) fn public(shared: &Shared, caller: &Caller, request: Option<&Request>) -> Result<AgentCard, Error> {
    let place = place(shared, caller, request);
    sign(shared, unsigned(shared, caller, &place), &place)
}

/// The card for clients that have shown who they are, signed like the public one.
///
/// # Errors
/// `UnsupportedOperation` or `ExtendedAgentCardNotConfigured` when there is none.
pub(crate) fn extended(shared: &Shared, caller: &Caller, request: Option<&Request>) -> Result<AgentCard, Error> {
    let card = shared.engine.get_extended_agent_card(caller)?;
    let place = place(shared, caller, request);
    sign(shared, compose(shared, caller, &card, &place), &place)
}

/// gRPC has no request to find the place in.
fn place(shared: &Shared, caller: &Caller, request: Option<&Request>) -> Place {
    let (options, default_agent) = (&shared.options, &shared.engine.settings().default_agent);
    match request {
        Some(request) => Place::of(options, default_agent, request, caller),
        None => Place::of_grpc(options, default_agent, caller),
    }
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
///
/// Those of 0.3 follow, JSON-RPC first, which is where clients of 0.3 look. Most of them know no `tenant` in gRPC: where one is needed,
/// that binding is not theirs.
fn interfaces(shared: &Shared, caller: &Caller, place: &Place) -> Vec<AgentInterface> {
    let interface = |version: Version, url: String, binding: &str| AgentInterface {
        url,
        protocol_binding: binding.to_owned(),
        protocol_version: version.as_str().to_owned(),
        ..AgentInterface::default()
    };
    let agent = (caller.agent.name != shared.engine.settings().default_agent).then_some(&*caller.agent.name);
    let tenant = routing_key(&caller.tenant, agent);
    let grpc = |version| {
        let url = shared.options.grpc_url.clone()?;
        Some(AgentInterface { tenant: tenant.clone(), ..interface(version, url, "GRPC") })
    };
    let rest = |version| interface(version, place.base(), "HTTP+JSON");
    let rpc = |version| interface(version, format!("{}/rpc", place.base()), "JSONRPC");
    let mut interfaces = vec![rest(Version::V1), rpc(Version::V1)];
    interfaces.extend(grpc(Version::V1));
    if shared.served().contains(&Version::V03) {
        interfaces.extend([rpc(Version::V03), rest(Version::V03)]);
        interfaces.extend(grpc(Version::V03).filter(|interface| interface.tenant.is_empty()));
    }
    interfaces
}

/// `[tenant]["/" agent]`: what `tenant` says where no path can.
fn routing_key(tenant: &Tenant, agent: Option<&str>) -> String {
    let agent = agent.map(|agent| format!("/{agent}")).unwrap_or_default();
    format!("{tenant}{agent}")
}
