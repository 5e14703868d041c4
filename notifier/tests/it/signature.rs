//! What notifications are signed with, verified by other code than signs them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Verifier as _, VerifyingKey};
use engine::signing::{self, SigningError, SigningKey};
use entity::push_delivery::State;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use wire::Tenant;

use crate::on_both_stores;
use crate::place::{Place, options};
use crate::receiver::{Receiver, Seen};

on_both_stores!(every_attempt_is_signed, tenants_have_their_own, a_rotation_overlaps, nothing_is_rotated_twice);

/// Whether the signatures of a kind hold, in the header's order.
fn verified(kind: &str, key: &SigningKey, seen: &Seen, body: &str) -> Vec<bool> {
    let content = format!("{}.{}.{body}", seen.header("webhook-id"), seen.header("webhook-timestamp"));
    let bytes = |text: &str, prefix: &str| STANDARD.decode(text.strip_prefix(prefix).unwrap()).unwrap();
    let signatures = seen.header("webhook-signature").split(' ').map(|each| each.split_once(',').unwrap());
    let of_kind = signatures.filter(|(version, _)| *version == kind);
    of_kind
        .map(|(version, signature)| {
            let signature = STANDARD.decode(signature).unwrap();
            if version == "v1" {
                let mut mac = Hmac::<Sha256>::new_from_slice(&bytes(&key.reveal(), "whsec_")).unwrap();
                mac.update(content.as_bytes());
                return mac.verify_slice(&signature).is_ok();
            }
            let public = VerifyingKey::from_bytes(&bytes(&key.public(), "whpk_").try_into().unwrap()).unwrap();
            public.verify(content.as_bytes(), &Signature::from_slice(&signature).unwrap()).is_ok()
        })
        .collect()
}

async fn keys(place: &Place, tenant: &str) -> Vec<SigningKey> {
    let tenant = Tenant::parse(tenant).unwrap();
    signing::keys(&place.store, &place.secrets, &tenant, place.clock.now()).await.unwrap()
}

async fn rotate(place: &Place, overlap: Duration) -> Result<Vec<SigningKey>, SigningError> {
    signing::rotate(&place.store, &place.secrets, &Tenant::none(), overlap, place.clock.now()).await
}

async fn every_attempt_is_signed(place: Place) {
    let receiver = Receiver::new(|_, before| if before < 3 { 500 } else { 200 }).await;
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(2).await;
    let running = place.notify(options());
    lane.all(State::Delivered).await;
    running.stop().await;
    let key = &keys(&place, "").await[0];
    assert_eq!(receiver.count(), 5);
    for seen in receiver.seen() {
        for kind in ["v1", "v1a"] {
            assert_eq!(verified(kind, key, &seen, &seen.body), [true]);
            assert_eq!(verified(kind, key, &seen, &format!("{} ", seen.body)), [false]);
        }
        let at = seen.header("webhook-timestamp").parse::<i64>().unwrap();
        assert!((place.clock.now() / 1000 - at).abs() <= 60);
    }
}

async fn tenants_have_their_own(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let mut lanes = [place.lane_of("acme", &receiver.url("/acme")).await, place.lane(&receiver.url("/")).await];
    // Two notifiers that find no key agree on one.
    let running = [place.notify(options()), place.notify(options())];
    for lane in &mut lanes {
        lane.events(3).await;
        lane.all(State::Delivered).await;
    }
    for running in running {
        running.stop().await;
    }
    let (acme, none) = (keys(&place, "acme").await, keys(&place, "").await);
    assert_eq!((acme.len(), none.len()), (1, 1));
    for seen in receiver.seen() {
        let (own, other) = if seen.path == "/acme" { (&acme[0], &none[0]) } else { (&none[0], &acme[0]) };
        for kind in ["v1", "v1a"] {
            assert_eq!(verified(kind, own, &seen, &seen.body), [true]);
            assert_eq!(verified(kind, other, &seen, &seen.body), [false]);
        }
    }
}

async fn a_rotation_overlaps(place: Place) {
    let receiver = Receiver::new(|_, _| 200).await;
    let first = keys(&place, "").await.remove(0);
    let second = rotate(&place, Duration::from_secs(3600)).await.unwrap().remove(0);
    let running = place.notify(options());
    let mut lane = place.lane(&receiver.url("/")).await;
    lane.events(1).await;
    lane.all(State::Delivered).await;
    running.stop().await;
    for kind in ["v1", "v1a"] {
        let seen = &receiver.seen()[0];
        assert_eq!(verified(kind, &second, seen, &seen.body), [true, false], "the current one comes first");
        assert_eq!(verified(kind, &first, seen, &seen.body), [false, true]);
    }
    // Without an overlap the one before ends at once; those before it go on as they were promised.
    let third = rotate(&place, Duration::ZERO).await.unwrap().remove(0);
    let counting = keys(&place, "").await;
    assert_eq!(counting.iter().map(|key| key.id).collect::<Vec<_>>(), [third.id, first.id]);
    let public = signing::public_keys(&place.store, &Tenant::none(), place.clock.now()).await.unwrap();
    assert_eq!(public.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [third.id, first.id]);
    // What is over signs no more, also for whoever has remembered it.
    let later = place.clock.now() + 3_600_001;
    assert_eq!(signing::sign(&counting, "id", 1, b"", later).split(' ').count(), 2);
}

async fn nothing_is_rotated_twice(place: Place) {
    let hour = Duration::from_secs(3600);
    assert!(matches!(rotate(&place, hour * 169).await, Err(SigningError::Overlap)));
    let all = futures_util::future::join_all((0..4).map(|_| rotate(&place, hour))).await;
    let done = all.iter().filter(|one| one.is_ok()).count();
    assert!(all.iter().all(|one| matches!(one, Ok(_) | Err(SigningError::Rotated))) && done >= 1);
    let counting = keys(&place, "").await;
    assert_eq!((counting.len(), counting.iter().filter(|key| key.until.is_none()).count()), (done + 1, 1));
    while keys(&place, "").await.len() < 5 {
        rotate(&place, hour).await.unwrap();
    }
    assert!(matches!(rotate(&place, hour).await, Err(SigningError::Full)));
}
