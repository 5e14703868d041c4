//! The service parameters of a request (§3.2.6): which version it speaks, which extensions it brings. Every binding asks here, once it
//! knows the agent and before it asks for the operation's capability.

use engine::Agent;
use poem::Response;
use poem::http::{HeaderMap, HeaderValue};
use wire::{Error, Version};

use crate::version;

/// The header, in requests and in answers.
pub(crate) const EXTENSIONS: &str = "A2A-Extensions";
/// What 0.3 calls it.
const EXTENSIONS_V03: &str = "X-A2A-Extensions";

/// The extensions that a request brings and the agent's card declares. What the agent does not know is ignored (§4.6.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Activated {
    version: Version,
    value: Option<HeaderValue>,
}

impl Activated {
    /// The version that the request speaks.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The answer's header, if it has one.
    pub(crate) fn header(&self) -> Option<(&'static str, &HeaderValue)> {
        self.value.as_ref().map(|value| (name_in(self.version), value))
    }

    /// Tells the client which of its extensions count.
    pub(crate) fn mark(&self, response: &mut Response) {
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value.clone());
        }
    }
}

/// Refuse a version that is not spoken here, then a request without an extension that the agent requires.
///
/// # Errors
/// `VersionNotSupported`, with everything that is `served`; `ExtensionSupportRequired`.
pub(crate) fn check(
    agent: &Agent,
    headers: &HeaderMap,
    query: Option<&str>,
    spoken: &[Version],
    served: &[Version],
) -> Result<Activated, Error> {
    let version = version::check(headers, query, spoken, served)?;
    let asked = listed(headers, name_in(version));
    let card = &agent.card;
    if let Some(missing) = card.required_extensions().find(|uri| !asked.iter().any(|asked| asked == uri)) {
        let required: Vec<&str> = card.required_extensions().collect();
        return Err(Error::extension_support_required(missing).with("requiredExtensions", required.join(",")));
    }
    let known = if asked.is_empty() { Vec::new() } else { agent.extensions() };
    let known = known.iter().map(|extension| extension.uri.as_str());
    let activated: Vec<&str> = known.filter(|uri| asked.iter().any(|asked| asked == uri)).collect();
    let value = if activated.is_empty() { None } else { HeaderValue::from_str(&activated.join(", ")).ok() };
    Ok(Activated { version, value })
}

const fn name_in(version: Version) -> &'static str {
    match version {
        Version::V1 => EXTENSIONS,
        Version::V03 => EXTENSIONS_V03,
    }
}

/// The URIs of every header of that name, each a comma separated list.
fn listed<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|uri| !uri.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::AgentExtension;

    fn check_with(given: &[&str]) -> Result<Option<String>, String> {
        let [old, new] = [("0.3", EXTENSIONS_V03), ("1.0", EXTENSIONS)].map(|(version, name)| {
            let headers = given.iter().fold(HeaderMap::new(), |mut headers, value| {
                headers.append(name, value.parse().unwrap());
                headers
            });
            check_under(version, name, headers)
        });
        assert_eq!(old, new);
        new
    }

    fn check_under(version: &str, name: &str, mut headers: HeaderMap) -> Result<Option<String>, String> {
        let extension = |uri: &str, required| AgentExtension { uri: uri.to_owned(), required, ..Default::default() };
        let mut agent = Agent::named("a");
        agent.card.extensions = vec![extension("urn:a", false), extension("urn:b/v1", true), extension("urn:c", true)];
        headers.insert(version::HEADER, version.parse().unwrap());
        let activated = check(&agent, &headers, None, Version::ALL, Version::ALL)
            .map_err(|error| error.metadata["extension"].clone())?;
        Ok(activated.header().map(|(header, value)| {
            assert_eq!(header, name);
            value.to_str().unwrap().to_owned()
        }))
    }

    #[test]
    fn required_extensions_are_asked_for_and_known_ones_activated() {
        assert_eq!(check_with(&[]), Err("urn:b/v1".into()));
        assert_eq!(check_with(&["urn:b/v1,"]), Err("urn:c".into()));
        // A version is part of the URI, and values are case-sensitive.
        assert_eq!(check_with(&["urn:b/v2, urn:c"]), Err("urn:b/v1".into()));
        assert_eq!(check_with(&["URN:B/v1, urn:c"]), Err("urn:b/v1".into()));
        assert_eq!(check_with(&["urn:c ,,urn:x", "urn:b/v1"]), Ok(Some("urn:b/v1, urn:c".into())));
        assert_eq!(check_with(&["urn:c,urn:b/v1,urn:a,urn:a"]), Ok(Some("urn:a, urn:b/v1, urn:c".into())));
    }
}
