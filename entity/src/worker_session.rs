//! Workers that introduced themselves.

use sea_orm::entity::prelude::*;

/// One worker, from its introduction until nothing was heard of it for long.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "worker_session")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// What it calls itself, for people.
    pub worker: String,
    /// JSON: the names of its agents.
    pub agents: String,
    /// Whether it is to get no more work.
    pub draining: bool,
    pub created_at: i64,
    /// When it was heard of last; written in batches, so up to some seconds old.
    pub seen_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Entity {
    /// A worker serves many tenants: it belongs to the deployment.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn of_deployment() -> sea_orm::Select<Entity> {
        Entity::find()
    }
}
