//! Everything arrives, in order, once.

use std::time::Duration;

use engine::bus::Bus;
use entity::push_delivery::State;
use notifier::{Notifier, Options};

use crate::place::{Place, options};
use crate::receiver::{Answer, Receiver};
use crate::{on_both_stores, until};

on_both_stores!(
    in_order_per_lane,
    an_event_while_the_holder_finishes,
    two_notifiers_deliver_once,
    few_slots_serve_many_lanes,
    without_a_hint,
);

fn in_turn(count: i64) -> Vec<i64> {
    (1..=count).collect()
}

async fn in_order_per_lane(place: Place) {
    let receiver = Receiver::new(|seen, _| Answer {
        status: 204,
        delay: Duration::from_millis(seen.sequence() as u64 * 7 % 5),
        ..Answer::default()
    })
    .await;
    let running = place.notify(options());
    let mut lanes = Vec::new();
    for n in 0..20 {
        lanes.push(place.lane(&receiver.url(&format!("/{n}"))).await);
    }
    for _ in 0..3 {
        for lane in &mut lanes {
            lane.events(7).await;
        }
    }
    for (n, lane) in lanes.iter().enumerate() {
        lane.all(State::Delivered).await;
        assert_eq!(receiver.sequences(&format!("/{n}")), in_turn(21));
        assert_eq!(lane.attempts().await.len(), 21);
    }
    running.stop().await;
}

async fn an_event_while_the_holder_finishes(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    // No sweep helps: what is missed stays missed.
    let running = place.notify(Options { sweep: Duration::from_secs(3600), ..options() });
    let mut writers = Vec::new();
    for n in 0..8 {
        let mut lane = place.lane(&receiver.url(&format!("/{n}"))).await;
        writers.push(tokio::spawn(async move {
            for round in 0..60 {
                lane.events(1).await;
                tokio::time::sleep(Duration::from_micros(round * 173 % 9000)).await;
            }
            lane
        }));
    }
    for (n, writer) in writers.into_iter().enumerate() {
        let lane = writer.await.unwrap();
        lane.all(State::Delivered).await;
        assert_eq!(receiver.sequences(&format!("/{n}")), in_turn(60));
    }
    running.stop().await;
}

async fn two_notifiers_deliver_once(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lanes = Vec::new();
    for n in 0..40 {
        lanes.push(place.lane(&receiver.url(&format!("/{n}"))).await);
    }
    let Place { store, clock, secrets, .. } = place.clone();
    let elsewhere = Notifier { store, bus: Bus::in_process(), clock, secrets, options: options() };
    let running = [place.notify(options()), place.notify_on(elsewhere)];
    for _ in 0..5 {
        for lane in &mut lanes {
            lane.events(2).await;
        }
    }
    for (n, lane) in lanes.iter().enumerate() {
        lane.all(State::Delivered).await;
        assert_eq!(receiver.sequences(&format!("/{n}")), in_turn(10));
    }
    for running in running {
        running.stop().await;
    }
}

async fn few_slots_serve_many_lanes(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lanes = Vec::new();
    for n in 0..30 {
        let mut lane = place.lane(&receiver.url(&format!("/{n}"))).await;
        lane.events(20).await;
        lanes.push(lane);
    }
    let running = place.notify(Options { slots: 3, ..options() });
    for (n, lane) in lanes.iter().enumerate() {
        lane.all(State::Delivered).await;
        assert_eq!(receiver.sequences(&format!("/{n}")), in_turn(20));
    }
    running.stop().await;
}

async fn without_a_hint(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let Place { store, clock, secrets, .. } = place.clone();
    let elsewhere = Notifier { store, bus: Bus::in_process(), clock, secrets, options: options() };
    let running = place.notify_on(elsewhere);
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(1).await;
    until("the sweep finds it", || async { receiver.count() == 1 }).await;
    lane.all(State::Delivered).await;
    running.stop().await;
}
