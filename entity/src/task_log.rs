//! What happened to a task and no stream carries: configs created and deleted.

use sea_orm::entity::prelude::*;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "task_log")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub tenant: String,
    pub task_id: Uuid,
    pub kind: String,
    pub body: String,
    pub at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
