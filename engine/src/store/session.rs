//! Statements on `worker_session`.

use entity::worker_session;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QuerySelect};

/// The agents, as JSON, of each worker that was heard of since and does not drain.
pub async fn agents_of_seen<C: ConnectionTrait>(db: &C, since: i64) -> Result<Vec<String>, DbErr> {
    worker_session::Entity::of_deployment()
        .filter(worker_session::Column::SeenAt.gte(since))
        .filter(worker_session::Column::Draining.eq(false))
        .select_only()
        .column(worker_session::Column::Agents)
        .into_tuple()
        .all(db)
        .await
}
