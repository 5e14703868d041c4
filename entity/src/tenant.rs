//! A tenant that has been seen, and the task limit its allowance was cut from.

use sea_orm::entity::prelude::*;

/// One tenant; '' is *no tenant*.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "tenant")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    pub task_limit: i64,
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Entity {
    /// One tenant's own row.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn of(tenant: &wire::Tenant) -> sea_orm::Select<Entity> {
        use sea_orm::QueryFilter;
        Entity::find().filter(Column::Name.eq(tenant.as_str()))
    }
}
