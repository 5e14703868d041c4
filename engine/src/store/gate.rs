//! Statements that count what is running, and the gates by which those who count take turns.

use entity::claim_gate;
use sea_orm::sea_query::{LockType, OnConflict};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, FromQueryResult, QueryFilter, QuerySelect, Set,
    Statement, Value,
};

use super::ready::Queued;

/// The gate of what tenants run over all agents. No agent can be called that.
pub const TENANTS: &str = "tenant/";

/// Hold this gate until the transaction ends. SQLite has one writer, who holds all of them.
pub async fn lock<C: ConnectionTrait>(db: &C, gate: &str) -> Result<(), DbErr> {
    if db.get_database_backend() != DbBackend::Postgres {
        return Ok(());
    }
    let lock = || {
        claim_gate::Entity::of_deployment().filter(claim_gate::Column::Agent.eq(gate)).lock(LockType::Update).one(db)
    };
    if lock().await?.is_none() {
        let row = claim_gate::ActiveModel { agent: Set(gate.to_owned()) };
        claim_gate::Entity::insert(row)
            .on_conflict(OnConflict::new().do_nothing().to_owned())
            .exec_without_returning(db)
            .await?;
        lock().await?;
    }
    Ok(())
}

/// What a tenant runs.
#[derive(Debug, FromQueryResult)]
pub struct Running {
    /// The tenant.
    pub tenant: String,
    /// How many leases.
    pub running: i64,
}

/// The leases of an agent by tenant. Those that have ended count until they are claimed again: their workers may still come back.
pub async fn of_agent<Q: Queued, C: ConnectionTrait>(db: &C, agent: &str) -> Result<Vec<Running>, DbErr> {
    let sql = format!(
        "SELECT tenant, count(*) AS running FROM {} WHERE agent = $1 AND lease_id IS NOT NULL GROUP BY tenant",
        Q::TABLE
    );
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, [agent.into()]);
    Running::find_by_statement(statement).all(db).await
}

/// The leases of these agents that last, by tenant.
pub async fn of_agents<Q: Queued, C: ConnectionTrait>(
    db: &C,
    agents: impl Iterator<Item = &String>,
    now: i64,
) -> Result<Vec<Running>, DbErr> {
    let mut values: Vec<Value> = vec![now.into()];
    values.extend(agents.map(|agent| Value::from(agent.as_str())));
    let names: Vec<String> = (2..=values.len()).map(|n| format!("${n}")).collect();
    let sql = format!(
        "SELECT tenant, count(*) AS running FROM {} WHERE agent IN ({}) AND lease_id IS NOT NULL AND due_at > $1 GROUP BY tenant",
        Q::TABLE,
        names.join(", ")
    );
    Running::find_by_statement(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).all(db).await
}
