//! What a claim takes: who is next.
//!
//! First what fits: where everything that is due has a slot, its order does not matter, and one statement takes it. Only where more is due
//! than there are slots is there an order: leases that have ended first, as they had their turn; of every eighth slot what has been due the
//! longest; and for the rest the highest priority, round over its tenants by weight, each one's oldest first. What runs already may leave
//! less room than there are slots.

use std::collections::{BTreeMap, HashMap, HashSet};

use entity::{waiting_message, work};
use sea_orm::{ConnectionTrait, DbErr};
use uuid::Uuid;

use super::new_task::NewTask;
use super::room::Room;
use crate::order::Due;
use crate::settings::Agent;
use crate::store::ready::{self, Of, Reach, Step};
use crate::{Engine, store};

/// Tenants a lap looks at beyond the slots: those that have nothing due, or no room.
const BEYOND: usize = 64;
/// Laps one claim makes at most.
const LAPS: usize = 6;

/// What was taken, in the order of its taking.
#[derive(Debug, Default)]
pub(super) struct Picked {
    /// Work rows: those of tasks, and those that messages would have.
    pub(super) rows: Vec<work::Model>,
    /// The messages among them.
    pub(super) waiting: HashMap<Uuid, waiting_message::Model>,
    /// Whether there may be more at once.
    pub(super) more: bool,
    /// Agents of which more was locked than taken: other replicas passed it over.
    pub(super) passed_over: Vec<String>,
}

/// A lap over the tenants of both tables.
#[derive(Debug, Default)]
struct Lap {
    due: Vec<(String, usize)>,
    whole: bool,
    end: Option<String>,
    top: Option<i16>,
    below: Option<i16>,
}

/// One agent's part of a claim.
struct Pick<'a, C> {
    engine: &'a Engine,
    db: &'a C,
    agent: &'a Agent,
    of: Of<'a>,
    room: Room,
    taken: HashSet<Uuid>,
    picked: &'a mut Picked,
    left: usize,
    short: bool,
}

impl Engine {
    /// Lock up to `slots` rows of these agents that are theirs to claim now.
    pub(super) async fn pick<C: ConnectionTrait>(
        &self,
        db: &C,
        agents: &[String],
        now: i64,
        slots: usize,
    ) -> Result<Picked, DbErr> {
        let mut picked = Picked::default();
        // None is always the first one.
        let first = usize::from(self.ids().next().as_bytes()[15]) % agents.len().max(1);
        for n in 0..agents.len() {
            let left = (slots - picked.rows.len()).div_ceil(agents.len() - n);
            if left == 0 {
                picked.more = true;
                break;
            }
            let agent = self.agent_of(&agents[(first + n) % agents.len()]);
            let of = Of { agent: &agent.name, now, series: agent.serial_contexts };
            if agent.takes_turns() {
                store::gate::lock(db, &agent.name).await?;
            }
            let room = Room::of(self, db, &agent).await?;
            let taken = HashSet::new();
            let picked = &mut picked;
            Pick { engine: self, db, agent: &agent, of, room, taken, picked, left, short: false }.pick().await?;
        }
        Ok(picked)
    }
}

