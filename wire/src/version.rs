//! The versions of the protocol that are spoken here.

use std::fmt;

/// A version of the protocol, as `Major.Minor`: which one a caller speaks, and in which one a webhook is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Version {
    /// 0.3: `category/action` methods, `/v1` paths, package `a2a.v1`.
    V03,
    /// 1.0.
    #[default]
    V1,
}

impl Version {
    /// Every version, the current one first.
    pub const ALL: &[Version] = &[Version::V1, Version::V03];

    /// As it stands in `A2A-Version` and on cards.
    pub const fn as_str(self) -> &'static str {
        match self {
            Version::V03 => "0.3",
            Version::V1 => "1.0",
        }
    }

    /// The version of that name; a patch number makes no difference.
    pub fn parse(text: &str) -> Option<Version> {
        let known = |version: &Version| {
            let rest = text.strip_prefix(version.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        Version::ALL.iter().copied().find(known)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
