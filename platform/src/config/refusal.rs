//! Why the configuration was refused: every problem at once, each saying what, where and what would be right, so that one look
//! at the screen is enough to set all of it right.

use std::fmt;

/// The problems of a configuration, at least one. Ends the process with exit code 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// One line each, the place first.
    pub problems: Vec<String>,
}

impl Refusal {
    /// A refusal with a single problem.
    pub fn because(problem: impl Into<String>) -> Refusal {
        Refusal { problems: vec![problem.into()] }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration is refused:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

/// The known name somebody most likely meant: the one that ends in what was written (`port` for `listen.port`), else the one
/// that takes the fewest edits, when those are few.
pub(super) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    known
        .filter_map(|name| {
            let candidate = name.to_lowercase();
            let tail = candidate.strip_suffix(&written).or_else(|| written.strip_suffix(&candidate));
            let distance = match tail {
                Some(rest) if rest.ends_with(['.', '_']) => 0,
                _ => edits(&written, &candidate),
            };
            // Of several that end in it, the shortest.
            (distance <= 2.max(written.len() / 4)).then_some((distance, name.len(), name))
        })
        .min()
        .map(|(_, _, name)| name)
}

/// `; did you mean ...?`, or nothing.
pub(super) fn suggestion<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(written, known).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        let known = ["listen.host", "listen.port", "limits.parts", "database.url", "DATABASE_URL"];
        let of = |written| nearest(written, known.into_iter());
        assert_eq!(of("listen.prot"), Some("listen.port"));
        assert_eq!(of("port"), Some("listen.port"));
        assert_eq!(of("limits.part"), Some("limits.parts"));
        assert_eq!(of("TASKYARD_DATABASE_URL"), Some("DATABASE_URL"));
        assert_eq!(of("colour"), None);
    }
}
