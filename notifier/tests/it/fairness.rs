//! One tenant's flood, one receiver that hangs: others do not wait for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::bus::Bus;
use engine::store::delivery::{self, Room, Rooms};
use entity::push_delivery::State;
use entity::push_lane;
use notifier::{Notifier, Options, Schedule};
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter};
use tokio::sync::watch;
use uuid::Uuid;

use crate::place::{Lane, Place, options};
use crate::receiver::{Answer, Receiver};
use crate::{on_both_stores, until};

on_both_stores!(
    a_flood_that_hangs_delays_nobody_else,
    a_flood_that_times_out_delays_nobody_else,
    an_origin_that_hangs_delays_no_other_of_its_tenant,
    each_notifier_has_shares_of_its_own,
    a_claim_passes_over_who_has_no_room,
    a_claim_gives_nobody_more_than_there_is_room_for,
);

/// A receiver that answers nothing until the gate is opened.
async fn hanging() -> (Receiver, watch::Sender<bool>) {
    let (open, gate) = watch::channel(false);
    let answer = move || Answer { status: 200, gate: Some(gate.clone()), ..Answer::default() };
    (Receiver::new(move |_, _| answer()).await, open)
}

/// Lanes of one tenant in which something is due, half of them under each name of `receiver`.
async fn flood(place: &Place, tenant: &str, receiver: &Receiver, count: usize) -> Vec<Lane> {
    let mut lanes = Vec::with_capacity(count);
    for n in 0..count {
        let path = format!("/{n}");
        let url = if n % 2 == 0 { receiver.url(&path) } else { receiver.named(&path) };
        let mut lane = place.lane_of(tenant, &url).await;
        lane.events(if n % 20 == 0 { 3 } else { 1 }).await;
        lanes.push(lane);
    }
    lanes
}

/// All of a flood came, in order, nothing twice.
async fn arrived(lanes: &[Lane], receiver: &Receiver) {
    let mut came: HashMap<String, Vec<i64>> = HashMap::new();
    for seen in receiver.seen() {
        came.entry(seen.path.clone()).or_default().push(seen.sequence());
    }
    for (n, lane) in lanes.iter().enumerate() {
        lane.all(State::Delivered).await;
        let sequences: &[i64] = if n % 20 == 0 { &[1, 2, 3] } else { &[1] };
        let came = came.get_mut(&format!("/{n}")).unwrap();
        assert!(came.is_sorted(), "{came:?}");
        came.dedup();
        assert_eq!(came, sequences);
    }
}

/// Lanes of `tenant`'s that a notifier holds.
async fn held(place: &Place, tenant: &str) -> u64 {
    push_lane::Entity::across_tenants()
        .filter(push_lane::Column::Tenant.eq(tenant))
        .filter(push_lane::Column::Holder.is_not_null())
        .count(place.store.read())
        .await
        .unwrap()
}

async fn drained(place: &Place, tenant: &str) {
    until("nothing of the flood is due", || async {
        let due = push_lane::Entity::across_tenants()
            .filter(push_lane::Column::Tenant.eq(tenant))
            .filter(push_lane::Column::DueAt.is_not_null());
        due.count(place.store.read()).await.unwrap() == 0
    })
    .await;
}

async fn a_flood_that_hangs_delays_nobody_else(place: Place) {
    let (slow, open) = hanging().await;
    let well = Receiver::new(|_, _| 200).await;
    let lanes = flood(&place, "a", &slow, 200).await;
    // No sweep helps: what a claim passes over is found when a slot comes back, or never.
    let sweep = Duration::from_secs(3600);
    let running = place.notify(Options { slots: 120, sweep, ..options() });
    until("the flood has its share", || async { slow.open() == 12 }).await;

    let mut lane = place.lane_of("b", &well.url("/")).await;
    lane.events(3).await;
    lane.all(State::Delivered).await;
    assert_eq!(well.sequences("/"), [1, 2, 3]);
    assert_eq!((slow.open(), slow.count()), (12, 12), "the flood still hangs");

    open.send_replace(true);
    drained(&place, "a").await;
    arrived(&lanes, &slow).await;
    assert_eq!(slow.count(), 220, "nothing twice");
    let (all, of_one) = slow.most();
    assert!(all <= 12 && of_one <= 8, "{all} {of_one}");
    running.stop().await;
}

