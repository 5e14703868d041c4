//! The ordered line of one config's deliveries: numbers `head..=tail` are yet to be delivered. The lane is what a notifier leases.

use sea_orm::entity::prelude::*;

/// One lane.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "push_lane")]
pub struct Model {
    /// The config's row.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub tenant: String,
    pub task_id: Uuid,
    pub head: i64,
    pub tail: i64,
    /// From then on a notifier may claim the lane; a lease sets it to its own end; none is an empty lane.
    pub due_at: Option<i64>,
    pub holder: Option<Uuid>,
    /// Grows at each claim and when the config is deleted.
    pub fence: i64,
    /// Attempts at the delivery at the head.
    pub attempts: i32,
    /// The config is deleted; nothing more is delivered.
    pub closed: bool,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
crate::belongs_to_task!();
