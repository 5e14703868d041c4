//! Which addresses a notification may be sent to: the public internet, and this machine only where that was allowed.
//!
//! The check is made on the address that is dialled, not on the name: a name may answer differently each time it is asked. A name of
//! which any answer is refused is refused as a whole.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

const LOOK_UP: Duration = Duration::from_secs(3);

/// The address of a receiver is not one that may be dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the receiver's address is not a public one")]
pub(crate) struct Refused;

/// What decides whether an address may be dialled; the HTTP client's resolver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard {
    /// Whether this machine may be dialled.
    pub(crate) allow_loopback: bool,
}

impl Guard {
    /// Whether `address` may be dialled.
    pub(crate) fn permits(self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(v4) if v4.is_loopback() => self.allow_loopback,
            IpAddr::V6(v6) if v6.is_loopback() => self.allow_loopback,
            IpAddr::V4(v4) => public_v4(v4),
            IpAddr::V6(v6) => public_v6(v6),
        }
    }

    /// Refuse a URL that spells out an address which may not be dialled: no resolver is asked about one.
    pub(crate) fn check(self, url: &Url) -> Result<(), Refused> {
        let permitted = match url.host() {
            Some(Host::Ipv4(v4)) => self.permits(v4.into()),
            Some(Host::Ipv6(v6)) => self.permits(v6.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        };
        if permitted { Ok(()) } else { Err(Refused) }
    }

    fn vet(self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
        if addresses.iter().all(|address| self.permits(address.ip())) { Ok(addresses) } else { Err(Refused) }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        Box::pin(async move {
            let found = tokio::time::timeout(LOOK_UP, tokio::net::lookup_host((name.as_str(), 0))).await??;
            let addresses: Addrs = Box::new(guard.vet(found.collect())?.into_iter());
            Ok(addresses)
        })
    }
}

/// Everything but what IANA lists as special.
fn public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 31, 196)
            | (192, 52, 193)
            | (192, 88, 99)
            | (192, 168, _)
            | (192, 175, 48)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            | (224.., ..)
    )
}

/// Global unicast, without what is set apart inside it and without what only wraps an IPv4 address (6to4, Teredo, ISATAP; the others lie
/// outside global unicast).
fn public_v6(address: Ipv6Addr) -> bool {
    let [a, b, _, _, e, f, _, _] = address.segments();
    let global = a & 0xe000 == 0x2000;
    let set_apart =
        matches!((a, b), (0x2001, 0..=0x01ff | 0x0db8) | (0x2002, _) | (0x2620, 0x004f) | (0x3fff, 0..=0x0fff));
    let isatap = matches!((e, f), (0 | 0x0200, 0x5efe));
    global && !set_apart && !isatap
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: Guard = Guard { allow_loopback: false };
    const LOCAL: Guard = Guard { allow_loopback: true };

    #[test]
    fn only_public_addresses_are_dialled() {
        for address in
            ["8.8.8.8", "1.1.1.1", "100.63.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.1", "2606:4700::1111"]
        {
            assert!(PUBLIC.permits(address.parse().unwrap()), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::10.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "2002:7f00:1::",
            "2606:4700::5efe:10.0.0.1",
            "2606:4700::200:5efe:a00:1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!PUBLIC.permits(address.parse().unwrap()), "{address}");
            assert!(!LOCAL.permits(address.parse().unwrap()), "{address}");
        }
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(!PUBLIC.permits(address.parse().unwrap()), "{address}");
            assert!(LOCAL.permits(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        for host in
            ["127.0.0.1", "[::1]", "2130706433", "0x7f.1", "017700000001", "127.1", "[::ffff:7f00:1]", "1２7.0.0.1"]
        {
            let url: Url = format!("http://{host}/hook").parse().unwrap();
            assert_eq!(PUBLIC.check(&url), Err(Refused), "{host}");
            assert_eq!(LOCAL.check(&url), Ok(()), "{host}");
        }
    }

    #[test]
    fn one_bad_answer_spoils_the_name() {
        let answers = ["8.8.8.8:0", "127.0.0.1:0"].map(|a| a.parse().unwrap());
        assert_eq!(PUBLIC.vet(answers.to_vec()), Err(Refused));
        assert!(PUBLIC.vet(answers[..1].to_vec()).is_ok());
    }
}
