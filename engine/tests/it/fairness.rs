//! Who is claimed next: tenants in turn and by weight, urgent before less urgent, each tenant's oldest first, and nobody never.

use engine::{Engine, TenantSettings};
use wire::worker::Lease;

use crate::fixture::*;
use crate::on_every_store;

/// Claims of one task each, in turn by these engines.
async fn claims(engines: &[&Engine], claims: usize) -> Vec<Lease> {
    let mut leases = Vec::new();
    for n in 0..claims {
        leases.extend(poll(engines[n % engines.len()], 1, false).await);
    }
    assert_eq!(leases.len(), claims);
    leases
}

fn of_tenant(leases: &[Lease], tenant: &str) -> usize {
    leases.iter().filter(|lease| lease.tenant == tenant).count()
}

on_every_store! {
    /// A tenant with ten thousand tasks does not keep another one's single task waiting, on one replica or on two.
    async fn a_flood_of_one_tenant_holds_up_nobody(f: Fixture) {
        let other = f.replica(|_| {});
        let flood = send(&f.engine, "a", say("flood")).await.unwrap();
        f.flood(&flood.id, 9_999).await;
        claims(&[&f.engine, &other], 4).await;
        for engines in [vec![&f.engine], vec![&f.engine, &other]] {
            for tenant in ["b", "Z", "0", ""] {
                f.clock.advance(1);
                send(&f.engine, tenant, say("one")).await.unwrap();
                let leases = claims(&engines, engines.len() + 3).await;
                assert_eq!(of_tenant(&leases, tenant), 1, "{tenant:?} of {} replicas", engines.len());
            }
        }
        // The same when many workers ask at once.
        send(&f.engine, "b", say("one")).await.unwrap();
        assert_eq!(of_tenant(&poll(&f.engine, 8, false).await, "b"), 1);
    }

    /// Weights hold: three to one over four hundred claims, whatever is asked for at once.
    async fn weights_hold(f: Fixture) {
        let weigh = |settings: &mut engine::Settings| {
            settings.tenants.insert("a".into(), TenantSettings { weight: 3, max_running: 0 });
        };
        let (engine, other) = (f.replica(weigh), f.replica(weigh));
        for tenant in ["b", "a"] {
            let flood = send(&engine, tenant, say("flood")).await.unwrap();
            f.flood(&flood.id, 1_999).await;
        }
        let leases = claims(&[&engine], 400).await;
        assert!(of_tenant(&leases, "a").abs_diff(300) <= 8, "{} of 400", of_tenant(&leases, "a"));
        let mut leases = Vec::new();
        while leases.len() < 400 {
            leases.extend(poll(&other, 7, false).await);
        }
        assert!(of_tenant(&leases, "a").abs_diff(leases.len() * 3 / 4) <= 12, "{}", of_tenant(&leases, "a"));
    }

    /// What is urgent comes first, and what is not still comes, though the flood never ends.
    async fn nothing_starves(f: Fixture) {
        let flood = send(&f.engine, "a", say("urgent")).await.unwrap();
        f.run("UPDATE work SET priority = 5").await;
        let slow = send(&f.engine, "b", say("can wait")).await.unwrap();
        f.clock.advance(1_000);
        let fresh = send(&f.engine, "c", say("urgent")).await.unwrap();
        f.run(&format!("UPDATE work SET priority = 5, due_at = {} WHERE tenant <> 'b'", f.clock.now())).await;
        f.flood(&flood.id, 500).await;
        let leases = claims(&[&f.engine], 3).await;
        assert!(leases.iter().any(|lease| lease.task.id == fresh.id));
        let leases = claims(&[&f.engine], 8 + 3).await;
        assert!(leases.iter().any(|lease| lease.task.id == slow.id));
    }

    /// Each tenant's own tasks come in the order they came.
    async fn a_tenant_has_its_oldest_first(f: Fixture) {
        let mut sent = Vec::new();
        for n in 0..30 {
            f.clock.advance(1);
            sent.push(send(&f.engine, if n % 3 == 0 { "b" } else { "a" }, say("x")).await.unwrap().id);
        }
        let mut leases = claims(&[&f.engine], 10).await;
        leases.extend(poll(&f.engine, 20, false).await);
        for tenant in ["a", "b"] {
            let ids: Vec<&str> = leases.iter().filter(|lease| lease.tenant == tenant).map(|lease| &*lease.task.id).collect();
            let places: Vec<_> = ids.iter().map(|id| sent.iter().position(|sent| sent == id)).collect();
            assert!(places.is_sorted(), "{places:?}");
        }
        assert_eq!(leases.len(), 30);
    }

    /// A lease that has ended is delivered again before what waits in line.
    async fn an_expired_lease_does_not_queue_again(f: Fixture) {
        let flood = send(&f.engine, "a", say("flood")).await.unwrap();
        f.flood(&flood.id, 200).await;
        let lost = claims(&[&f.engine], 1).await.remove(0);
        f.clock.advance(30_001);
        let again = claims(&[&f.engine], 1).await.remove(0);
        assert_eq!((again.task.id, again.attempt), (lost.task.id, 2));
    }

    /// A thousand tenants have their turn each before anybody has a second one.
    async fn many_tenants_go_round(f: Fixture) {
        for n in 0..100 {
            let task = send(&f.engine, &format!("t{n}"), say("x")).await.unwrap();
            if n % 10 == 0 {
                f.flood(&task.id, 5).await;
            }
        }
        f.clock.advance(1);
        let mut leases = Vec::new();
        while leases.len() < 100 {
            leases.extend(poll(&f.engine, 16, false).await);
        }
        let tenants: std::collections::HashSet<&str> = leases.iter().take(100).map(|lease| &*lease.tenant).collect();
        // But for the slots of the oldest, which are tenants' that have had a turn.
        assert!(tenants.len() >= 85, "{}", tenants.len());
    }

    /// Messages that wait for a direct answer take part in the same round.
    async fn direct_messages_take_part(f: Fixture) {
        let engine = f.replica(|settings| {
            let mut agent = engine::Agent::named("demo");
            agent.direct = Some(std::time::Duration::from_secs(60));
            settings.agents.insert("demo".into(), agent.into());
        });
        let flood = send(&engine, "a", say("flood")).await.unwrap();
        f.flood(&flood.id, 2_000).await;
        let mut asks = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let engine = engine.clone();
            let mut ask = say("quick");
            ask.configuration = None;
            asks.spawn(async move { engine.send_message(&caller(&engine, "b"), None, ask).await });
        }
        while f.count("waiting_message").await < 3 {
            tokio::task::yield_now().await;
        }
        let leases = claims(&[&engine], 9).await;
        assert_eq!(leases.iter().filter(|lease| lease.direct).count(), 3);
    }
}
