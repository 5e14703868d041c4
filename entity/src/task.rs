//! A task as it stands. What grows with it lies in rows of its own.

use sea_orm::entity::prelude::*;

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "task")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// '' is *no tenant*.
    pub tenant: String,
    pub agent: String,
    pub context_id: String,
    /// The proto's number of the state.
    pub state: i16,
    pub status_message: Option<String>,
    /// Whether the status message moves into history when it is replaced; a progress text does not.
    pub status_kept: bool,
    pub status_at: i64,
    pub metadata: Option<String>,
    /// Number of the last event.
    pub generation: i64,
    /// Number of the last message in history.
    pub history_count: i32,
    /// Bytes of all messages in history.
    pub history_bytes: i64,
    /// Number of the last message a client wrote.
    pub client_seq: i32,
    /// How much of history was before the eyes of whoever wrote the present status.
    pub answered_seq: i32,
    pub artifact_count: i32,
    pub artifact_bytes: i64,
    pub config_count: i32,
    /// Whether the present stage may be canceled.
    pub cancelable: bool,
    /// JSON array of the media types the client takes back.
    pub output_modes: Option<String>,
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

crate::sealed_by_tenant!();
