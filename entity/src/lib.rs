//! What a row is, and the only doors to it.
//!
//! A query starts at `Entity::of(tenant)`, which cannot forget the tenant. The few that must not be scoped (a worker serves many
//! tenants, a sweep serves all) start at a door whose name says so; clippy refuses sea-orm's own `find`.
//!
//! Times are milliseconds since the epoch and bodies ProtoJSON text, for the reasons in `migration`.

pub mod claim_gate;
pub mod push_attempt;
pub mod push_config;
pub mod push_delivery;
pub mod push_lane;
pub mod secret_key;
pub mod send_key;
pub mod signing_key;
pub mod task;
pub mod task_allowance;
pub mod task_artifact;
pub mod task_event;
pub mod task_log;
pub mod task_message;
pub mod tenant;
pub mod undelivered;
pub mod update_key;
pub mod waiting_message;
pub mod work;
pub mod worker_session;

/// The doors of an entity whose rows carry a tenant.
macro_rules! sealed_by_tenant {
    () => {
        impl Entity {
            /// Every row of one tenant: where a query on a tenant's behalf starts.
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            pub fn of(tenant: &wire::Tenant) -> sea_orm::Select<Entity> {
                use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
                Entity::find().filter(Column::Tenant.eq(tenant.as_str()))
            }

            /// Rows of every tenant: for workers, sweeps and the operator, never on a client's behalf.
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            pub fn across_tenants() -> sea_orm::Select<Entity> {
                use sea_orm::EntityTrait;
                Entity::find()
            }
        }
    };
}

/// The doors of an entity whose rows belong to a task: whoever has the task has them.
macro_rules! belongs_to_task {
    () => {
        impl Entity {
            /// Every row of one task, which the caller has already found through its own door.
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            pub fn of_task(task: uuid::Uuid) -> sea_orm::Select<Entity> {
                use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
                Entity::find().filter(Column::TaskId.eq(task))
            }

            /// Every row of these tasks, which the caller has already found through their own door.
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            pub fn of_tasks(tasks: impl IntoIterator<Item = uuid::Uuid>) -> sea_orm::Select<Entity> {
                use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
                Entity::find().filter(Column::TaskId.is_in(tasks))
            }
        }
    };
}

pub(crate) use {belongs_to_task, sealed_by_tenant};
