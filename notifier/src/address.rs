//! The network guard: what is dialled must be an address that [`engine::address`] permits.
//!
//! The check is made on the address that is dialled, not on the name: a name may answer differently each time it is asked, so it is asked
//! once, and what it answered is vetted and handed to whoever dials. A name of which any answer is refused is refused as a whole.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use engine::address::WebhookPolicy;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

const LOOK_UP: Duration = Duration::from_secs(3);

/// The address of a receiver is not one that may be dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the receiver's address is not a public one")]
pub(crate) struct Refused;

type LookUp = dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync;

/// What is asked for the addresses of a name: the system, or in tests a script.
#[derive(Clone)]
pub struct Names(Arc<LookUp>);

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Names(..)")
    }
}

impl Names {
    /// Ask the system's resolver.
    pub fn of_system() -> Names {
        let look_up = |name: String| {
            async move {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            }
            .boxed()
        };
        Names(Arc::new(look_up))
    }

    /// Ask `answer`.
    pub fn scripted(answer: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> Names {
        Names(Arc::new(move |name: String| std::future::ready(Ok(answer(&name))).boxed()))
    }
}

/// What decides whether an address may be dialled; the HTTP client's resolver.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) policy: Arc<WebhookPolicy>,
    pub(crate) names: Names,
}

impl Guard {
    /// Refuse a URL that says by itself that it may not be dialled: no resolver is asked about an address.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Refused> {
        self.policy.check(url).map_err(|_| Refused)
    }

    fn vet(&self, name: &str, addresses: Vec<IpAddr>) -> Result<Vec<SocketAddr>, Refused> {
        let permitted = addresses.iter().all(|address| self.policy.permits(Some(name), *address));
        // The client puts the port in place of 0.
        if permitted { Ok(addresses.into_iter().map(|address| (address, 0).into()).collect()) } else { Err(Refused) }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = tokio::time::timeout(LOOK_UP, (guard.names.0)(name.as_str().to_owned())).await??;
            let addresses: Addrs = Box::new(guard.vet(name.as_str(), found)?.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn guard(names: Names) -> Guard {
        Guard { policy: Arc::default(), names }
    }

    #[test]
    fn one_bad_answer_spoils_the_name() {
        let guard = guard(Names::of_system());
        let answers: [IpAddr; 2] = ["8.8.8.8", "127.0.0.1"].map(|a| a.parse().unwrap());
        assert_eq!(guard.vet("example.com", answers.to_vec()), Err(Refused));
        assert!(guard.vet("example.com", answers[..1].to_vec()).is_ok());
    }

    /// A name that changes its mind is asked once a connection, and only what was vetted comes out.
    #[tokio::test]
    async fn what_comes_out_is_what_was_vetted() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let names = Names::scripted(move |_| {
            let answers: &[&str] = match count.fetch_add(1, Ordering::Relaxed) % 4 {
                0 => &["8.8.8.8"],
                1 => &["127.0.0.1"],
                2 => &["8.8.8.8", "::1"],
                _ => &["8.8.8.8", "::ffff:169.254.169.254"],
            };
            answers.iter().map(|address| address.parse().unwrap()).collect()
        });
        let guard = guard(names);
        for n in 0..10_000 {
            let found = guard.resolve("rebind.example".parse().unwrap()).await;
            assert_eq!(asked.load(Ordering::Relaxed), n + 1);
            match n % 4 {
                0 => assert_eq!(found.unwrap().collect::<Vec<_>>(), ["8.8.8.8:0".parse().unwrap()]),
                _ => assert!(found.err().unwrap().is::<Refused>()),
            }
        }
    }
}
