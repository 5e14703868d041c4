//! Push notifications: configs, their lanes, what is to be delivered and what was tried.

use sea_orm_migration::{prelude::*, schema::*};

pub(crate) struct Push;

impl MigrationName for Push {
    fn name(&self) -> &str {
        "m0002_push"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Push {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, m: &SchemaManager) -> Result<(), DbErr> {
        config(m).await?;
        lane(m).await?;
        delivery(m).await
    }

    async fn down(&self, m: &SchemaManager) -> Result<(), DbErr> {
        for table in ["push_attempt", "push_delivery", "push_lane", "push_config"] {
            m.drop_table(Table::drop().table(table).if_exists().to_owned()).await?;
        }
        Ok(())
    }
}

/// A webhook of one task. Token and credentials are sealed.
async fn config(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("push_config")
            .col(pk_uuid("id"))
            .col(text("tenant"))
            .col(uuid("task_id"))
            .col(text("config_id"))
            .col(text("url"))
            .col(binary_null("token"))
            .col(text_null("scheme"))
            .col(binary_null("credentials"))
            .col(big_integer("created_at"))
            .to_owned(),
    )
    .await?;
    m.create_index(
        Index::create()
            .name("push_config_named")
            .table("push_config")
            .unique()
            .col("task_id")
            .col("config_id")
            .to_owned(),
    )
    .await
}

/// The ordered line of one config's deliveries: numbers `head..=tail` are yet to be delivered.
async fn lane(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("push_lane")
            // The config's row; the lane outlives it.
            .col(pk_uuid("id"))
            .col(text("tenant"))
            .col(uuid("task_id"))
            .col(big_integer("head"))
            .col(big_integer("tail"))
            // From then on a notifier may claim the lane. A lease sets it to its own end; null is an empty lane.
            .col(big_integer_null("due_at"))
            .col(uuid_null("holder"))
            .col(big_integer("fence"))
            .col(integer("attempts"))
            .col(boolean("closed"))
            .to_owned(),
    )
    .await?;
    m.create_index(Index::create().name("push_lane_task").table("push_lane").col("task_id").to_owned()).await?;
    m.create_index(
        Index::create()
            .name("push_lane_due")
            .table("push_lane")
            .col("due_at")
            .and_where(Expr::col("due_at").is_not_null())
            .to_owned(),
    )
    .await
}

/// One notification, and the requests that tried to bring it.
async fn delivery(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("push_delivery")
            .col(uuid("lane_id"))
            .col(big_integer("sequence"))
            .col(text("tenant"))
            .col(uuid("task_id"))
            .col(big_integer("generation"))
            // A body of its own; without one the body is the event of that generation.
            .col(text_null("body"))
            .col(small_integer("state"))
            .col(integer("attempts"))
            .col(big_integer("created_at"))
            .col(big_integer_null("ended_at"))
            .primary_key(Index::create().col("lane_id").col("sequence"))
            .to_owned(),
    )
    .await?;
    m.create_table(
        Table::create()
            .table("push_attempt")
            .col(pk_uuid("id"))
            .col(uuid("lane_id"))
            .col(big_integer("sequence"))
            .col(integer("attempt"))
            .col(text("outcome"))
            .col(small_integer_null("status"))
            .col(integer("duration_ms"))
            .col(big_integer("at"))
            .to_owned(),
    )
    .await?;
    m.create_index(
        Index::create().name("push_attempt_of").table("push_attempt").col("lane_id").col("sequence").to_owned(),
    )
    .await
}
