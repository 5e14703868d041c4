//! Where a push config may point, as far as its creation can tell. No name is resolved here; the notifier looks again at the address it
//! dials.

use url::Url;

use crate::address::WebhookPolicy;

/// The longest url, in bytes.
const LENGTH: usize = 2_048;

/// Why `url` is refused, in words for whoever sent it; nothing when it is welcome.
pub(crate) fn refusal(url: &str, policy: &WebhookPolicy) -> Option<String> {
    if url.len() > LENGTH {
        return Some(format!("must be at most {LENGTH} bytes"));
    }
    // The parser mends what others read differently; what needs mending is refused.
    let odd = url.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') || !url.contains("://");
    let Some(parsed) = Url::parse(url).ok().filter(|_| !odd) else {
        return Some("must be an absolute URL such as https://example.com/hook".into());
    };
    policy.check(&parsed).err().map(|refusal| refusal.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn strict() -> WebhookPolicy {
        WebhookPolicy::default()
    }

    fn allowing(hosts: &[&str], networks: &[&str]) -> WebhookPolicy {
        WebhookPolicy {
            hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            networks: networks.iter().map(|network| network.parse().unwrap()).collect(),
            ..WebhookPolicy::default()
        }
    }

    /// Hosts that are refused however they are spelled.
    const FORBIDDEN: &[&str] = &[
        // This machine.
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.9.9.9",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "017700000001",
        "0177.0.0.1",
        "0177.1",
        "0x7f.0.0.0x1",
        "00000177.0.0.01",
        "127.0.0.1.",
        "2130706433.",
        "127%2e0%2e0%2e1",
        "%31%32%37.0.0.1",
        "1２7.0.0.1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "127．0．0．1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::7f00:1]",
        "[::127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[64:ff9b:1:7f00:0:100::]",
        "[2002:7f00:1::]",
        "[2001:0:53aa:64c:0:0:80ff:fffe]",
        "[2606:4700::5efe:127.0.0.1]",
        "[2606:4700::200:5efe:127.0.0.1]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "a.b.localhost.",
        "localhost.localdomain",
        "ip6-localhost",
        "loc%61lhost",
        "ｌｏｃａｌｈｏｓｔ",
        // This network, nobody.
        "0.0.0.0",
        "0",
        "0.1.2.3",
        "[::]",
        "[::ffff:0.0.0.0]",
        // Private networks.
        "10.0.0.1",
        "10.1",
        "0xa.1",
        "012.0.0.1",
        "167772161",
        "172.16.0.1",
        "172.31.255.255",
        "2886729729",
        "192.168.1.1",
        "192.168.257",
        "0300.0250.1.1",
        "[::ffff:10.0.0.1]",
        "[::ffff:192.168.1.1]",
        "[64:ff9b::a00:1]",
        "[2002:a00:1::]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[fec0::1]",
        "[feff::1]",
        // Shared, link-local, metadata.
        "100.64.0.1",
        "100.127.255.255",
        "100.100.100.200",
        "169.254.1.1",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "[fe80::1]",
        "[febf::1]",
        "168.63.129.16",
        // Assignments of protocols, documentation, benchmarks, anycast of 6to4 and AS112.
        "192.0.0.8",
        "192.0.0.192",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "198.19.255.255",
        "192.88.99.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.175.48.1",
        "[2001:db8::1]",
        "[3fff::1]",
        "[2001:2::1]",
        "[2001:10::1]",
        "[2001:20::1]",
        "[100::1]",
        "[5f00::1]",
        "[2620:4f:8000::1]",
        // Multicast, reserved, broadcast.
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "4294967295",
        "0xffffffff",
        "[ff02::1]",
        "[ff0e::1]",
        // Wrapped, and public inside: what unwraps them is not ours to trust.
        "[64:ff9b::8.8.8.8]",
        "[2002:808:808::]",
        "[::8.8.8.8]",
        "[::ffff:0:8.8.8.8]",
        // No hosts.
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "[::1",
        "127.0.0.256",
        "1.2.3.4.5",
        "0x100000000",
        "256.256.256.256",
        "%00",
        "a b",
        "exa%00mple.com",
        "08.0.0.1",
        "",
    ];

    #[test]
    fn no_spelling_of_a_forbidden_address_is_welcome() {
        assert!(FORBIDDEN.len() >= 60);
        let http = WebhookPolicy { allow_http: true, ..strict() };
        for host in FORBIDDEN {
            for (scheme, policy) in [("https", &strict()), ("https", &http), ("http", &http)] {
                for rest in ["/", ":8443/hook?a=b", "?x", "#x", ""] {
                    let url = format!("{scheme}://{host}{rest}");
                    assert!(refusal(&url, policy).is_some(), "{url}");
                }
            }
        }
    }

    #[test]
    fn only_public_https_is_welcome() {
        for url in [
            "https://example.com/hook",
            "https://example.com./hook",
            "https://example.com:8443/h",
            "https://bücher.example/",
            "https://8.8.8.8/",
            "https://0x08080808/",
            "https://100.63.0.1/",
            "https://172.32.0.1/",
            "https://192.0.1.1/",
            "https://223.255.255.1/",
            "https://[2606:4700::1111]/",
            "https://[::ffff:8.8.8.8]/",
            "https://127.0.0.1.example.com/",
        ] {
            assert_eq!(refusal(url, &strict()), None, "{url}");
        }
        let long = format!("https://example.com/{}", "x".repeat(LENGTH));
        for url in [
            "http://example.com/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "gopher://example.com/",
            "javascript://example.com/",
            "example.com/hook",
            "//example.com/hook",
            "",
            "https://",
            "https://u:p@example.com/",
            "https://u@example.com/",
            "https://:p@example.com/",
            "https://example.com@127.0.0.1/",
            "https:/example.com",
            "https:\\\\example.com",
            " https://example.com/",
            "https://example.com/\r\nX: y",
            "https://exam\tple.com/",
            "https://example.com:0/",
            "https://example.com:22/",
            "https://example.com:25/",
            "https://example.com:6667/",
            "https://example.com:65536/",
            "https://example.com\\@127.0.0.1/",
            &long,
        ] {
            assert!(refusal(url, &strict()).is_some(), "{url}");
        }
    }

    #[test]
    fn loopback_is_welcome_where_the_operator_says_so() {
        let open = WebhookPolicy { allow_loopback: true, ..strict() };
        for url in
            ["http://127.0.0.1:9000/", "http://localhost/", "https://[::1]/", "http://example.com/", "http://0x7f.1/"]
        {
            assert_eq!(refusal(url, &open), None, "{url}");
        }
        for url in ["http://10.0.0.1/", "http://[fe80::1]/", "http://169.254.169.254/", "http://[64:ff9b::7f00:1]/"] {
            assert!(refusal(url, &open).is_some(), "{url}");
        }
        let http = WebhookPolicy { allow_http: true, ..strict() };
        assert_eq!(refusal("http://example.com/", &http), None);
        assert!(refusal("http://localhost/", &http).is_some());
    }

    #[test]
    fn a_network_that_is_allowed_opens_itself_alone() {
        let open = allowing(
            &[],
            &["10.1.0.0/16", "fd12::/16", "64:ff9b::/96", "100.64.0.0/10", "fd00::/16", "169.254.0.0/16"],
        );
        for url in
            ["https://10.1.2.3/", "https://[fd12::1]/", "https://[64:ff9b::808:808]/", "https://[::ffff:10.1.2.3]/"]
        {
            assert_eq!(refusal(url, &open), None, "{url}");
        }
        // It opens no spelling of what it does not hold, and no metadata service that it does.
        for url in [
            "https://10.2.0.1/",
            "https://[64:ff9b::a02:1]/",
            "https://[64:ff9b::a9fe:a9fe]/",
            "https://169.254.169.254/",
            "https://100.100.100.200/",
            "https://[fd00:ec2::254]/",
            "https://127.0.0.1/",
        ] {
            assert!(refusal(url, &open).is_some(), "{url}");
        }
    }

    #[test]
    fn a_name_that_is_allowed_may_lead_to_private_networks() {
        let open = allowing(&["hooks.internal", "*.svc.example"], &[]);
        let may = |name, address: &str| open.permits(Some(name), address.parse().unwrap());
        for name in ["hooks.internal", "HOOKS.internal.", "a.svc.example", "a.b.svc.example"] {
            assert!(
                may(name, "10.0.0.1") && may(name, "fd12::1") && may(name, "100.64.0.1") && may(name, "8.8.8.8"),
                "{name}"
            );
            for address in
                ["127.0.0.1", "169.254.169.254", "169.254.1.1", "fd00:ec2::254", "100.100.100.200", "::", "224.0.0.1"]
            {
                assert!(!may(name, address), "{name} {address}");
            }
        }
        for name in
            ["a.hooks.internal", "xhooks.internal", "svc.example", "xsvc.example", ".svc.example", "a.svc.example.com"]
        {
            assert!(!may(name, "10.0.0.1"), "{name}");
        }
        assert!(!open.permits(None, "10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn patterns_and_networks_are_read_strictly() {
        use crate::address::{HostPattern, Network};
        for text in ["", "*", "*.", "a.*.b", "**.a", "10.0.0.1", "[::1]", "a b", "https://a", "a/b"] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10/8",
            "::/129",
            "fd12::1/64",
            "a/8",
            "0x0a.0.0.0/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        for text in ["0.0.0.0/0", "10.0.0.0/8", "10.0.0.1", "10.0.0.1/32", "::/0", "fd12::/16", "::1"] {
            assert!(text.parse::<Network>().is_ok(), "{text}");
        }
    }

    /// Every way to write an IPv4 address in a url, by number.
    fn spellings(v4: Ipv4Addr) -> Vec<String> {
        let [a, b, c, d] = v4.octets();
        let n = v4.to_bits();
        let (hi, lo) = (n >> 16, n & 0xffff);
        vec![
            v4.to_string(),
            format!("{v4}."),
            n.to_string(),
            format!("{n:#x}"),
            format!("0{n:o}"),
            format!("{a}.{}", n & 0x00ff_ffff),
            format!("{a}.{b}.{lo}"),
            format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a:#x}.0{b:o}.{lo}"),
            format!("{a}%2e{b}%2E{c}.{d}"),
            format!("{a}。{b}．{c}.{d}"),
            format!("[::ffff:{v4}]"),
            format!("[::ffff:{hi:x}:{lo:x}]"),
            format!("[::{v4}]"),
            format!("[::ffff:0:{v4}]"),
            format!("[64:ff9b::{v4}]"),
            format!("[64:ff9b:1::{v4}]"),
            format!("[64:ff9b:1:{hi:x}:{:x}:{:x}::]", lo >> 8, (lo & 0xff) << 8),
            format!("[2002:{hi:x}:{lo:x}::1]"),
            format!("[2001:0:808:808::{:x}:{:x}]", !hi & 0xffff, !lo & 0xffff),
            format!("[2a00::5efe:{v4}]"),
            format!("[2a00::200:5efe:{v4}]"),
        ]
    }

    fn forbidden_v4() -> impl Strategy<Value = Ipv4Addr> {
        let within = |network: &str, length: u32| {
            let base = network.parse::<Ipv4Addr>().unwrap().to_bits();
            any::<u32>().prop_map(move |n| Ipv4Addr::from(base | (n & (u32::MAX.checked_shr(length).unwrap_or(0)))))
        };
        prop_oneof![
            within("0.0.0.0", 8),
            within("10.0.0.0", 8),
            within("100.64.0.0", 10),
            within("127.0.0.0", 8),
            within("169.254.0.0", 16),
            within("172.16.0.0", 12),
            within("192.0.0.0", 24),
            within("192.0.2.0", 24),
            within("192.168.0.0", 16),
            within("198.18.0.0", 15),
            within("198.51.100.0", 24),
            within("203.0.113.0", 24),
            within("224.0.0.0", 3),
        ]
    }

    proptest! {
        /// Every spelling of a forbidden address is forbidden, in every wrapping.
        #[test]
        fn a_forbidden_address_is_forbidden_in_every_spelling(v4 in forbidden_v4()) {
            for host in spellings(v4) {
                let url = format!("https://{host}/hook");
                prop_assert!(refusal(&url, &strict()).is_some(), "{}", url);
            }
        }

        /// Plain spellings of one address are judged alike, and wrappings never more kindly.
        #[test]
        fn an_address_is_judged_for_what_it_is(n in any::<u32>()) {
            let v4 = Ipv4Addr::from(n);
            let plain = refusal(&format!("https://{v4}/"), &strict()).is_none();
            for (at, host) in spellings(v4).into_iter().enumerate() {
                let welcome = refusal(&format!("https://{host}/"), &strict()).is_none();
                prop_assert!(if at < 14 { welcome == plain } else { !welcome }, "{}", host);
            }
        }

        /// What the creation lets through spells out no address that the dial refuses.
        #[test]
        fn what_is_welcome_is_public_or_a_name(host in "[0-9a-fxX.:%\\[\\]]{1,24}") {
            let url = format!("https://{host}/");
            if refusal(&url, &strict()).is_none() {
                let parsed = Url::parse(&url).unwrap();
                prop_assert!(strict().check(&parsed).is_ok());
                if let Some(url::Host::Ipv6(v6)) = parsed.host() {
                    prop_assert!(v6.to_ipv4_mapped().is_some() || v6.segments()[0] & 0xe000 == 0x2000);
                }
            }
        }
    }
}
