//! Statements on lanes and deliveries from the notifier's side.
//!
//! They come in batches of any size, so a batch travels as one JSON text that the database takes apart again: the statement's own text
//! never changes, is prepared once, and both engines get nearly the same (`sql`). Postgres records results in one statement, SQLite in a
//! transaction.
//!
//! A lane's new due time is computed on the lane's own row: an event that was committed while the holder was finishing has moved `tail`
//! on that row, and is seen.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use entity::push_delivery::State;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement, Value};
use serde::Serialize;
use uuid::Uuid;

use super::Store;
use sql::Dialect;

mod sql;

/// How many deliveries of a lane [`read`] hands out at once.
pub const READ: i64 = 8;

/// How long [`holder_gone`] waits. A holder dials only within 1.5 s of having seen that the lane is still its own.
pub const LET_GO: Duration = Duration::from_secs(2);

/// How many more lanes each tenant may have a notifier hold, and of those how many may lead to one origin (scheme, host and port).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rooms {
    /// For those of whom lanes are held, in any order.
    pub taken: Vec<Room>,
    /// For every other tenant.
    pub tenant: usize,
    /// For every other origin.
    pub origin: usize,
}

/// The room that is left for one tenant, or for one origin of that tenant's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Whose lanes.
    pub tenant: String,
    /// As [`Receiver::origin`] has it; none is all of the tenant's lanes.
    pub origin: Option<String>,
    /// How many more may be claimed.
    pub room: usize,
}

/// What a claim brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The lanes.
    pub held: Vec<Held>,
    /// They are as many as one statement claims under this limit: more may be due.
    pub full: bool,
}

/// A lane that a notifier holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The lane, which is also its config's row.
    pub lane: Uuid,
    /// Whose it is.
    pub tenant: String,
    /// Who holds it: another id at each claim.
    pub holder: Uuid,
    /// Grows at each claim and when the config is deleted.
    pub fence: i64,
    /// The first number yet to be delivered.
    pub head: i64,
    /// The last one, when it was claimed.
    pub tail: i64,
    /// Attempts at the delivery at the head.
    pub attempts: i32,
    /// Its config is deleted.
    pub closed: bool,
}

/// Where a lane's deliveries go. Token and credentials are sealed.
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver {
    /// The webhook.
    pub url: String,
    /// Scheme, host and port of it, as far as its text tells: another spelling is another origin.
    pub origin: String,
    /// The sealed token.
    pub token: Option<Vec<u8>>,
    /// Scheme of the `Authorization` header.
    pub scheme: Option<String>,
    /// The sealed credentials.
    pub credentials: Option<Vec<u8>>,
    /// The protocol version it is told in, as `Major.Minor`.
    pub version: String,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Receiver(..)")
    }
}

/// One notification to bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its place in the lane.
    pub sequence: i64,
    /// The generation of its event.
    pub generation: i64,
    /// Whether it has ended already, and is only to be stepped over.
    pub ended: bool,
    /// The StreamResponse as stored; none when it cannot be read.
    pub body: Option<String>,
}

/// What stands in a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// None when the config is deleted.
    pub receiver: Option<Receiver>,
    /// The next deliveries in order, at most [`READ`].
    pub pending: Vec<Pending>,
}

/// Where a holder got to in its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The lane.
    pub lane: Uuid,
    /// Who holds it.
    pub holder: Uuid,
    /// The fence under which it does.
    pub fence: i64,
    /// The first number yet to be delivered, from now on. Absolute, so that a step written twice is written once.
    pub head: i64,
    /// Attempts at that one so far.
    pub attempts: i32,
    /// The lease's new end, or with `release` when the next delivery is due, if there is one.
    pub due: i64,
    /// Whether the holder lets go.
    pub release: bool,
}

/// One request that was made, and how its delivery stands after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// The attempt's row.
    pub id: Uuid,
    /// The lane.
    pub lane: Uuid,
    /// The delivery's place in it.
    pub sequence: i64,
    /// 1 for the first.
    pub attempt: i32,
    /// Class of the outcome.
    pub outcome: &'static str,
    /// The receiver's status, if it answered.
    pub status: Option<i16>,
    /// How long it took.
    pub duration_ms: i32,
    /// When it began.
    pub at: i64,
    /// The delivery's state from now on, as stored.
    #[serde(serialize_with = "stored")]
    pub state: State,
    /// When the delivery ended, if it has.
    pub ended_at: Option<i64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn stored<S: serde::Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i16(sea_orm::ActiveEnum::to_value(state))
}

