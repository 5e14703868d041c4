//! Where a webhook may be: the public internet, and beyond it what the operator allows. One rule for the config's creation, which sees
//! what a url spells out, and for the notifier, which sees the address it dials.
//!
//! An address is refused for what it is, not for how it is written: the url parser has read every spelling of an IPv4 address, and an
//! IPv6 address that wraps one is judged by both. No allow-list opens the metadata services of clouds: a name that an operator trusts may
//! be led there by whoever runs it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use url::{Host, Url};

/// What the operator decides about where webhooks may be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookPolicy {
    /// Receivers on this machine are allowed, and plain `http`. `dev` sets it; nothing else should.
    pub allow_loopback: bool,
    /// Plain `http` is allowed.
    pub allow_http: bool,
    /// Names that may lead to addresses of private networks.
    pub hosts: Vec<HostPattern>,
    /// Networks whose addresses may be dialled, whatever leads there.
    pub networks: Vec<Network>,
}

/// Why a webhook may not be at a url.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Neither https nor, where that is allowed, http.
    #[error("must begin with https://; plain http is not allowed here")]
    Scheme,
    /// Neither https nor http.
    #[error("must begin with https:// or http://")]
    AnyScheme,
    /// It carries a name or a password.
    #[error("must not carry a user or password; use `authentication`")]
    User,
    /// The port speaks another protocol.
    #[error("must not name a port of another protocol")]
    Port,
    /// It names nobody.
    #[error("must name a host")]
    Host,
    /// It spells out an address that may not be dialled.
    #[error("must point to a public address")]
    Address,
}

/// Ports that a web client must not be led to (the Fetch standard's "bad ports"): what listens there may take a request for its own
/// protocol.
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

impl WebhookPolicy {
    /// Refuse a url for what its text says. No name is resolved.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check(&self, url: &Url) -> Result<(), Refusal> {
        let http = self.allow_http || self.allow_loopback;
        match url.scheme() {
            "https" => {}
            "http" if http => {}
            _ => return Err(if http { Refusal::AnyScheme } else { Refusal::Scheme }),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::User);
        }
        if url.port().is_some_and(|port| BAD_PORTS.contains(&port)) {
            return Err(Refusal::Port);
        }
        let permitted = match url.host().ok_or(Refusal::Host)? {
            Host::Domain(name) => self.allow_loopback || !is_loopback_name(name),
            // The parser has already read decimal, octal and hexadecimal spellings.
            Host::Ipv4(address) => self.permits(None, address.into()),
            Host::Ipv6(address) => self.permits(None, address.into()),
        };
        if permitted { Ok(()) } else { Err(Refusal::Address) }
    }

    /// Whether `address` may be dialled; `name` is what led there, if anything did.
    pub fn permits(&self, name: Option<&str>, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if is_metadata(address) {
            return false;
        }
        if address.is_loopback() && self.allow_loopback {
            return true;
        }
        let public = match address {
            IpAddr::V4(v4) => public_v4(v4),
            IpAddr::V6(v6) => public_v6(v6),
        };
        if public {
            return true;
        }
        if self.networks.iter().any(|network| network.contains(address)) {
            return match address {
                IpAddr::V6(v6) => wrapped(v6).is_none_or(|v4| self.permits(None, v4.into())),
                IpAddr::V4(_) => true,
            };
        }
        is_private(address) && name.is_some_and(|name| self.hosts.iter().any(|pattern| pattern.matches(name)))
    }
}

/// Names that RFC 6761 keeps for this machine, and what systems call it besides.
fn is_loopback_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let names = ["localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback"];
    names.contains(&name.as_str()) || name.ends_with(".localhost")
}

/// Where clouds tell their machines secrets.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => matches!(
            v4.octets(),
            [169, 254, 169, 254] | [169, 254, 170, 2] | [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16]
        ),
        IpAddr::V6(v6) => {
            matches!(v6.segments(), [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23 | 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254])
                || wrapped(v6).is_some_and(|v4| is_metadata(v4.into()))
        }
    }
}

/// What organisations number their own networks with.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || matches!(v4.octets(), [100, 64..=127, ..]),
        IpAddr::V6(v6) => v6.segments()[0] & 0xfe00 == 0xfc00,
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

/// Global unicast, without what is set apart inside it and without what only wraps an IPv4 address.
fn public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let global = a & 0xe000 == 0x2000;
    let set_apart =
        matches!((a, b), (0x2001, 0..=0x01ff | 0x0db8) | (0x2002, _) | (0x2620, 0x004f) | (0x3fff, 0..=0x0fff));
    global && !set_apart && wrapped(address).is_none()
}

/// The IPv4 address that an IPv6 address leads to: IPv4-compatible, SIIT, NAT64 (well known, and of local use with a prefix of 48 or 96
/// bits), 6to4, Teredo and ISATAP.
fn wrapped(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0) if (g, h) != (0, 0) && (g, h) != (0, 1) => v4(g, h),
        (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        (0x64, 0xff9b, 1, ..) if (f & 0xff, g, h) == (0, 0, 0) => v4(d, (e << 8) | (f >> 8)),
        (0x64, 0xff9b, 1, ..) => v4(g, h),
        (0x2002, ..) => v4(b, c),
        (0x2001, 0, ..) => v4(!g, !h),
        (.., 0 | 0x0200, 0x5efe) => v4(g, h),
        _ => None,
    }
}

/// Names that an operator trusts: one, or with `*.` in front all below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    name: String,
    below: bool,
}

impl HostPattern {
    fn matches(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        match (self.below, name.strip_suffix(&self.name)) {
            (true, Some(rest)) => rest.len() > 1 && rest.ends_with('.'),
            (false, Some(rest)) => rest.is_empty(),
            (_, None) => false,
        }
    }
}

/// A text is no [`HostPattern`] or no [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Wanted is a pattern.
    #[error("must be a host name such as hooks.internal, or *.internal for all names below")]
    HostPattern,
    /// Wanted is a network.
    #[error("must be a network such as 10.1.0.0/16, or an address")]
    Network,
}

impl FromStr for HostPattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<HostPattern, ParseError> {
        let (name, below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
        match Host::parse(name) {
            Ok(Host::Domain(name)) if !name.contains('*') && !name.is_empty() => {
                Ok(HostPattern { name: name.trim_end_matches('.').to_owned(), below })
            }
            _ => Err(ParseError::HostPattern),
        }
    }
}

/// A block of addresses (CIDR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    length: u32,
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(of), IpAddr::V4(v4)) => (of.to_bits() ^ v4.to_bits()).leading_zeros() >= self.length,
            (IpAddr::V6(of), IpAddr::V6(v6)) => (of.to_bits() ^ v6.to_bits()).leading_zeros() >= self.length,
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = ParseError;

    /// An address alone is the network of that address. Bits beyond the length have to be zero, so that a slip of the pen shows.
    fn from_str(text: &str) -> Result<Network, ParseError> {
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| ParseError::Network)?;
        let (zeros, most) = match address {
            IpAddr::V4(v4) => (v4.to_bits().trailing_zeros(), 32),
            IpAddr::V6(v6) => (v6.to_bits().trailing_zeros(), 128),
        };
        let length = match length {
            None => most,
            Some(length) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                length.parse().map_err(|_| ParseError::Network)?
            }
            Some(_) => return Err(ParseError::Network),
        };
        if length > most || zeros < most - length {
            return Err(ParseError::Network);
        }
        Ok(Network { address, length })
    }
}
