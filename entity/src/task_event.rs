//! One event of a task: what streams and webhooks carry.

use sea_orm::entity::prelude::*;

/// A `StreamResponse` and its number.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "task_event")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub task_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub generation: i64,
    pub at: i64,
    pub body: String,
    /// Of the lease in whose name it was written; none for clients, the platform, and a worker without a lease.
    pub epoch: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::belongs_to_task!();
