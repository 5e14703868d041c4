//! The one door for writes.
//!
//! A [`Write`] is data: guards, each of which must touch exactly one row, and statements. Either all of it happens or none. Postgres
//! gets it as *one* statement (data-modifying CTEs), so a write costs one round trip and one commit, and holds its locks no longer than
//! the commit takes; SQLite gets a transaction. Rows of one kind are one statement, however many they are, and for the same reason
//! several writes can be one (`share`), without their authors knowing.
//!
//! A guard is how a decision made on what was read stays true: it compares what was read (a revision, a lease, an allowance) in the
//! very statement that writes. When it does not hold the answer is [`WriteError::Lost`], nothing was written, and the operation reads
//! again.

use sea_orm::sea_query::{
    DeleteStatement, InsertStatement, PostgresQueryBuilder, Query, QueryBuilder, QueryStatementBuilder,
    SelectStatement, SqlWriter, SqlWriterValues, SqliteQueryBuilder, SubQueryStatement, UpdateStatement,
};
use sea_orm::{ActiveModelTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, RuntimeErr, SqlErr, Statement};

use super::row::{Kind, Row, text};

/// Why a write did not happen.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// Somebody else was there first: a guard did not hold or a key was taken. Nothing was written; read again and decide again.
    #[error("another write came first")]
    Lost,
    /// The database failed; whether anything was written is unknown.
    #[error("writing to the database")]
    Failed(#[from] DbErr),
}

/// What is to be written, all or nothing.
#[derive(Debug, Default)]
pub struct Write {
    guards: Vec<Step>,
    statements: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    /// A change of one row.
    Row(Row),
    /// Anything else.
    Other(Box<SubQueryStatement>),
}

/// What writes have in common that can be one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Kinds {
    guards: Vec<Kind>,
    statements: Vec<Kind>,
}

impl Write {
    /// Nothing yet.
    pub fn new() -> Write {
        Write::default()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty() && self.statements.is_empty()
    }

    /// The change of a row that has to be there.
    pub fn must(&mut self, row: Row) {
        self.guards.push(Step::Row(row));
    }

    /// An update that has to touch exactly one row.
    pub fn must_update(&mut self, mut statement: UpdateStatement) {
        statement.returning(Query::returning().expr(sea_orm::sea_query::Expr::val(1)));
        self.guards.push(Step::Other(Box::new(SubQueryStatement::UpdateStatement(statement))));
    }

    /// A deletion that has to touch exactly one row.
    pub fn must_delete(&mut self, mut statement: DeleteStatement) {
        statement.returning(Query::returning().expr(sea_orm::sea_query::Expr::val(1)));
        self.guards.push(Step::Other(Box::new(SubQueryStatement::DeleteStatement(statement))));
    }

    /// An update of however many rows.
    pub fn update(&mut self, statement: UpdateStatement) {
        self.statements.push(Step::Other(Box::new(SubQueryStatement::UpdateStatement(statement))));
    }

    /// A deletion of however many rows.
    pub fn delete(&mut self, statement: DeleteStatement) {
        self.statements.push(Step::Other(Box::new(SubQueryStatement::DeleteStatement(statement))));
    }

    /// A row to insert; a key that is taken makes the write [`WriteError::Lost`].
    pub fn insert<A: ActiveModelTrait>(&mut self, row: A) {
        self.statements.push(Step::Row(Row::insert(&row)));
    }

    /// Rows to insert.
    pub fn insert_many<A: ActiveModelTrait>(&mut self, rows: Vec<A>) {
        rows.into_iter().for_each(|row| self.insert(row));
    }

    /// Rows of `entity` to insert as `select` yields them, column by column.
    pub fn insert_selected<E: EntityTrait, const N: usize>(
        &mut self,
        entity: E,
        columns: [E::Column; N],
        select: SelectStatement,
    ) {
        let mut insert = InsertStatement::new();
        insert.into_table(entity).columns(columns);
        insert.select_from(select).expect("a statement of ours yields as many columns as it names");
        self.statements.push(Step::Other(Box::new(SubQueryStatement::InsertStatement(insert))));
    }

    /// What it has in common with those it can be one statement with. None when it is of its own kind, or larger than `most` bytes.
    pub(super) fn kinds(&self, most: usize) -> Option<Kinds> {
        fn of(steps: &[Step], size: &mut usize) -> Option<Vec<Kind>> {
            let mut kinds: Vec<Kind> = Vec::with_capacity(steps.len());
            for step in steps {
                let Step::Row(row) = step else { return None };
                *size += row.size();
                if !kinds.contains(row.kind()) {
                    kinds.push(row.kind().clone());
                }
            }
            Some(kinds)
        }
        let mut size = 0;
        let (guards, statements) = (of(&self.guards, &mut size)?, of(&self.statements, &mut size)?);
        (size <= most).then_some(Kinds { guards, statements })
    }

    /// Everything of `other` too.
    pub(super) fn merge(&mut self, other: &Write) {
        let rows = |steps: &[Step]| {
            let rows = steps.iter().filter_map(|step| match step {
                Step::Row(row) => Some(Step::Row(row.clone())),
                Step::Other(_) => None,
            });
            rows.collect::<Vec<_>>()
        };
        self.guards.extend(rows(&other.guards));
        self.statements.extend(rows(&other.statements));
    }

