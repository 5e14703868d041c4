//! One chunk of one artifact. An artifact is the fold of its chunks, so that appending costs the same however long it is.

use sea_orm::entity::prelude::*;

/// A chunk: the first carries name and description, later ones parts and metadata to merge.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "task_artifact")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub task_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub artifact_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub chunk: i32,
    /// Place of the artifact among the task's.
    pub ordinal: i32,
    /// `lastChunk` of the update that brought it.
    pub last: bool,
    /// Bytes of the artifact up to this chunk.
    pub bytes: i64,
    pub body: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::belongs_to_task!();
