//! Statements on `signing_key`.

use entity::signing_key::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder};
use wire::Tenant;

/// The keys that a tenant signs with at `now`, the current one first.
pub async fn valid<C: ConnectionTrait>(db: &C, tenant: &Tenant, now: i64) -> Result<Vec<Model>, DbErr> {
    Entity::of(tenant)
        .filter(Column::Until.is_null().or(Column::Until.gt(now)))
        .order_by_desc(Column::Number)
        .all(db)
        .await
}

/// Let the current key sign until `until` and no longer.
pub fn retire(current: &Model, until: i64) -> UpdateStatement {
    Query::update()
        .table(Entity)
        .value(Column::Until, until)
        .and_where(Expr::col(Column::Tenant).eq(current.tenant.as_str()))
        .and_where(Expr::col(Column::Number).eq(current.number))
        .and_where(Expr::col(Column::Until).is_null())
        .to_owned()
}

/// Whether any tenant has a key.
pub async fn any<C: ConnectionTrait>(db: &C) -> Result<bool, DbErr> {
    Ok(Entity::across_tenants().one(db).await?.is_some())
}
