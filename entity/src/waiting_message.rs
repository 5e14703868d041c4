//! A message whose sender waits for a direct answer: what a task would be made of, and the queue, the lease and the fence as in
//! [`work`](crate::work). It is no task: nothing that reads tasks sees it.

use sea_orm::entity::prelude::*;

/// One message that waits.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "waiting_message")]
pub struct Model {
    /// The id the task would have.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub tenant: String,
    pub agent: String,
    pub context_id: String,
    /// The message as history would hold it.
    pub body: String,
    pub metadata: Option<String>,
    pub output_modes: Option<String>,
    /// The inline push config, sealed whole.
    pub push_config: Option<Vec<u8>>,
    /// The idempotency key it came under.
    pub key: Option<String>,
    /// From then on a poll may claim it; a lease sets it to its own end; none is claimed no more.
    pub due_at: Option<i64>,
    pub lease_id: Option<Uuid>,
    /// The fencing number: grows at each claim, never goes back.
    pub epoch: i64,
    pub worker: Option<String>,
    /// Deliveries since the last release.
    pub deliveries: i32,
    /// From then on it becomes a task.
    pub limit_at: i64,
    /// Nobody waits beyond; whoever waits moves it on.
    pub until: i64,
    pub answer: Option<String>,
    pub created_at: i64,
    /// JSON: the W3C trace context of the request it came with.
    pub trace: Option<String>,
    /// Higher first.
    pub priority: i16,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
