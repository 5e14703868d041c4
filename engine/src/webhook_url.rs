//! Where a push config may point, as far as its creation can tell: scheme, user info and literal addresses. No name is resolved here;
//! the notifier looks again at the address it dials.

use url::{Host, Url};

use crate::address::permits;
use crate::settings::WebhookPolicy;

/// The longest url, in bytes.
const LENGTH: usize = 2_048;

/// Why `url` is refused, in words for whoever sent it; nothing when it is welcome.
pub(crate) fn refusal(url: &str, policy: WebhookPolicy) -> Option<String> {
    if url.len() > LENGTH {
        return Some(format!("must be at most {LENGTH} bytes"));
    }
    // The parser mends what others read differently; what needs mending is refused.
    let odd = url.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') || !url.contains("://");
    let Some(parsed) = Url::parse(url).ok().filter(|_| !odd) else {
        return Some("must be an absolute URL such as https://example.com/hook".into());
    };
    if parsed.port() == Some(0) {
        return Some("must not name port 0".into());
    }
    let schemes: &[&str] = if policy.allow_loopback { &["https", "http"] } else { &["https"] };
    if !schemes.contains(&parsed.scheme()) {
        return Some(format!("must begin with {}://", schemes.join(":// or ")));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Some("must not carry a user or password; use `authentication`".into());
    }
    let forbidden = match parsed.host() {
        None => return Some("must name a host".into()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            (name == "localhost" || name.ends_with(".localhost")) && !policy.allow_loopback
        }
        // The parser has already read decimal, octal and hexadecimal spellings.
        Some(Host::Ipv4(address)) => !permits(address.into(), policy.allow_loopback),
        Some(Host::Ipv6(address)) => !permits(address.into(), policy.allow_loopback),
    };
    forbidden.then(|| "must point to a public address".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_https_is_welcome() {
        let strict = WebhookPolicy { allow_loopback: false };
        for url in
            ["https://example.com/hook", "https://8.8.8.8/", "https://[2606:4700::1111]/", "https://example.com:8443/h"]
        {
            assert_eq!(refusal(url, strict), None, "{url}");
        }
        for url in [
            "http://example.com/",
            "ftp://example.com/",
            "example.com/hook",
            "",
            "https://",
            "https://u:p@example.com/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://017700000001/",
            "https://localhost/",
            "https://a.localhost./",
            "https://10.1.2.3/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
            "https://169.254.169.254/",
            "https://100.64.0.1/",
            "https://0.0.0.0/",
            "https://224.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[fe80::1]/",
            "https://[fd00:ec2::254]/",
            "https://[::]/",
            "https://[2002:7f00:1::]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2001:db8::1]/",
            "https:/example.com",
            " https://example.com/",
            "https://example.com:0/",
            "https://example.com\\@127.0.0.1/",
        ] {
            assert!(refusal(url, strict).is_some(), "{url}");
        }
    }

    #[test]
    fn loopback_is_welcome_where_the_operator_says_so() {
        let open = WebhookPolicy { allow_loopback: true };
        for url in ["http://127.0.0.1:9000/", "http://localhost/", "https://[::1]/", "http://example.com/"] {
            assert_eq!(refusal(url, open), None, "{url}");
        }
        assert!(refusal("http://10.0.0.1/", open).is_some());
    }
}
