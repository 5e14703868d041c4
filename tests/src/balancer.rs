//! Round robin in front of the api processes: every connection goes to the next one that takes it.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Balancer {
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

impl Balancer {
    /// In front of these ports.
    ///
    /// # Panics
    /// When it cannot listen.
    pub(crate) async fn start(ports: Vec<u16>) -> Balancer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listening as a balancer");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let turn = AtomicUsize::new(0);
        let serving = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (turn, ports) = (turn.fetch_add(1, Ordering::Relaxed), ports.clone());
                tokio::spawn(async move {
                    for n in 0..ports.len() {
                        let port = ports[(turn + n) % ports.len()];
                        if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
                            // Either side may go at any time: that is what is tested.
                            tokio::io::copy_bidirectional(&mut client, &mut server).await.ok();
                            return;
                        }
                    }
                });
            }
        });
        Balancer { url, serving }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
