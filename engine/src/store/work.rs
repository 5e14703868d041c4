//! Statements on `work`: the queue, the lease and the fence.

use entity::{task, work};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::Row;

/// Lock the work row of one task until the transaction ends. A finished task has none.
pub async fn lock<C: ConnectionTrait>(db: &C, task: Uuid) -> Result<Option<work::Model>, DbErr> {
    work::Entity::of_task(task).lock(LockType::Update).one(db).await
}

/// Up to `limit` rows of these agents whose lease has ended and that nobody has claimed since, the oldest end first.
pub async fn leases_ended<C: ConnectionTrait>(
    db: &C,
    agents: &[&str],
    now: i64,
    limit: u64,
) -> Result<Vec<work::Model>, DbErr> {
    work::Entity::across_tenants()
        .filter(work::Column::Agent.is_in(agents.iter().copied()))
        .filter(work::Column::LeaseId.is_not_null())
        .filter(work::Column::DueAt.lte(now))
        .order_by_asc(work::Column::DueAt)
        .limit(limit)
        .all(db)
        .await
}

/// What a write changes of a work row, upon the revision, lease and epoch that were read: the fence itself. What it does not change is
/// not written, since a heartbeat may have moved the lease's end meanwhile.
pub fn update(read: &work::Model, next: &work::Model) -> Row {
    let mut update = Row::update(work::Entity).set(work::Column::Revision, next.revision);
    if next.priority != read.priority {
        update = update.set(work::Column::Priority, next.priority);
    }
    if next.due_at != read.due_at {
        update = update.set(work::Column::DueAt, next.due_at);
    }
    if (next.lease_id, next.epoch, &next.worker) != (read.lease_id, read.epoch, &read.worker) {
        update = update
            .set(work::Column::LeaseId, next.lease_id)
            .set(work::Column::Epoch, next.epoch)
            .set(work::Column::Worker, next.worker.clone());
    }
    if (next.deliveries, next.seen_seq) != (read.deliveries, read.seen_seq) {
        update = update.set(work::Column::Deliveries, next.deliveries).set(work::Column::SeenSeq, next.seen_seq);
    }
    if next.trace != read.trace {
        update = update.set(work::Column::Trace, next.trace.clone());
    }
    as_read(update, read)
}

/// Remove the row of a task that becomes terminal, upon what was read.
pub fn delete(read: &work::Model) -> Row {
    as_read(Row::delete(work::Entity), read)
}

/// Only upon what was read.
fn as_read(row: Row, read: &work::Model) -> Row {
    let row = row
        .only_if(work::Column::TaskId, read.task_id)
        .only_if(work::Column::Revision, read.revision)
        .only_if(work::Column::Epoch, read.epoch);
    match read.lease_id {
        Some(lease) => row.only_if(work::Column::LeaseId, lease),
        None => row,
    }
}

/// The tasks of these work rows, read after their lock so that nothing about them is stale.
pub async fn tasks_of<C: ConnectionTrait>(db: &C, rows: &[work::Model]) -> Result<Vec<task::Model>, DbErr> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    task::Entity::across_tenants().filter(task::Column::Id.is_in(rows.iter().map(|row| row.task_id))).all(db).await
}
