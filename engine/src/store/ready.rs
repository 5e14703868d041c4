//! Statements on what is ready, of tasks and of messages that wait for a direct answer alike: whose turn it is, what is locked for a claim.
//!
//! Nothing here costs more where a queue is deep. A lap over the tenants is a loose index scan: from one tenant's entries straight to the
//! next one's, as many steps as it is given. Rows are then taken from the front of each tenant's own, and on Postgres a replica passes over
//! what another one is claiming. The texts are ours rather than built, because nobody builds recursion and locks within.

use entity::{waiting_message, work};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, FromQueryResult, Statement, Value};

/// A row that can be claimed.
pub trait Queued: FromQueryResult + Send {
    /// Its table.
    const TABLE: &'static str;
    /// What must hold beside its time having come; `$2` is now.
    const ALSO: &'static str;
}

impl Queued for work::Model {
    const TABLE: &'static str = "work";
    const ALSO: &'static str = "";
}

impl Queued for waiting_message::Model {
    const TABLE: &'static str = "waiting_message";
    const ALSO: &'static str = " AND q.until > $2";
}

/// Held back are tasks of a context in series while one before them is there to be done, or any is being done.
const IN_SERIES: &str = " AND (q.series IS NULL OR NOT (\
    EXISTS (SELECT 1 FROM work o WHERE o.agent = q.agent AND o.tenant = q.tenant AND o.series = q.series \
        AND o.due_at IS NOT NULL AND (o.series_at, o.task_id) < (q.series_at, q.task_id)) \
    OR EXISTS (SELECT 1 FROM work o WHERE o.agent = q.agent AND o.tenant = q.tenant AND o.series = q.series \
        AND o.lease_id IS NOT NULL)))";

/// Which rows of an agent are meant.
#[derive(Debug, Clone, Copy)]
pub struct Of<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The time.
    pub now: i64,
    /// Whether its contexts run in series.
    pub series: bool,
}

impl Of<'_> {
    fn also<Q: Queued>(self) -> String {
        let series = if self.series && Q::TABLE == work::Model::TABLE { IN_SERIES } else { "" };
        format!("{}{series}", Q::ALSO)
    }
}

/// How the engines differ: how tenants are put in the order of their bytes, and whether rows can be locked.
struct Dialect {
    backend: DbBackend,
    bytes: &'static str,
    lock: &'static str,
}

impl Dialect {
    fn of<C: ConnectionTrait>(db: &C) -> Dialect {
        match db.get_database_backend() {
            DbBackend::Postgres => {
                Dialect { backend: DbBackend::Postgres, bytes: "COLLATE \"C\"", lock: " FOR UPDATE SKIP LOCKED" }
            }
            // Whoever claims is the only one who writes.
            backend => Dialect { backend, bytes: "COLLATE BINARY", lock: "" },
        }
    }

    fn statement(&self, sql: String, values: Vec<Value>) -> Statement {
        Statement::from_sql_and_values(self.backend, sql, values)
    }
}

/// What one tenant has due at one priority, oldest first, to be limited. Said as a range of the index of turns and in its order: no other
/// index yields that, whatever Postgres believes of how many tenants there are, and what is not due yet lies beyond the end.
fn due_of<Q: Queued>(columns: &str, tenant: &str, also: &str, bytes: &str) -> String {
    format!(
        "SELECT {columns} FROM {} q WHERE q.agent = $1 AND q.lease_id IS NULL AND q.due_at IS NOT NULL AND q.priority = $3 \
         AND (q.tenant {bytes}, q.due_at) >= ({tenant}, CAST(0 AS bigint)) AND (q.tenant {bytes}, q.due_at) <= ({tenant}, $2){also} \
         ORDER BY q.tenant {bytes}, q.due_at LIMIT",
        Q::TABLE
    )
}

