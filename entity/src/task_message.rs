//! One message of a task's history.

use sea_orm::entity::prelude::*;

/// A message and its place in the history: 1, 2, 3, ...
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "task_message")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub task_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: i32,
    /// Whether a client wrote it.
    pub client: bool,
    pub body: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::belongs_to_task!();
