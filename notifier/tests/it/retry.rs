//! What fails is tried again on the schedule, and its lane waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entity::push_delivery::State;
use notifier::{Options, Schedule};
use sea_orm::Set;

use crate::place::{Place, options};
use crate::receiver::{Answer, Receiver};
use crate::{on_both_stores, until};

on_both_stores!(
    retried_under_one_id,
    eleven_attempts_and_on,
    success_on_the_last_attempt,
    retry_after_is_a_floor,
    a_redirect_is_a_failure,
    other_secrets_between_attempts,
    nobody_listens,
    no_answer,
    no_http,
    a_panic_is_a_failure,
    poison_spoils_itself_only,
);

/// Wait for attempt after attempt as long as a test can wait.
fn short() -> Options {
    Options { schedule: Schedule::new([Duration::from_millis(20); 11]), ..options() }
}

async fn retried_under_one_id(place: Place) {
    let receiver = Receiver::new(|_, before| if before < 3 { 500 } else { 200 }).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(3).await;
    let running = place.notify(short());
    lane.all(State::Delivered).await;
    assert_eq!(receiver.sequences("/"), [1, 1, 1, 1, 2, 3]);
    let mut ids: Vec<String> = receiver.seen().iter().map(|seen| seen.header("webhook-id").to_owned()).collect();
    ids.dedup();
    assert_eq!(ids, [1, 2, 3].map(|sequence| format!("{}.{sequence}", lane.id)));
    let failed = (1, "status".to_owned(), Some(500));
    assert_eq!(lane.attempts().await[..3], [failed.clone(), failed.clone(), failed]);
    assert_eq!(lane.deliveries().await[0].attempts, 4);
    running.stop().await;
}

async fn eleven_attempts_and_on(place: Place) {
    let receiver = Receiver::new(|seen, _| if seen.sequence() == 2 { 500 } else { 200 }).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(4).await;
    let running = place.notify(options());
    lane.idle().await;
    let mut expected = vec![1];
    expected.extend([2; 11]);
    expected.extend([3, 4]);
    assert_eq!(receiver.sequences("/"), expected);
    let states: Vec<State> = lane.deliveries().await.iter().map(|delivery| delivery.state).collect();
    assert_eq!(states, [State::Delivered, State::Dead, State::Delivered, State::Delivered]);
    assert_eq!(lane.deliveries().await[1].attempts, 11);
    running.stop().await;
}

async fn success_on_the_last_attempt(place: Place) {
    let receiver = Receiver::new(|_, before| if before < 10 { 503 } else { 202 }).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(1).await;
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    assert_eq!(receiver.count(), 11);
    running.stop().await;
}

async fn retry_after_is_a_floor(place: Place) {
    let receiver = Receiver::new(|seen, _| Answer {
        status: if seen.path == "/500" { 500 } else { seen.path[1..4].parse().unwrap() },
        headers: vec![("retry-after", if seen.path.ends_with("never") { "1e18" } else { "120" }.to_owned())],
        ..Answer::default()
    })
    .await;
    let schedule = Schedule::new([0, 0, 3600].map(Duration::from_secs)).with_random(Arc::new(|| 0.5));
    let running = place.notify(Options { schedule, ..options() });
    for (path, wait) in [("/429", 120_000), ("/503", 120_000), ("/500", 3_600_000), ("/429/never", 3_600_000)] {
        let began = place.clock.now();
        let mut lane = place.lane(&receiver.url(path)).await;
        lane.events(1).await;
        let waits = || async {
            let row = lane.row().await;
            row.holder.is_none() && row.due_at.is_some_and(|due| due > began + 60_000)
        };
        until("the lane waits", waits).await;
        let due = lane.row().await.due_at.unwrap();
        assert!((began + wait..=place.clock.now() + wait).contains(&due), "{path}: {}", due - began);
    }
    running.stop().await;
}

async fn a_redirect_is_a_failure(place: Place) {
    let elsewhere = Receiver::new(|_, _| 200).await;
    let target = elsewhere.url("/stolen");
    let receiver = Receiver::new(move |_, before| match before {
        0..3 => {
            Answer { status: [301, 302, 307][before], headers: vec![("location", target.clone())], ..Answer::default() }
        }
        _ => Answer::from(200),
    })
    .await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(1).await;
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    assert_eq!((receiver.count(), elsewhere.count()), (4, 0));
    let refused = |status| (1, "redirect_refused".to_owned(), Some(status));
    assert_eq!(lane.attempts().await[..3], [refused(301), refused(302), refused(307)]);
    running.stop().await;
}

async fn other_secrets_between_attempts(place: Place) {
    let receiver = Receiver::new(|seen, _| if seen.header("authorization") == "Bearer new" { 200 } else { 401 }).await;
    let secrets = place.secrets.clone();
    let mut lane = place
        .lane_with(&receiver.url("/"), |config| {
            config.scheme = Some("Bearer".into());
            config.credentials = Some(secrets.seal(config.id, "old").unwrap());
        })
        .await;
    lane.events(1).await;
    let running = place.notify(Options { schedule: Schedule::new([Duration::from_millis(20); 10_000]), ..options() });
    until("an attempt", || async { receiver.count() > 0 }).await;
    let sealed = place.secrets.seal(lane.id, "new").unwrap();
    lane.config(|config| config.credentials = Set(Some(sealed))).await;
    lane.all(State::Delivered).await;
    running.stop().await;
}

