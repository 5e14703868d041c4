//! Statements on `work`: the queue, the lease and the fence.

use entity::{task, work};
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, LockType, Query, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QuerySelect};
use uuid::Uuid;

/// Lock the work row of one task until the transaction ends. A finished task has none.
pub async fn lock<C: ConnectionTrait>(db: &C, task: Uuid) -> Result<Option<work::Model>, DbErr> {
    work::Entity::of_task(task).lock(LockType::Update).one(db).await
}

/// What a write changes of a work row, upon the revision, lease and epoch that were read: the fence itself. What it does not change is
/// not written, since a heartbeat may have moved the lease's end meanwhile.
pub fn update(read: &work::Model, next: &work::Model) -> UpdateStatement {
    let mut update = Query::update()
        .table(work::Entity)
        .value(work::Column::Revision, next.revision)
        .and_where(Expr::col(work::Column::TaskId).eq(read.task_id))
        .and_where(Expr::col(work::Column::Revision).eq(read.revision))
        .and_where(Expr::col(work::Column::Epoch).eq(read.epoch))
        .to_owned();
    if next.priority != read.priority {
        update.value(work::Column::Priority, next.priority);
    }
    if next.due_at != read.due_at {
        update.value(work::Column::DueAt, next.due_at);
    }
    if (next.lease_id, next.epoch, &next.worker) != (read.lease_id, read.epoch, &read.worker) {
        update
            .value(work::Column::LeaseId, next.lease_id)
            .value(work::Column::Epoch, next.epoch)
            .value(work::Column::Worker, next.worker.clone());
    }
    if (next.deliveries, next.seen_seq) != (read.deliveries, read.seen_seq) {
        update.value(work::Column::Deliveries, next.deliveries).value(work::Column::SeenSeq, next.seen_seq);
    }
    if next.trace != read.trace {
        update.value(work::Column::Trace, next.trace.clone());
    }
    if let Some(lease) = read.lease_id {
        update.and_where(Expr::col(work::Column::LeaseId).eq(lease));
    }
    update
}

/// Remove the row of a task that becomes terminal, upon what was read.
pub fn delete(read: &work::Model) -> DeleteStatement {
    let mut delete = Query::delete()
        .from_table(work::Entity)
        .and_where(Expr::col(work::Column::TaskId).eq(read.task_id))
        .and_where(Expr::col(work::Column::Revision).eq(read.revision))
        .and_where(Expr::col(work::Column::Epoch).eq(read.epoch))
        .to_owned();
    if let Some(lease) = read.lease_id {
        delete.and_where(Expr::col(work::Column::LeaseId).eq(lease));
    }
    delete
}

/// The tasks of these work rows, read after their lock so that nothing about them is stale.
pub async fn tasks_of<C: ConnectionTrait>(db: &C, rows: &[work::Model]) -> Result<Vec<task::Model>, DbErr> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    task::Entity::across_tenants().filter(task::Column::Id.is_in(rows.iter().map(|row| row.task_id))).all(db).await
}
