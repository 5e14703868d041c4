//! What an agent says about itself: the part of its card that the operator writes. Where it can be reached and what it can do are added
//! by the surfaces, which know.

use std::collections::BTreeSet;

use wire::{AgentExtension, AgentProvider, AgentSkill};

/// The operator's part of an agent's card (A2A §4.4).
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// A name for people.
    pub name: String,
    /// What the agent does.
    pub description: String,
    /// The agent's own version.
    pub version: String,
    /// Who offers the agent.
    pub provider: Option<AgentProvider>,
    /// Where its documentation is.
    pub documentation_url: Option<String>,
    /// An icon.
    pub icon_url: Option<String>,
    /// What it can be asked for; at least one.
    pub skills: Vec<AgentSkill>,
    /// Media types it produces; at least one.
    pub output_modes: Vec<String>,
    /// Extensions it knows.
    pub extensions: Vec<AgentExtension>,
    /// What clients learn that have shown who they are.
    pub extended: Extended,
}

/// The extended card (§3.1.11).
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Extended {
    /// The agent declares none.
    #[default]
    Undeclared,
    /// The agent declares one, and none is there.
    Unconfigured,
    /// What it says beyond the public card.
    Configured(ExtendedCard),
}

/// What an extended card says beyond the public one, or in its place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtendedCard {
    /// In place of the public description.
    pub description: Option<String>,
    /// In place of the public version.
    pub version: Option<String>,
    /// In place of the public documentation.
    pub documentation_url: Option<String>,
    /// Skills beyond the public ones; one with the id of a public one stands in its place.
    pub skills: Vec<AgentSkill>,
}

impl Card {
    /// The card of an agent of which nothing is known but its name.
    pub fn named(name: &str) -> Card {
        let skill = AgentSkill {
            id: "message".to_owned(),
            name: "Message".to_owned(),
            description: "Takes a message and works on it until there is an answer.".to_owned(),
            tags: vec!["general".to_owned()],
            ..AgentSkill::default()
        };
        Card {
            name: name.to_owned(),
            description: format!("The agent `{name}`."),
            version: "1.0.0".to_owned(),
            provider: None,
            documentation_url: None,
            icon_url: None,
            skills: vec![skill],
            output_modes: vec!["text/plain".to_owned()],
            extensions: Vec::new(),
            extended: Extended::Undeclared,
        }
    }

    /// The URIs of the extensions that clients must declare (§3.3.4).
    pub fn required_extensions(&self) -> impl Iterator<Item = &str> {
        self.extensions.iter().filter(|extension| extension.required).map(|extension| extension.uri.as_str())
    }

    /// This card with what `more` says.
    pub(crate) fn extended_by(&self, more: &ExtendedCard) -> Card {
        let mut card = self.clone();
        card.description = more.description.clone().unwrap_or(card.description);
        card.version = more.version.clone().unwrap_or(card.version);
        card.documentation_url = more.documentation_url.clone().or(card.documentation_url);
        let replaced: BTreeSet<&str> = more.skills.iter().map(|skill| skill.id.as_str()).collect();
        card.skills.retain(|skill| !replaced.contains(skill.id.as_str()));
        card.skills.extend(more.skills.iter().cloned());
        card
    }
}
