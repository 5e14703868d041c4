//! The rows of `outcomes.tsv` about what clients may do, with the error each of them ends in.

use wire::Kind;

const OUTCOMES: &str = include_str!("../../spec/outcomes.tsv");

/// Reasons that the table has names of its own for; they are violations of a field.
const VIOLATIONS: [(&str, &str); 2] =
    [("ContextMismatch", "CONTEXT_MISMATCH"), ("ContextNotAccepted", "CONTEXT_NOT_ACCEPTED")];

/// How a command is refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) kind: Kind,
    /// Whether a field is named.
    pub(crate) field: bool,
    /// The reason of its violation, if the table gives one.
    pub(crate) reason: Option<&'static str>,
}

/// One outcome of one command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) command: &'static str,
    pub(crate) outcome: &'static str,
    /// Nothing when it does what was asked.
    pub(crate) refusal: Option<Refusal>,
}

fn refusal(error: &'static str) -> Option<Refusal> {
    if error == "-" {
        return None;
    }
    if let Some((_, reason)) = VIOLATIONS.iter().find(|(name, _)| *name == error) {
        return Some(Refusal { kind: Kind::InvalidParams, field: true, reason: Some(reason) });
    }
    let (name, more) = error.split_once(" (").map_or((error, ""), |(name, more)| (name, more.trim_end_matches(')')));
    let kind = Kind::ALL.iter().copied().find(|kind| format!("{kind:?}") == name);
    let kind = kind.unwrap_or_else(|| panic!("outcomes.tsv names the error `{error}`, which wire::Kind does not have"));
    Some(Refusal {
        kind,
        field: !more.is_empty(),
        reason: Some(more).filter(|more| more.starts_with(char::is_uppercase)),
    })
}

/// Every outcome of every client command; rows that stand for several are taken apart.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in OUTCOMES.lines().filter(|line| !line.starts_with('#')) {
        let [command, actor, outcome, _, error, ..] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("a row of outcomes.tsv has too few columns: {line}")
        };
        if actor != "client" {
            continue;
        }
        if outcome.starts_with('(') {
            // "The others of SendMessage, in its order": but for the two that stand there already.
            let others: Vec<Row> = rows.iter().filter(|row| row.command == "SendMessage").skip(2).cloned().collect();
            rows.extend(others.into_iter().map(|row| Row { command, ..row }));
        } else if outcome.contains(" / ") {
            for part in outcome.split(" / ") {
                let (outcome, error) = match part {
                    "version" => ("version-not-supported", "VersionNotSupported"),
                    "extension" => ("extension-required", "ExtensionSupportRequired"),
                    "push-not-supported" => ("push-not-supported", "PushNotificationNotSupported"),
                    other => panic!("outcomes.tsv has an outcome `{other}` that stands for nothing known"),
                };
                rows.push(Row { command, outcome, refusal: refusal(error) });
            }
        } else {
            rows.push(Row { command, outcome, refusal: refusal(error) });
        }
    }
    rows
}
