//! Which version of A2A a request speaks (§3.6).

use poem::http::HeaderMap;
use wire::Error;

use crate::query::pairs;

/// The header and the query parameter.
pub(crate) const HEADER: &str = "A2A-Version";
/// What these bindings serve.
pub(crate) const SERVED: &str = "1.0";
/// What a request without a version speaks (§3.6.2).
const UNSAID: &str = "0.3";

/// Refuse what is not served. The header counts before the query parameter; empty is absent; a patch number is ignored.
///
/// # Errors
/// `VersionNotSupported`.
pub(crate) fn check(headers: &HeaderMap, query: Option<&str>) -> Result<(), Error> {
    let header = headers.get(HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned());
    let version = header.filter(|text| !text.is_empty()).or_else(|| of_query(query));
    let version = version.as_deref().unwrap_or(UNSAID);
    match major_minor(version) {
        Some(SERVED) => Ok(()),
        _ => Err(Error::version_not_supported(version, SERVED)),
    }
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

    #[test]
    fn versions_are_read() {
        let check_header =
            |text: &str| check(&HeaderMap::from_iter([(HEADER.parse().unwrap(), text.parse().unwrap())]), None);
        for good in ["1.0", " 1.0 ", "1.0.1", "1.0.0.0"] {
            assert!(check_header(good).is_ok(), "{good}");
        }
        for bad in ["", "0.3", "1", "1.1", "2.0", "v1.0", "1.0-beta", "1.", "1.0.", "99.0", "1.0,1.1"] {
            assert!(check_header(bad).is_err(), "{bad}");
        }
        let none = HeaderMap::new();
        assert!(check(&none, Some("a=b&a2a-version=1.0")).is_ok());
        assert!(check(&none, Some("A2A-Version=0.3")).is_err());
        assert!(check(&none, None).is_err());
    }

    #[test]
    fn the_header_counts_before_the_query() {
        let headers = HeaderMap::from_iter([(HEADER.parse().unwrap(), "0.3".parse().unwrap())]);
        assert!(check(&headers, Some("A2A-Version=1.0")).is_err());
    }
}
