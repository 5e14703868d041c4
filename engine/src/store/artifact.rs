//! Statements on `task_artifact`: an artifact is the fold of its chunks.

use entity::task_artifact;
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

/// Every chunk of these tasks' artifacts, in the order artifacts were made and chunks came.
pub async fn of_tasks<C: ConnectionTrait>(db: &C, tasks: &[Uuid]) -> Result<Vec<task_artifact::Model>, DbErr> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    task_artifact::Entity::of_tasks(tasks.iter().copied())
        .order_by_asc(task_artifact::Column::TaskId)
        .order_by_asc(task_artifact::Column::Ordinal)
        .order_by_asc(task_artifact::Column::Chunk)
        .all(db)
        .await
}

/// The last chunk of one artifact (its place, its number and the bytes up to it).
pub async fn last_chunk<C: ConnectionTrait>(
    db: &C,
    task: Uuid,
    artifact: &str,
) -> Result<Option<task_artifact::Model>, DbErr> {
    task_artifact::Entity::of_task(task)
        .filter(task_artifact::Column::ArtifactId.eq(artifact))
        .order_by_desc(task_artifact::Column::Chunk)
        .limit(1)
        .one(db)
        .await
}

/// Remove one artifact's chunks up to number `through`, to make room for its replacement.
pub fn delete_through(task: Uuid, artifact: &str, through: i32) -> DeleteStatement {
    Query::delete()
        .from_table(task_artifact::Entity)
        .and_where(Expr::col(task_artifact::Column::TaskId).eq(task))
        .and_where(Expr::col(task_artifact::Column::ArtifactId).eq(artifact))
        .and_where(Expr::col(task_artifact::Column::Chunk).lte(through))
        .to_owned()
}
