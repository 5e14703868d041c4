//! Whose turn it is when more is due than there are slots: the round over the tenants, as this process remembers it.
//!
//! Each replica goes round for itself, from a tenant of its own: what all of them hand out is fair because what each hands out is, and
//! nobody waits for a place that all of them would have to share. The round knows names and numbers only; what is due is read in
//! `store/ready.rs`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of so many slots one goes to what has been due the longest, whatever its priority: nothing starves.
pub(crate) const OLDEST_EVERY: usize = 8;

/// The rounds of every agent.
#[derive(Debug, Default)]
pub(crate) struct Order {
    agents: Mutex<HashMap<String, Rounds>>,
}

/// The rounds of one agent.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Whether more was due last time than there were slots.
    pub(crate) busy: bool,
    /// The highest priority there was last time: where to look first.
    pub(crate) top: i16,
    /// Slots handed out while it was busy.
    slots: usize,
    /// Where the round stands, by priority.
    rounds: BTreeMap<i16, Round>,
}

/// One round over the tenants that have something due.
#[derive(Debug, Default)]
struct Round {
    /// Who had the last turn.
    at: String,
    /// How much of it is left.
    left: usize,
    /// What a tenant was given beside its turns, to be taken off them.
    debts: HashMap<String, usize>,
}

/// A tenant that has something due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) tenant: String,
    /// How much, as far as it matters.
    pub(crate) tasks: usize,
    /// How much it has a turn for.
    pub(crate) weight: usize,
}

