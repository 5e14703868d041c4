//! Statements on `update_key`: what an `Idempotency-Key` of a worker's call stands for.

use entity::update_key;
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::{Store, Write, WriteError};

/// What the key stands for, however old.
pub async fn read<C: ConnectionTrait>(
    db: &C,
    task: Uuid,
    epoch: i64,
    key: &str,
) -> Result<Option<update_key::Model>, DbErr> {
    update_key::Entity::of_task(task)
        .filter(update_key::Column::Epoch.eq(epoch))
        .filter(update_key::Column::Key.eq(key))
        .one(db)
        .await
}

/// Forget one key that is older than `before`.
pub fn delete_expired(key: &update_key::Model, before: i64) -> DeleteStatement {
    Query::delete()
        .from_table(update_key::Entity)
        .and_where(Expr::col(update_key::Column::TaskId).eq(key.task_id))
        .and_where(Expr::col(update_key::Column::Epoch).eq(key.epoch))
        .and_where(Expr::col(update_key::Column::Key).eq(key.key.as_str()))
        .and_where(Expr::col(update_key::Column::CreatedAt).lt(before))
        .to_owned()
}

/// Forget the oldest of the keys that are older than `before`, `limit` or a few more; whether there are more of them.
pub async fn forget_some(store: &Store, before: i64, limit: u64) -> Result<bool, WriteError> {
    let old = update_key::Entity::across_tasks().filter(update_key::Column::CreatedAt.lt(before));
    let last: Option<i64> = old
        .select_only()
        .column(update_key::Column::CreatedAt)
        .order_by_asc(update_key::Column::CreatedAt)
        .offset(limit.saturating_sub(1))
        .limit(1)
        .into_tuple()
        .one(store.read())
        .await?;
    let mut delete = Query::delete().from_table(update_key::Entity).to_owned();
    delete.and_where(Expr::col(update_key::Column::CreatedAt).lt(last.map_or(before, |last| last + 1)));
    let mut write = Write::new();
    write.delete(delete);
    store.write(write).await?;
    Ok(last.is_some())
}
