//! A change of one row, as data: so that many of one kind can be one statement.
//!
//! Nearly everything that is written is a row inserted, or one changed or removed upon what some of its columns hold. Two of them are of
//! one [`Kind`] when they name the same columns; then they differ in values only, and on Postgres any number of them is one statement of a
//! fixed text over arrays, prepared once and planned once. What is NULL belongs to the kind, since an array would need a value for it.

use std::cmp::Ordering;
use std::fmt::Write as _;

use sea_orm::sea_query::{ArrayType, PostgresQueryBuilder, SqlWriter, SqlWriterValues, SqliteQueryBuilder, Value};
use sea_orm::{ActiveModelTrait, ActiveValue, EntityTrait, IdenStatic, Iterable};

/// One row's change.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    kind: Kind,
    /// One for every column that has one, in the order of the kind's columns.
    values: Vec<Value>,
}

/// What rows have in common that one statement can change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    verb: Verb,
    table: &'static str,
    columns: Vec<(Role, &'static str)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Verb {
    Insert,
    Update,
    Delete,
}

/// What a column is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    /// It is set to its value.
    Set,
    /// It is set to NULL, and has no value.
    Clear,
    /// It is lowered by its value, if it holds as much.
    Take,
    /// It has to hold its value.
    Hold,
}

impl Row {
    /// A row to insert.
    pub fn insert<A: ActiveModelTrait>(row: &A) -> Row {
        let mut insert = Row::new::<A::Entity>(Verb::Insert);
        for column in <A::Entity as EntityTrait>::Column::iter() {
            match row.get(column) {
                // A column that is left out is NULL.
                ActiveValue::Set(value) | ActiveValue::Unchanged(value) if value != value.as_null() => {
                    insert.push(Role::Set, column.as_str(), value);
                }
                _ => {}
            }
        }
        insert
    }

    /// A change of the row that [`Row::only_if`] tells.
    pub fn update<E: EntityTrait>(_: E) -> Row {
        Row::new::<E>(Verb::Update)
    }

    /// The removal of the row that [`Row::only_if`] tells.
    pub fn delete<E: EntityTrait>(_: E) -> Row {
        Row::new::<E>(Verb::Delete)
    }

    fn new<E: EntityTrait>(verb: Verb) -> Row {
        let table = E::default().table_name();
        Row { kind: Kind { verb, table, columns: Vec::with_capacity(24) }, values: Vec::with_capacity(24) }
    }

    /// Set a column.
    #[must_use]
    pub fn set(mut self, column: impl IdenStatic, value: impl Into<Value>) -> Row {
        let value = value.into();
        match value == value.as_null() {
            true => self.kind.columns.push((Role::Clear, column.as_str())),
            false => self.push(Role::Set, column.as_str(), value),
        }
        self
    }

    /// Lower a number, if it is that large.
    #[must_use]
    pub fn take(mut self, column: impl IdenStatic, number: i64) -> Row {
        self.push(Role::Take, column.as_str(), number.into());
        self
    }

    /// Only where a column holds this; nothing holds NULL.
    #[must_use]
    pub fn only_if(mut self, column: impl IdenStatic, value: impl Into<Value>) -> Row {
        self.push(Role::Hold, column.as_str(), value.into());
        self
    }

