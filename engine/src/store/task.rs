//! Statements on `task`.

use entity::{task, work};
use sea_orm::sea_query::{Expr, ExprTrait, Query, UpdateStatement};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbBackend, DbErr, EntityTrait, FromQueryResult, JoinType, PaginatorTrait,
    QueryFilter, QueryOrder, QueryResult, QuerySelect, RelationDef, Select,
};
use uuid::Uuid;
use wire::Tenant;

use super::Row;
use super::ids::padded;

/// A task and, while it is not terminal, its work row, read in one statement.
#[derive(Debug, Clone)]
pub struct TaskAndWork {
    /// The task.
    pub task: task::Model,
    /// Absent when the task is terminal.
    pub work: Option<work::Model>,
}

/// Which tasks a list shows.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only of these agents.
    pub agents: Option<Vec<String>>,
    /// Only of this context.
    pub context_id: Option<String>,
    /// Only in this state.
    pub state: Option<i16>,
    /// Only with a status at this time or later.
    pub status_from: Option<i64>,
}

impl TaskFilter {
    fn narrow(&self, select: Select<task::Entity>) -> Select<task::Entity> {
        let mut condition = Condition::all();
        if let Some(agent) = &self.agent {
            condition = condition.add(task::Column::Agent.eq(agent.as_str()));
        }
        if let Some(agents) = &self.agents {
            condition = condition.add(task::Column::Agent.is_in(agents.iter().map(String::as_str)));
        }
        if let Some(context_id) = &self.context_id {
            condition = condition.add(task::Column::ContextId.eq(context_id.as_str()));
        }
        if let Some(state) = self.state {
            condition = condition.add(task::Column::State.eq(state));
        }
        if let Some(from) = self.status_from {
            condition = condition.add(task::Column::StatusAt.gte(from));
        }
        select.filter(condition)
    }
}

fn task_to_work() -> RelationDef {
    task::Entity::belongs_to(work::Entity).from(task::Column::Id).to(work::Column::TaskId).into()
}

/// The task `id` of this tenant and agent with its work row, to decide a write on.
pub async fn read_for_write<C: ConnectionTrait>(
    db: &C,
    tenant: &Tenant,
    agent: &str,
    id: Uuid,
) -> Result<Option<TaskAndWork>, DbErr> {
    with_work(task::Entity::of(tenant).filter(task::Column::Agent.eq(agent)), id, db).await
}

/// The task `id` of whichever tenant, if it is one of these agents' (none: of any agent's).
pub async fn read_for_worker<C: ConnectionTrait>(
    db: &C,
    agents: Option<&[String]>,
    id: Uuid,
) -> Result<Option<TaskAndWork>, DbErr> {
    let mut select = task::Entity::across_tenants();
    if let Some(agents) = agents {
        select = select.filter(task::Column::Agent.is_in(agents.iter().map(String::as_str)));
    }
    with_work(select, id, db).await
}

/// Up to `limit` tasks that a session holds and that are of these agents (none: of any agent's).
pub async fn held_by<C: ConnectionTrait>(
    db: &C,
    agents: Option<&[String]>,
    session: &str,
    limit: u64,
) -> Result<Vec<TaskAndWork>, DbErr> {
    let mut select = task::Entity::across_tenants();
    if let Some(agents) = agents {
        select = select.filter(task::Column::Agent.is_in(agents.iter().map(String::as_str)));
    }
    let rows = select
        .join(JoinType::InnerJoin, task_to_work())
        .filter(work::Column::Worker.eq(session))
        .filter(work::Column::LeaseId.is_not_null())
        .select_also(work::Entity)
        .order_by_asc(task::Column::Id)
        .limit(limit)
        .all(db)
        .await?;
    Ok(rows.into_iter().map(|(task, work)| TaskAndWork { task, work }).collect())
}

async fn with_work<C: ConnectionTrait>(
    select: Select<task::Entity>,
    id: Uuid,
    db: &C,
) -> Result<Option<TaskAndWork>, DbErr> {
    let row = select
        .filter(task::Column::Id.eq(id))
        .join(JoinType::LeftJoin, task_to_work())
        .select_also(work::Entity)
        .one(db)
        .await?;
    Ok(row.map(|(task, work)| TaskAndWork { task, work }))
}

/// A task with its newest messages and its artifacts, in one statement.
#[derive(Debug, Clone)]
pub struct WholeTask {
    /// The task.
    pub task: task::Model,
    /// Bodies of its newest messages, oldest first.
    pub history: Vec<String>,
    /// Bodies of its artifacts' chunks, in the order artifacts were made and chunks came.
    pub chunks: Vec<String>,
}

/// The task `id` of this tenant and agent with at most `history` messages (none: all), and with its artifacts if they are asked for.
pub async fn read_whole<C: ConnectionTrait>(
    db: &C,
    tenant: &Tenant,
    agent: &str,
    id: Uuid,
    history: Option<i32>,
    artifacts: bool,
) -> Result<Option<WholeTask>, DbErr> {
    let limit = history.map_or(String::new(), |limit| format!(" LIMIT {limit}"));
    let newest = format!("SELECT seq, body FROM task_message WHERE task_id = task.id ORDER BY seq DESC{limit}");
    let chunks = match artifacts {
        true => "SELECT ordinal, chunk, body FROM task_artifact WHERE task_id = task.id",
        false => "SELECT 0 AS ordinal, 0 AS chunk, '' AS body WHERE 1 = 0",
    };
    // The two engines call the same aggregate differently.
    let aggregate = match db.get_database_backend() {
        DbBackend::Postgres => "json_agg",
        _ => "json_group_array",
    };
    let bodies = |from: &str, order: &str| {
        Expr::cust(format!("(SELECT CAST({aggregate}(body ORDER BY {order}) AS text) FROM ({from}) AS bodies)"))
    };
    let row = task::Entity::of(tenant)
        .filter(task::Column::Agent.eq(agent))
        .filter(task::Column::Id.eq(id))
        .expr_as(bodies(&newest, "seq"), "history")
        .expr_as(bodies(chunks, "ordinal, chunk"), "chunks")
        .into_model::<WholeTask>()
        .one(db)
        .await?;
    Ok(row)
}

