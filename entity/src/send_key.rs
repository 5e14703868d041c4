//! What an `Idempotency-Key` stands for: the task a send made or continued, and which message of it, or the message that was answered.

use sea_orm::entity::prelude::*;

/// One key of one tenant at one agent.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "send_key")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tenant: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub agent: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub key: String,
    /// Of the request in canonical form.
    pub body_hash: String,
    pub task_id: Uuid,
    /// The message's number in the task's history; 0 when the message waited, or waits, for a direct answer.
    pub seq: i32,
    /// The direct answer.
    pub message: Option<String>,
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
