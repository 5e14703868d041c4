//! The wish to stop. SIGTERM and SIGINT ask every part of the process to finish what it holds; a second one does not wait.

use std::io;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Tells when it is time to stop. Clones hear of the same stop.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<bool>);

/// Asks for the stop by hand: what a test, or a part that failed, uses in place of a signal.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Asks for the stop. Asking again changes nothing.
    pub fn now(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// A stop that comes by hand only.
    pub fn by_hand() -> (Stop, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (Stop(sender), Shutdown(receiver))
    }

    /// A stop that comes by hand, by SIGTERM or by SIGINT. The second signal ends the process with exit code 1 at once.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    pub fn on_signals() -> io::Result<(Stop, Shutdown)> {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (stop, shutdown) = Shutdown::by_hand();
        let by_signal = stop.clone();
        tokio::spawn(async move {
            for last in [false, true] {
                let name = tokio::select! {
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                };
                if last {
                    tracing::warn!(signal = name, "stopping at once");
                    std::process::exit(1);
                }
                tracing::info!(signal = name, "stopping; a second signal does not wait");
                by_signal.now();
            }
        });
        Ok((stop, shutdown))
    }

    /// Resolves once the stop is asked for, at once when it was before.
    pub async fn requested(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|stop| *stop).await.is_err() {
            // Nobody is left who could ask.
            std::future::pending::<()>().await;
        }
    }

    /// Whether the stop was asked for.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }
}

#[cfg(test)]
mod tests {
    use super::Shutdown;

    #[tokio::test]
    async fn every_clone_hears_of_the_stop() {
        let (stop, shutdown) = Shutdown::by_hand();
        let early = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.requested().await }
        });
        assert!(!shutdown.is_requested());
        stop.now();
        early.await.unwrap();
        shutdown.requested().await;
        assert!(shutdown.is_requested());
    }

    #[tokio::test]
    async fn a_signal_asks_for_the_stop() {
        let (_stop, shutdown) = Shutdown::on_signals().unwrap();
        let pid = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        shutdown.requested().await;
    }
}
