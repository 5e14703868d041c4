//! The text of the statements, for each engine.

use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement, Value};

pub(super) use postgres::{RECORD, RECORD_WAITING};
pub(super) use sqlite::{END, HOLD, LOG, STEP};

use crate::store::Store;

/// The sizes a claim comes in. They stand in the statement's text: with a limit that is a parameter Postgres plans for a tenth of the
/// table.
pub(super) const CLAIMS: [usize; 3] = [64, 8, 1];

/// The same statements as each engine wants them.
pub(super) struct Dialect {
    pub(super) backend: DbBackend,
    pub(super) claim: &'static [&'static str; CLAIMS.len()],
    pub(super) read: &'static str,
    pub(super) close: &'static str,
    pub(super) cancel: &'static str,
}

impl Dialect {
    pub(super) fn of(store: &Store) -> Dialect {
        match store.db.get_database_backend() {
            DbBackend::Postgres => Dialect {
                backend: DbBackend::Postgres,
                claim: &postgres::CLAIM,
                read: postgres::READ,
                close: postgres::CLOSE,
                cancel: postgres::CANCEL,
            },
            backend => Dialect {
                backend,
                claim: &sqlite::CLAIM,
                read: sqlite::READ,
                close: sqlite::CLOSE,
                cancel: sqlite::CANCEL,
            },
        }
    }

    /// One statement, committed.
    pub(super) async fn write(&self, store: &Store, sql: &str, values: Vec<Value>) -> Result<Vec<QueryResult>, DbErr> {
        let statement = Statement::from_sql_and_values(self.backend, sql, values);
        if !store.one_writer {
            return store.db.query_all_raw(statement).await;
        }
        let locked = store.lock().await?;
        let rows = locked.read().query_all_raw(statement).await?;
        locked.commit().await?;
        Ok(rows)
    }
}

/// Scheme, host and port of a config's url `c.url`, as far as its text tells: everything before the path. `http://` and `https://` end
/// within eight characters, and a host has one at least.
macro_rules! origin {
    ($position:literal) => {
        concat!(
            "lower(substr(c.url, 1, 7 + ",
            $position,
            "(replace(replace(substr(c.url, 9), '?', '/'), '#', '/') || '/', '/')))"
        )
    };
}

/// The origin that lane `l` leads to; empty when its config is gone. Looked up for a lane at a time, so that lanes of busy tenants are
/// passed over without.
macro_rules! lane_origin {
    ($position:literal) => {
        concat!("coalesce((SELECT ", origin!($position), " FROM push_config c WHERE c.id = l.id), '')")
    };
}

/// Choose up to so many lanes, for `CLAIMS`. A common table that is materialized is evaluated once, whatever the plan.
///
/// Tenants and origins without room are passed over before the limit counts; `placed` then lets nobody have more than there was room for.
macro_rules! claim {
    ($limit:literal, $skip:literal, $room:literal, $position:literal, $begin:literal, $end:literal) => {
        concat!(
            "WITH taken AS MATERIALIZED (",
            $room,
            "), due AS MATERIALIZED (SELECT l.id, l.tenant, l.fence, l.due_at, ",
            lane_origin!($position),
            " AS origin FROM push_lane l WHERE l.due_at <= $1 ",
            "AND l.tenant NOT IN (SELECT tenant FROM taken WHERE origin IS NULL AND room < 1) ",
            "AND (l.tenant, ",
            lane_origin!($position),
            ") NOT IN (SELECT tenant, origin FROM taken WHERE origin IS NOT NULL AND room < 1) ",
            "ORDER BY l.due_at LIMIT ",
            $limit,
            $skip,
            "), placed AS MATERIALIZED (SELECT id, tenant, fence, origin, ",
            "row_number() OVER (PARTITION BY tenant ORDER BY due_at, id) AS of_tenant, ",
            "row_number() OVER (PARTITION BY tenant, origin ORDER BY due_at, id) AS of_origin FROM due) ",
            $begin,
            "SELECT p.id FROM placed p ",
            "LEFT JOIN taken t ON t.tenant = p.tenant AND t.origin IS NULL ",
            "LEFT JOIN taken o ON o.tenant = p.tenant AND o.origin = p.origin ",
            "WHERE p.fence + 0 = p.fence AND p.of_tenant <= coalesce(t.room, $3) AND p.of_origin <= coalesce(o.room, $4)",
            $end
        )
    };
}

