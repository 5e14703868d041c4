//! The network guard: what is dialled must be an address that [`engine::address`] permits.
//!
//! The check is made on the address that is dialled, not on the name: a name may answer differently each time it is asked. A name of
//! which any answer is refused is refused as a whole.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use engine::address;
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
        address::permits(address, self.allow_loopback)
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

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: Guard = Guard { allow_loopback: false };
    const LOCAL: Guard = Guard { allow_loopback: true };

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
