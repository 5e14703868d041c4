//! Stopping gives back what is held; a kill costs at most one repetition a lane.

use std::time::Duration;

use entity::push_delivery::State;
use notifier::{Error, Notifier, Options, Schedule};

use crate::place::{Place, options};
use crate::receiver::{Answer, Receiver};
use crate::{on_both_stores, until};

on_both_stores!(stop_and_go_on, a_hanging_request_is_given_back, a_killed_holder_is_succeeded, contradicting_options,);

async fn stop_and_go_on(place: Place) {
    let receiver =
        Receiver::new(|_, _| Answer { status: 200, delay: Duration::from_millis(3), ..Answer::default() }).await;
    let mut lanes = Vec::new();
    for n in 0..10 {
        let mut lane = place.lane(&receiver.url(&format!("/{n}"))).await;
        lane.events(20).await;
        lanes.push(lane);
    }
    let mut rounds = 0;
    while receiver.count() < 200 {
        let running = place.notify(options());
        let before = receiver.count();
        until("some arrive", || async { receiver.count() > before }).await;
        running.stop().await;
        for lane in &lanes {
            assert_eq!(lane.row().await.holder, None, "a stopped notifier holds nothing");
        }
        rounds += 1;
    }
    assert!(rounds > 1);
    for (n, lane) in lanes.iter().enumerate() {
        lane.all(State::Delivered).await;
        assert_eq!(receiver.sequences(&format!("/{n}")), (1..=20).collect::<Vec<_>>(), "nothing lost, nothing twice");
    }
}

async fn a_hanging_request_is_given_back(place: Place) {
    let receiver = Receiver::new(|_, before| Answer {
        status: 200,
        delay: Duration::from_secs(if before == 0 { 3600 } else { 0 }),
        ..Answer::default()
    })
    .await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(2).await;
    let running = place.notify(Options { drain: Duration::from_millis(50), ..options() });
    until("a request hangs", || async { receiver.count() == 1 }).await;
    running.stop().await;
    let row = lane.row().await;
    assert!(row.holder.is_none() && row.due_at.is_some_and(|due| due <= place.clock.now()));
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    assert_eq!(receiver.sequences("/"), [1, 1, 2]);
    running.stop().await;
}

async fn a_killed_holder_is_succeeded(place: Place) {
    let receiver =
        Receiver::new(|_, _| Answer { status: 200, delay: Duration::from_millis(3), ..Answer::default() }).await;
    let mut lanes = Vec::new();
    for n in 0..10 {
        let mut lane = place.lane(&receiver.url(&format!("/{n}"))).await;
        lane.events(10).await;
        lanes.push(lane);
    }
    let short =
        || Options { lease: Duration::from_millis(2300), total_timeout: Duration::from_millis(300), ..options() };
    let killed = place.notify(short());
    until("some arrive", || async { receiver.count() > 20 }).await;
    killed.kill().await;
    let running = place.notify(short());
    for (n, lane) in lanes.iter().enumerate() {
        lane.all(State::Delivered).await;
        let mut came = receiver.sequences(&format!("/{n}"));
        assert!(came.is_sorted() || came.len() > 10, "{came:?}");
        came.sort_unstable();
        came.dedup();
        assert_eq!(came, (1..=10).collect::<Vec<_>>());
    }
    running.stop().await;
}

async fn contradicting_options(place: Place) {
    for options in [
        Options { slots: 0, ..Options::default() },
        Options { schedule: Schedule::new([]), ..Options::default() },
        Options { sweep: Duration::ZERO, ..Options::default() },
        Options { lease: Duration::from_secs(21), ..Options::default() },
    ] {
        let Place { store, bus, clock, secrets } = place.clone();
        let started = notifier::run(Notifier { store, bus, clock, secrets, options }, async {}).await;
        assert!(matches!(started, Err(Error::Options(_))), "{started:?}");
    }
}
