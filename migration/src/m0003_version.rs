//! The protocol version in which a config's receiver is told.

use sea_orm_migration::prelude::*;

pub(crate) struct PushVersion;

impl MigrationName for PushVersion {
    fn name(&self) -> &str {
        "m0003_version"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for PushVersion {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    /// Whoever registered a config so far spoke 1.0.
    async fn up(&self, m: &SchemaManager) -> Result<(), DbErr> {
        let version = ColumnDef::new("version").text().not_null().default("1.0").take();
        m.alter_table(Table::alter().table("push_config").add_column(version).to_owned()).await
    }

    async fn down(&self, m: &SchemaManager) -> Result<(), DbErr> {
        m.alter_table(Table::alter().table("push_config").drop_column("version").to_owned()).await
    }
}
