//! The service parameters of a request (§3.2.6): which version it speaks, which extensions it brings. Every binding asks here, once it
//! knows the agent and before it asks for the operation's capability.

use engine::Agent;
use poem::Response;
use poem::http::{HeaderMap, HeaderValue};
use wire::Error;

use crate::version;

/// The header, in requests and in answers.
pub(crate) const EXTENSIONS: &str = "A2A-Extensions";

/// The extensions that a request brings and the agent's card declares. What the agent does not know is ignored (§4.6.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Activated(Option<HeaderValue>);

impl Activated {
    /// The value of the answer's header, if it has one.
    pub(crate) fn value(&self) -> Option<&HeaderValue> {
        self.0.as_ref()
    }

    /// Tells the client which of its extensions count.
    pub(crate) fn mark(&self, response: &mut Response) {
        if let Some(value) = self.value() {
            response.headers_mut().insert(EXTENSIONS, value.clone());
        }
    }
}

/// Refuse a version that is not served, then a request without an extension that the agent requires.
///
/// # Errors
/// `VersionNotSupported`, `ExtensionSupportRequired`.
pub(crate) fn check(agent: &Agent, headers: &HeaderMap, query: Option<&str>) -> Result<Activated, Error> {
    version::check(headers, query)?;
    let asked = listed(headers);
    let card = &agent.card;
    if let Some(missing) = card.required_extensions().find(|uri| !asked.iter().any(|asked| asked == uri)) {
        let required: Vec<&str> = card.required_extensions().collect();
        return Err(Error::extension_support_required(missing).with("requiredExtensions", required.join(",")));
    }
    let known = card.extensions.iter().map(|extension| extension.uri.as_str());
    let activated: Vec<&str> = known.filter(|uri| asked.iter().any(|asked| asked == uri)).collect();
    if activated.is_empty() {
        return Ok(Activated::default());
    }
    Ok(Activated(HeaderValue::from_str(&activated.join(", ")).ok()))
}

/// The URIs of every such header, each a comma separated list.
fn listed(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all(EXTENSIONS).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|uri| !uri.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::AgentExtension;

    fn check_with(given: &[&str]) -> Result<Option<String>, String> {
        let extension = |uri: &str, required| AgentExtension { uri: uri.to_owned(), required, ..Default::default() };
        let mut agent = Agent::named("a");
        agent.card.extensions = vec![extension("urn:a", false), extension("urn:b/v1", true), extension("urn:c", true)];
        let mut headers = HeaderMap::from_iter([("a2a-version".parse().unwrap(), "1.0".parse().unwrap())]);
        for value in given {
            headers.append(EXTENSIONS, value.parse().unwrap());
        }
        let activated = check(&agent, &headers, None).map_err(|error| error.metadata["extension"].clone())?;
        Ok(activated.value().map(|value| value.to_str().unwrap().to_owned()))
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
