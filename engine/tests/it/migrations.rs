//! What an earlier release has left in its tables is work for this one.

use migration::Migrator;
use sea_orm::sea_query::{Query, Value};
use sea_orm::{ConnectionTrait, DatabaseConnection};
use sea_orm_migration::MigratorTrait;
use serde_json::json;
use uuid::Uuid;
use wire::TaskState;

use crate::fixture::*;

/// Rows of a task as a release before worker pools wrote them.
async fn task_of_m0004(db: &DatabaseConnection, id: Uuid, text: &str, lease: Option<(Uuid, i64)>) {
    let say =
        json!({"messageId": "m", "contextId": "c", "taskId": id, "role": "ROLE_USER", "parts": [{ "text": text }]});
    let status = json!({"state": "TASK_STATE_SUBMITTED"});
    let first = json!({"task": {"id": id, "contextId": "c", "status": status, "history": [say]}});
    let none = || Value::String(None);
    insert(
        db,
        "task",
        vec![
            ("id", id.into()),
            ("tenant", "acme".into()),
            ("agent", "demo".into()),
            ("context_id", "c".into()),
            ("state", (TaskState::Submitted as i16).into()),
            ("status_message", none()),
            ("status_kept", true.into()),
            ("status_at", START.into()),
            ("metadata", none()),
            ("generation", 1_i64.into()),
            ("history_count", 1.into()),
            ("history_bytes", (say.to_string().len() as i64).into()),
            ("client_seq", 1.into()),
            ("answered_seq", 0.into()),
            ("artifact_count", 0.into()),
            ("artifact_bytes", 0_i64.into()),
            ("config_count", 0.into()),
            ("cancelable", true.into()),
            ("output_modes", none()),
            ("created_at", START.into()),
        ],
    )
    .await;
    let message =
        vec![("task_id", id.into()), ("seq", 1.into()), ("client", true.into()), ("body", say.to_string().into())];
    insert(db, "task_message", message).await;
    let event = vec![
        ("task_id", id.into()),
        ("generation", 1_i64.into()),
        ("at", START.into()),
        ("body", first.to_string().into()),
    ];
    insert(db, "task_event", event).await;
    insert(
        db,
        "work",
        vec![
            ("task_id", id.into()),
            ("tenant", "acme".into()),
            ("agent", "demo".into()),
            ("due_at", lease.map_or(START, |(_, until)| until).into()),
            ("lease_id", Value::Uuid(lease.map(|(lease, _)| lease))),
            ("epoch", i64::from(lease.is_some()).into()),
            ("worker", none()),
            ("deliveries", i32::from(lease.is_some()).into()),
            ("seen_seq", i32::from(lease.is_some()).into()),
            ("revision", 1_i64.into()),
        ],
    )
    .await;
}

async fn insert(db: &DatabaseConnection, table: &'static str, row: Vec<(&'static str, Value)>) {
    let (columns, values): (Vec<_>, Vec<_>) = row.into_iter().unzip();
    let values = values.into_iter().map(Into::into);
    db.execute(Query::insert().into_table(table).columns(columns).values_panic(values)).await.unwrap();
}

/// A task that was ready before is claimed, and one that was held is its holder's.
async fn a_release_goes_on_with_the_tasks_of_the_one_before(ground: Ground) {
    let db = ground.store.read().clone();
    Migrator::up(&db, Some(4)).await.unwrap();
    let (ready, held, lease) = (Uuid::now_v7(), Uuid::now_v7(), Uuid::now_v7());
    task_of_m0004(&db, ready, "ready", None).await;
    task_of_m0004(&db, held, "held", Some((lease, START + 30_000))).await;
    let f = ground.fixture().await;
    let claimed = poll(&f.engine, 5, true).await;
    assert_eq!(claimed.len(), 1);
    let claimed = &claimed[0];
    assert_eq!((claimed.task.id.as_str(), claimed.tenant.as_str()), (ready.to_string().as_str(), "acme"));
    assert_eq!((claimed.epoch, claimed.attempt, claimed.trace_context.is_none()), (1, 1, true));
    assert_eq!(claimed.messages.iter().map(text).collect::<Vec<_>>(), ["ready"]);
    let claim = engine::LeaseClaim { id: lease, epoch: 1 };
    let end = || json!([{"work": {}}, {"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}]);
    apply_as(&f.engine, &held.to_string(), Some(claim), end()).await.unwrap();
    f.clock.advance(30_001);
    for lease in poll(&f.engine, 5, true).await {
        apply(&f.engine, &lease, json!([{"complete": {}}])).await.unwrap();
    }
    for id in [ready, held] {
        assert_eq!(get(&f.engine, "acme", &id.to_string()).await.unwrap().status.state, TaskState::Completed);
    }
    assert_eq!(f.count("work").await, 0);
    f.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_goes_on_on_sqlite() {
    a_release_goes_on_with_the_tasks_of_the_one_before(Ground::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_goes_on_on_postgres() {
    let Some(ground) = Ground::postgres().await else { return };
    a_release_goes_on_with_the_tasks_of_the_one_before(ground).await;
}

/// The last migration can be taken back and made again, by whoever tries a release out.
async fn the_last_migration_is_undone_and_done_again(ground: Ground) {
    let db = ground.store.read().clone();
    Migrator::up(&db, None).await.unwrap();
    Migrator::down(&db, Some(1)).await.unwrap();
    ground.fixture().await.end().await;
}

#[tokio::test]
async fn the_last_migration_is_undone_on_sqlite() {
    the_last_migration_is_undone_and_done_again(Ground::sqlite().await).await;
}

#[tokio::test]
async fn the_last_migration_is_undone_on_postgres() {
    let Some(ground) = Ground::postgres().await else { return };
    the_last_migration_is_undone_and_done_again(ground).await;
}
