//! Tasks the platform failed because no worker finished them, for the operator to look at and to send again.

use sea_orm::entity::prelude::*;

/// One task that was delivered too often.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "undelivered")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub task_id: Uuid,
    pub tenant: String,
    pub agent: String,
    pub deliveries: i32,
    /// The session that held it last, where it had one.
    pub worker: Option<String>,
    pub failed_at: i64,
    /// The task it was sent again as.
    pub resent_as: Option<Uuid>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