async fn a_flood_that_times_out_delays_nobody_else(place: Place) {
    let (slow, open) = hanging().await;
    let well = Receiver::new(|_, _| 200).await;
    let lanes = flood(&place, "a", &slow, 200).await;
    let running = place.notify(Options {
        slots: 64,
        total_timeout: Duration::from_millis(500),
        schedule: Schedule::new(vec![Duration::from_millis(20); 100_000]),
        ..options()
    });
    // The receiver learns a little late that a request was given up; the lanes tell at once.
    let over = Arc::new(AtomicBool::new(false));
    let watching = tokio::spawn({
        let (place, over) = (place.clone(), over.clone());
        async move {
            while !over.load(Ordering::Relaxed) {
                assert!(held(&place, "a").await <= 8);
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
        }
    });
    for round in 1..=4 {
        until("more attempts time out", || async { slow.count() >= round * 8 }).await;
        let mut lane = place.lane_of("b", &well.url("/")).await;
        lane.events(1).await;
        lane.all(State::Delivered).await;
    }
    assert_eq!(well.count(), 4);
    assert!(lanes[0].row().await.head == 1, "the flood still hangs");

    open.send_replace(true);
    drained(&place, "a").await;
    over.store(true, Ordering::Relaxed);
    watching.await.unwrap();
    arrived(&lanes, &slow).await;
    running.stop().await;
}

async fn an_origin_that_hangs_delays_no_other_of_its_tenant(place: Place) {
    let (slow, open) = hanging().await;
    let well = Receiver::new(|_, _| 200).await;
    let mut lanes = Vec::new();
    for n in 0..100 {
        let mut lane = place.lane_of("a", &slow.url(&format!("/{n}?x"))).await;
        lane.events(1).await;
        lanes.push(lane);
    }
    let running = place.notify(Options { sweep: Duration::from_secs(3600), ..options() });
    until("the origin has its part", || async { slow.open() == 8 }).await;
    let mut lane = place.lane_of("a", &well.url("/")).await;
    lane.events(2).await;
    lane.all(State::Delivered).await;
    assert_eq!((slow.open(), slow.count()), (8, 8));
    open.send_replace(true);
    drained(&place, "a").await;
    assert_eq!((slow.count(), slow.most().0), (100, 8));
    running.stop().await;
}

async fn each_notifier_has_shares_of_its_own(place: Place) {
    let (slow, open) = hanging().await;
    let lanes = flood(&place, "a", &slow, 30).await;
    let own = || Options { tenant_slots: 3, ..options() };
    let Place { store, clock, secrets, .. } = place.clone();
    let elsewhere = Notifier { store, bus: Bus::in_process(), clock, secrets, options: own() };
    let running = [place.notify(own()), place.notify_on(elsewhere)];
    until("both have their share", || async { slow.open() == 6 }).await;
    open.send_replace(true);
    drained(&place, "a").await;
    arrived(&lanes, &slow).await;
    assert_eq!(slow.most().0, 6);
    for running in running {
        running.stop().await;
    }
}

fn rooms(taken: &[(&str, Option<&str>, usize)]) -> Rooms {
    let room = |&(tenant, origin, room): &(&str, Option<&str>, usize)| Room {
        tenant: tenant.into(),
        origin: origin.map(Into::into),
        room,
    };
    Rooms { taken: taken.iter().map(room).collect(), tenant: 10, origin: 8 }
}

/// Claim up to `limit` and say whose the lanes are; `full` is whether there may be more.
async fn claim(place: &Place, limit: usize, rooms: &Rooms) -> (Vec<String>, bool) {
    let now = place.clock.now();
    let claimed = delivery::claim(&place.store, Uuid::now_v7(), now, now + 60_000, limit, rooms).await.unwrap();
    let mut tenants: Vec<String> = claimed.held.into_iter().map(|held| held.tenant).collect();
    tenants.sort_unstable();
    (tenants, claimed.full)
}

async fn a_claim_passes_over_who_has_no_room(place: Place) {
    for n in 0..100 {
        // As they may be written; the last two are an origin of their own.
        let url = match n % 5 {
            0 => "https://slow.example/hook",
            1 => "HTTPS://Slow.Example?x=/y",
            2 => "https://slow.example#/x",
            3 => "https://slow.example:8443",
            _ => "http://slow.example/",
        };
        place.lane_of("a'\"\\é", url).await.events(1).await;
    }
    place.lane_of("b", "https://slow.example/").await.events(1).await;
    let gone = place.lane_of("b", "https://slow.example/").await;
    gone.config_gone().await;

    let all = rooms(&[("a'\"\\é", None, 0)]);
    assert_eq!(claim(&place, 8, &all).await, (vec!["b".into(), "b".into()], false), "a config that is gone counts");
    assert_eq!(claim(&place, 64, &all).await, (vec![], false));
    let one = |room| ("a'\"\\é", Some("https://slow.example"), room);
    let other = |origin, room| ("a'\"\\é", Some(origin), room);
    let two = [one(0), other("https://slow.example:8443", 0)];
    assert_eq!(claim(&place, 1, &rooms(&two)).await.0.len(), 1, "the third is free");
    let three = [two[0], two[1], other("http://slow.example", 0)];
    assert_eq!(claim(&place, 64, &rooms(&three)).await.0.len(), 0, "every spelling is known");
}

async fn a_claim_gives_nobody_more_than_there_is_room_for(place: Place) {
    for n in 0..40 {
        place.lane_of("a", &format!("https://{}.example/{n}", n % 4)).await.events(1).await;
    }
    for n in 0..5 {
        place.lane_of("b", &format!("https://0.example/{n}")).await.events(1).await;
    }
    let given = claim(&place, 64, &rooms(&[("a", None, 3), ("b", None, 9), ("b", Some("https://0.example"), 2)])).await;
    assert_eq!(given, (["a", "a", "a", "b", "b"].map(String::from).to_vec(), false));
    let (given, _) = claim(&place, 64, &rooms(&[("b", None, 0)])).await;
    assert_eq!(given.len(), 10, "who has nothing yet has all of the share");
    let (given, full) = claim(&place, 8, &rooms(&[("b", None, 0)])).await;
    assert!(given.len() == 8 && full);
}
