//! Statements on `tenant` and `task_allowance`: how many tasks a tenant may still create.

use entity::{task_allowance, tenant};
use sea_orm::sea_query::{Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder};
use wire::Tenant;

use super::Row;

/// The limit the tenant's allowance was cut from.
pub async fn tenant<C: ConnectionTrait>(db: &C, tenant: &Tenant) -> Result<Option<tenant::Model>, DbErr> {
    tenant::Entity::of(tenant).one(db).await
}

/// Every shard of the tenant.
pub async fn shards<C: ConnectionTrait>(db: &C, tenant: &Tenant) -> Result<Vec<task_allowance::Model>, DbErr> {
    task_allowance::Entity::of(tenant).order_by_asc(task_allowance::Column::Shard).all(db).await
}

/// The shards that have something left.
pub async fn shards_with_some<C: ConnectionTrait>(db: &C, tenant: &Tenant) -> Result<Vec<i16>, DbErr> {
    let shards = task_allowance::Entity::of(tenant).filter(task_allowance::Column::Remaining.gt(0)).all(db).await?;
    Ok(shards.into_iter().map(|shard| shard.shard).collect())
}

/// Take one from a shard that has some.
pub fn take(tenant: &Tenant, shard: i16) -> Row {
    Row::update(task_allowance::Entity)
        .take(task_allowance::Column::Remaining, 1)
        .only_if(task_allowance::Column::Tenant, tenant.as_str())
        .only_if(task_allowance::Column::Shard, shard)
}

/// Set a shard that holds `from`.
pub fn set(shard: &task_allowance::Model, to: i64) -> UpdateStatement {
    Query::update()
        .table(task_allowance::Entity)
        .value(task_allowance::Column::Remaining, to)
        .and_where(Expr::col(task_allowance::Column::Tenant).eq(shard.tenant.as_str()))
        .and_where(Expr::col(task_allowance::Column::Shard).eq(shard.shard))
        .and_where(Expr::col(task_allowance::Column::Remaining).eq(shard.remaining))
        .to_owned()
}

/// Note the limit the allowance is cut from, if it still is `from`.
pub fn set_limit(tenant: &Tenant, from: i64, to: i64) -> UpdateStatement {
    Query::update()
        .table(tenant::Entity)
        .value(tenant::Column::TaskLimit, to)
        .and_where(Expr::col(tenant::Column::Name).eq(tenant.as_str()))
        .and_where(Expr::col(tenant::Column::TaskLimit).eq(from))
        .to_owned()
}
