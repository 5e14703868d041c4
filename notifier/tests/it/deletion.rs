//! Delete is final.

use std::time::{Duration, Instant};

use engine::store::delivery;
use entity::push_delivery::State;
use notifier::{Options, Schedule};

use crate::place::{Place, options};
use crate::receiver::{Answer, Receiver};
use crate::{on_both_stores, until};

on_both_stores!(
    before_anything_was_sent,
    while_a_retry_waits,
    while_delivering,
    while_a_request_hangs,
    an_event_after_the_deletion,
);

async fn before_anything_was_sent(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(3).await;
    lane.delete().await;
    let mut other = place.lane(&receiver.url("/other")).await;
    other.events(1).await;
    let running = place.notify(options());
    other.all(State::Delivered).await;
    assert!(receiver.sequences("/").is_empty());
    assert!(lane.deliveries().await.iter().all(|delivery| delivery.state == State::Cancelled));
    assert!(lane.attempts().await.is_empty());
    running.stop().await;
}

async fn while_a_retry_waits(place: Place) {
    let receiver = Receiver::new(|_, _| 500).await;
    let schedule = Schedule::new([Duration::ZERO, Duration::from_millis(200)]);
    let running = place.notify(Options { schedule, ..options() });
    let mut lanes = Vec::new();
    for _ in 0..20 {
        let mut lane = place.lane(&receiver.url("/")).await;
        lane.events(2).await;
        lanes.push(lane);
    }
    for lane in &lanes {
        until("a retry waits", || async {
            let row = lane.row().await;
            row.attempts == 1 && row.holder.is_none() || row.head > 1
        })
        .await;
        lane.delete().await;
    }
    let count = receiver.count();
    // Long after every retry would have been made, something else has been delivered.
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(receiver.count(), count);
    for lane in &lanes {
        assert!(lane.deliveries().await.iter().all(|delivery| delivery.state != State::Pending));
        assert!(lane.row().await.due_at.is_none());
    }
    running.stop().await;
}

async fn while_delivering(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let running = place.notify(options());
    for round in 0..40 {
        let path = format!("/{round}");
        let mut lane = place.lane(&receiver.url(&path)).await;
        lane.events(8).await;
        tokio::time::sleep(Duration::from_micros(round * 379 % 15_000)).await;
        lane.delete().await;
        // A request that was dialled before may still come in.
        let before = receiver.sequences(&path).len();
        let row = lane.row().await;
        assert!(row.holder.is_none() && row.due_at.is_none());
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(receiver.sequences(&path).len() <= before + 1);
        assert!(lane.deliveries().await.iter().all(|delivery| delivery.state != State::Pending));
    }
    running.stop().await;
}

async fn while_a_request_hangs(place: Place) {
    let receiver =
        Receiver::new(|_, _| Answer { status: 500, delay: Duration::from_secs(3), ..Answer::default() }).await;
    let running = place.notify(options());
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(2).await;
    until("a request hangs", || async { receiver.count() == 1 }).await;
    let began = Instant::now();
    lane.delete().await;
    assert!(began.elapsed() >= delivery::LET_GO, "the holder could not let go");
    until("it lets go once the request has ended", || async { lane.row().await.holder.is_none() }).await;
    assert_eq!(receiver.count(), 1);
    assert!(lane.deliveries().await.iter().all(|delivery| delivery.state == State::Cancelled));
    running.stop().await;
}

async fn an_event_after_the_deletion(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.delete().await;
    // Written by somebody who had read the lane while it was open.
    lane.events(2).await;
    let running = place.notify(options());
    lane.all(State::Cancelled).await;
    assert_eq!(receiver.count(), 0);
    running.stop().await;
}
