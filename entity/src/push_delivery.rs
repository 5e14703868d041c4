//! One notification: an event and the lane it goes down.

use sea_orm::entity::prelude::*;

/// Where a notification stands. It begins pending and ends in one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
pub enum State {
    /// Yet to be delivered.
    Pending = 0,
    /// Answered with 2xx.
    Delivered = 1,
    /// The schedule is spent.
    Dead = 2,
    /// Its config or task was deleted.
    Cancelled = 3,
}

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "push_delivery")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub lane_id: Uuid,
    /// Place in the lane: 1, 2, 3, ... without a gap.
    #[sea_orm(primary_key, auto_increment = false)]
    pub sequence: i64,
    pub tenant: String,
    pub task_id: Uuid,
    pub generation: i64,
    /// A body of its own; without one the body is the event of that generation.
    pub body: Option<String>,
    pub state: State,
    pub attempts: i32,
    pub created_at: i64,
    pub ended_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
crate::belongs_to_task!();
