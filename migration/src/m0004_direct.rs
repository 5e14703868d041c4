//! Messages that wait for a direct answer: what is sent to an agent that may answer with a message and no task.

use sea_orm_migration::{prelude::*, schema::*};

pub(crate) struct Direct;

impl MigrationName for Direct {
    fn name(&self) -> &str {
        "m0004_direct"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Direct {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, m: &SchemaManager) -> Result<(), DbErr> {
        waiting_message(m).await?;
        m.alter_table(Table::alter().table("send_key").add_column(text_null("message")).to_owned()).await
    }

    async fn down(&self, m: &SchemaManager) -> Result<(), DbErr> {
        m.alter_table(Table::alter().table("send_key").drop_column("message").to_owned()).await?;
        m.drop_table(Table::drop().table("waiting_message").if_exists().to_owned()).await
    }
}

/// One row per message whose sender waits for a direct answer: what a task would be made of, its place in the queue, its lease and fence.
async fn waiting_message(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("waiting_message")
            // The id the task would have.
            .col(pk_uuid("id"))
            .col(text("tenant"))
            .col(text("agent"))
            .col(text("context_id"))
            .col(text("body"))
            .col(text_null("metadata"))
            .col(text_null("output_modes"))
            // The inline push config, sealed whole.
            .col(binary_null("push_config"))
            // The idempotency key the message came under.
            .col(text_null("key"))
            // As of `work`: from then on a poll may claim the message; a lease sets it to its own end; null is claimed no more.
            .col(big_integer_null("due_at"))
            .col(uuid_null("lease_id"))
            .col(big_integer("epoch"))
            .col(text_null("worker"))
            .col(integer("deliveries"))
            // From then on the message becomes a task.
            .col(big_integer("limit_at"))
            // Nobody waits beyond: whoever does moves it on.
            .col(big_integer("until"))
            .col(text_null("answer"))
            .col(big_integer("created_at"))
            .to_owned(),
    )
    .await?;
    m.create_index(
        Index::create()
            .name("waiting_message_due")
            .table("waiting_message")
            .col("agent")
            .col("due_at")
            .and_where(Expr::col("due_at").is_not_null())
            .to_owned(),
    )
    .await?;
    if m.get_database_backend() == sea_orm_migration::sea_orm::DbBackend::Postgres {
        // As of `work`: rows come and go all the time.
        let clear =
            "ALTER TABLE waiting_message SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)";
        m.get_connection().execute_unprepared(clear).await?;
    }
    Ok(())
}
