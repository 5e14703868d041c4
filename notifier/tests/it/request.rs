//! What a request carries, and where it may go.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::address::WebhookPolicy;
use entity::push_delivery::State;
use notifier::{Names, Options};

use crate::on_both_stores;
use crate::place::{Place, event, options};
use crate::receiver::{Answer, Receiver};

on_both_stores!(
    every_header,
    schemes,
    bodies_as_stored,
    only_where_allowed,
    names_that_change_their_minds,
    long_answers_are_cut
);

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
    // What is signed is another test's.
    let mut headers: Vec<(&str, &str)> = second
        .headers
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "webhook-signature" | "webhook-timestamp"))
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
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
    let webhooks = WebhookPolicy { allow_http: true, ..WebhookPolicy::default() };
    let running = place.notify(Options { webhooks, ..options() });
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
        let mut lane = place.lane(&format!("http://{host}:{port}/")).await;
        lane.events(1).await;
        lane.all(State::Dead).await;
        // What is written out stays what it is.
        assert_eq!(lane.attempts().await, [(1, "address_refused".to_owned(), None)], "{host}");
    }
    assert_eq!(receiver.count(), 0);
    running.stop().await;

    let running = place.notify(options());
    let mut lane = place.lane(&format!("http://localhost:{port}/")).await;
    lane.events(1).await;
    lane.all(State::Delivered).await;
    running.stop().await;
}

/// A name that led to a permitted address leads to one that is not, alone and beside the other: the address vetted is the one dialled,
/// and a later attempt asks anew.
async fn names_that_change_their_minds(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let port = receiver.url("").rsplit_once(':').unwrap().1.to_owned();
    // Nobody listens at the permitted address, and somebody does at the other.
    let (permitted, other): (IpAddr, IpAddr) = ("127.0.0.2".parse().unwrap(), "127.0.0.1".parse().unwrap());
    let asked = AtomicUsize::new(0);
    let names = Names::scripted(move |name| {
        assert_eq!(name, "rebind.example");
        match asked.fetch_add(1, Ordering::Relaxed) % 4 {
            0 => vec![permitted],
            1 => vec![other],
            2 => vec![permitted, other],
            _ => vec![other, permitted],
        }
    });
    let networks = vec!["127.0.0.2/32".parse().unwrap()];
    let webhooks = WebhookPolicy { allow_http: true, networks, ..WebhookPolicy::default() };
    let running = place.notify(Options { webhooks: webhooks.clone(), names, ..options() });
    let mut lane = place.lane(&format!("http://rebind.example:{port}/")).await;
    lane.events(1).await;
    lane.all(State::Dead).await;
    let outcomes: Vec<String> = lane.attempts().await.into_iter().map(|(_, outcome, _)| outcome).collect();
    let each = ["connect_refused", "address_refused", "address_refused", "address_refused"];
    assert_eq!(outcomes, each.into_iter().cycle().take(11).collect::<Vec<_>>());
    assert_eq!(receiver.count(), 0);
    running.stop().await;

    let networks = vec!["127.0.0.0/8".parse().unwrap()];
    let names = Names::scripted(move |_| vec![other]);
    let running = place.notify(Options { webhooks: WebhookPolicy { networks, ..webhooks }, names, ..options() });
    let mut lane = place.lane(&format!("http://rebind.example:{port}/")).await;
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
