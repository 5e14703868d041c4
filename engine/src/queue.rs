//! The polls that wait in this process, and the one claimer that serves them all.
//!
//! Work is handed out only in answer to a poll that is there: a claim is made for named slots of waiting polls, and what a poll that went
//! away meanwhile would have got is given back at once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entity::{waiting_message, work};
use tokio::sync::{oneshot, watch};
use wire::worker::Lease;

use crate::{Engine, store};

/// The most leases one claim makes: a statement's length is bounded by it.
const CLAIM: usize = 32;

/// What a poll asks for.
#[derive(Debug, Clone)]
pub struct Poll {
    /// Of these agents, sorted.
    pub agents: Vec<String>,
    /// So many leases at most.
    pub max: usize,
    /// Whether what is Submitted is moved to Working in the claim.
    pub start: bool,
    /// The worker's session.
    pub worker: Option<String>,
}

/// What polls have in common that one claim serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Want {
    agents: Vec<String>,
    start: bool,
}

#[derive(Debug)]
struct Entry {
    max: usize,
    worker: Option<String>,
    answer: oneshot::Sender<Vec<Lease>>,
}

/// The polls that wait, by what they want and oldest first: a look at a thousand of them touches those only that something is ready for.
type Entries = HashMap<Want, Vec<Entry>>;

/// The polls that wait.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Entries>,
    /// Odd while the claimer looks, even while it rests; grows at each change.
    looks: watch::Sender<u64>,
}

/// One poll's place in the queue. What comes after its poll has gone is given back.
#[derive(Debug)]
pub(crate) struct Waiting {
    engine: Engine,
    answer: oneshot::Receiver<Vec<Lease>>,
    looks: watch::Receiver<u64>,
    /// The first whole look of the claimer after this poll came has ended.
    looked: u64,
}

impl Waiting {
    /// Resolves once there are leases.
    pub(crate) async fn leases(&mut self) -> Vec<Lease> {
        // Without a claimer (the process is ending) there are none.
        (&mut self.answer).await.unwrap_or_default()
    }

    /// Resolves once the claimer has looked for this poll: also one that does not wait gets what is there.
    pub(crate) async fn looked(&mut self) {
        let looked = self.looked;
        let look = self.looks.wait_for(|looks| *looks >= looked);
        let _in_time = tokio::time::timeout(Duration::from_secs(2), look).await;
    }

    /// What has come at the last moment, and nothing comes any more.
    pub(crate) fn last_look(&mut self) -> Vec<Lease> {
        self.answer.close();
        self.answer.try_recv().unwrap_or_default()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let unwanted = self.last_look();
        if !unwanted.is_empty() {
            let engine = self.engine.clone();
            tokio::spawn(async move { engine.give_back(unwanted).await });
        }
    }
}

/// Polls that one claim serves.
#[derive(Debug)]
struct Group {
    want: Want,
    entries: Vec<Entry>,
}

impl Queue {
    fn open(&self) -> MutexGuard<'_, Entries> {
        // A panic cannot leave the lists half written.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take a place. Also yields the claimer's look after which this poll has been looked for.
    fn enter(&self, poll: Poll) -> (oneshot::Receiver<Vec<Lease>>, u64) {
        let (answer, receiver) = oneshot::channel();
        let Poll { agents, max, start, worker } = poll;
        let mut waiting = self.open();
        let entries = waiting.entry(Want { agents, start }).or_default();
        entries.retain(|entry| !entry.answer.is_closed());
        entries.push(Entry { max, worker, answer });
        let looks = *self.looks.borrow();
        // A look that is under way may have begun without this poll; then it is the one after it.
        (receiver, looks + if looks.is_multiple_of(2) { 2 } else { 3 })
    }

    fn is_empty(&self) -> bool {
        self.open().values().flatten().all(|entry| entry.answer.is_closed())
    }

    /// Take everybody who waits for what is ready.
    fn take(&self, ready: impl Fn(&[String]) -> bool) -> Vec<Group> {
        let mut waiting = self.open();
        waiting.retain(|_, entries| {
            entries.retain(|entry| !entry.answer.is_closed());
            !entries.is_empty()
        });
        let served: Vec<Want> = waiting.keys().filter(|want| ready(&want.agents)).cloned().collect();
        let group = |want: Want| waiting.remove(&want).map(|entries| Group { want, entries });
        served.into_iter().filter_map(group).collect()
    }

    fn put_back(&self, want: Want, entries: Vec<Entry>) {
        if entries.is_empty() {
            return;
        }
        let mut waiting = self.open();
        let place = waiting.entry(want).or_default();
        let newer = std::mem::replace(place, entries);
        place.extend(newer);
    }
}

/// Whose turn is it: one lease a poll, round and round, until `most` are spoken for. Yields indexes into `wants`.
fn turns(wants: &[usize], most: usize) -> Vec<usize> {
    let mut order = Vec::new();
    for round in 0..wants.iter().copied().max().unwrap_or(0) {
        for (n, want) in wants.iter().enumerate() {
            if order.len() == most {
                return order;
            }
            if *want > round {
                order.push(n);
            }
        }
    }
    order
}

