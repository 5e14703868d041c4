//! Statements on `push_config` and on what a task's events do to `push_lane`.

use entity::{push_config, push_delivery, push_lane, task};
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, Func, Query, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use wire::Tenant;

/// The lanes of one task that still deliver.
pub async fn open_lanes<C: ConnectionTrait>(db: &C, task: Uuid) -> Result<Vec<push_lane::Model>, DbErr> {
    push_lane::Entity::of_task(task)
        .filter(push_lane::Column::Closed.eq(false))
        .order_by_asc(push_lane::Column::Id)
        .all(db)
        .await
}

/// The lanes of these tasks that still deliver.
pub async fn open_lanes_of<C: ConnectionTrait>(db: &C, tasks: &[Uuid]) -> Result<Vec<push_lane::Model>, DbErr> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    push_lane::Entity::of_tasks(tasks.iter().copied())
        .filter(push_lane::Column::Closed.eq(false))
        .order_by_asc(push_lane::Column::Id)
        .all(db)
        .await
}

/// One config of a task.
pub async fn config<C: ConnectionTrait>(
    db: &C,
    tenant: &Tenant,
    task: Uuid,
    config: &str,
) -> Result<Option<push_config::Model>, DbErr> {
    push_config::Entity::of(tenant)
        .filter(push_config::Column::TaskId.eq(task))
        .filter(push_config::Column::ConfigId.eq(config))
        .one(db)
        .await
}

/// One page of a task's configs in the order they were made.
pub async fn configs<C: ConnectionTrait>(
    db: &C,
    tenant: &Tenant,
    task: Uuid,
    after: Option<Uuid>,
    limit: u64,
) -> Result<Vec<push_config::Model>, DbErr> {
    let mut select = push_config::Entity::of(tenant).filter(push_config::Column::TaskId.eq(task));
    if let Some(after) = after {
        select = select.filter(push_config::Column::Id.gt(after));
    }
    select.order_by_asc(push_config::Column::Id).limit(limit).all(db).await
}

/// One page of every tenant's configs: the agent's own view.
pub async fn configs_for_agents<C: ConnectionTrait>(
    db: &C,
    agents: Option<&[String]>,
    task: Option<Uuid>,
    after: Option<Uuid>,
    limit: u64,
) -> Result<Vec<push_config::Model>, DbErr> {
    let mut select = push_config::Entity::across_tenants();
    if let Some(agents) = agents {
        let of_agents = Query::select()
            .column(task::Column::Id)
            .from(task::Entity)
            .and_where(Expr::col(task::Column::Agent).is_in(agents.iter().map(String::as_str)))
            .to_owned();
        select = select.filter(push_config::Column::TaskId.in_subquery(of_agents));
    }
    if let Some(task) = task {
        select = select.filter(push_config::Column::TaskId.eq(task));
    }
    if let Some(after) = after {
        select = select.filter(push_config::Column::Id.gt(after));
    }
    select.order_by_asc(push_config::Column::Id).limit(limit).all(db).await
}

/// Put another url and other secrets under the same row: its lane goes on, and the next attempt uses them.
pub fn replace_config(config: &push_config::Model) -> UpdateStatement {
    Query::update()
        .table(push_config::Entity)
        .value(push_config::Column::Url, config.url.clone())
        .value(push_config::Column::Token, config.token.clone())
        .value(push_config::Column::Scheme, config.scheme.clone())
        .value(push_config::Column::Credentials, config.credentials.clone())
        .and_where(Expr::col(push_config::Column::Id).eq(config.id))
        .to_owned()
}

/// Remove a config.
pub fn delete_config(config: Uuid) -> DeleteStatement {
    Query::delete().from_table(push_config::Entity).and_where(Expr::col(push_config::Column::Id).eq(config)).to_owned()
}

/// Close the lane of a deleted config: its fence moves on, so that whoever holds it can report nothing and dials no more.
pub fn close_lane(lane: Uuid) -> UpdateStatement {
    Query::update()
        .table(push_lane::Entity)
        .value(push_lane::Column::Closed, true)
        .value(push_lane::Column::DueAt, None::<i64>)
        .value(push_lane::Column::Fence, Expr::col(push_lane::Column::Fence).add(1))
        .and_where(Expr::col(push_lane::Column::Id).eq(lane))
        .and_where(Expr::col(push_lane::Column::Closed).eq(false))
        .to_owned()
}

/// What the closed lane had yet to deliver is cancelled.
pub fn cancel_deliveries(lane: Uuid, now: i64) -> UpdateStatement {
    Query::update()
        .table(push_delivery::Entity)
        .value(push_delivery::Column::State, push_delivery::State::Cancelled)
        .value(push_delivery::Column::EndedAt, now)
        .and_where(Expr::col(push_delivery::Column::LaneId).eq(lane))
        .and_where(Expr::col(push_delivery::Column::State).eq(push_delivery::State::Pending))
        .to_owned()
}

/// `count` more deliveries stand in this lane; an idle lane becomes due, a waiting or leased one keeps its time.
pub fn extend_lane(lane: Uuid, count: i64, now: i64) -> UpdateStatement {
    Query::update()
        .table(push_lane::Entity)
        .value(push_lane::Column::Tail, Expr::col(push_lane::Column::Tail).add(count))
        .value(push_lane::Column::DueAt, Func::coalesce([Expr::col(push_lane::Column::DueAt), Expr::val(now)]))
        .and_where(Expr::col(push_lane::Column::Id).eq(lane))
        .to_owned()
}

/// The lane of one config.
pub async fn lane<C: ConnectionTrait>(db: &C, tenant: &Tenant, lane: Uuid) -> Result<Option<push_lane::Model>, DbErr> {
    push_lane::Entity::of(tenant).filter(push_lane::Column::Id.eq(lane)).one(db).await
}