impl Order {
    /// The rounds of `agent`. The first one begins at the tenant that `begin` is called, or after it.
    pub(crate) fn of<T>(&self, agent: &str, take: impl FnOnce(&mut Rounds) -> T) -> T {
        let mut agents = self.open();
        match agents.get_mut(agent) {
            Some(rounds) => take(rounds),
            None => take(agents.entry(agent.to_owned()).or_default()),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Rounds>> {
        // A panic can leave a round a turn too early or too late, which is no harm.
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rounds {
    /// How many of the next `slots` go to what has been due the longest.
    pub(crate) fn oldest(&mut self, slots: usize) -> usize {
        let before = self.slots / OLDEST_EVERY;
        self.slots += slots;
        self.slots / OLDEST_EVERY - before
    }

    /// Nothing waits any more: what was given beside the turns is forgotten.
    pub(crate) fn rest(&mut self) {
        self.busy = false;
        self.rounds.values_mut().for_each(|round| round.debts.clear());
    }

    /// Who had the last turn at this priority. A round that has not begun starts after `begin`.
    pub(crate) fn cursor(&mut self, priority: i16, begin: impl FnOnce() -> String) -> String {
        let round = self.rounds.entry(priority).or_insert_with(|| Round { at: begin(), ..Round::default() });
        round.at.clone()
    }

    /// These tenants were given one each beside their turns.
    pub(crate) fn owe<'a>(&mut self, priority: i16, tenants: impl Iterator<Item = &'a str>) {
        if let Some(round) = self.rounds.get_mut(&priority) {
            tenants.for_each(|tenant| *round.debts.entry(tenant.to_owned()).or_default() += 1);
        }
    }

    /// Hand out up to `slots` at this priority. `lap` is who has something due, in the order of their turns, beginning with the tenant that
    /// had the last one. A lap that is not `whole` is gone round once: others would come before its second round.
    pub(crate) fn allot(&mut self, priority: i16, lap: &[Due], whole: bool, slots: usize) -> Vec<(String, usize)> {
        let round = self.rounds.entry(priority).or_default();
        let mut lap = lap.to_vec();
        // The last turn goes on where it was not used up; else its tenant is the last of this lap.
        if round.left == 0 && lap.first().is_some_and(|due| due.tenant == round.at) {
            if whole {
                lap.rotate_left(1);
            } else {
                lap.remove(0);
            }
        }
        let (mut left, mut shares) = (slots, vec![0; lap.len()]);
        let mut first = std::mem::take(&mut round.left);
        while left > 0 && lap.iter().any(|due| due.tasks > 0) {
            for (due, share) in lap.iter_mut().zip(&mut shares) {
                let goes_on = first > 0 && due.tenant == round.at;
                let mut turn = if goes_on { std::mem::take(&mut first) } else { due.weight.max(1) };
                if let (false, Some(debt)) = (goes_on, round.debts.get_mut(&due.tenant)) {
                    let paid = turn.min(*debt);
                    turn -= paid;
                    *debt -= paid;
                    if *debt == 0 {
                        round.debts.remove(&due.tenant);
                    }
                }
                let taken = turn.min(due.tasks).min(left);
                due.tasks -= taken;
                *share += taken;
                left -= taken;
                due.tenant.clone_into(&mut round.at);
                if left == 0 {
                    // Who has nothing more does not save its turn.
                    round.left = if due.tasks > 0 { turn - taken } else { 0 };
                    break;
                }
            }
            if !whole {
                break;
            }
        }
        lap.into_iter().zip(shares).filter(|(_, share)| *share > 0).map(|(due, share)| (due.tenant, share)).collect()
    }

    /// The lap was looked through up to this tenant and nobody beyond: the next one goes on from there.
    pub(crate) fn pass(&mut self, priority: i16, tenant: &str) {
        if let Some(round) = self.rounds.get_mut(&priority) {
            tenant.clone_into(&mut round.at);
            round.left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queue of each tenant, and its weight.
    type Queues = BTreeMap<&'static str, (usize, usize)>;

    fn lap_of(queues: &Queues, at: &str) -> Vec<Due> {
        let due = |(tenant, (tasks, weight)): (&&str, &(usize, usize))| Due {
            tenant: (*tenant).to_owned(),
            tasks: *tasks,
            weight: *weight,
        };
        let from = queues.range::<str, _>((std::ops::Bound::Included(at), std::ops::Bound::Unbounded)).map(due);
        let until = queues.range::<str, _>((std::ops::Bound::Unbounded, std::ops::Bound::Excluded(at))).map(due);
        from.chain(until).filter(|due| due.tasks > 0).collect()
    }

    /// Who is served, claim after claim of `slots`.
    fn serve(queues: &mut Queues, slots: usize, claims: usize) -> Vec<String> {
        let mut rounds = Rounds::default();
        let mut served = Vec::new();
        for _ in 0..claims {
            let at = rounds.cursor(0, || "m".to_owned());
            for (tenant, share) in rounds.allot(0, &lap_of(queues, &at), true, slots) {
                queues.get_mut(tenant.as_str()).unwrap().0 -= share;
                served.extend(std::iter::repeat_n(tenant, share));
            }
        }
        served
    }

    #[test]
    fn each_has_its_turn() {
        let mut queues = Queues::from([("a", (100, 1)), ("b", (2, 1)), ("z", (100, 1))]);
        assert_eq!(serve(&mut queues, 1, 9).concat(), "zabzabzaz");
        let mut queues = Queues::from([("a", (100, 1)), ("b", (1, 1))]);
        assert_eq!(serve(&mut queues, 8, 1).concat(), "aaaaaaab");
    }

    #[test]
    fn weights_hold_from_claim_to_claim() {
        for slots in [1, 2, 5, 32] {
            let mut queues = Queues::from([("a", (1_000, 3)), ("b", (1_000, 1))]);
            let served = serve(&mut queues, slots, 320 / slots);
            let heavy = served.iter().filter(|tenant| *tenant == "a").count();
            assert!(heavy.abs_diff(served.len() * 3 / 4) <= 3, "{slots} at a time: {heavy} of {}", served.len());
        }
    }

    #[test]
    fn what_was_given_beside_is_taken_off() {
        let mut rounds = Rounds::default();
        let lap = ["a", "b"].map(|tenant| Due { tenant: tenant.to_owned(), tasks: 50, weight: 1 });
        rounds.cursor(0, String::new);
        rounds.owe(0, ["a", "a"].into_iter());
        assert_eq!(rounds.allot(0, &lap, true, 10), [("a".to_owned(), 4), ("b".to_owned(), 6)]);
    }

    #[test]
    fn a_lap_that_is_not_whole_is_gone_round_once() {
        let mut rounds = Rounds::default();
        let lap = ["a", "b"].map(|tenant| Due { tenant: tenant.to_owned(), tasks: 50, weight: 1 });
        assert_eq!(rounds.allot(0, &lap, false, 10), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
        rounds.pass(0, "k");
        assert_eq!(rounds.cursor(0, String::new), "k");
    }

    #[test]
    fn every_eighth_slot_is_for_the_oldest() {
        let mut rounds = Rounds::default();
        let oldest: Vec<usize> = (0..16).map(|_| rounds.oldest(1)).collect();
        assert_eq!(oldest.iter().sum::<usize>(), 2);
        assert_eq!((rounds.oldest(32), rounds.oldest(7), rounds.oldest(1)), (4, 0, 1));
    }
}