async fn nobody_listens(place: Place) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut lane = place.lane(&format!("http://{address}/")).await;
    lane.events(1).await;
    let mut nowhere = place.lane("http://nowhere.invalid/").await;
    nowhere.events(1).await;
    let running = place.notify(options());
    lane.all(State::Dead).await;
    assert_eq!(lane.attempts().await, vec![(1, "connect_refused".to_owned(), None); 11]);
    nowhere.all(State::Dead).await;
    assert_eq!(nowhere.attempts().await, vec![(1, "dns".to_owned(), None); 11]);
    running.stop().await;
}

async fn no_answer(place: Place) {
    let receiver =
        Receiver::new(|_, _| Answer { status: 200, delay: Duration::from_secs(3600), ..Answer::default() }).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(1).await;
    let total_timeout = Duration::from_millis(100);
    let running = place.notify(Options { total_timeout, schedule: Schedule::new([Duration::ZERO; 2]), ..options() });
    lane.all(State::Dead).await;
    assert_eq!(lane.attempts().await, vec![(1, "timeout".to_owned(), None); 2]);
    running.stop().await;
}

/// Answers each connection, once a request has begun to arrive, with the next of these.
async fn raw(answers: Vec<&'static [u8]>) -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for answer in answers {
            let (mut connection, _) = listener.accept().await.unwrap();
            let _read = connection.read(&mut [0; 4096]).await;
            connection.write_all(answer).await.unwrap();
        }
    });
    address
}

async fn no_http(place: Place) {
    let cut: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx";
    let address = raw(vec![b"", b"SSH-2.0-OpenSSH\r\n\r\n", cut]).await;
    let mut lane = place.lane(&format!("http://{address}/")).await;
    lane.events(1).await;
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    let attempts: Vec<_> = lane.attempts().await.into_iter().map(|(_, outcome, _)| outcome).collect();
    assert_eq!(attempts, ["reset", "protocol_error", "delivered"], "a status that was said counts");
    running.stop().await;

    let address = raw(vec![b"HTTP/1.1 400 Bad Request\r\n\r\n"; 2]).await;
    let mut lane = place.lane(&format!("https://{address}/")).await;
    lane.events(1).await;
    let running = place.notify(Options { schedule: Schedule::new([Duration::ZERO; 2]), ..options() });
    lane.all(State::Dead).await;
    assert_eq!(lane.attempts().await, vec![(1, "tls".to_owned(), None); 2]);
    running.stop().await;
}

async fn a_panic_is_a_failure(place: Place) {
    let receiver = Receiver::new(|_, before| if before < 2 { 500 } else { 200 }).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(2).await;
    let asked = AtomicUsize::new(0);
    let schedule = Schedule::new([Duration::ZERO; 11]).with_random(Arc::new(move || {
        if asked.fetch_add(1, Ordering::Relaxed) == 0 { panic!("as the test wants") } else { 0.5 }
    }));
    let running = place.notify(Options { slots: 1, schedule, ..options() });
    lane.all(State::Delivered).await;
    let attempts = lane.attempts().await;
    assert_eq!(attempts[0], (1, "internal".to_owned(), None));
    assert_eq!(attempts.len(), 4);
    running.stop().await;
}

async fn poison_spoils_itself_only(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(1).await;
    lane.write(None, None).await;
    lane.write(Some("{\"cut\":".into()), None).await;
    lane.write(None, Some("[]".into())).await;
    lane.events(1).await;
    let mut sealed = place.lane_with(&receiver.url("/sealed"), |config| config.token = Some(vec![1; 40])).await;
    sealed.events(2).await;
    let mut header = place
        .lane_with(&receiver.url("/header"), |config| {
            config.token = Some(place.secrets.seal(config.id, "a\r\nb: c").unwrap());
        })
        .await;
    header.events(1).await;
    let mut url = place.lane("ftp://receiver/").await;
    url.events(1).await;

    let running = place.notify(options());
    lane.idle().await;
    assert_eq!(receiver.sequences("/"), [1, 5]);
    let internal = |sequence| (sequence, "internal".to_owned(), None);
    assert_eq!(lane.attempts().await[1..4], [internal(2), internal(3), internal(4)]);
    let states: Vec<State> = lane.deliveries().await.iter().map(|delivery| delivery.state).collect();
    assert_eq!(states, [State::Delivered, State::Dead, State::Dead, State::Dead, State::Delivered]);
    for lane in [&sealed, &header, &url] {
        lane.all(State::Dead).await;
    }
    assert_eq!(sealed.attempts().await, [internal(1), internal(2)]);
    running.stop().await;
}
