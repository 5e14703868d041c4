//! The load: closed loops, each of which asks again as soon as it was answered.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::figures::Notes;

/// Runs every client for that long, each once more than the time allows, and tells what they noted and how long it all took.
/// Must run in a [`LocalSet`](tokio::task::LocalSet).
pub(crate) async fn closed_loops<C>(clients: Vec<C>, time: Duration) -> (Vec<C>, Notes, Duration)
where
    C: AsyncFnMut() -> Result<(), String> + 'static,
{
    let begin = Instant::now();
    let mut loops = JoinSet::new();
    for client in clients {
        loops.spawn_local(closed_loop(client, begin + time));
    }
    let mut notes = Notes::default();
    let mut clients = Vec::new();
    while let Some(ended) = loops.join_next().await {
        match ended {
            Ok((client, noted)) => {
                clients.push(client);
                notes.merge(noted);
            }
            Err(error) => notes.failed(format!("a client ended: {error}")),
        }
    }
    (clients, notes, begin.elapsed())
}

async fn closed_loop<C: AsyncFnMut() -> Result<(), String>>(mut client: C, until: Instant) -> (C, Notes) {
    /// A server that refuses at once is not asked as fast as it can refuse.
    const AFTER_ERROR: Duration = Duration::from_millis(20);
    let mut notes = Notes::default();
    let mut begin = Instant::now();
    while begin < until {
        let result = client().await;
        let end = Instant::now();
        match result {
            Ok(()) => notes.took(end - begin),
            Err(why) => {
                notes.failed(why);
                tokio::time::sleep(AFTER_ERROR).await;
            }
        }
        begin = Instant::now();
    }
    (client, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(mut calls: u32) -> impl AsyncFnMut() -> Result<(), String> + 'static {
        async move || {
            calls += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
            if calls.is_multiple_of(2) { Err("every second one".to_owned()) } else { Ok(()) }
        }
    }

    #[test]
    fn every_answer_is_noted() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run = closed_loops(vec![client(0), client(0)], Duration::from_millis(60));
        let (clients, notes, elapsed) = tokio::task::LocalSet::new().block_on(&runtime, run);
        let figures = notes.sum_up(elapsed);
        assert_eq!(clients.len(), 2);
        assert!(figures.count >= 2 && figures.errors >= 2, "{figures:?}");
        assert!(figures.median >= 1.0 && figures.seconds >= 0.06, "{figures:?}");
    }
}