/// What both engines say alike; `r` is a batch taken apart.
macro_rules! statements {
    (
        claim: [$skip:literal, $begin:literal, $end:literal],
        room: $room:literal,
        position: $position:literal,
        from: $from:literal,
        mine: $mine:literal
    ) => {
        pub(crate) const CLAIM: [&str; 3] = [
            claim!(64, $skip, $room, $position, $begin, $end),
            claim!(8, $skip, $room, $position, $begin, $end),
            claim!(1, $skip, $room, $position, $begin, $end),
        ];
        pub(crate) const READ: &str = concat!(
            "SELECT r.lane, c.url, ",
            origin!($position),
            " AS origin, c.token, c.scheme, c.credentials, c.version, d.sequence, d.generation, d.state, ",
            "coalesce(d.body, e.body) AS body FROM ",
            $from,
            " LEFT JOIN push_config c ON c.id = r.lane ",
            "LEFT JOIN push_delivery d ON d.lane_id = r.lane AND d.sequence >= r.head AND d.sequence < r.head + 8 ",
            "LEFT JOIN task_event e ON d.body IS NULL AND e.task_id = d.task_id AND e.generation = d.generation"
        );
        pub(crate) const CLOSE: &str = concat!(
            "UPDATE push_lane SET closed = TRUE, head = tail + 1, due_at = NULL, holder = NULL FROM ",
            $mine,
            " WHERE push_lane.id = r.lane AND push_lane.holder = r.holder"
        );
        pub(crate) const CANCEL: &str = concat!(
            "UPDATE push_delivery SET state = 3, ended_at = $2 FROM ",
            $mine,
            " JOIN push_lane l ON l.id = r.lane AND l.closed ",
            "WHERE push_delivery.lane_id = r.lane AND push_delivery.state = 0"
        );
    };
}

/// What a step does to its lane. A holder that stands in the row under another fence lost the lane to a deletion; it only lets go.
macro_rules! step {
    () => {
        "UPDATE push_lane SET \
         head = CASE WHEN push_lane.fence = r.fence THEN r.head ELSE push_lane.head END, \
         attempts = CASE WHEN push_lane.fence = r.fence THEN r.attempts ELSE push_lane.attempts END, \
         holder = CASE WHEN r.release THEN NULL ELSE push_lane.holder END, \
         due_at = CASE WHEN push_lane.fence <> r.fence THEN push_lane.due_at \
         WHEN NOT r.release OR push_lane.tail >= r.head THEN r.due END "
    };
}

/// Postgres plans once for all batches, perhaps when the tables are still empty, and takes a JSON text for 100 rows: it would settle on
/// reading whole tables. `x + 0 = x`, which it takes for rare, makes it plan for a row or two, and so for the indexes.
mod postgres {
    statements! {
        claim: [
            " FOR UPDATE OF l SKIP LOCKED",
            "UPDATE push_lane SET holder = $5, fence = fence + 1, due_at = $6 WHERE id IN (",
            ") RETURNING id, tenant, fence, head, tail, attempts, closed"
        ],
        room: "SELECT * FROM json_to_recordset($2::json) AS r(tenant text, origin text, room bigint)",
        position: "strpos",
        from: "(SELECT * FROM json_to_recordset($1::json) AS r(lane uuid, head bigint) WHERE head + 0 = head) r",
        mine: "(SELECT * FROM json_to_recordset($1::json) AS r(lane uuid, holder uuid)) r"
    }

