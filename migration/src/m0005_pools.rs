//! What worker pools stand on: who works, what is claimed first, what a repeated call is answered, what was given up.

use sea_orm_migration::{prelude::*, schema::*};

pub(crate) struct Pools;

impl MigrationName for Pools {
    fn name(&self) -> &str {
        "m0005_pools"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Pools {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, m: &SchemaManager) -> Result<(), DbErr> {
        for table in ["work", "waiting_message"] {
            // The W3C trace context of the request that made the task ready.
            m.alter_table(Table::alter().table(table).add_column(text_null("trace")).to_owned()).await?;
        }
        for table in ["work", "waiting_message"] {
            // Higher first.
            m.alter_table(Table::alter().table(table).add_column(small_integer("priority").default(0)).to_owned())
                .await?;
        }
        // The context, and when its task came, of agents whose contexts run in series; else null.
        m.alter_table(Table::alter().table("work").add_column(text_null("series")).to_owned()).await?;
        // The epoch of the lease in whose name an event was written; null for clients, the platform, and a worker without a lease.
        m.alter_table(Table::alter().table("task_event").add_column(big_integer_null("epoch")).to_owned()).await?;
        m.alter_table(Table::alter().table("work").add_column(big_integer_null("series_at")).to_owned()).await?;
        order(m).await?;
        worker_session(m).await?;
        update_key(m).await?;
        undelivered(m).await?;
        claim_gate(m).await
    }

    async fn down(&self, m: &SchemaManager) -> Result<(), DbErr> {
        for table in ["claim_gate", "undelivered", "update_key", "worker_session"] {
            m.drop_table(Table::drop().table(table).if_exists().to_owned()).await?;
        }
        for (table, due) in QUEUES {
            for index in [format!("{table}_turn"), format!("{table}_leased"), due.to_owned()] {
                m.drop_index(Index::drop().name(index).table(table).to_owned()).await?;
            }
            let by_due = Index::create().name(due).table(table).col("agent").col("due_at").to_owned();
            m.create_index(by_due.clone().and_where(Expr::col("due_at").is_not_null()).to_owned()).await?;
        }
        for index in ["work_series", "work_series_leased"] {
            m.drop_index(Index::drop().name(index).table("work").to_owned()).await?;
        }
        for (table, column) in [
            ("task_event", "epoch"),
            ("work", "series_at"),
            ("work", "series"),
            ("work", "priority"),
            ("work", "trace"),
            ("waiting_message", "priority"),
            ("waiting_message", "trace"),
        ] {
            m.alter_table(Table::alter().table(table).drop_column(column).to_owned()).await?;
        }
        Ok(())
    }
}

/// The tables work is claimed from, and the index each had until now for what is due.
const QUEUES: [(&str, &str); 2] = [("work", "work_due"), ("waiting_message", "waiting_message_due")];

/// What claims look things up by. A row is in the index of leases, or, without one, in the two others: so a lease that is renewed, which
/// is what rows see most, moves one entry, and what is leased lies in nobody's way.
async fn order(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    let postgres = m.get_database_backend() == sea_orm_migration::sea_orm::DbBackend::Postgres;
    // As bytes, so that the platform can put tenants in the same order.
    let bytes = if postgres { " COLLATE \"C\"" } else { "" };
    let mut texts = Vec::new();
    for (table, due) in QUEUES {
        texts.extend([
            format!("DROP INDEX {due}"),
            // The next tenant in turn, and its oldest.
            format!(
                "CREATE INDEX {table}_turn ON {table} (agent, priority DESC, tenant{bytes}, due_at) \
                 WHERE lease_id IS NULL AND due_at IS NOT NULL"
            ),
            format!("CREATE INDEX {due} ON {table} (agent, due_at) WHERE lease_id IS NULL AND due_at IS NOT NULL"),
            format!("CREATE INDEX {table}_leased ON {table} (agent, due_at) WHERE lease_id IS NOT NULL"),
        ]);
    }
    texts.extend([
        "CREATE INDEX work_series ON work (agent, tenant, series, series_at, task_id) \
         WHERE series IS NOT NULL AND due_at IS NOT NULL"
            .to_owned(),
        "CREATE INDEX work_series_leased ON work (agent, tenant, series) WHERE series IS NOT NULL AND lease_id IS NOT NULL"
            .to_owned(),
    ]);
    for text in texts {
        m.get_connection().execute_unprepared(&text).await?;
    }
    Ok(())
}

/// One row per worker that introduced itself.
async fn worker_session(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("worker_session")
            .col(ColumnDef::new("id").text().not_null().primary_key())
            // What it calls itself, for people.
            .col(text("worker"))
            // JSON: the names of its agents.
            .col(text("agents"))
            .col(boolean("draining"))
            .col(big_integer("created_at"))
            // Written in batches: up to some seconds old. No index has it, so that these writes touch none.
            .col(big_integer("seen_at"))
            .to_owned(),
    )
    .await
}

/// What an `Idempotency-Key` of a worker's call stands for.
async fn update_key(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("update_key")
            .col(uuid("task_id"))
            .col(big_integer("epoch"))
            .col(text("key"))
            .col(text("agent"))
            .col(text("body_hash"))
            // JSON: the first answer.
            .col(text("answer"))
            .col(big_integer("created_at"))
            .primary_key(Index::create().col("task_id").col("epoch").col("key"))
            .to_owned(),
    )
    .await?;
    m.create_index(Index::create().name("update_key_age").table("update_key").col("created_at").to_owned()).await
}

/// Tasks the platform failed because no worker finished them.
async fn undelivered(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create()
            .table("undelivered")
            .col(pk_uuid("task_id"))
            .col(text("tenant"))
            .col(text("agent"))
            .col(integer("deliveries"))
            // Who held it last.
            .col(text_null("worker"))
            .col(big_integer("failed_at"))
            // The task it was sent again as.
            .col(uuid_null("resent_as"))
            .to_owned(),
    )
    .await?;
    m.create_index(Index::create().name("undelivered_listed").table("undelivered").col("failed_at").to_owned()).await
}

/// One row per agent, or tenant (`tenant/NAME`), whose claims count what is running: they take it in turns.
async fn claim_gate(m: &SchemaManager<'_>) -> Result<(), DbErr> {
    m.create_table(
        Table::create().table("claim_gate").col(ColumnDef::new("agent").text().not_null().primary_key()).to_owned(),
    )
    .await
}