/// What became of a [`Step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepped {
    /// Recorded; `due_at` is when the lane is due again, or the lease's end, or none when nothing is left in it.
    Held {
        /// Milliseconds since the epoch.
        due_at: Option<i64>,
    },
    /// The lane is somebody else's or closed; nothing was recorded, and whoever took the step has let go if it said so.
    Lost,
    /// An event is being written into the lane at this moment; nothing was recorded, try again.
    Busy,
}

/// Hold up to `limit` lanes that are due at `now` until `until`, the longest due first. Lanes that another notifier is claiming, or into
/// which an event is being written, are passed over, and so are those of tenants and origins for which there is no room: however many of
/// these are due, others are found.
///
/// Closed lanes come too: an event that was written while its config was deleted makes one due, and it is cancelled.
///
/// # Errors
/// When the database fails.
pub async fn claim(
    store: &Store,
    holder: Uuid,
    now: i64,
    until: i64,
    limit: usize,
    rooms: &Rooms,
) -> Result<Claimed, DbErr> {
    let dialect = Dialect::of(store);
    let Some(size) = sql::CLAIMS.iter().position(|size| *size <= limit) else {
        return Ok(Claimed { held: Vec::new(), full: false });
    };
    let [tenant, origin] = [rooms.tenant, rooms.origin].map(|room| i64::try_from(room).unwrap_or(i64::MAX));
    let mut values: Vec<Value> = vec![now.into(), json(&rooms.taken)?.into(), tenant.into(), origin.into()];
    let rows = if dialect.backend == DbBackend::Postgres {
        values.extend([holder.into(), until.into()]);
        dialect.write(store, dialect.claim[size], values).await?
    } else {
        let statement = Statement::from_sql_and_values(dialect.backend, dialect.claim[size], values);
        let chosen = store.db.query_all_raw(statement).await?;
        let chosen = chosen.iter().map(|row| row.try_get("", "id")).collect::<Result<Vec<Uuid>, _>>()?;
        if chosen.is_empty() {
            return Ok(Claimed { held: Vec::new(), full: false });
        }
        let values: Vec<Value> = vec![json(&chosen)?.into(), now.into(), holder.into(), until.into()];
        dialect.write(store, sql::HOLD, values).await?
    };
    let mut held = rows.iter().map(|row| held(row, holder)).collect::<Result<Vec<_>, _>>()?;
    held.sort_by_key(|held| held.lane);
    Ok(Claimed { full: held.len() == sql::CLAIMS[size], held })
}

fn held(row: &QueryResult, holder: Uuid) -> Result<Held, DbErr> {
    Ok(Held {
        lane: row.try_get("", "id")?,
        tenant: row.try_get("", "tenant")?,
        holder,
        fence: row.try_get("", "fence")?,
        head: row.try_get("", "head")?,
        tail: row.try_get("", "tail")?,
        attempts: row.try_get("", "attempts")?,
        closed: row.try_get("", "closed")?,
    })
}

/// Where each of these lanes leads and the next deliveries in it, with their bodies.
///
/// # Errors
/// When the database fails.
pub async fn read(store: &Store, lanes: &[Held]) -> Result<HashMap<Uuid, Line>, DbErr> {
    #[derive(Serialize)]
    struct From {
        lane: Uuid,
        head: i64,
    }
    let from: Vec<From> = lanes.iter().map(|held| From { lane: held.lane, head: held.head }).collect();
    let dialect = Dialect::of(store);
    let statement = Statement::from_sql_and_values(dialect.backend, dialect.read, [json(&from)?.into()]);
    let mut lines: HashMap<Uuid, Line> = HashMap::with_capacity(lanes.len());
    for row in store.db.query_all_raw(statement).await? {
        let line = lines.entry(row.try_get("", "lane")?).or_default();
        if line.receiver.is_none()
            && let Some(url) = row.try_get("", "url")?
        {
            line.receiver = Some(Receiver {
                url,
                origin: row.try_get("", "origin")?,
                token: row.try_get("", "token")?,
                scheme: row.try_get("", "scheme")?,
                credentials: row.try_get("", "credentials")?,
                version: row.try_get("", "version")?,
            });
        }
        if let Some(sequence) = row.try_get("", "sequence")? {
            line.pending.push(Pending {
                sequence,
                generation: row.try_get("", "generation")?,
                ended: row.try_get::<i16>("", "state")? != sea_orm::ActiveEnum::to_value(&State::Pending),
                // A body that is no text is as good as none, and spoils its own delivery only.
                body: row.try_get("", "body").unwrap_or_default(),
            });
        }
    }
    for line in lines.values_mut() {
        line.pending.sort_by_key(|pending| pending.sequence);
    }
    Ok(lines)
}