    macro_rules! record {
        ($lock:literal) => {
            concat!(
                "WITH step AS MATERIALIZED (SELECT * FROM json_to_recordset($1::json) AS s(lane uuid, holder uuid, ",
                "fence bigint, head bigint, attempts integer, due bigint, release boolean) WHERE head + 0 = head), ",
                "free AS MATERIALIZED (SELECT s.* FROM step s JOIN push_lane l ON l.id = s.lane FOR UPDATE OF l",
                $lock,
                "), ",
                "moved AS (",
                step!(),
                "FROM free r WHERE push_lane.id = r.lane AND push_lane.holder = r.holder ",
                "RETURNING push_lane.id, push_lane.fence, r.fence AS held, push_lane.due_at), ",
                "tried AS MATERIALIZED (SELECT t.* FROM json_to_recordset($2::json) AS t(id uuid, lane uuid, ",
                "sequence bigint, attempt integer, outcome text, status smallint, duration_ms integer, at bigint, ",
                "state smallint, ended_at bigint) JOIN moved m ON m.id = t.lane AND m.fence = m.held ",
                "WHERE t.sequence + 0 = t.sequence), ",
                "ended AS (UPDATE push_delivery d SET state = t.state, attempts = t.attempt, ended_at = t.ended_at ",
                "FROM tried t WHERE d.lane_id = t.lane AND d.sequence = t.sequence), ",
                "logged AS (INSERT INTO push_attempt ",
                "(id, lane_id, sequence, attempt, outcome, status, duration_ms, at) ",
                "SELECT id, lane, sequence, attempt, outcome, status, duration_ms, at FROM tried ",
                "ON CONFLICT DO NOTHING) ",
                "SELECT free.lane AS id, moved.fence, moved.due_at FROM free LEFT JOIN moved ON moved.id = free.lane"
            )
        };
    }
    pub(crate) const RECORD: &str = record!(" SKIP LOCKED");
    pub(crate) const RECORD_WAITING: &str = record!("");
}

mod sqlite {
    statements! {
        claim: ["", "", ""],
        room: "SELECT value ->> 'tenant' AS tenant, value ->> 'origin' AS origin, value ->> 'room' AS room \
               FROM json_each($2)",
        position: "instr",
        from: "(SELECT unhex(value ->> 'lane', '-') AS lane, value ->> 'head' AS head FROM json_each($1)) AS r",
        mine: "(SELECT unhex(value ->> 'lane', '-') AS lane, unhex(value ->> 'holder', '-') AS holder \
               FROM json_each($1)) AS r"
    }

    /// Hold the lanes that were chosen: where there is one writer, nobody has to wait while a claim looks for them.
    pub(crate) const HOLD: &str = "UPDATE push_lane SET holder = $3, fence = fence + 1, due_at = $4 \
         WHERE id IN (SELECT unhex(value, '-') FROM json_each($1)) AND due_at <= $2 \
         RETURNING id, tenant, fence, head, tail, attempts, closed";
    pub(crate) const STEP: &str = concat!(
        step!(),
        "FROM (SELECT unhex(value ->> 'lane', '-') AS lane, unhex(value ->> 'holder', '-') AS holder, ",
        "value ->> 'fence' AS fence, value ->> 'head' AS head, value ->> 'attempts' AS attempts, ",
        "value ->> 'due' AS due, value ->> 'release' AS release FROM json_each($1)) AS r ",
        "WHERE push_lane.id = r.lane AND push_lane.holder = r.holder ",
        "RETURNING push_lane.id, push_lane.fence, push_lane.due_at"
    );
    pub(crate) const END: &str = "UPDATE push_delivery SET state = t.state, attempts = t.attempt, \
         ended_at = t.ended_at FROM (SELECT unhex(value ->> 'lane', '-') AS lane, value ->> 'sequence' AS sequence, \
         value ->> 'state' AS state, value ->> 'attempt' AS attempt, value ->> 'ended_at' AS ended_at \
         FROM json_each($1)) AS t WHERE push_delivery.lane_id = t.lane AND push_delivery.sequence = t.sequence";
    pub(crate) const LOG: &str = "INSERT OR IGNORE INTO push_attempt \
         (id, lane_id, sequence, attempt, outcome, status, duration_ms, at) \
         SELECT unhex(value ->> 'id', '-'), unhex(value ->> 'lane', '-'), value ->> 'sequence', value ->> 'attempt', \
         value ->> 'outcome', value ->> 'status', value ->> 'duration_ms', value ->> 'at' FROM json_each($1)";
}
