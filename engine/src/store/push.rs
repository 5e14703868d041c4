//! Statements on `push_config` and on what a task's events do to `push_lane`.

use entity::{push_config, push_delivery, push_lane, task};
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, Func, Query, UnionType, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use wire::Tenant;

use super::Write;

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

/// Put another url, other secrets and another version under the same row: its lane goes on, and the next attempt uses them.
pub fn replace_config(config: &push_config::Model) -> UpdateStatement {
    Query::update()
        .table(push_config::Entity)
        .value(push_config::Column::Url, config.url.clone())
        .value(push_config::Column::Token, config.token.clone())
        .value(push_config::Column::Scheme, config.scheme.clone())
        .value(push_config::Column::Credentials, config.credentials.clone())
        .value(push_config::Column::Version, config.version.clone())
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

/// `count` events from `generation` on go down every open lane of the task: each gets its deliveries, numbered after its last. An idle
/// lane becomes due, a waiting or leased one keeps its time. However many lanes there are, it is two statements.
///
/// Whoever writes it holds the task's work row by a guard, so no lane comes or goes, and no tail moves, between what this reads and what
/// it writes.
pub fn deliver(task: Uuid, generation: i64, count: usize, now: i64, write: &mut Write) {
    let lane = |column: push_lane::Column| Expr::col((push_lane::Entity, column));
    let number = || Expr::cust("event.number");
    let mut numbers = Query::select().expr_as(Expr::cust("1"), "number").to_owned();
    for n in 2..=count {
        numbers.union(UnionType::All, Query::select().expr(Expr::cust(n.to_string())).to_owned());
    }
    let each = Query::select()
        .expr(lane(push_lane::Column::Id))
        .expr(lane(push_lane::Column::Tail).add(number()))
        .expr(lane(push_lane::Column::Tenant))
        .expr(lane(push_lane::Column::TaskId))
        .expr(Expr::val(generation - 1).add(number()))
        .expr(Expr::val(push_delivery::State::Pending))
        .expr(Expr::val(0))
        .expr(Expr::val(now))
        .from(push_lane::Entity)
        .from_subquery(numbers, "event")
        .and_where(lane(push_lane::Column::TaskId).eq(task))
        .and_where(lane(push_lane::Column::Closed).eq(false))
        .to_owned();
    use push_delivery::Column::{Attempts, CreatedAt, Generation, LaneId, Sequence, State, TaskId, Tenant};
    // Before the tails move: SQLite carries out one after the other, Postgres both on what was there before.
    write.insert_selected(
        push_delivery::Entity,
        [LaneId, Sequence, Tenant, TaskId, Generation, State, Attempts, CreatedAt],
        each,
    );
    write.update(
        Query::update()
            .table(push_lane::Entity)
            .value(push_lane::Column::Tail, Expr::col(push_lane::Column::Tail).add(count as i64))
            .value(push_lane::Column::DueAt, Func::coalesce([Expr::col(push_lane::Column::DueAt), Expr::val(now)]))
            .and_where(Expr::col(push_lane::Column::TaskId).eq(task))
            .and_where(Expr::col(push_lane::Column::Closed).eq(false))
            .to_owned(),
    );
}

/// The lane of one config.
pub async fn lane<C: ConnectionTrait>(db: &C, tenant: &Tenant, lane: Uuid) -> Result<Option<push_lane::Model>, DbErr> {
    push_lane::Entity::of(tenant).filter(push_lane::Column::Id.eq(lane)).one(db).await
}

/// Whether any config of any tenant holds a sealed secret.
pub async fn any_sealed<C: ConnectionTrait>(db: &C) -> Result<bool, DbErr> {
    let sealed = push_config::Column::Token.is_not_null().or(push_config::Column::Credentials.is_not_null());
    Ok(push_config::Entity::across_tenants().filter(sealed).one(db).await?.is_some())
}
