//! Agents whose claims count what is running: who claims for one locks its row, so that no two count at once.

use sea_orm::entity::prelude::*;

/// One agent.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "claim_gate")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub agent: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Entity {
    /// An agent serves many tenants: its gate belongs to the deployment.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn of_deployment() -> sea_orm::Select<Entity> {
        Entity::find()
    }
}
