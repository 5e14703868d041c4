//! Statements on `waiting_message`: a queue, a lease and a fence beside those of `work`, for what is no task yet.

use entity::{waiting_message as waiting, work};
use sea_orm::sea_query::{DeleteStatement, Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use wire::Tenant;

use super::ids::padded;

/// The message `id` of this tenant, answered or not.
pub async fn read<C: ConnectionTrait>(db: &C, tenant: &Tenant, id: Uuid) -> Result<Option<waiting::Model>, DbErr> {
    waiting::Entity::of(tenant).filter(waiting::Column::Id.eq(id)).one(db).await
}

/// Those of these messages that still want an answer, if they are for these agents (none: for any agent).
pub async fn of_worker<C: ConnectionTrait>(
    db: &C,
    agents: Option<&[String]>,
    ids: &[Uuid],
) -> Result<Vec<waiting::Model>, DbErr> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut select = waiting::Entity::across_tenants()
        .filter(waiting::Column::Id.is_in(padded(ids)))
        .filter(waiting::Column::Answer.is_null());
    if let Some(agents) = agents {
        select = select.filter(waiting::Column::Agent.is_in(agents.iter().map(String::as_str)));
    }
    select.all(db).await
}

/// Up to `limit` messages that a session holds and that are for these agents (none: for any agent).
pub async fn held_by<C: ConnectionTrait>(
    db: &C,
    agents: Option<&[String]>,
    session: &str,
    limit: u64,
) -> Result<Vec<waiting::Model>, DbErr> {
    let mut select = waiting::Entity::across_tenants()
        .filter(waiting::Column::Worker.eq(session))
        .filter(waiting::Column::LeaseId.is_not_null())
        .filter(waiting::Column::Answer.is_null());
    if let Some(agents) = agents {
        select = select.filter(waiting::Column::Agent.is_in(agents.iter().map(String::as_str)));
    }
    select.order_by_asc(waiting::Column::Id).limit(limit).all(db).await
}

/// How these messages stand: the id, until when somebody waits, and whether the answer is there. What became a task, or is gone, is
/// left out.
pub async fn standing<C: ConnectionTrait>(db: &C, ids: &[Uuid]) -> Result<Vec<(Uuid, i64, bool)>, DbErr> {
    waiting::Entity::across_tenants()
        .filter(waiting::Column::Id.is_in(padded(ids)))
        .select_only()
        .columns([waiting::Column::Id, waiting::Column::Until])
        .expr_as(Expr::col(waiting::Column::Answer).is_not_null(), "answered")
        .into_tuple()
        .all(db)
        .await
}

/// Somebody waits for these messages until then.
pub fn wait_until(ids: &[Uuid], until: i64) -> UpdateStatement {
    Query::update()
        .table(waiting::Entity)
        .value(waiting::Column::Until, until)
        .and_where(Expr::col(waiting::Column::Id).is_in(padded(ids)))
        .to_owned()
}

/// Up to `limit` messages that nobody waits for any more.
pub async fn forsaken<C: ConnectionTrait>(db: &C, now: i64, limit: u64) -> Result<Vec<waiting::Model>, DbErr> {
    waiting::Entity::across_tenants().filter(waiting::Column::Until.lte(now)).limit(limit).all(db).await
}

/// Remove a message that nobody waits for, unless somebody does by now.
pub fn delete_forsaken(read: &waiting::Model) -> DeleteStatement {
    let mut delete = delete(read.id);
    delete.and_where(Expr::col(waiting::Column::Until).eq(read.until));
    delete
}

/// Remove a message, however it stands.
pub fn delete(id: Uuid) -> DeleteStatement {
    Query::delete().from_table(waiting::Entity).and_where(Expr::col(waiting::Column::Id).eq(id)).to_owned()
}

/// Remove a message that stands as it was read: what becomes a task takes its lease along, and none that was moved on meanwhile.
pub fn take(read: &waiting::Model) -> DeleteStatement {
    let mut delete = delete(read.id);
    delete.cond_where(as_leased(read)).and_where(match read.due_at {
        Some(due) => Expr::col(waiting::Column::DueAt).eq(due),
        None => Expr::col(waiting::Column::DueAt).is_null(),
    });
    delete
}

/// The fence: the lease and the epoch that were read, and no answer yet.
fn as_leased(read: &waiting::Model) -> sea_orm::Condition {
    sea_orm::Condition::all()
        .add(Expr::col(waiting::Column::Epoch).eq(read.epoch))
        .add(match read.lease_id {
            Some(lease) => Expr::col(waiting::Column::LeaseId).eq(lease),
            None => Expr::col(waiting::Column::LeaseId).is_null(),
        })
        .add(Expr::col(waiting::Column::Answer).is_null())
}

/// What a change made of the work row the message would have, upon the lease and epoch that were read.
pub fn update(read: &waiting::Model, next: &work::Model) -> UpdateStatement {
    Query::update()
        .table(waiting::Entity)
        .value(waiting::Column::DueAt, next.due_at)
        .value(waiting::Column::LeaseId, next.lease_id)
        .value(waiting::Column::Epoch, next.epoch)
        .value(waiting::Column::Worker, next.worker.clone())
        .value(waiting::Column::Deliveries, next.deliveries)
        .and_where(Expr::col(waiting::Column::Id).eq(read.id))
        .cond_where(as_leased(read))
        .to_owned()
}

/// Keep the answer for whoever waits; the lease ends.
pub fn answer(read: &waiting::Model, body: &str) -> UpdateStatement {
    let mut end = end_lease(read);
    end.value(waiting::Column::Answer, body);
    end
}

/// End the lease and the wait: whoever waits makes a task of it now.
pub fn end_wait(read: &waiting::Model, now: i64) -> UpdateStatement {
    let mut end = end_lease(read);
    end.value(waiting::Column::LimitAt, now);
    end
}

fn end_lease(read: &waiting::Model) -> UpdateStatement {
    Query::update()
        .table(waiting::Entity)
        .value(waiting::Column::LeaseId, None::<Uuid>)
        .value(waiting::Column::Worker, None::<String>)
        .value(waiting::Column::DueAt, None::<i64>)
        .and_where(Expr::col(waiting::Column::Id).eq(read.id))
        .cond_where(as_leased(read))
        .to_owned()
}