impl FromQueryResult for WholeTask {
    fn from_query_result(row: &QueryResult, prefix: &str) -> Result<WholeTask, DbErr> {
        // Of no rows Postgres' aggregate is null.
        let bodies = |column: &str| -> Result<Vec<String>, DbErr> {
            match row.try_get::<Option<String>>(prefix, column)? {
                None => Ok(Vec::new()),
                Some(text) => serde_json::from_str(&text).map_err(|error| DbErr::Type(format!("{column}: {error}"))),
            }
        };
        Ok(WholeTask {
            task: task::Model::from_query_result(row, prefix)?,
            history: bodies("history")?,
            chunks: bodies("chunks")?,
        })
    }
}

/// Generation and state of these tasks, of whichever tenant: for the sweep of those who wait.
pub async fn news<C: ConnectionTrait>(db: &C, ids: &[Uuid]) -> Result<Vec<(Uuid, i64, i16)>, DbErr> {
    task::Entity::across_tenants()
        .filter(task::Column::Id.is_in(padded(ids)))
        .select_only()
        .columns([task::Column::Id, task::Column::Generation, task::Column::State])
        .into_tuple()
        .all(db)
        .await
}

/// One page of a tenant's tasks, newest status first, after the cursor (status time, id).
pub async fn list<C: ConnectionTrait>(
    db: &C,
    tenant: &Tenant,
    filter: &TaskFilter,
    after: Option<(i64, Uuid)>,
    limit: u64,
) -> Result<Vec<task::Model>, DbErr> {
    let mut select = filter.narrow(task::Entity::of(tenant));
    if let Some((at, id)) = after {
        // A row comparison: both engines walk the index from there, however deep the page.
        select = select.filter(
            Expr::tuple([Expr::col(task::Column::StatusAt), Expr::col(task::Column::Id)])
                .lt(Expr::tuple([Expr::val(at), Expr::val(id)])),
        );
    }
    select.order_by_desc(task::Column::StatusAt).order_by_desc(task::Column::Id).limit(limit).all(db).await
}

/// How many tasks the filter matches.
pub async fn count<C: ConnectionTrait>(db: &C, tenant: &Tenant, filter: &TaskFilter) -> Result<u64, DbErr> {
    filter.narrow(task::Entity::of(tenant)).count(db).await
}

/// One page of all tenants' tasks in the order of their ids: the agent's own view.
pub async fn list_for_agents<C: ConnectionTrait>(
    db: &C,
    tenant: Option<&Tenant>,
    filter: &TaskFilter,
    after: Option<Uuid>,
    limit: u64,
) -> Result<Vec<task::Model>, DbErr> {
    let start = match tenant {
        Some(tenant) => task::Entity::of(tenant),
        None => task::Entity::across_tenants(),
    };
    let mut select = filter.narrow(start);
    if let Some(after) = after {
        select = select.filter(task::Column::Id.gt(after));
    }
    select.order_by_asc(task::Column::Id).limit(limit).all(db).await
}

/// Everything of a task that a write may have changed, upon the state it was decided on: the table of moves permits it from there only.
pub fn update(task: &task::Model, from: i16) -> Row {
    Row::update(task::Entity)
        .set(task::Column::State, task.state)
        .set(task::Column::StatusMessage, task.status_message.clone())
        .set(task::Column::StatusKept, task.status_kept)
        .set(task::Column::StatusAt, task.status_at)
        .set(task::Column::Generation, task.generation)
        .set(task::Column::HistoryCount, task.history_count)
        .set(task::Column::HistoryBytes, task.history_bytes)
        .set(task::Column::ClientSeq, task.client_seq)
        .set(task::Column::AnsweredSeq, task.answered_seq)
        .set(task::Column::ArtifactCount, task.artifact_count)
        .set(task::Column::ArtifactBytes, task.artifact_bytes)
        .set(task::Column::ConfigCount, task.config_count)
        .set(task::Column::Cancelable, task.cancelable)
        .set(task::Column::OutputModes, task.output_modes.clone())
        .only_if(task::Column::Id, task.id)
        .only_if(task::Column::State, from)
}

/// Set the number of configs of a task that stands at `from`: the guard of configs on a finished task, which has no work row.
pub fn update_config_count(task: Uuid, from: i32, to: i32) -> UpdateStatement {
    Query::update()
        .table(task::Entity)
        .value(task::Column::ConfigCount, to)
        .and_where(Expr::col(task::Column::Id).eq(task))
        .and_where(Expr::col(task::Column::ConfigCount).eq(from))
        .to_owned()
}

/// These tasks, if they are of these agents (none: of any agent's).
pub async fn of_worker<C: ConnectionTrait>(
    db: &C,
    agents: Option<&[String]>,
    ids: &[Uuid],
) -> Result<Vec<task::Model>, DbErr> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut select = task::Entity::across_tenants().filter(task::Column::Id.is_in(padded(ids)));
    if let Some(agents) = agents {
        select = select.filter(task::Column::Agent.is_in(agents.iter().map(String::as_str)));
    }
    select.all(db).await
}
