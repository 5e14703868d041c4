//! The queue, the lease and the fence of a task that is not terminal: one narrow row each. Every write to such a task begins by
//! locking this row.

use sea_orm::entity::prelude::*;

/// What is to be done for one task.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "work")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub task_id: Uuid,
    pub tenant: String,
    pub agent: String,
    /// From then on a poll may claim the task; a lease sets it to its own end; none waits for a client.
    pub due_at: Option<i64>,
    pub lease_id: Option<Uuid>,
    /// The fencing number: grows at each claim, never goes back.
    pub epoch: i64,
    pub worker: Option<String>,
    /// Deliveries since the last move, release or client message.
    pub deliveries: i32,
    /// How much of history the present lease was handed.
    pub seen_seq: i32,
    /// Grows with every write to the task.
    pub revision: i64,
    /// JSON: the W3C trace context of the request that made the task ready.
    pub trace: Option<String>,
    /// Higher first.
    pub priority: i16,
    /// The context, where the agent's contexts run in series.
    pub series: Option<String>,
    /// When the task came, where there is a series: its place in it.
    pub series_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
crate::belongs_to_task!();
