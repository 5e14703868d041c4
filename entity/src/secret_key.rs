//! The key that seals stored secrets, when the operator keeps none of their own.

use sea_orm::entity::prelude::*;

/// One key.
#[derive(Clone, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "secret_key")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    pub key: Vec<u8>,
    pub created_at: i64,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("secret_key").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Entity {
    /// A key belongs to the deployment, not to a tenant.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn of_deployment() -> sea_orm::Select<Entity> {
        Entity::find()
    }
}
