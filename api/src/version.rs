//! Which version of A2A a request speaks (§3.6).
//!
//! Paths, methods and services belong to one version each; the version that a request names has to be the same. One deployment serves
//! 1.0 always and 0.3 unless it is switched off.

use poem::http::HeaderMap;
use wire::{Error, Version};

use crate::query::pairs;

/// The header and the query parameter.
pub(crate) const HEADER: &str = "A2A-Version";
/// What a request without a version speaks (§3.6.2).
const UNSAID: &str = "0.3";

/// The versions that are served, the current one first.
pub(crate) fn served(v03: bool) -> &'static [Version] {
    if v03 { Version::ALL } else { &[Version::V1] }
}

/// Which of these versions the request speaks. The header counts before the query parameter; empty is absent; a patch number is ignored.
///
/// # Errors
/// `VersionNotSupported`, with everything that is `served`, when it is none of those that are `spoken` here.
pub(crate) fn check(
    headers: &HeaderMap,
    query: Option<&str>,
    spoken: &[Version],
    served: &[Version],
) -> Result<Version, Error> {
    let named = named(headers, query);
    let version = named.as_deref().unwrap_or(UNSAID);
    let found = spoken.iter().copied().find(|spoken| major_minor(version) == Some(spoken.as_str()));
    found.ok_or_else(|| {
        let served: Vec<&str> = served.iter().map(|version| version.as_str()).collect();
        match (&named, spoken) {
            (None, [here]) => Error::version_unsaid(here.as_str(), &served.join(", ")),
            _ => Error::version_not_supported(version, &served.join(", ")),
        }
    })
}

/// Whether the request asks for something newer than 0.3.
pub(crate) fn is_new(headers: &HeaderMap, query: Option<&str>) -> bool {
    let major = |version: &str| version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    named(headers, query).as_deref().and_then(major).is_some_and(|major| major > 0)
}

/// The version as the request names it.
fn named(headers: &HeaderMap, query: Option<&str>) -> Option<String> {
    let header = headers.get(HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned());
    header.filter(|text| !text.is_empty()).or_else(|| of_query(query))
}

fn of_query(query: Option<&str>) -> Option<String> {
    let mut named = pairs(query?).filter(|(name, _)| name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(HEADER)));
    let value = named.next()?.1?;
    Some(value.trim().to_owned()).filter(|text| !text.is_empty())
}

/// `1.0` of `1.0` and of `1.0.1`.
fn major_minor(version: &str) -> Option<&str> {
    let numeric = version.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let (major, rest) = version.split_once('.').filter(|_| numeric)?;
    let minor = rest.split('.').next()?;
    version.get(..major.len() + 1 + minor.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &str) -> HeaderMap {
        HeaderMap::from_iter([(HEADER.parse().unwrap(), text.parse().unwrap())])
    }

    fn read(headers: &HeaderMap, query: Option<&str>, spoken: &[Version]) -> Option<Version> {
        check(headers, query, spoken, Version::ALL).ok()
    }

    #[test]
    fn versions_are_read() {
        let of = |text: &str, spoken| read(&headers(text), None, spoken);
        for good in ["1.0", " 1.0 ", "1.0.1", "1.0.0.0"] {
            assert_eq!(of(good, Version::ALL), Some(Version::V1), "{good}");
            assert_eq!(of(good, &[Version::V03]), None, "{good}");
        }
        for good in ["", " ", "0.3", "0.3.0", "0.3.26"] {
            assert_eq!(of(good, Version::ALL), Some(Version::V03), "{good}");
            assert_eq!(of(good, &[Version::V1]), None, "{good}");
        }
        for bad in ["1", "1.1", "2.0", "v1.0", "1.0-beta", "1.", "1.0.", "99.0", "1.0,1.1", "0.2", "0.30", "0"] {
            assert_eq!(of(bad, Version::ALL), None, "{bad}");
        }
        let none = HeaderMap::new();
        assert_eq!(read(&none, Some("a=b&a2a-version=1.0"), &[Version::V1]), Some(Version::V1));
        assert_eq!(read(&none, Some("A2A-Version=0.3"), &[Version::V1]), None);
        assert_eq!(read(&none, None, &[Version::V1]), None);
        assert_eq!(read(&none, None, &[Version::V03]), Some(Version::V03));
    }

    #[test]
    fn the_header_counts_before_the_query() {
        assert_eq!(read(&headers("0.3"), Some("A2A-Version=1.0"), &[Version::V1]), None);
    }

    #[test]
    fn a_refusal_names_all_that_is_served() {
        let refusal = |v03| check(&headers("99.0"), None, &[Version::V1], served(v03)).unwrap_err();
        assert_eq!(refusal(true).metadata["supportedVersions"], "1.0, 0.3");
        assert_eq!(refusal(false).metadata["supportedVersions"], "1.0");
    }

    #[test]
    fn what_comes_after_0_3_is_new() {
        for (text, new) in [("", false), ("0.3", false), ("0.2.5", false), ("1.0", true), ("99.0", true), ("x", false)]
        {
            assert_eq!(is_new(&headers(text), None), new, "{text}");
        }
    }
}
