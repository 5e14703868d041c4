//! Who has how many of the slots: a tenant at most its share, one of its receivers at most a part of that.

use std::collections::HashMap;

use engine::store::delivery::{Room, Rooms};

/// Slots of one tenant for one origin.
const ORIGIN: usize = 8;
/// The least share of a tenant that is derived from the slots.
const LEAST: usize = 8;

/// Whose slot one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) tenant: String,
    /// Of the receiver; empty when there is none.
    pub(crate) origin: String,
}

/// What is taken. Only those who have something stand here.
#[derive(Debug)]
pub(crate) struct Shares {
    tenant: usize,
    taken: HashMap<String, Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    origins: HashMap<String, usize>,
}

impl Shares {
    /// Each tenant may have `tenant_slots`, or with 0 a tenth of `slots`.
    pub(crate) fn new(slots: usize, tenant_slots: usize) -> Shares {
        let tenant = if tenant_slots == 0 { (slots / 10).max(LEAST) } else { tenant_slots };
        Shares { tenant, taken: HashMap::new() }
    }

    /// Whether tenant or origin now has all that it may have.
    pub(crate) fn take(&mut self, seat: &Seat) -> bool {
        let taken = self.taken.entry(seat.tenant.clone()).or_default();
        taken.all += 1;
        let origin = taken.origins.entry(seat.origin.clone()).or_default();
        *origin += 1;
        taken.all >= self.tenant || *origin >= ORIGIN
    }

    /// Whether tenant or origin had all that it may have until now.
    pub(crate) fn give_back(&mut self, seat: &Seat) -> bool {
        let Some(taken) = self.taken.get_mut(&seat.tenant) else { return false };
        let Some(origin) = taken.origins.get_mut(&seat.origin) else { return false };
        let had_all = taken.all >= self.tenant || *origin >= ORIGIN;
        taken.all -= 1;
        *origin -= 1;
        if *origin == 0 {
            taken.origins.remove(&seat.origin);
        }
        if taken.all == 0 {
            self.taken.remove(&seat.tenant);
        }
        had_all
    }

    /// What is left, for a claim.
    pub(crate) fn rooms(&self) -> Rooms {
        let mut rooms = Vec::new();
        for (tenant, taken) in &self.taken {
            let room = |origin: Option<&String>, room| Room { tenant: tenant.clone(), origin: origin.cloned(), room };
            rooms.push(room(None, self.tenant.saturating_sub(taken.all)));
            rooms.extend(taken.origins.iter().map(|(origin, n)| room(Some(origin), ORIGIN.saturating_sub(*n))));
        }
        Rooms { taken: rooms, tenant: self.tenant, origin: ORIGIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(tenant: &str, origin: &str) -> Seat {
        Seat { tenant: tenant.into(), origin: origin.into() }
    }

    #[test]
    fn a_tenth_but_eight_at_least() {
        for (slots, tenant_slots, share) in [(512, 0, 51), (64, 0, 8), (1, 0, 8), (10_000, 0, 1000), (512, 3, 3)] {
            assert_eq!(Shares::new(slots, tenant_slots).rooms().tenant, share, "{slots} {tenant_slots}");
        }
    }

    #[test]
    fn who_has_all_of_it_is_told() {
        let mut shares = Shares::new(512, 10);
        let taken: Vec<bool> = (0..8).map(|_| shares.take(&seat("a", "x"))).collect();
        assert_eq!(taken, [false, false, false, false, false, false, false, true], "the origin's");
        assert!(!shares.take(&seat("b", "x")), "another tenant's are its own");
        assert!(!shares.take(&seat("a", "y")));
        assert!(shares.take(&seat("a", "z")), "the tenant's");
        let rooms = shares.rooms();
        let room = |tenant: &str, origin: Option<&str>| {
            rooms.taken.iter().find(|r| r.tenant == tenant && r.origin.as_deref() == origin).map(|r| r.room)
        };
        assert_eq!((room("a", None), room("a", Some("x")), room("a", Some("y"))), (Some(0), Some(0), Some(7)));
        assert_eq!((room("b", None), room("c", None)), (Some(9), None));
        assert!(shares.give_back(&seat("a", "y")) && !shares.give_back(&seat("a", "z")));
        assert!(shares.give_back(&seat("a", "x")) && !shares.give_back(&seat("a", "x")));
        for _ in 0..6 {
            shares.give_back(&seat("a", "x"));
        }
        shares.give_back(&seat("b", "x"));
        assert!(shares.rooms().taken.is_empty());
    }
}
