//! How many tasks a tenant may hold, exactly, without a row that every send of the tenant must lock.
//!
//! The tenant's limit is cut into shards; a send takes one from a shard in the very write that creates the task. It is refused only
//! when no shard has anything left: never one over, never one too few.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use entity::{task_allowance, tenant};
use wire::{Error, Tenant};

use crate::store::{self, Store, Write, WriteError};
use crate::{database, unwritten};

/// Shards of one tenant: as many sends of it commit at the same time.
const SHARDS: i16 = 16;

/// Sends in a row that take from one shard: what is written together then takes from one row or two.
const IN_A_ROW: u16 = 32;

/// Whose turn it is of a tenant's shards.
#[derive(Debug, Clone, Copy)]
struct Turn {
    shard: i16,
    taken: u16,
}

/// Which shard each tenant's next send takes from. What is remembered is only a hint; the rows decide.
#[derive(Debug, Default)]
pub(crate) struct Allowances {
    next: Mutex<HashMap<Tenant, Turn>>,
}

impl Allowances {
    /// A shard to try, in turn. None when this process has not seen the tenant yet.
    pub(crate) fn guess(&self, tenant: &Tenant) -> Option<i16> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = next.get_mut(tenant)?;
        turn.taken += 1;
        if turn.taken >= IN_A_ROW {
            *turn = Turn { shard: (turn.shard + 1) % SHARDS, taken: 0 };
        }
        Some(turn.shard)
    }

    fn remember(&self, tenant: &Tenant, shard: i16) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.len() > 100_000 {
            next.clear();
        }
        next.insert(tenant.clone(), Turn { shard, taken: 0 });
    }

    /// A shard that has something left, cutting the tenant's limit first where that is due.
    ///
    /// # Errors
    /// `ResourceExhausted` when nothing is left.
    pub(crate) async fn find(&self, store: &Store, tenant: &Tenant, limit: i64, now: i64) -> Result<i16, Error> {
        cut(store, tenant, limit, now).await?;
        let shards = store::allowance::shards_with_some(store.read(), tenant)
            .await
            .map_err(database("reading how many tasks the tenant may create"))?;
        // Spread the ones that race for the last few.
        let turn = self.guess(tenant).unwrap_or(0);
        let shard = shards.iter().copied().find(|shard| *shard >= turn).or(shards.first().copied());
        match shard {
            Some(shard) => {
                self.remember(tenant, shard);
                Ok(shard)
            }
            None => Err(Error::resource_exhausted(
                "tasks_per_tenant",
                format!("the tenant holds its maximum of {limit} tasks"),
            )),
        }
    }
}

/// Make the tenant's shards add up to `limit` less what it holds: once when it is first seen, again when the operator changes the limit.
async fn cut(store: &Store, tenant: &Tenant, limit: i64, now: i64) -> Result<(), Error> {
    let doing = "cutting the tenant's allowance";
    loop {
        let known = store::allowance::tenant(store.read(), tenant).await.map_err(database(doing))?;
        let mut write = Write::new();
        match known {
            Some(known) if known.task_limit == limit => return Ok(()),
            Some(known) => {
                let shards = store::allowance::shards(store.read(), tenant).await.map_err(database(doing))?;
                write.must_update(store::allowance::set_limit(tenant, known.task_limit, limit));
                for (shard, to) in recut(&shards, limit - known.task_limit) {
                    write.must_update(store::allowance::set(shard, to));
                }
            }
            None => {
                let row = tenant::Model { name: tenant.as_str().to_owned(), task_limit: limit, created_at: now };
                write.insert(tenant::ActiveModel::from(row));
                write.insert_many(first_cut(tenant, limit));
            }
        }
        match store.write(write).await {
            Ok(()) => return Ok(()),
            Err(WriteError::Lost) => {}
            Err(error) => return Err(unwritten(doing)(error)),
        }
    }
}

fn first_cut(tenant: &Tenant, limit: i64) -> Vec<task_allowance::ActiveModel> {
    let shards = i64::from(SHARDS);
    (0..SHARDS)
        .map(|shard| task_allowance::Model {
            tenant: tenant.as_str().to_owned(),
            shard,
            remaining: limit / shards + i64::from(i64::from(shard) < limit % shards),
        })
        .map(task_allowance::ActiveModel::from)
        .collect()
}

/// The shards to change, and to what, so that their sum changes by `by`. What cannot be taken becomes a debt of the last shard, which
/// whatever is given back pays first.
fn recut(shards: &[task_allowance::Model], by: i64) -> Vec<(&task_allowance::Model, i64)> {
    let mut left = by;
    let mut next: Vec<(&task_allowance::Model, i64)> = Vec::new();
    for (n, shard) in shards.iter().enumerate() {
        let others = (shards.len() - n) as i64;
        let to = if left >= 0 {
            shard.remaining + left / others
        } else if others == 1 {
            shard.remaining + left
        } else {
            (shard.remaining + left).max(shard.remaining.min(0))
        };
        left -= to - shard.remaining;
        if to != shard.remaining {
            next.push((shard, to));
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(of: &[i64]) -> Vec<task_allowance::Model> {
        let each = of.iter().zip(0..);
        each.map(|(remaining, shard)| task_allowance::Model { tenant: "acme".into(), shard, remaining: *remaining })
            .collect()
    }

    #[test]
    fn the_first_cut_adds_up() {
        for limit in [0, 1, 3, 16, 17, 1_000_000] {
            let sum: i64 = first_cut(&Tenant::none(), limit).into_iter().map(|row| row.remaining.unwrap()).sum();
            assert_eq!(sum, limit);
        }
    }

    #[test]
    fn a_recut_changes_the_sum_by_exactly_what_was_asked() {
        for (before, by) in [([5, 0, 3], 7), ([5, 0, 3], -4), ([5, 0, 3], -20), ([0, 0, -12], 5), ([1, 1, 1], 0)] {
            let rows = shards(&before);
            let mut after = before;
            for (shard, to) in recut(&rows, by) {
                after[shard.shard as usize] = to;
            }
            assert_eq!(after.iter().sum::<i64>(), before.iter().sum::<i64>() + by, "{before:?} by {by}");
        }
    }
}
