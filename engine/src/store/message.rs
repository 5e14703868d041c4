//! Statements on `task_message`: history.

use entity::{task, task_message};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, QueryOrder};
use uuid::Uuid;

use super::ids::padded;

/// The whole histories of these tasks, by task and then oldest first.
pub async fn of_tasks<C: ConnectionTrait>(db: &C, tasks: &[Uuid]) -> Result<Vec<task_message::Model>, DbErr> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    task_message::Entity::of_tasks(tasks.iter().copied())
        .order_by_asc(task_message::Column::TaskId)
        .order_by_asc(task_message::Column::Seq)
        .all(db)
        .await
}

/// What clients wrote to each of these tasks after the number beside it, by task and then oldest first.
pub async fn from_clients_after<C: ConnectionTrait>(
    db: &C,
    tasks: &[(Uuid, i32)],
) -> Result<Vec<task_message::Model>, DbErr> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let each = padded(tasks).map(|(task, seq)| {
        Condition::all().add(task_message::Column::TaskId.eq(task)).add(task_message::Column::Seq.gt(seq))
    });
    let any = each.fold(Condition::any(), Condition::add);
    task_message::Entity::of_tasks(padded(tasks).map(|(task, _)| task))
        .filter(any)
        .filter(task_message::Column::Client.eq(true))
        .order_by_asc(task_message::Column::TaskId)
        .order_by_asc(task_message::Column::Seq)
        .all(db)
        .await
}

/// The newest messages of each of these tasks, by task and then oldest first: at most `limit` a task, all without one.
pub async fn newest_of_tasks<C: ConnectionTrait>(
    db: &C,
    tasks: &[task::Model],
    limit: Option<i32>,
) -> Result<Vec<task_message::Model>, DbErr> {
    let Some(limit) = limit else {
        return of_tasks(db, &tasks.iter().map(|task| task.id).collect::<Vec<_>>()).await;
    };
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    // Numbers have no gaps, so the newest are those above the count less the limit.
    let each = tasks.iter().map(|task| {
        Condition::all()
            .add(task_message::Column::TaskId.eq(task.id))
            .add(task_message::Column::Seq.gt(task.history_count.saturating_sub(limit)))
    });
    let any = each.fold(Condition::any(), Condition::add);
    task_message::Entity::of_tasks(tasks.iter().map(|task| task.id))
        .filter(any)
        .order_by_asc(task_message::Column::TaskId)
        .order_by_asc(task_message::Column::Seq)
        .all(db)
        .await
}
