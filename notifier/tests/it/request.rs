//! What a request carries, and where it may go.

use entity::push_delivery::State;
use notifier::Options;

use crate::on_both_stores;
use crate::place::{Place, event, options};
use crate::receiver::{Answer, Receiver};

on_both_stores!(every_header, schemes, bodies_as_stored, only_where_allowed, long_answers_are_cut);

async fn every_header(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let secrets = place.secrets.clone();
    let mut lane = place
        .lane_with(&receiver.url("/hook?a=b"), |config| {
            config.scheme = Some("Bearer".into());
            config.credentials = Some(secrets.seal(config.id, "abc").unwrap());
            config.token = Some(secrets.seal(config.id, "opaque").unwrap());
        })
        .await;
    lane.events(2).await;
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    let second = &receiver.seen()[1];
    let host = receiver.url("")["http://".len()..].to_owned();
    let mut headers: Vec<(&str, &str)> =
        second.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            ("a2a-notification-generation", "2"),
            ("a2a-notification-sequence", "2"),
            ("a2a-notification-token", "opaque"),
            ("a2a-version", "1.0"),
            ("accept", "*/*"),
            ("authorization", "Bearer abc"),
            ("content-length", &event(2).len().to_string()),
            ("content-type", "application/a2a+json"),
            ("host", &host),
            ("user-agent", concat!("taskyard-notifier/", env!("CARGO_PKG_VERSION"))),
            ("webhook-id", &format!("{}.2", lane.id)),
            ("x-a2a-notification-token", "opaque"),
        ]
    );
    running.stop().await;
}

async fn schemes(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let running = place.notify(options());
    let cases = [
        (Some("Basic"), Some("dXNlcjpwYXNz"), "Basic dXNlcjpwYXNz"),
        (Some("DPoP"), Some("x y, z=\"1\""), "DPoP x y, z=\"1\""),
        (Some("Bearer"), None, ""),
        (None, Some("abc"), ""),
        (Some(""), Some("abc"), ""),
        (Some("Bearer"), Some(""), ""),
    ];
    for (n, (scheme, credentials, expected)) in cases.into_iter().enumerate() {
        let mut lane = place
            .lane_with(&receiver.url("/"), |config| {
                config.scheme = scheme.map(Into::into);
                config.credentials = credentials.map(|plain| place.secrets.seal(config.id, plain).unwrap());
            })
            .await;
        lane.events(1).await;
        lane.all(State::Delivered).await;
        let seen = &receiver.seen()[n];
        assert_eq!(seen.header("authorization"), expected);
        assert!(!seen.headers.contains_key("a2a-notification-token"));
    }
    running.stop().await;
}

async fn bodies_as_stored(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    let own = r#"{"task":{"id":"1",  "n": 1.00}}"#;
    lane.write(None, Some(own.into())).await;
    lane.events(10).await;
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    let bodies: Vec<String> = receiver.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies[0], own);
    assert_eq!(bodies[1..], (2..=11).map(event).collect::<Vec<_>>());
    running.stop().await;
}

async fn only_where_allowed(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let port = receiver.url("").rsplit_once(':').unwrap().1.to_owned();
    let running = place.notify(Options { allow_loopback: false, ..options() });
    let hosts = [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
    ];
    for host in hosts {
        // An address that is written out stays what it is; a name may lead elsewhere another time.
        let attempts = if host == "localhost" { 11 } else { 1 };
        let mut lane = place.lane(&format!("http://{host}:{port}/")).await;
        lane.events(1).await;
        lane.all(State::Dead).await;
        assert_eq!(lane.attempts().await, vec![(1, "address_refused".to_owned(), None); attempts], "{host}");
    }
    assert_eq!(receiver.count(), 0);
    running.stop().await;

    let running = place.notify(options());
    let mut lane = place.lane(&format!("http://localhost:{port}/")).await;
    lane.events(1).await;
    lane.all(State::Delivered).await;
    running.stop().await;
}

async fn long_answers_are_cut(place: Place) {
    let receiver = Receiver::new(|_, _| Answer { status: 200, body: 8 << 20, ..Answer::default() }).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(3).await;
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    assert_eq!(receiver.sequences("/"), [1, 2, 3]);
    running.stop().await;
}
