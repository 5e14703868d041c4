//! Where this deployment is, as its clients see it. Behind a proxy or a path prefix only the operator or the proxy can tell.

use engine::Caller;
use poem::Request;
use poem::http::HeaderMap;
use poem::http::header::{FORWARDED, HOST};
use poem::http::uri::Authority;

use crate::Options;
use crate::route::Base;

/// The path of a card below its base.
pub(crate) const AGENT_CARD: &str = "/.well-known/agent-card.json";
/// The path of the keys that cards are signed with.
pub(crate) const KEYS: &str = "/.well-known/jwks.json";

const PROTO: &str = "x-forwarded-proto";
const FORWARDED_HOST: &str = "x-forwarded-host";
const PREFIX: &str = "x-forwarded-prefix";

/// What answers differ by when a proxy is trusted.
pub(super) const VARY: &str = "Forwarded, X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-Prefix";

/// Where an agent answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The deployment's absolute URL, without a slash at its end.
    pub(crate) root: String,
    /// The tenant's and the agent's part of the path.
    path: String,
}

impl Place {
    /// The place that a request of HTTP was sent to. The tenant is the caller's, however the request named it.
    pub(crate) fn of(options: &Options, default_agent: &str, request: &Request, caller: &Caller) -> Place {
        let authority = request.uri().authority().map(Authority::as_str);
        let local = request.local_addr().as_socket_addr().map(ToString::to_string);
        let root = root(options, request.headers(), authority.or(local.as_deref()));
        let named = Base::of(request.uri().path()).names_agent();
        Place::below(root, named, default_agent, caller)
    }

    /// The place of a caller that came by gRPC, where no URL was asked for: where HTTP listens, unless the operator says otherwise.
    pub(crate) fn of_grpc(options: &Options, default_agent: &str, caller: &Caller) -> Place {
        let listening = options.listening.map(|address| address.to_string());
        Place::below(root(options, &HeaderMap::new(), listening.as_deref()), false, default_agent, caller)
    }

    fn below(root: String, named: bool, default_agent: &str, caller: &Caller) -> Place {
        let tenant = caller.tenant.name().map(|tenant| format!("/t/{tenant}")).unwrap_or_default();
        let agent = &caller.agent.name;
        let agent = if named || agent != default_agent { format!("/agents/{agent}") } else { String::new() };
        Place { root, path: tenant + &agent }
    }

    /// The absolute URL that leads to the agent and the tenant.
    pub(crate) fn base(&self) -> String {
        format!("{}{}", self.root, self.path)
    }
}

/// The deployment's absolute URL: the configured one, else what a trusted proxy says, else what the client called us, else `fallback`
/// (HTTP/2 has the name there).
fn root(options: &Options, headers: &HeaderMap, fallback: Option<&str>) -> String {
    if let Some(url) = &options.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let told = if options.trust_forwarded { Told::of(headers) } else { Told::default() };
    let host = told.host.or_else(|| first(headers, HOST.as_str()).filter(|host| is_authority(host)));
    let host = host.as_deref().or(fallback.filter(|host| is_authority(host))).unwrap_or("localhost");
    let scheme = told.proto.as_deref().unwrap_or("http");
    format!("{scheme}://{host}{}", told.prefix.unwrap_or_default())
}

/// What a proxy says of the request that it got. Of several proxies the outermost counts, which is named first.
#[derive(Debug, Default)]
struct Told {
    proto: Option<String>,
    host: Option<String>,
    prefix: Option<String>,
}

impl Told {
    fn of(headers: &HeaderMap) -> Told {
        let forwarded = first(headers, FORWARDED.as_str()).unwrap_or_default();
        let part = |wanted: &str| {
            let pairs = forwarded.split(';').filter_map(|pair| pair.split_once('='));
            let mut found = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
            found.next().map(|(_, value)| value.trim().trim_matches('"').to_owned())
        };
        let proto = part("proto").or_else(|| first(headers, PROTO)).map(|proto| proto.to_ascii_lowercase());
        let host = part("host").or_else(|| first(headers, FORWARDED_HOST));
        let prefix = first(headers, PREFIX).map(|prefix| prefix.trim_end_matches('/').to_owned());
        Told {
            proto: proto.filter(|proto| matches!(proto.as_str(), "http" | "https")),
            host: host.filter(|host| is_authority(host)),
            prefix: prefix.filter(|prefix| is_prefix(prefix)),
        }
    }
}

/// The first of a header's comma separated values.
fn first(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.split(',').next()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// `host` or `host:port`, and nothing that would change what URL it is part of.
fn is_authority(text: &str) -> bool {
    !text.contains('@') && text.parse::<Authority>().is_ok()
}

fn is_prefix(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    text.starts_with('/') && !text.contains("//") && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(trusted: bool, given: &[(&'static str, &str)]) -> String {
        let options = Options { trust_forwarded: trusted, ..Options::default() };
        let headers = given.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        root(&options, &headers, Some("127.0.0.1:8080"))
    }

    #[test]
    fn a_proxy_is_believed_when_it_is_trusted() {
        let forwarded =
            [("host", "inner:8080"), ("forwarded", "for=1.2.3.4;Proto=HTTPS;host=\"a.example:8443\", host=b")];
        assert_eq!(of(true, &forwarded), "https://a.example:8443");
        assert_eq!(of(false, &forwarded), "http://inner:8080");
        let legacy = [("x-forwarded-proto", "https, http"), ("x-forwarded-host", "a.example"), (PREFIX, "/yard/")];
        assert_eq!(of(true, &legacy), "https://a.example/yard");
        assert_eq!(of(false, &legacy), "http://127.0.0.1:8080");
        assert_eq!(of(true, &[("forwarded", "proto=https"), (FORWARDED_HOST, "a.example")]), "https://a.example");
    }

    #[test]
    fn what_is_no_host_is_not_repeated() {
        for bad in ["a@b", "a/b", "a b", "\"a\"", "a?b", "<a>"] {
            assert_eq!(of(true, &[("host", bad)]), "http://127.0.0.1:8080", "{bad}");
            assert_eq!(of(true, &[(FORWARDED_HOST, bad), ("host", "a.example")]), "http://a.example", "{bad}");
        }
        assert_eq!(of(true, &[("host", "[::1]:80"), (PROTO, "gopher"), (PREFIX, "//evil")]), "http://[::1]:80");
        assert_eq!(root(&Options::default(), &HeaderMap::new(), None), "http://localhost");
    }
}
