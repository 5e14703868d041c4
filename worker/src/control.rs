//! The control stream: the platform's word that a heartbeat would bring news now.
//!
//! It decides nothing. Every event leads to a heartbeat, of the lease it names or of all, and what that says counts. So a stream
//! that is broken, late or not there at all (an older platform) costs time and nothing else.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use reqwest::Response;
use sse_stream::SseByteStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};
use wire::worker::ControlEvent;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::error::Error;
use crate::keeper::Pace;
use crate::lease::Leases;

/// How long a stream may be silent; comments keep a live one from that.
const SILENCE: Duration = Duration::from_secs(60);
/// When to look again for a stream that is not there: the next replica may have it.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Listens for the session of the moment, as long as there is somebody who opens sessions.
pub(crate) async fn listen(client: &Client, leases: &Leases, mut pace: watch::Receiver<Pace>) {
    loop {
        let session = pace.borrow_and_update().session.clone();
        let listening = async {
            if session.is_empty() {
                return std::future::pending().await;
            }
            listen_to(client, leases, &session).await
        };
        tokio::select! {
            never = listening => match never {},
            changed = pace.changed() => if changed.is_err() {
                return;
            },
        }
    }
}

async fn listen_to(client: &Client, leases: &Leases, session: &str) -> std::convert::Infallible {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    loop {
        let pause = match client.control(session).await {
            Ok(answer) => {
                debug!(session, "the control stream is open");
                // What happened while there was none.
                leases.stir_all();
                if follow(answer, leases).await {
                    backoff.reset();
                }
                backoff.next()
            }
            Err(error) if error.refusal().is_some_and(|refusal| refusal.is_missing()) => {
                debug!(session, "there is no control stream, heartbeats tell everything");
                LOOK_AGAIN
            }
            Err(error) => {
                let pause = backoff.next();
                warn_of(&error, pause);
                pause
            }
        };
        sleep(pause).await;
    }
}

fn warn_of(error: &Error, pause: Duration) {
    let pause_ms = pause.as_millis() as u64;
    warn!(error = error.chain(), pause_ms, "the control stream did not open, trying again");
}

/// Follows a stream to its end; whether anything came.
async fn follow(answer: Response, leases: &Leases) -> bool {
    let bytes = stream::unfold(answer, async |mut answer| {
        let next = timeout(SILENCE, answer.chunk()).await;
        match next {
            Ok(Ok(Some(bytes))) => Some((Ok(bytes), answer)),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some((Err(std::io::Error::other(error)), answer)),
            Err(silence) => Some((Err(silence.into()), answer)),
        }
    });
    let mut events = std::pin::pin!(SseByteStream::new(bytes));
    let mut heard = false;
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                debug!(error = crate::error::chain(&error), "the control stream broke");
                return heard;
            }
        };
        heard = true;
        let Some(data) = event.data else { continue };
        match wire::parse::<ControlEvent>(data.as_bytes()) {
            Ok(event) if event.lease.is_empty() => leases.stir_all(),
            Ok(event) => leases.stir(&event.lease),
            Err(error) => {
                warn!(error = error.message, "an event of the control stream cannot be read, asking after every lease");
                leases.stir_all();
            }
        }
    }
    heard
}