    fn push(&mut self, role: Role, column: &'static str, value: Value) {
        self.kind.columns.push((role, column));
        self.values.push(value);
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// About how many bytes it has.
    pub(super) fn size(&self) -> usize {
        let size = |value: &Value| match value {
            Value::String(Some(text)) => text.len(),
            Value::Bytes(Some(bytes)) => bytes.len(),
            _ => size_of::<i64>(),
        };
        self.values.iter().map(size).sum()
    }

    /// Columns with their values.
    fn valued(&self) -> impl Iterator<Item = (Role, &'static str, &Value)> {
        self.kind.valued().zip(&self.values).map(|((role, column), value)| (role, column, value))
    }

    /// By what the columns hold that tell which row it is.
    pub(super) fn cmp_place(&self, other: &Row) -> Ordering {
        // Of an insert that is its whole row, key first.
        let telling = |row| Row::valued(row).filter(|(role, ..)| matches!(role, Role::Hold | Role::Set));
        let insert = self.kind.verb == Verb::Insert;
        let pairs = telling(self).zip(telling(other)).filter(|((role, ..), _)| insert || *role == Role::Hold);
        pairs.map(|((.., a), (.., b))| cmp(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Take what another one takes too, if both take from the same row.
    fn absorb(&mut self, other: &Row) -> bool {
        let takes = self.kind.columns.iter().any(|(role, _)| *role == Role::Take);
        if !takes || self.kind != other.kind || self.cmp_place(other).is_ne() {
            return false;
        }
        let roles: Vec<Role> = self.kind.valued().map(|(role, _)| role).collect();
        for ((role, value), more) in roles.into_iter().zip(&mut self.values).zip(&other.values) {
            if let (Role::Take, Value::BigInt(Some(number)), Value::BigInt(Some(more))) = (role, value, more) {
                *number += more;
            }
        }
        true
    }

    /// The statement for this row alone, on either engine.
    pub(super) fn write_alone(self, returning: bool, sql: &mut SqlWriterValues) {
        let Row { kind, values } = self;
        // Which engine it is for matters to the name of a parameter only, and that is the writer's.
        let param = |value: Value, sql: &mut SqlWriterValues| sql.push_param(value, &SqliteQueryBuilder);
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(Value::BigInt(None));
        match kind.verb {
            Verb::Insert => {
                text(sql, format_args!("INSERT INTO \"{}\" ({}) VALUES (", kind.table, kind.names()));
                for place in 0..kind.columns.len() {
                    text(sql, format_args!("{}", comma(place)));
                    param(next(), sql);
                }
                text(sql, format_args!(")"));
            }
            Verb::Update => text(sql, format_args!("UPDATE \"{}\" SET ", kind.table)),
            Verb::Delete => text(sql, format_args!("DELETE FROM \"{}\"", kind.table)),
        }
        if kind.verb != Verb::Insert {
            let (mut changed, mut held) = (0, Vec::new());
            for (role, column) in &kind.columns {
                let comma = comma(changed);
                match role {
                    Role::Set => {
                        text(sql, format_args!("{comma}\"{column}\" = "));
                        param(next(), sql);
                    }
                    Role::Clear => text(sql, format_args!("{comma}\"{column}\" = NULL")),
                    Role::Take => {
                        let number = next();
                        text(sql, format_args!("{comma}\"{column}\" = \"{column}\" - "));
                        param(number.clone(), sql);
                        held.push((column, ">=", number));
                    }
                    Role::Hold => {
                        held.push((column, "=", next()));
                        continue;
                    }
                }
                changed += 1;
            }
            for (place, (column, compared, value)) in held.into_iter().enumerate() {
                let word = if place == 0 { "WHERE" } else { "AND" };
                text(sql, format_args!(" {word} \"{column}\" {compared} "));
                param(value, sql);
            }
        }
        if returning {
            text(sql, format_args!(" RETURNING 1"));
        }
    }
}

impl Kind {
    fn valued(&self) -> impl Iterator<Item = (Role, &'static str)> {
        self.columns.iter().copied().filter(|(role, _)| *role != Role::Clear)
    }

    fn names(&self) -> String {
        let quoted = self.columns.iter().map(|(_, column)| format!("\"{column}\""));
        quoted.collect::<Vec<_>>().join(", ")
    }

    /// One statement for all of `rows`, which are of this kind, on Postgres. Yields how many rows of the table it must touch.
    pub(super) fn write_all(&self, mut rows: Vec<Row>, returning: bool, sql: &mut SqlWriterValues) -> usize {
        // In one order, so that two such statements do not wait for each other.
        rows.sort_by(Row::cmp_place);
        rows.dedup_by(|next, kept| kept.absorb(next));
        let count = rows.len();
        if count == 1 {
            // Arrays of one cost more than they are worth.
            rows.into_iter().for_each(|row| row.write_alone(returning, sql));
            return 1;
        }
        let mut arrays: Vec<Vec<Value>> = self.valued().map(|_| Vec::with_capacity(count)).collect();
        for row in rows {
            for (array, value) in arrays.iter_mut().zip(row.values) {
                array.push(value);
            }
        }
        match self.verb {
            Verb::Insert => {
                text(sql, format_args!("INSERT INTO \"{}\" ({}) SELECT * FROM ", self.table, self.names()));
                unnest(arrays, sql);
            }
            Verb::Update => {
                text(sql, format_args!("UPDATE \"{}\" AS t SET ", self.table));
                let (mut changed, mut n) = (0, 0);
                for (role, column) in &self.columns {
                    let comma = comma(changed);
                    match role {
                        Role::Set => text(sql, format_args!("{comma}\"{column}\" = r.v{n}")),
                        Role::Clear => text(sql, format_args!("{comma}\"{column}\" = NULL")),
                        Role::Take => text(sql, format_args!("{comma}\"{column}\" = t.\"{column}\" - r.v{n}")),
                        Role::Hold => {}
                    }
                    changed += usize::from(*role != Role::Hold);
                    n += usize::from(*role != Role::Clear);
                }
                text(sql, format_args!(" FROM "));
                unnest(arrays, sql);
                self.write_place(sql);
            }
            Verb::Delete => {
                text(sql, format_args!("DELETE FROM \"{}\" AS t USING ", self.table));
                unnest(arrays, sql);
                self.write_place(sql);
            }
        }
        if returning {
            text(sql, format_args!(" RETURNING 1"));
        }
        count
    }

    /// Which row of the table each of the arrays' is for. `n + 0 = n` is true, and Postgres takes it for rare: so it plans for a row or
    /// two and looks them up by their key, also where it plans when the table is still empty.
    fn write_place(&self, sql: &mut SqlWriterValues) {
        let names: Vec<String> = self.valued().enumerate().map(|(n, _)| format!("v{n}")).collect();
        text(sql, format_args!(" WITH ORDINALITY AS r({}, n) WHERE r.n + 0 = r.n", names.join(", ")));
        for (n, (role, column)) in self.valued().enumerate() {
            match role {
                Role::Hold => text(sql, format_args!(" AND t.\"{column}\" = r.v{n}")),
                Role::Take => text(sql, format_args!(" AND t.\"{column}\" >= r.v{n}")),
                Role::Set | Role::Clear => {}
            }
        }
    }
}

/// `unnest($1::uuid[], ...)`: a row for each place in the arrays.
fn unnest(arrays: Vec<Vec<Value>>, sql: &mut SqlWriterValues) {
    for (n, array) in arrays.into_iter().enumerate() {
        text(sql, format_args!("{}", if n == 0 { "unnest(" } else { ", " }));
        let kind = array.first().map_or(ArrayType::String, Value::array_type);
        let name = name(&kind);
        sql.push_param(Value::Array(kind, Some(Box::new(array))), &PostgresQueryBuilder);
        text(sql, format_args!("::{name}[]"));
    }
    text(sql, format_args!(")"));
}

/// What Postgres calls the type of our columns.
fn name(kind: &ArrayType) -> &'static str {
    match kind {
        ArrayType::Uuid => "uuid",
        ArrayType::BigInt => "bigint",
        ArrayType::Int => "integer",
        ArrayType::SmallInt => "smallint",
        ArrayType::Bool => "boolean",
        ArrayType::Bytes => "bytea",
        _ => "text",
    }
}

fn cmp(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::SmallInt(a), Value::SmallInt(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

fn comma(place: usize) -> &'static str {
    if place == 0 { "" } else { ", " }
}

/// Writing to text in memory does not fail.
pub(super) fn text(sql: &mut SqlWriterValues, arguments: std::fmt::Arguments<'_>) {
    sql.write_fmt(arguments).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use entity::{task_allowance, task_event, work};
    use uuid::Uuid;

    fn written(rows: Vec<Row>) -> (String, usize, usize) {
        let mut sql = SqlWriterValues::new("$", true);
        let kind = rows[0].kind().clone();
        let count = kind.write_all(rows, true, &mut sql);
        let (sql, values) = sql.into_parts();
        (sql, values.0.len(), count)
    }

    fn take(shard: i16) -> Row {
        Row::update(task_allowance::Entity)
            .take(task_allowance::Column::Remaining, 1)
            .only_if(task_allowance::Column::Tenant, "acme")
            .only_if(task_allowance::Column::Shard, shard)
    }

    #[test]
    fn rows_of_one_kind_are_one_statement() {
        let row = |n: u128, worker: Option<&str>| {
            Row::update(work::Entity)
                .set(work::Column::Worker, worker.map(str::to_owned))
                .set(work::Column::Epoch, 2i64)
                .only_if(work::Column::TaskId, Uuid::from_u128(n))
        };
        let (sql, values, count) = written(vec![row(2, None), row(1, None)]);
        let expected = "UPDATE \"work\" AS t SET \"worker\" = NULL, \"epoch\" = r.v0 FROM unnest($1::bigint[], $2::uuid[]) \
                        WITH ORDINALITY AS r(v0, v1, n) WHERE r.n + 0 = r.n AND t.\"task_id\" = r.v1 RETURNING 1";
        assert_eq!((sql.as_str(), values, count), (expected, 2, 2));
        assert_ne!(row(1, None).kind(), row(1, Some("w")).kind(), "an array has no place for NULL");
        let (sql, values, count) = written(vec![row(1, Some("w"))]);
        let expected = "UPDATE \"work\" SET \"worker\" = $1, \"epoch\" = $2 WHERE \"task_id\" = $3 RETURNING 1";
        assert_eq!((sql.as_str(), values, count), (expected, 3, 1));
    }

    #[test]
    fn what_is_taken_from_one_row_is_taken_at_once() {
        let (sql, _, count) = written(vec![take(3), take(3), take(3)]);
        assert_eq!(count, 1);
        assert!(sql.starts_with("UPDATE \"task_allowance\" SET \"remaining\" = \"remaining\" - $1"), "{sql}");
        assert!(sql.contains(" WHERE \"remaining\" >= $2 AND "), "{sql}");
        let (mut three, three_more) = (take(3), take(3));
        assert!(three.absorb(&three_more) && !three.absorb(&take(4)));
        assert_eq!(three.values[0], Value::BigInt(Some(2)));
        assert_eq!(written(vec![take(3), take(4), take(3)]).2, 2);
    }

    #[test]
    fn inserts_are_never_one_row() {
        let event = |generation| {
            let body = "{}".to_owned();
            let event = task_event::Model { task_id: Uuid::from_u128(1), generation, at: 0, epoch: None, body };
            Row::insert(&task_event::ActiveModel::from(event))
        };
        let (sql, values, count) = written(vec![event(2), event(2), event(1)]);
        assert_eq!((values, count), (4, 3), "{sql}");
    }
}
