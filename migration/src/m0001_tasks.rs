//! Tasks, what belongs to them, and the queue they wait in.

use sea_orm_migration::{prelude::*, schema::*};

pub(crate) struct Tasks;

impl MigrationName for Tasks {
    fn name(&self) -> &str {
        "m0001_tasks"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Tasks {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, m: &SchemaManager) -> Result<(), DbErr> {
        task(m).await?;
        task_rows(m).await?;
        work(m).await?;
        send_key(m).await?;
        tenant(m).await?;
        secret_key(m).await
    }

    async fn down(&self, m: &SchemaManager) -> Result<(), DbErr> {
        for table in [
            "secret_key",
            "task_allowance",
            "tenant",
            "send_key",
            "work",
            "task_log",
            "task_event",
            "task_artifact",
            "task_message",
            "task",
        ] {
            m.drop_table(Table::drop().table(table).if_exists().to_owned()).await?;
        }
        Ok(())
    }
}

/// The task itself. What grows (history, artifacts, events) grows by rows of other tables.
async fn task(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("task")
            .col(pk_uuid("id"))
            .col(text("tenant"))
            .col(text("agent"))
            .col(text("context_id"))
            // The proto's number of the state.
            .col(small_integer("state"))
            .col(text_null("status_message"))
            // Whether the status message moves into history when it is replaced; a progress text does not.
            .col(boolean("status_kept"))
            .col(big_integer("status_at"))
            .col(text_null("metadata"))
            // Number of the last event: 1, 2, 3, ... without a gap.
            .col(big_integer("generation"))
            // Number of the last message in history, and of the last one a client wrote.
            .col(integer("history_count"))
            .col(big_integer("history_bytes"))
            .col(integer("client_seq"))
            // How much of history was before the eyes of whoever wrote the present status.
            .col(integer("answered_seq"))
            .col(integer("artifact_count"))
            .col(big_integer("artifact_bytes"))
            .col(integer("config_count"))
            .col(boolean("cancelable"))
            .col(text_null("output_modes"))
            .col(big_integer("created_at"))
            .to_owned(),
    )
    .await?;
    // ListTasks: newest status first, with each filter that narrows.
    for (name, columns) in [
        ("task_listed", &["tenant", "agent"][..]),
        ("task_listed_by_context", &["tenant", "agent", "context_id"]),
        ("task_listed_by_state", &["tenant", "agent", "state"]),
    ] {
        let mut index = Index::create().name(name).table("task").to_owned();
        for column in columns {
            index.col(*column);
        }
        index.col(("status_at", IndexOrder::Desc)).col(("id", IndexOrder::Desc));
        m.create_index(index).await?;
    }
    Ok(())
}

/// History, artifacts (a row a chunk), events, and the log of what streams and webhooks do not carry.
async fn task_rows(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("task_message")
            .col(uuid("task_id"))
            .col(integer("seq"))
            .col(boolean("client"))
            .col(text("body"))
            .primary_key(Index::create().col("task_id").col("seq"))
            .to_owned(),
    )
    .await?;
    m.create_table(
        Table::create()
            .table("task_artifact")
            .col(uuid("task_id"))
            .col(text("artifact_id"))
            .col(integer("chunk"))
            // Place of the artifact among the task's.
            .col(integer("ordinal"))
            .col(boolean("last"))
            // Bytes of the artifact up to this chunk.
            .col(big_integer("bytes"))
            .col(text("body"))
            .primary_key(Index::create().col("task_id").col("artifact_id").col("chunk"))
            .to_owned(),
    )
    .await?;
    m.create_table(
        Table::create()
            .table("task_event")
            .col(uuid("task_id"))
            .col(big_integer("generation"))
            .col(big_integer("at"))
            .col(text("body"))
            .primary_key(Index::create().col("task_id").col("generation"))
            .to_owned(),
    )
    .await?;
    m.create_table(
        Table::create()
            .table("task_log")
            .col(pk_uuid("id"))
            .col(text("tenant"))
            .col(uuid("task_id"))
            .col(text("kind"))
            .col(text("body"))
            .col(big_integer("at"))
            .to_owned(),
    )
    .await
}

/// One narrow row per task that is not terminal: the queue, the lease and the fence.
async fn work(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("work")
            .col(pk_uuid("task_id"))
            .col(text("tenant"))
            .col(text("agent"))
            // From then on a poll may claim the task. A lease sets it to its own end; null waits for a client.
            .col(big_integer_null("due_at"))
            .col(uuid_null("lease_id"))
            .col(big_integer("epoch"))
            .col(text_null("worker"))
            .col(integer("deliveries"))
            // How much of history the present lease was handed.
            .col(integer("seen_seq"))
            // Grows with every write to the task: what was read before deciding is what is written upon.
            .col(big_integer("revision"))
            .to_owned(),
    )
    .await?;
    m.create_index(
        Index::create()
            .name("work_due")
            .table("work")
            .col("agent")
            .col("due_at")
            .and_where(Expr::col("due_at").is_not_null())
            .to_owned(),
    )
    .await?;
    if m.get_database_backend() == sea_orm_migration::sea_orm::DbBackend::Postgres {
        // Rows come and go all the time: what is dead is cleared away by count, not by share of a table that is nearly empty.
        let clear = "ALTER TABLE work SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)";
        m.get_connection().execute_unprepared(clear).await?;
    }
    Ok(())
}

/// What an `Idempotency-Key` stands for.
async fn send_key(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("send_key")
            .col(text("tenant"))
            .col(text("agent"))
            .col(text("key"))
            .col(text("body_hash"))
            .col(uuid("task_id"))
            .col(integer("seq"))
            .col(big_integer("created_at"))
            .primary_key(Index::create().col("tenant").col("agent").col("key"))
            .to_owned(),
    )
    .await?;
    m.create_index(Index::create().name("send_key_age").table("send_key").col("created_at").to_owned()).await
}

/// Tenants that have been seen, and how many tasks each may still create: a few rows a tenant, so that no send waits for another's
/// commit.
async fn tenant(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("tenant")
            .col(ColumnDef::new("name").text().not_null().primary_key())
            .col(big_integer("task_limit"))
            .col(big_integer("created_at"))
            .to_owned(),
    )
    .await?;
    m.create_table(
        Table::create()
            .table("task_allowance")
            .col(text("tenant"))
            .col(small_integer("shard"))
            .col(big_integer("remaining"))
            .primary_key(Index::create().col("tenant").col("shard"))
            .to_owned(),
    )
    .await
}

/// The key that seals stored secrets, when the operator keeps none of their own.
async fn secret_key(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("secret_key")
            .col(ColumnDef::new("id").text().not_null().primary_key())
            .col(binary("key"))
            .col(big_integer("created_at"))
            .to_owned(),
    )
    .await
}
