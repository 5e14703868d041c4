//! What notifications are signed with.

use sea_orm_migration::{prelude::*, schema::*};

pub(crate) struct Signing;

impl MigrationName for Signing {
    fn name(&self) -> &str {
        "m0006_signing"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Signing {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    /// One row per key of a tenant's.
    async fn up(&self, m: &SchemaManager) -> Result<(), DbErr> {
        m.create_table(
            Table::create()
                .table("signing_key")
                .col(text("tenant"))
                // 1 for the tenant's first, and so on: of two rotations at once one takes the number.
                .col(integer("number"))
                // What the secrets are sealed for, and what verifiers know the public key as.
                .col(uuid_uniq("id"))
                // The HMAC secret and the Ed25519 seed, sealed in one.
                .col(binary("sealed"))
                .col(binary("public"))
                .col(big_integer("created_at"))
                // From then on it signs no more; null for the current one.
                .col(big_integer_null("until"))
                .primary_key(Index::create().col("tenant").col("number"))
                .to_owned(),
        )
        .await
    }

    async fn down(&self, m: &SchemaManager) -> Result<(), DbErr> {
        m.drop_table(Table::drop().table("signing_key").if_exists().to_owned()).await
    }
}
