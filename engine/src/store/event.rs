//! Statements on `task_event`.

use entity::task_event;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

/// Up to `limit` events of a task after `generation`, in order.
pub async fn after<C: ConnectionTrait>(
    db: &C,
    task: Uuid,
    generation: i64,
    limit: u64,
) -> Result<Vec<task_event::Model>, DbErr> {
    task_event::Entity::of_task(task)
        .filter(task_event::Column::Generation.gt(generation))
        .order_by_asc(task_event::Column::Generation)
        .limit(limit)
        .all(db)
        .await
}

/// The events of these numbers.
pub async fn at<C: ConnectionTrait>(db: &C, task: Uuid, generations: &[i64]) -> Result<Vec<task_event::Model>, DbErr> {
    task_event::Entity::of_task(task)
        .filter(task_event::Column::Generation.is_in(generations.iter().copied()))
        .order_by_asc(task_event::Column::Generation)
        .all(db)
        .await
}