    /// Do all of it on `db`: on Postgres one statement, on SQLite statements of a transaction the caller holds.
    pub(super) async fn run<C: ConnectionTrait>(self, db: &C) -> Result<(), WriteError> {
        match db.get_database_backend() {
            DbBackend::Postgres => self.run_as_one(db).await,
            _ => self.run_in_turn(db).await,
        }
    }

    async fn run_as_one<C: ConnectionTrait>(self, db: &C) -> Result<(), WriteError> {
        let mut sql = SqlWriterValues::new("$", true);
        let mut check = Vec::new();
        // The guards are read by the main query and in this order, so they lock first; the rest runs afterwards.
        for (n, guard) in gathered(self.guards).into_iter().enumerate() {
            text(&mut sql, format_args!("{} \"guard_{n}\" AS (", if n == 0 { "WITH" } else { "," }));
            check.push(guard.write_postgres(true, &mut sql));
            text(&mut sql, format_args!(")"));
        }
        for (n, statement) in gathered(self.statements).into_iter().enumerate() {
            let word = if n == 0 && check.is_empty() { "WITH" } else { "," };
            text(&mut sql, format_args!("{word} \"write_{n}\" AS ("));
            statement.write_postgres(false, &mut sql);
            text(&mut sql, format_args!(")"));
        }
        text(&mut sql, format_args!(" SELECT "));
        for (n, count) in check.into_iter().enumerate() {
            // Fewer rows touched than there are divides by zero, which undoes the whole statement.
            text(&mut sql, format_args!("1 / ((SELECT count(*) FROM \"guard_{n}\") = "));
            sql.push_param((count as i64).into(), &PostgresQueryBuilder);
            text(&mut sql, format_args!(")::integer, "));
        }
        text(&mut sql, format_args!("1"));
        let (sql, values) = sql.into_parts();
        db.query_one_raw(Statement::from_sql_and_values(DbBackend::Postgres, sql, values)).await.map_err(classify)?;
        Ok(())
    }

    async fn run_in_turn<C: ConnectionTrait>(self, db: &C) -> Result<(), WriteError> {
        let guards = self.guards.into_iter().map(|step| (true, step));
        let rest = self.statements.into_iter().map(|step| (false, step));
        for (must, step) in guards.chain(rest) {
            let mut sql = SqlWriterValues::new("?", false);
            match step {
                Step::Row(row) => row.write_alone(must, &mut sql),
                Step::Other(statement) => other(&statement, &SqliteQueryBuilder, &mut sql),
            }
            let (sql, values) = sql.into_parts();
            let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
            if must {
                let touched = db.query_all_raw(statement).await.map_err(classify)?.len();
                if touched != 1 {
                    return Err(WriteError::Lost);
                }
            } else {
                db.execute_raw(statement).await.map_err(classify)?;
            }
        }
        Ok(())
    }
}

/// What is one statement on Postgres.
enum Gathered {
    Rows(Vec<Row>),
    Other(Box<SubQueryStatement>),
}

/// Rows of one kind together, at the place of the first.
fn gathered(steps: Vec<Step>) -> Vec<Gathered> {
    let mut all: Vec<Gathered> = Vec::new();
    for step in steps {
        let row = match step {
            Step::Row(row) => row,
            Step::Other(statement) => {
                all.push(Gathered::Other(statement));
                continue;
            }
        };
        let same = all.iter_mut().find_map(|gathered| match gathered {
            Gathered::Rows(rows) if rows.first().is_some_and(|first| first.kind() == row.kind()) => Some(rows),
            _ => None,
        });
        match same {
            Some(rows) => rows.push(row),
            None => all.push(Gathered::Rows(vec![row])),
        }
    }
    all
}

impl Gathered {
    /// Yields how many rows it must touch, where it is a guard.
    fn write_postgres(self, returning: bool, sql: &mut SqlWriterValues) -> usize {
        match self {
            Gathered::Rows(rows) => match rows.first().map(|row| row.kind().clone()) {
                Some(kind) => kind.write_all(rows, returning, sql),
                None => 0,
            },
            Gathered::Other(statement) => {
                other(&statement, &PostgresQueryBuilder, sql);
                1
            }
        }
    }
}

fn other(statement: &SubQueryStatement, builder: &impl QueryBuilder, sql: &mut SqlWriterValues) {
    match statement {
        SubQueryStatement::SelectStatement(statement) => statement.build_collect_any_into(builder, sql),
        SubQueryStatement::InsertStatement(statement) => statement.build_collect_any_into(builder, sql),
        SubQueryStatement::UpdateStatement(statement) => statement.build_collect_any_into(builder, sql),
        SubQueryStatement::DeleteStatement(statement) => statement.build_collect_any_into(builder, sql),
        SubQueryStatement::WithStatement(statement) => statement.build_collect_any_into(builder, sql),
    }
}

/// Division by zero is a guard that did not hold; a taken key and a deadlock are lost races too.
fn classify(error: DbErr) -> WriteError {
    if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) {
        return WriteError::Lost;
    }
    match sql_state(&error).as_deref() {
        Some("22012" | "40001" | "40P01") => WriteError::Lost,
        _ => WriteError::Failed(error),
    }
}

/// The code the database gives an error that it reports itself.
pub(super) fn sql_state(error: &DbErr) -> Option<String> {
    match error {
        DbErr::Exec(RuntimeErr::SqlxError(e)) | DbErr::Query(RuntimeErr::SqlxError(e)) => {
            e.as_database_error().and_then(|e| e.code()).map(|code| code.into_owned())
        }
        _ => None,
    }
}