impl Engine {
    /// A place in the queue for `poll`; the claimer is told.
    pub(crate) fn wait_for_work(&self, poll: Poll) -> Waiting {
        let queue = &self.inner.queue;
        let (answer, looked) = queue.enter(poll);
        self.bus().hub().ready.look();
        Waiting { engine: self.clone(), answer, looks: queue.looks.subscribe(), looked }
    }

    /// Serve waiting polls whenever something may be ready, for ever. One statement's work serves all of them.
    pub(crate) async fn claim_for_polls(&self) {
        let ready = &self.bus().hub().ready;
        let sweep = self.settings().sweep;
        let mut next_sweep = tokio::time::Instant::now();
        loop {
            tokio::select! {
                () = ready.changed() => {}
                // While nobody polls nothing is asked. The poll that ends this wakes the loop, and finds the sweep overdue.
                () = tokio::time::sleep_until(next_sweep), if !self.inner.queue.is_empty() => {}
            }
            let now = tokio::time::Instant::now();
            if now >= next_sweep && !self.inner.queue.is_empty() {
                next_sweep = now + sweep;
                // What a hint did not tell: a lost one, a lease that ended, a delay that is over.
                match self.agents_due().await {
                    Ok((agents, next)) => {
                        ready.add(agents);
                        if let Some(next) = next {
                            next_sweep = now + sweep.min(next);
                        }
                    }
                    Err(error) => tracing::warn!(%error, "looking for ready tasks"),
                }
            }
            self.inner.queue.looks.send_modify(|looks| *looks += 1);
            while self.serve_once().await {}
            self.inner.queue.looks.send_modify(|looks| *looks += 1);
        }
    }

    /// The agents that have something due, a task or a message that waits for an answer, and how long it is until something else is.
    async fn agents_due(&self) -> Result<(Vec<String>, Option<Duration>), sea_orm::DbErr> {
        let (db, now) = (self.store().read(), self.clock().now());
        let agents = &self.settings().agents;
        let all: Vec<&str> = agents.keys().map(String::as_str).collect();
        let direct = agents.values().filter(|agent| agent.direct.is_some());
        let direct: Vec<&str> = direct.map(|agent| agent.name.as_str()).collect();
        let mut outlooks = store::ready::outlook::<work::Model, _>(db, &all, now).await?;
        if !direct.is_empty() {
            outlooks.extend(store::ready::outlook::<waiting_message::Model, _>(db, &direct, now).await?);
        }
        let next = outlooks.iter().filter_map(|outlook| outlook.next).min();
        // A moment more than none: the clock counts whole milliseconds.
        let next = next.map(|next| Duration::from_millis(next.saturating_sub(now).max(5) as u64));
        Ok((outlooks.into_iter().filter(|outlook| outlook.due).map(|outlook| outlook.agent).collect(), next))
    }

    /// Serve every group once; whether there may be more.
    async fn serve_once(&self) -> bool {
        let ready = &self.bus().hub().ready;
        let mut more = false;
        if ready.is_empty() {
            return more;
        }
        for group in self.inner.queue.take(|agents| ready.take(agents)) {
            let wants: Vec<usize> = group.entries.iter().map(|entry| entry.max).collect();
            let turns = turns(&wants, CLAIM);
            let workers: Vec<Option<String>> = turns.iter().map(|n| group.entries[*n].worker.clone()).collect();
            match self.claim(&group.want.agents, group.want.start, &workers).await {
                Ok((leases, full)) => {
                    if full {
                        ready.add(group.want.agents.iter().cloned());
                        more = true;
                    }
                    self.hand_out(group, &turns, leases).await;
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "claiming ready tasks");
                    ready.add(group.want.agents.iter().cloned());
                    self.inner.queue.put_back(group.want, group.entries);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        }
        more
    }

    async fn hand_out(&self, group: Group, turns: &[usize], leases: Vec<Lease>) {
        let mut shares: Vec<Vec<Lease>> = group.entries.iter().map(|_| Vec::new()).collect();
        for (lease, turn) in leases.into_iter().zip(turns) {
            shares[*turn].push(lease);
        }
        let mut back = Vec::new();
        for (entry, share) in group.entries.into_iter().zip(shares) {
            if share.is_empty() {
                back.push(entry);
            } else if let Err(unwanted) = entry.answer.send(share) {
                self.give_back(unwanted).await;
            }
        }
        self.inner.queue.put_back(group.want, back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round() {
        assert_eq!(turns(&[2, 1, 3], 32), [0, 1, 2, 0, 2, 2]);
        assert_eq!(turns(&[2, 1, 3], 4), [0, 1, 2, 0]);
        assert!(turns(&[], 4).is_empty());
    }

    #[tokio::test]
    async fn a_poll_that_went_away_is_not_served() {
        let queue = Queue::default();
        let poll = |agent: &str| Poll { agents: vec![agent.into()], max: 1, start: false, worker: None };
        drop(queue.enter(poll("a")));
        let _stays = queue.enter(poll("b"));
        let _idle = queue.enter(poll("c"));
        let groups = queue.take(|agents| agents != ["c"]);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].want.agents, ["b"]);
        assert!(!queue.is_empty(), "the poll nothing is ready for waits on");
    }
}