/// Lock what is due, the longest due first: up to `expired` rows whose lease has ended, then up to `ready` that nobody holds.
pub async fn lock_oldest<Q: Queued, C: ConnectionTrait>(
    db: &C,
    of: Of<'_>,
    expired: usize,
    ready: usize,
) -> Result<Vec<Q>, DbErr> {
    let dialect = Dialect::of(db);
    let (table, also, lock) = (Q::TABLE, of.also::<Q>(), dialect.lock);
    let sql = format!(
        "SELECT * FROM (SELECT q.* FROM {table} q WHERE q.agent = $1 AND q.lease_id IS NOT NULL AND q.due_at <= $2{} \
         ORDER BY q.due_at LIMIT $3{lock}) e UNION ALL \
         SELECT * FROM (SELECT q.* FROM {table} q WHERE q.agent = $1 AND q.lease_id IS NULL AND q.due_at <= $2{also} \
         ORDER BY q.due_at LIMIT $4{lock}) r",
        Q::ALSO
    );
    let values = vec![of.agent.into(), of.now.into(), (expired as i64).into(), (ready as i64).into()];
    Q::find_by_statement(dialect.statement(sql, values)).all(db).await
}

/// A step of a lap.
#[derive(Debug, Clone, PartialEq, Eq, FromQueryResult)]
pub struct Step {
    /// The tenant; none where the lap came to the end and begins again.
    pub tenant: Option<String>,
    /// 0, and 1 once it has begun again.
    pub turn: i32,
    /// What it has due, as far as it was counted.
    pub due: i64,
    /// The highest priority that is there.
    pub top: Option<i16>,
    /// The next one below.
    pub below: Option<i16>,
}

/// How far a lap is gone.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    /// Tenants that are looked at.
    pub steps: usize,
    /// Tenants with something due after which the lap ends.
    pub found: usize,
    /// Rows that are counted of each.
    pub each: usize,
}

/// Go round the tenants that have rows of this priority, from `cursor` on and then from the beginning up to it, and count what each has
/// due.
pub async fn lap<Q: Queued, C: ConnectionTrait>(
    db: &C,
    of: Of<'_>,
    priority: i16,
    cursor: &str,
    reach: Reach,
) -> Result<Vec<Step>, DbErr> {
    let dialect = Dialect::of(db);
    let (table, bytes, also) = (Q::TABLE, dialect.bytes, Q::ALSO);
    let there = "q.agent = $1 AND q.lease_id IS NULL AND q.due_at IS NOT NULL";
    let here = format!("{there} AND q.priority = $3");
    let due = due_of::<Q>("1", "lap.tenant", also, bytes);
    let level = |which: &str| {
        format!("(SELECT q.priority FROM {table} q WHERE {there}{which} ORDER BY q.priority DESC LIMIT 1)")
    };
    let sql = format!(
        "WITH RECURSIVE lap(tenant, turn, step, found) AS (\
         SELECT CAST($4 AS text) {bytes}, 0, 0, 0 UNION ALL SELECT (CASE WHEN lap.tenant IS NULL \
         THEN (SELECT q.tenant FROM {table} q WHERE {here} ORDER BY q.tenant {bytes} LIMIT 1) \
         ELSE (SELECT q.tenant FROM {table} q WHERE {here} AND q.tenant {bytes} > lap.tenant ORDER BY q.tenant {bytes} LIMIT 1) \
         END) {bytes}, CASE WHEN lap.tenant IS NULL THEN 1 ELSE lap.turn END, lap.step + 1, \
         lap.found + CASE WHEN ({due} 1) IS NULL THEN 0 ELSE 1 END FROM lap \
         WHERE lap.step < $5 AND lap.found < $6 \
         AND NOT (lap.turn = 1 AND (lap.tenant IS NULL OR lap.tenant >= CAST($4 AS text) {bytes}))) \
         SELECT lap.tenant, lap.turn, (SELECT count(*) FROM ({due} $7) counted) AS due, \
         {} AS top, {} AS below FROM lap ORDER BY lap.step",
        level(""),
        level(" AND q.priority < $3"),
    );
    let values = vec![
        of.agent.into(),
        of.now.into(),
        priority.into(),
        cursor.into(),
        (reach.steps as i32).into(),
        (reach.found as i32).into(),
        (reach.each as i64).into(),
    ];
    Step::find_by_statement(dialect.statement(sql, values)).all(db).await
}

