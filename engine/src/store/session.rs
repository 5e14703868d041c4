//! Statements on `worker_session`: who works, who was heard of, who is to stop.

use entity::worker_session as session;
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, DbErr, QueryFilter, QuerySelect, Statement};

use super::Store;

/// The session of this id.
pub async fn read<C: ConnectionTrait>(db: &C, id: &str) -> Result<Option<session::Model>, DbErr> {
    session::Entity::of_deployment().filter(session::Column::Id.eq(id)).one(db).await
}

/// Note when these were heard of, in one statement; one that had been forgotten is there again. Yields which of them drain.
///
/// # Errors
/// When the database fails.
pub async fn heard(store: &Store, heard: &[session::Model]) -> Result<Vec<String>, DbErr> {
    let rows: Vec<serde_json::Value> = heard
        .iter()
        .map(|row| {
            serde_json::json!({"id": row.id, "worker": row.worker, "agents": row.agents, "draining": row.draining,
                "created_at": row.created_at, "seen_at": row.seen_at})
        })
        .collect();
    let backend = store.read().get_database_backend();
    // One text for however many rows: each text is prepared and kept, connection by connection.
    let rows_of = match backend {
        DbBackend::Postgres => {
            "SELECT id, worker, agents, draining, created_at, seen_at FROM json_to_recordset(CAST($1 AS json)) AS \
             heard(id text, worker text, agents text, draining boolean, created_at bigint, seen_at bigint) ORDER BY id"
        }
        _ => {
            "SELECT json_extract(value, '$.id'), json_extract(value, '$.worker'), json_extract(value, '$.agents'), \
             json_extract(value, '$.draining'), json_extract(value, '$.created_at'), json_extract(value, '$.seen_at') \
             FROM json_each($1) WHERE true"
        }
    };
    let sql = format!(
        "INSERT INTO worker_session (id, worker, agents, draining, created_at, seen_at) {rows_of} \
         ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING id, draining"
    );
    let rows = serde_json::Value::from(rows).to_string();
    let found = store.write_returning(Statement::from_sql_and_values(backend, sql, [rows.into()])).await?;
    let mut draining = Vec::new();
    for row in found {
        if row.try_get::<bool>("", "draining")? {
            draining.push(row.try_get("", "id")?);
        }
    }
    Ok(draining)
}

/// This session is to get no more work.
pub fn drain(id: &str) -> UpdateStatement {
    Query::update()
        .table(session::Entity)
        .value(session::Column::Draining, true)
        .and_where(Expr::col(session::Column::Id).eq(id))
        .to_owned()
}

/// Forget whoever was not heard of since `before`.
pub fn forget(before: i64) -> DeleteStatement {
    Query::delete().from_table(session::Entity).and_where(Expr::col(session::Column::SeenAt).lt(before)).to_owned()
}

/// The agents, as JSON, of each worker that was heard of since and does not drain.
pub async fn agents_of_seen<C: ConnectionTrait>(db: &C, since: i64) -> Result<Vec<String>, DbErr> {
    session::Entity::of_deployment()
        .filter(session::Column::SeenAt.gte(since))
        .filter(session::Column::Draining.eq(false))
        .select_only()
        .column(session::Column::Agents)
        .into_tuple()
        .all(db)
        .await
}
