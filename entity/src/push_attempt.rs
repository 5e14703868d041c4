//! One request that tried to bring a notification.

use sea_orm::entity::prelude::*;

/// One attempt. It holds no header and no body: secrets travel in both.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "push_attempt")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub lane_id: Uuid,
    pub sequence: i64,
    pub attempt: i32,
    /// Class of the outcome, such as `delivered`, `status`, `connect_timeout`.
    pub outcome: String,
    pub status: Option<i16>,
    pub duration_ms: i32,
    pub at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Entity {
    /// Every attempt of one lane, which the caller has already found through its own door.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn of_lane(lane: Uuid) -> sea_orm::Select<Entity> {
        use sea_orm::QueryFilter;
        Entity::find().filter(Column::LaneId.eq(lane))
    }
}