/// Lock what these tenants get, so many rows of each that nobody holds, the longest due first.
pub async fn lock_shares<Q: Queued, C: ConnectionTrait>(
    db: &C,
    of: Of<'_>,
    priority: i16,
    shares: &[(String, usize)],
) -> Result<Vec<Q>, DbErr> {
    let dialect = Dialect::of(db);
    let (also, lock) = (of.also::<Q>(), dialect.lock);
    let due = |tenant: &str, most: &str| format!("{} {most}{lock}", due_of::<Q>("q.*", tenant, &also, dialect.bytes));
    let of_agent = || vec![of.agent.into(), of.now.into(), priority.into()];
    if dialect.backend == DbBackend::Postgres {
        let sql = format!(
            "SELECT due.* FROM json_to_recordset($4::json) AS want(tenant text, most bigint) CROSS JOIN LATERAL ({}) due",
            due("want.tenant", "want.most")
        );
        let wanted: Vec<_> =
            shares.iter().map(|(tenant, most)| serde_json::json!({"tenant": tenant, "most": most})).collect();
        let mut values = of_agent();
        values.push(serde_json::Value::Array(wanted).to_string().into());
        return Q::find_by_statement(dialect.statement(sql, values)).all(db).await;
    }
    let mut rows = Vec::new();
    for (tenant, most) in shares {
        let mut values = of_agent();
        values.extend([tenant.as_str().into(), (*most as i64).into()]);
        rows.extend(Q::find_by_statement(dialect.statement(due("$4", "$5"), values)).all(db).await?);
    }
    Ok(rows)
}

/// Whether each of these agents has something due, and when it next has.
#[derive(Debug, Clone, PartialEq, Eq, FromQueryResult)]
pub struct Outlook {
    /// The agent.
    pub agent: String,
    /// Whether something is due.
    pub due: bool,
    /// When the next thing is that is not due yet: a delay or a lease that ends.
    pub next: Option<i64>,
}

/// What is due of these agents, and what is next.
pub async fn outlook<Q: Queued, C: ConnectionTrait>(db: &C, agents: &[&str], now: i64) -> Result<Vec<Outlook>, DbErr> {
    let dialect = Dialect::of(db);
    let (table, also) = (Q::TABLE, Q::ALSO.replace("$2", "$1"));
    let names: Vec<String> = (0..agents.len()).map(|n| format!("(CAST(${} AS text))", n + 2)).collect();
    let rows = |held: &str, when: &str| {
        format!("FROM {table} q WHERE q.agent = named.agent AND q.lease_id IS {held}NULL AND q.due_at {when} $1{also}")
    };
    let next = |held: &str| format!("(SELECT q.due_at {} ORDER BY q.due_at LIMIT 1)", rows(held, ">"));
    let (ready, leased) = (next(""), next("NOT "));
    let sql = format!(
        "WITH named(agent) AS (VALUES {}) SELECT agent, due, CASE WHEN ready < leased OR leased IS NULL THEN ready ELSE leased END \
         AS next FROM (SELECT named.agent, (EXISTS (SELECT 1 {}) OR EXISTS (SELECT 1 {})) AS due, {ready} AS ready, \
         {leased} AS leased FROM named) looked",
        names.join(", "),
        rows("", "<="),
        rows("NOT ", "<="),
    );
    let mut values: Vec<Value> = vec![now.into()];
    values.extend(agents.iter().map(|agent| Value::from(*agent)));
    Outlook::find_by_statement(dialect.statement(sql, values)).all(db).await
}