impl<C: ConnectionTrait> Pick<'_, C> {
    async fn pick(mut self) -> Result<(), DbErr> {
        let order = &self.engine.inner.order;
        let slots = self.left;
        let busy = order.of(&self.agent.name, |rounds| rounds.busy);
        let room = self.room.of_agent().min(slots);
        let ready = match (busy, room) {
            (_, 0) => 0,
            (true, room) => order.of(&self.agent.name, |rounds| rounds.oldest(room)),
            (false, room) => room + 1,
        };
        let (expired, mut oldest) = self.lock_oldest(slots, ready).await?;
        for row in expired {
            self.take(row, true).await?;
        }
        if room == 0 {
            // What ends a lease tells.
            return Ok(());
        }
        if !busy {
            if oldest.len() <= room.min(self.left) {
                for row in oldest {
                    self.take(row, false).await?;
                }
                return Ok(());
            }
            let own = order.of(&self.agent.name, |rounds| {
                rounds.busy = true;
                rounds.oldest(room)
            });
            oldest.truncate(own);
            self.picked.passed_over.push(self.agent.name.clone());
        }
        let mut given: Vec<(i16, String)> = Vec::new();
        for row in oldest {
            let of = (row.priority, row.tenant.clone());
            if self.take(row, false).await? {
                given.push(of);
            }
        }
        order.of(&self.agent.name, |rounds| {
            let top = rounds.top;
            rounds.owe(top, given.iter().filter(|(of, _)| *of == top).map(|(_, tenant)| tenant.as_str()));
        });
        let whole = self.go_round(&given).await?;
        if !whole && self.left > 0 {
            // Many have nothing due or no room: what is due all the same is found by its age.
            let (_, oldest) = self.lock_oldest(0, self.left + self.taken.len()).await?;
            for row in oldest {
                self.take(row, false).await?;
            }
        }
        if self.left == 0 || self.room.of_agent() == 0 {
            self.picked.more |= self.left == 0;
        } else {
            self.picked.more |= !self.taken.is_empty() && (self.short || !whole);
            if !self.picked.more {
                self.engine.inner.order.of(&self.agent.name, crate::order::Rounds::rest);
            }
        }
        Ok(())
    }

    /// Lap after lap, priority after priority, until every slot is taken. Whether there is nobody else.
    async fn go_round(&mut self, given: &[(i16, String)]) -> Result<bool, DbErr> {
        let order = &self.engine.inner.order;
        let name = &self.agent.name;
        let mut priority = order.of(name, |rounds| rounds.top);
        let mut at_top = false;
        let mut whole = true;
        for _ in 0..LAPS {
            let slots = self.left.min(self.room.of_agent());
            if slots == 0 {
                return Ok(true);
            }
            let begin = || self.engine.ids().next().simple().to_string()[24..].to_owned();
            let cursor = order.of(name, |rounds| rounds.cursor(priority, begin));
            let lap = self.lap(priority, &cursor, slots).await?;
            if !at_top {
                let Some(top) = lap.top else { return Ok(true) };
                order.of(name, |rounds| rounds.top = top);
                at_top = true;
                if top != priority {
                    priority = top;
                    continue;
                }
            }
            whole = lap.whole;
            let mut due = Vec::with_capacity(lap.due.len());
            for (tenant, tasks) in lap.due {
                let own = self.given(priority, &tenant, given);
                let tasks = tasks.saturating_sub(own).min(self.room_of(&tenant).await?);
                let weight = self.engine.settings().weight_of(&tenant);
                due.push(Due { tenant, tasks, weight });
            }
            let shares = order.of(name, |rounds| rounds.allot(priority, &due, whole, slots));
            self.take_shares(priority, &shares, given).await?;
            match (whole, lap.below, lap.end) {
                _ if self.left == 0 => return Ok(true),
                (true, Some(below), _) => priority = below,
                (true, None, _) => return Ok(true),
                (false, _, Some(end)) => order.of(name, |rounds| rounds.pass(priority, &end)),
                (false, _, None) => return Ok(false),
            }
        }
        Ok(whole && self.left == 0)
    }

    /// How many of this tenant's rows were taken already beside its turns: they stand at the front of its queue.
    fn given(&self, priority: i16, tenant: &str, given: &[(i16, String)]) -> usize {
        given.iter().filter(|(of, whose)| *of == priority && whose == tenant).count()
    }

    async fn take_shares(
        &mut self,
        priority: i16,
        shares: &[(String, usize)],
        given: &[(i16, String)],
    ) -> Result<(), DbErr> {
        if shares.is_empty() {
            return Ok(());
        }
        let wanted: Vec<(String, usize)> = shares
            .iter()
            .map(|(tenant, share)| (tenant.clone(), share + self.given(priority, tenant, given)))
            .collect();
        let rows = self.lock_shares(priority, &wanted).await?;
        let mut left: HashMap<&str, usize> = shares.iter().map(|(tenant, share)| (tenant.as_str(), *share)).collect();
        for row in rows {
            if let Some(share) = left.get_mut(row.tenant.as_str())
                && *share > 0
            {
                *share -= usize::from(self.take(row, false).await?);
            }
        }
        self.short |= left.values().any(|share| *share > 0);
        Ok(())
    }

    /// Take a row, if there is a slot and room for it; whether it was.
    async fn take(&mut self, row: work::Model, expired: bool) -> Result<bool, DbErr> {
        if self.left == 0 || self.taken.contains(&row.task_id) {
            return Ok(false);
        }
        self.room.count_tenants(self.engine, self.db, &row.tenant, self.of.now).await?;
        if !self.room.take(&row.tenant, expired) {
            return Ok(false);
        }
        self.taken.insert(row.task_id);
        self.left -= 1;
        self.picked.rows.push(row);
        Ok(true)
    }

    async fn room_of(&mut self, tenant: &str) -> Result<usize, DbErr> {
        self.room.count_tenants(self.engine, self.db, tenant, self.of.now).await?;
        Ok(self.room.of_tenant(tenant))
    }

    /// The rows that messages would have, which are remembered.
    fn rows_of(&mut self, messages: Vec<waiting_message::Model>) -> Vec<work::Model> {
        let row = |message: waiting_message::Model| {
            let row = NewTask::of_waiting(&message, self.of.now).work;
            self.picked.waiting.insert(message.id, message);
            row
        };
        messages.into_iter().map(row).collect()
    }

    async fn lock_oldest(
        &mut self,
        expired: usize,
        ready: usize,
    ) -> Result<(Vec<work::Model>, Vec<work::Model>), DbErr> {
        let mut rows: Vec<work::Model> = ready::lock_oldest(self.db, self.of, expired, ready).await?;
        if self.agent.direct.is_some() {
            let messages = ready::lock_oldest(self.db, self.of, expired, ready).await?;
            rows.extend(self.rows_of(messages));
        }
        rows.sort_by_key(|row| (row.due_at, row.task_id));
        let (mut ended, mut oldest): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.lease_id.is_some());
        ended.truncate(expired);
        oldest.truncate(ready);
        Ok((ended, oldest))
    }

    async fn lock_shares(&mut self, priority: i16, shares: &[(String, usize)]) -> Result<Vec<work::Model>, DbErr> {
        let mut rows: Vec<work::Model> = ready::lock_shares(self.db, self.of, priority, shares).await?;
        if self.agent.direct.is_some() {
            let messages = ready::lock_shares(self.db, self.of, priority, shares).await?;
            rows.extend(self.rows_of(messages));
        }
        rows.sort_by_key(|row| (row.due_at, row.task_id));
        Ok(rows)
    }

    async fn lap(&self, priority: i16, cursor: &str, slots: usize) -> Result<Lap, DbErr> {
        let reach = Reach { steps: slots + BEYOND, found: slots + 1, each: slots + 1 + self.taken.len() };
        let mut laps = vec![ready::lap::<work::Model, _>(self.db, self.of, priority, cursor, reach).await?];
        if self.agent.direct.is_some() {
            laps.push(ready::lap::<waiting_message::Model, _>(self.db, self.of, priority, cursor, reach).await?);
        }
        Ok(joined(&laps, cursor))
    }
}

