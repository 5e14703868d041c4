//! What a tenant's notifications are signed with.

use sea_orm::entity::prelude::*;

/// One key; what it signs with is sealed.
#[derive(Clone, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "signing_key")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tenant: String,
    /// 1 for the tenant's first.
    #[sea_orm(primary_key, auto_increment = false)]
    pub number: i32,
    /// What verifiers know the public key as.
    pub id: Uuid,
    pub sealed: Vec<u8>,
    /// The public key, Ed25519.
    pub public: Vec<u8>,
    pub created_at: i64,
    /// From then on it signs no more; none for the current one.
    pub until: Option<i64>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("signing_key").field("id", &self.id).field("number", &self.number).finish_non_exhaustive()
    }
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
