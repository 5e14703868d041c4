//! Which addresses a webhook may have: the public internet, and this machine only where the operator says so. One rule for the config's
//! creation, which sees literal addresses, and for the notifier, which sees the address it dials.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether a notification may be sent to `address`.
pub fn permits(address: IpAddr, allow_loopback: bool) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) if v4.is_loopback() => allow_loopback,
        IpAddr::V6(v6) if v6.is_loopback() => allow_loopback,
        IpAddr::V4(v4) => public_v4(v4),
        IpAddr::V6(v6) => public_v6(v6),
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

    #[test]
    fn only_public_addresses_are_permitted() {
        for address in
            ["8.8.8.8", "1.1.1.1", "100.63.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.1", "2606:4700::1111"]
        {
            assert!(permits(address.parse().unwrap(), false), "{address}");
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
            assert!(!permits(address.parse().unwrap(), false), "{address}");
            assert!(!permits(address.parse().unwrap(), true), "{address}");
        }
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(!permits(address.parse().unwrap(), false), "{address}");
            assert!(permits(address.parse().unwrap(), true), "{address}");
        }
    }
}
