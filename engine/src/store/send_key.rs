//! Statements on `send_key`: what an `Idempotency-Key` stands for.

use entity::send_key;
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, QuerySelect};
use uuid::Uuid;
use wire::Tenant;

use super::{Store, Write, WriteError};

/// What the key stands for, however old.
pub async fn read<C: ConnectionTrait>(
    db: &C,
    tenant: &Tenant,
    agent: &str,
    key: &str,
) -> Result<Option<send_key::Model>, DbErr> {
    send_key::Entity::of(tenant)
        .filter(send_key::Column::Agent.eq(agent))
        .filter(send_key::Column::Key.eq(key))
        .one(db)
        .await
}

/// Forget one key that is older than `before`.
pub fn delete_expired(key: &send_key::Model, before: i64) -> DeleteStatement {
    Query::delete()
        .from_table(send_key::Entity)
        .and_where(Expr::col(send_key::Column::Tenant).eq(key.tenant.as_str()))
        .and_where(Expr::col(send_key::Column::Agent).eq(key.agent.as_str()))
        .and_where(Expr::col(send_key::Column::Key).eq(key.key.as_str()))
        .and_where(Expr::col(send_key::Column::CreatedAt).lt(before))
        .to_owned()
}

/// Forget the key of a message that waited and was never answered, and is no more.
pub fn delete_unanswered(tenant: &str, agent: &str, key: &str, message: Uuid) -> DeleteStatement {
    Query::delete()
        .from_table(send_key::Entity)
        .cond_where(of_waiting(tenant, agent, key, message))
        .and_where(Expr::col(send_key::Column::Message).is_null())
        .to_owned()
}

/// Keep the direct answer to the message that came under the key.
pub fn keep(tenant: &str, agent: &str, key: &str, message: Uuid, answer: &str) -> UpdateStatement {
    Query::update()
        .table(send_key::Entity)
        .value(send_key::Column::Message, answer)
        .cond_where(of_waiting(tenant, agent, key, message))
        .to_owned()
}

fn of_waiting(tenant: &str, agent: &str, key: &str, message: Uuid) -> Condition {
    Condition::all()
        .add(Expr::col(send_key::Column::Tenant).eq(tenant))
        .add(Expr::col(send_key::Column::Agent).eq(agent))
        .add(Expr::col(send_key::Column::Key).eq(key))
        .add(Expr::col(send_key::Column::TaskId).eq(message))
}

/// Forget up to `limit` keys older than `before`; whether there may be more.
pub async fn forget_some(store: &Store, before: i64, limit: u64) -> Result<bool, WriteError> {
    let old = send_key::Entity::across_tenants()
        .filter(send_key::Column::CreatedAt.lt(before))
        .limit(limit)
        .all(store.read())
        .await?;
    let mut write = Write::new();
    for key in &old {
        write.delete(delete_expired(key, before));
    }
    store.write(write).await?;
    Ok(old.len() as u64 == limit)
}