/// Laps over several tables as one. What lies beyond the end of one that is not whole waits for the next lap.
fn joined(laps: &[Vec<Step>], cursor: &str) -> Lap {
    let mut joined = Lap { whole: true, ..Lap::default() };
    let mut due: BTreeMap<(i32, &str), usize> = BTreeMap::new();
    let mut end: Option<(i32, &str)> = None;
    for lap in laps {
        let over = |step: &Step| step.turn == 1 && step.tenant.as_deref().is_none_or(|tenant| tenant >= cursor);
        for step in lap {
            joined.top = joined.top.max(step.top);
            joined.below = joined.below.max(step.below);
            if let Some(tenant) = step.tenant.as_deref().filter(|tenant| step.turn == 0 || *tenant < cursor) {
                *due.entry((step.turn, tenant)).or_default() += step.due.max(0) as usize;
            }
        }
        if !lap.last().is_some_and(over) {
            joined.whole = false;
            let last = lap.iter().rev().find_map(|step| Some((step.turn, step.tenant.as_deref()?)));
            end = end.into_iter().chain(last).min();
        }
    }
    if let Some(end) = end {
        due.retain(|at, _| *at <= end);
        joined.end = Some(end.1.to_owned());
    }
    joined.due = due.into_iter().map(|((_, tenant), tasks)| (tenant.to_owned(), tasks)).collect();
    joined
}
