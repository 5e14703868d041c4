//! How long queues are: one count over a whole table, for the few who ask now and then.

use entity::{waiting_message, work};
use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Statement, Value};

use super::ready::Queued;

/// What is in an agent's queue.
#[derive(Debug, Clone, PartialEq, Eq, FromQueryResult)]
pub struct Length {
    /// The agent.
    pub agent: String,
    /// Due, also where a limit holds it back.
    pub ready: i64,
    /// Not due yet.
    pub delayed: i64,
    /// Leased.
    pub in_flight: i64,
    /// Waits for its client.
    pub waiting: i64,
    /// Since when the oldest is due.
    pub oldest: Option<i64>,
}

/// A queue whose length can be counted.
pub trait Counted: Queued {
    /// Which of its rows count.
    const COUNTS: &'static str;
}

impl Counted for work::Model {
    const COUNTS: &'static str = "";
}

impl Counted for waiting_message::Model {
    // The others are answered, or nobody waits for them.
    const COUNTS: &'static str = " AND due_at IS NOT NULL AND until > $1";
}

/// The length of these agents' queues; of those that have any.
pub async fn of_agents<Q: Counted, C: ConnectionTrait>(
    db: &C,
    agents: &[&str],
    now: i64,
) -> Result<Vec<Length>, DbErr> {
    let mut values: Vec<Value> = vec![now.into()];
    values.extend(agents.iter().map(|agent| Value::from(*agent)));
    let names: Vec<String> = (2..=values.len()).map(|n| format!("${n}")).collect();
    let sql = format!(
        "SELECT agent, count(*) FILTER (WHERE due_at <= $1) AS ready, \
         count(*) FILTER (WHERE due_at > $1 AND lease_id IS NULL) AS delayed, \
         count(*) FILTER (WHERE due_at > $1 AND lease_id IS NOT NULL) AS in_flight, \
         count(*) FILTER (WHERE due_at IS NULL) AS waiting, min(due_at) FILTER (WHERE due_at <= $1) AS oldest \
         FROM {} WHERE agent IN ({}){} GROUP BY agent",
        Q::TABLE,
        names.join(", "),
        Q::COUNTS
    );
    Length::find_by_statement(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).all(db).await
}
