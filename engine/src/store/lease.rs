//! Statements on many leases at once: what a heartbeat reads and writes. As many of them as there are lengths of leases, however many
//! leases there are.

use std::collections::BTreeMap;

use entity::{waiting_message as waiting, work};
use sea_orm::sea_query::{CaseStatement, Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, Iden, QueryFilter};
use uuid::Uuid;

use super::Write;
use super::ids::padded;
use crate::operation::lease::LeaseName;

/// The work rows of these tasks.
pub async fn works<C: ConnectionTrait>(db: &C, tasks: &[Uuid]) -> Result<Vec<work::Model>, DbErr> {
    work::Entity::across_tenants().filter(work::Column::TaskId.is_in(padded(tasks))).all(db).await
}

/// Leases whose end is to be moved, if they are still current.
#[derive(Debug, Default)]
pub struct Renewals {
    /// By their new end, of which there is one a length of leases.
    tasks: BTreeMap<i64, Vec<LeaseName>>,
    /// Those that were handed history, up to there.
    seen: BTreeMap<i64, Vec<(LeaseName, i32)>>,
    messages: BTreeMap<i64, Vec<LeaseName>>,
}

impl Renewals {
    /// The lease of a task ends at `until`, and was handed history up to `seen`, if it was handed some.
    pub fn task(&mut self, lease: LeaseName, until: i64, seen: Option<i32>) {
        match seen {
            None => self.tasks.entry(until).or_default().push(lease),
            Some(seen) => self.seen.entry(until).or_default().push((lease, seen)),
        }
    }

    /// The lease of a message that waits for a direct answer ends at `until`.
    pub fn message(&mut self, lease: LeaseName, until: i64) {
        self.messages.entry(until).or_default().push(lease);
    }

    /// All of it. Having been handed history moves the revision: whoever decides on how much was seen decides anew.
    pub fn write_into(self, write: &mut Write) {
        for (until, leases) in self.tasks {
            write.update(still_current(&leases, work::Entity, work::Column::TaskId, work::Column::LeaseId, |renew| {
                renew.value(work::Column::DueAt, until);
            }));
        }
        for (until, seen) in self.seen {
            let leases: Vec<LeaseName> = seen.iter().map(|(lease, _)| *lease).collect();
            let of_each = padded(&seen).fold(CaseStatement::new(), |case, (lease, seen)| {
                case.case(Expr::col(work::Column::TaskId).eq(lease.task), Expr::val(seen))
            });
            write.update(still_current(&leases, work::Entity, work::Column::TaskId, work::Column::LeaseId, |renew| {
                renew
                    .value(work::Column::DueAt, until)
                    .value(work::Column::SeenSeq, of_each.finally(Expr::col(work::Column::SeenSeq)))
                    .value(work::Column::Revision, Expr::col(work::Column::Revision).add(1));
            }));
        }
        for (until, leases) in self.messages {
            write.update(still_current(
                &leases,
                waiting::Entity,
                waiting::Column::Id,
                waiting::Column::LeaseId,
                |renew| {
                    renew.value(waiting::Column::DueAt, until);
                },
            ));
        }
    }
}

/// An update of the rows that these leases are on. A lease is one task's and one epoch's, so that the two lists say no more than pairs
/// would.
fn still_current<C: Iden + 'static>(
    leases: &[LeaseName],
    table: impl sea_orm::sea_query::IntoTableRef,
    task: C,
    lease: C,
    set: impl FnOnce(&mut UpdateStatement),
) -> UpdateStatement {
    let tasks: Vec<Uuid> = leases.iter().map(|name| name.task).collect();
    let ids: Vec<Uuid> = leases.iter().map(|name| name.lease).collect();
    let mut renew = Query::update().table(table).to_owned();
    set(&mut renew);
    renew.and_where(Expr::col(task).is_in(padded(&tasks))).and_where(Expr::col(lease).is_in(padded(&ids)));
    renew
}
