//! What an `Idempotency-Key` of a worker's call stands for: the answer the call was given.

use sea_orm::entity::prelude::*;

/// One key within one lease, or within a task where no lease was named (epoch 0).
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "update_key")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub task_id: Uuid,
    /// The lease's.
    #[sea_orm(primary_key, auto_increment = false)]
    pub epoch: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub key: String,
    /// Whose task it is: the key is none of other agents' workers.
    pub agent: String,
    /// Of the request in canonical form.
    pub body_hash: String,
    /// JSON: the first answer.
    pub answer: String,
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::belongs_to_task!();

impl Entity {
    /// Keys of every task: for the sweep.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn across_tasks() -> Select<Entity> {
        Entity::find()
    }
}
