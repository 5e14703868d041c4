//! A webhook registered on one task.

use sea_orm::entity::prelude::*;

/// One config; token and credentials are sealed.
#[derive(Clone, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "push_config")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub tenant: String,
    pub task_id: Uuid,
    /// The id clients know it by, unique on its task.
    pub config_id: String,
    pub url: String,
    pub token: Option<Vec<u8>>,
    pub scheme: Option<String>,
    pub credentials: Option<Vec<u8>>,
    /// The protocol version its receiver is told in, as `Major.Minor`.
    pub version: String,
    pub created_at: i64,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("push_config")
            .field("id", &self.id)
            .field("task_id", &self.task_id)
            .field("config_id", &self.config_id)
            .finish_non_exhaustive()
    }
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
crate::belongs_to_task!();
