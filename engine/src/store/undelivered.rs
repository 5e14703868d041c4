//! Statements on `undelivered`: what was given up, and what it was sent again as.

use entity::{task, undelivered, work};
use sea_orm::sea_query::{Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

/// Which of them a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only of this tenant; empty for those of no tenant.
    pub tenant: Option<String>,
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only those that were not sent again.
    pub open: bool,
}

/// The row of a task that is given up now, as its work row was read.
pub fn row(task: &task::Model, work: &work::Model, now: i64) -> undelivered::Model {
    undelivered::Model {
        task_id: task.id,
        tenant: task.tenant.clone(),
        agent: task.agent.clone(),
        deliveries: work.deliveries,
        worker: work.worker.clone(),
        failed_at: now,
        resent_as: None,
    }
}

/// The row of one task.
pub async fn read<C: ConnectionTrait>(db: &C, task: Uuid) -> Result<Option<undelivered::Model>, DbErr> {
    undelivered::Entity::across_tenants().filter(undelivered::Column::TaskId.eq(task)).one(db).await
}

/// Up to `limit` of them after the one that failed `after` then, newest first.
pub async fn list<C: ConnectionTrait>(
    db: &C,
    filter: &Filter,
    after: Option<(i64, Uuid)>,
    limit: u64,
) -> Result<Vec<undelivered::Model>, DbErr> {
    let mut shown = Condition::all();
    if let Some(tenant) = &filter.tenant {
        shown = shown.add(undelivered::Column::Tenant.eq(tenant.as_str()));
    }
    if let Some(agent) = &filter.agent {
        shown = shown.add(undelivered::Column::Agent.eq(agent.as_str()));
    }
    if filter.open {
        shown = shown.add(undelivered::Column::ResentAs.is_null());
    }
    if let Some((at, id)) = after {
        let same = Condition::all().add(undelivered::Column::FailedAt.eq(at)).add(undelivered::Column::TaskId.lt(id));
        shown = shown.add(Condition::any().add(undelivered::Column::FailedAt.lt(at)).add(same));
    }
    undelivered::Entity::across_tenants()
        .filter(shown)
        .order_by_desc(undelivered::Column::FailedAt)
        .order_by_desc(undelivered::Column::TaskId)
        .limit(limit)
        .all(db)
        .await
}

/// Note what a task is sent again as, unless it has been.
pub fn resend(task: Uuid, again: Uuid) -> UpdateStatement {
    Query::update()
        .table(undelivered::Entity)
        .value(undelivered::Column::ResentAs, again)
        .and_where(Expr::col(undelivered::Column::TaskId).eq(task))
        .and_where(Expr::col(undelivered::Column::ResentAs).is_null())
        .to_owned()
}