/// Record steps, at most one a lane, and what was tried on the way; of a lane that is no longer held nothing is recorded. The answer has
/// every step's lane.
///
/// A lane into which an event is being written is [`Stepped::Busy`], unless `wait`: then it is waited for, and `steps` should be of one
/// lane, because who waits while holding others can be waited for in a circle.
///
/// # Errors
/// When the database fails; whether anything was recorded is then unknown, and the same may be recorded again.
pub async fn record(
    store: &Store,
    steps: &[Step],
    tried: &[Tried],
    wait: bool,
) -> Result<HashMap<Uuid, Stepped>, DbErr> {
    let dialect = Dialect::of(store);
    let mut stepped = HashMap::with_capacity(steps.len());
    let fences: HashMap<Uuid, i64> = steps.iter().map(|step| (step.lane, step.fence)).collect();
    let mut note = |row: &QueryResult| -> Result<(), DbErr> {
        let lane: Uuid = row.try_get("", "id")?;
        // No fence: the row is there and is not this holder's.
        let held = row.try_get::<Option<i64>>("", "fence")?.is_some_and(|fence| fences.get(&lane) == Some(&fence));
        let due_at = row.try_get("", "due_at")?;
        stepped.insert(lane, if held { Stepped::Held { due_at } } else { Stepped::Lost });
        Ok(())
    };
    if dialect.backend == DbBackend::Postgres {
        let sql = if wait { sql::RECORD_WAITING } else { sql::RECORD };
        let values: [Value; 2] = [json(steps)?.into(), json(tried)?.into()];
        let rows = store.db.query_all_raw(Statement::from_sql_and_values(dialect.backend, sql, values)).await?;
        rows.iter().try_for_each(&mut note)?;
    } else {
        let locked = store.lock().await?;
        let statement = |sql, value: String| Statement::from_sql_and_values(dialect.backend, sql, [value.into()]);
        let rows = locked.read().query_all_raw(statement(sql::STEP, json(steps)?)).await?;
        rows.iter().try_for_each(&mut note)?;
        let kept: Vec<&Tried> =
            tried.iter().filter(|tried| matches!(stepped.get(&tried.lane), Some(Stepped::Held { .. }))).collect();
        if !kept.is_empty() {
            let kept = json(&kept)?;
            locked.read().execute_raw(statement(sql::END, kept.clone())).await?;
            locked.read().execute_raw(statement(sql::LOG, kept)).await?;
        }
        locked.commit().await?;
    }
    // One writer at a time, and who waited, finds every lane that is there and its own.
    let absent = if dialect.backend == DbBackend::Postgres && !wait { Stepped::Busy } else { Stepped::Lost };
    for step in steps {
        stepped.entry(step.lane).or_insert(absent);
    }
    Ok(stepped)
}

/// Close held lanes whose config is gone: what was yet to be delivered is cancelled.
///
/// # Errors
/// When the database fails.
pub async fn cancel(store: &Store, lanes: &[Held], now: i64) -> Result<(), DbErr> {
    #[derive(Serialize)]
    struct Mine {
        lane: Uuid,
        holder: Uuid,
    }
    let mine: Vec<Mine> = lanes.iter().map(|held| Mine { lane: held.lane, holder: held.holder }).collect();
    let mine = json(&mine)?;
    let dialect = Dialect::of(store);
    // Two statements: once the lanes are locked no event can come, and the second sees every one that came before.
    let locked = store.lock().await?;
    let close = Statement::from_sql_and_values(dialect.backend, dialect.close, [mine.clone().into()]);
    locked.read().execute_raw(close).await?;
    let cancel = Statement::from_sql_and_values(dialect.backend, dialect.cancel, [mine.into(), now.into()]);
    locked.read().execute_raw(cancel).await?;
    locked.commit().await
}

/// Wait until nobody holds `lane`, for at most [`LET_GO`]: after closing a lane, no request is dialled for it once this returns.
/// The answer says whether the holder let go by itself.
///
/// # Errors
/// When the database fails; then wait out [`LET_GO`] before answering that the lane is closed.
pub async fn holder_gone(store: &Store, lane: Uuid) -> Result<bool, DbErr> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(5);
    loop {
        let statement = Statement::from_sql_and_values(
            store.db.get_database_backend(),
            "SELECT 1 AS held FROM push_lane WHERE id = $1 AND holder IS NOT NULL",
            [lane.into()],
        );
        if store.db.query_one_raw(statement).await?.is_none() {
            return Ok(true);
        }
        let left = LET_GO.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(false);
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, DbErr> {
    serde_json::to_string(value).map_err(|error| DbErr::Custom(format!("writing a batch as JSON: {error}")))
}
