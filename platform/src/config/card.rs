//! What an `[[agent]]` table says for the agent's card, and the key that cards are signed with.

use super::record::Reader;
use super::refusal::Refusal;
use super::source::Source;
use super::table::Table;
use api::Signer;
use engine::{Card, Extended, ExtendedCard};
use std::path::Path;
use std::sync::Arc;
use wire::AgentProvider;

/// Reports what the protocol would not allow on the card of the agent in `table`, which begins in line `start`.
pub(super) fn check(table: &Table, path: &Path, start: usize, signed: bool, problems: &mut Vec<String>) {
    records(table, path, signed, problems);
    if let Some(super::kind::Value::List(list)) = table.value("skills")
        && list.is_empty()
    {
        let source = table.entry("skills").map_or(&Source::Default, |entry| &entry.source);
        problems
            .push(format!("{source}: `skills` is empty, and a card has at least one; leave it out for a general one"));
    }
    let has = |name: &str| table.value(name).is_some();
    for (name, other) in [("provider.organization", "provider.url"), ("provider.url", "provider.organization")] {
        if has(name) && !has(other) {
            let line = line(table, name).unwrap_or(start);
            problems.push(format!("{}:{line}: `{name}` needs `{other}` beside it", path.display()));
        }
    }
}

/// The card of the agent in a checked table.
pub(super) fn card(table: &Table) -> Result<Card, Refusal> {
    let mut problems = Vec::new();
    let Records { skills, extensions, extended } = records(table, Path::new(""), false, &mut problems);
    if !problems.is_empty() {
        return Err(Refusal { problems });
    }
    let text = |name: &str| table.text(name).map(str::to_owned);
    let default = Card::named(table.word("name")?);
    let output_modes = table.texts("output_modes")?;
    let declared = table.value("extended_card") == Some(&super::kind::Value::Switch(true));
    Ok(Card {
        name: text("title").unwrap_or(default.name),
        description: text("description").unwrap_or(default.description),
        version: table.word("version")?.to_owned(),
        provider: text("provider.url")
            .zip(text("provider.organization"))
            .map(|(url, organization)| AgentProvider { url, organization }),
        documentation_url: text("documentation_url"),
        icon_url: text("icon_url"),
        skills: if skills.is_empty() { default.skills } else { skills },
        output_modes: if output_modes.is_empty() { default.output_modes } else { output_modes },
        extensions,
        extended: match table.value("extended_card") {
            Some(_) if !declared => Extended::Undeclared,
            _ => match extended {
                Some(skills) => Extended::Configured(ExtendedCard {
                    description: text("extended.description"),
                    version: text("extended.version"),
                    documentation_url: text("extended.documentation_url"),
                    skills,
                }),
                None if declared => Extended::Unconfigured,
                None => Extended::Undeclared,
            },
        },
    })
}

struct Records {
    skills: Vec<wire::AgentSkill>,
    extensions: Vec<wire::AgentExtension>,
    /// The extended card's skills, when there is an extended card.
    extended: Option<Vec<wire::AgentSkill>>,
}

fn records(table: &Table, path: &Path, signed: bool, problems: &mut Vec<String>) -> Records {
    let mut reader = Reader { path, problems };
    let extended = table.iter().any(|(name, entry)| name.starts_with("extended.") && entry.value.is_some());
    let skills = reader.skills("skills", table.value("skills"));
    let extensions = reader.extensions("extensions", table.value("extensions"), signed);
    let more = reader.skills("extended.skills", table.value("extended.skills"));
    Records { skills, extensions, extended: extended.then_some(more) }
}

fn line(table: &Table, name: &str) -> Option<usize> {
    match &table.entry(name)?.source {
        Source::File(_, line) => Some(*line),
        _ => None,
    }
}

/// The signer that the knobs describe, if they do. Whoever can choose the URLs on a card must not get them signed.
pub(super) fn signer(knobs: &Table, directory: &Path, dev: bool, problems: &mut Vec<String>) -> Option<Arc<Signer>> {
    const KEY: &str = "cards.signing_key";
    const FILE: &str = "cards.signing_key_file";
    const ID: &str = "cards.key_id";
    let source = |name: &str| knobs.entry(name).map_or(&Source::Default, |entry| &entry.source);
    let mut refuse = |name: &str, problem: &str| problems.push(format!("{}: `{name}` {problem}", source(name)));
    let (name, pem) = match (knobs.text(KEY), knobs.text(FILE)) {
        (Some(_), Some(_)) => {
            refuse(FILE, &format!("and `{KEY}` are both set, wanted is one of them"));
            return None;
        }
        (Some(pem), None) => (KEY, pem.to_owned()),
        (None, Some(file)) => match std::fs::read_to_string(directory.join(file)) {
            Ok(pem) => (FILE, pem),
            Err(error) => {
                refuse(FILE, &format!("is `{file}`, which cannot be read: {error}"));
                return None;
            }
        },
        (None, None) => {
            if knobs.text(ID).is_some() {
                refuse(ID, &format!("is set, and neither `{KEY}` nor `{FILE}` is"));
            }
            return None;
        }
    };
    let Some(id) = knobs.text(ID) else {
        refuse(name, &format!("needs `{ID}` beside it, by which verifiers find the key"));
        return None;
    };
    if !dev && knobs.text("public_url").is_none() && !knobs.switch("trust_forwarded").unwrap_or_default() {
        refuse(
            name,
            "needs `public_url` (or `trust_forwarded`): else whoever asks for a card chooses the URLs that are signed",
        );
    }
    Signer::from_pem(&pem, id).map(Arc::new).map_err(|error| refuse(name, &format!("cannot sign: {error}"))).ok()
}
