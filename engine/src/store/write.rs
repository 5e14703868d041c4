//! The one door for writes.
//!
//! A [`Write`] is data: guards, each of which must touch exactly one row, and statements. Either all of it happens or none. Postgres
//! gets it as *one* statement (data-modifying CTEs), so a write costs one round trip and one commit, and holds its locks no longer than
//! the commit takes; SQLite gets a transaction. Since a write is data, several could later share a commit without their authors
//! knowing.
//!
//! A guard is how a decision made on what was read stays true: it compares what was read (a revision, a lease, an allowance) in the
//! very statement that writes. When it does not hold the answer is [`WriteError::Lost`], nothing was written, and the operation reads
//! again.

use sea_orm::sea_query::{
    Alias, CommonTableExpression, DeleteStatement, Expr, ExprTrait, InsertStatement, Query, SelectStatement,
    SqliteQueryBuilder, SubQueryStatement, UpdateStatement, Values, WithClause,
};
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, Insert, QueryTrait, RuntimeErr, SqlErr, Statement,
};

/// Why a write did not happen.
#[derive(Debug, thiserror::Error)]
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
    guards: Vec<SubQueryStatement>,
    statements: Vec<SubQueryStatement>,
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

    /// An update that has to touch exactly one row.
    pub fn must_update(&mut self, mut statement: UpdateStatement) {
        statement.returning(Query::returning().expr(Expr::val(1)));
        self.guards.push(SubQueryStatement::UpdateStatement(statement));
    }

    /// A deletion that has to touch exactly one row.
    pub fn must_delete(&mut self, mut statement: DeleteStatement) {
        statement.returning(Query::returning().expr(Expr::val(1)));
        self.guards.push(SubQueryStatement::DeleteStatement(statement));
    }

    /// An update of however many rows.
    pub fn update(&mut self, statement: UpdateStatement) {
        self.statements.push(SubQueryStatement::UpdateStatement(statement));
    }

    /// A deletion of however many rows.
    pub fn delete(&mut self, statement: DeleteStatement) {
        self.statements.push(SubQueryStatement::DeleteStatement(statement));
    }

    /// A row to insert; a key that is taken makes the write [`WriteError::Lost`].
    pub fn insert<A>(&mut self, row: A)
    where
        A: ActiveModelTrait,
    {
        self.insert_statement(Insert::one(row).into_query());
    }

    /// Rows to insert, in as few statements as the engines take.
    pub fn insert_many<A>(&mut self, rows: Vec<A>)
    where
        A: ActiveModelTrait,
    {
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let some: Vec<A> = rows.by_ref().take(500).collect();
            self.insert_statement(<A::Entity as EntityTrait>::insert_many(some).into_query());
        }
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
        self.insert_statement(insert);
    }

    fn insert_statement(&mut self, statement: InsertStatement) {
        self.statements.push(SubQueryStatement::InsertStatement(statement));
    }

    /// Do all of it on `db`: on Postgres one statement, on SQLite statements of a transaction the caller holds.
    pub(super) async fn run<C: ConnectionTrait>(self, db: &C) -> Result<(), WriteError> {
        match db.get_database_backend() {
            DbBackend::Postgres => self.run_as_one(db).await,
            _ => self.run_in_turn(db).await,
        }
    }

    async fn run_as_one<C: ConnectionTrait>(self, db: &C) -> Result<(), WriteError> {
        let mut with = WithClause::new();
        let mut check = SelectStatement::new();
        // The guards are read by the main query and in this order, so they lock first; the rest runs afterwards.
        for (n, guard) in self.guards.into_iter().enumerate() {
            let name = Alias::new(format!("guard_{n}"));
            with.cte(CommonTableExpression::new().table_name(name.clone()).query(guard).to_owned());
            let touched = Query::select().expr(Expr::cust("count(*)")).from(name).to_owned();
            // No row touched divides by zero, which undoes the whole statement.
            check.expr(Expr::val(1i64).div(Expr::SubQuery(None, Box::new(touched.into()))));
        }
        for (n, statement) in self.statements.into_iter().enumerate() {
            let name = Alias::new(format!("write_{n}"));
            with.cte(CommonTableExpression::new().table_name(name).query(statement).to_owned());
        }
        check.expr(Expr::val(1i64));
        let (sql, values) = with.query(check).build(sea_orm::sea_query::PostgresQueryBuilder);
        db.query_one_raw(Statement::from_sql_and_values(DbBackend::Postgres, sql, values)).await.map_err(classify)?;
        Ok(())
    }

    async fn run_in_turn<C: ConnectionTrait>(self, db: &C) -> Result<(), WriteError> {
        let guards = self.guards.into_iter().map(|statement| (true, statement));
        let rest = self.statements.into_iter().map(|statement| (false, statement));
        for (must, statement) in guards.chain(rest) {
            let (sql, values) = build_sqlite(statement);
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

fn build_sqlite(statement: SubQueryStatement) -> (String, Values) {
    match statement {
        SubQueryStatement::SelectStatement(s) => s.build(SqliteQueryBuilder),
        SubQueryStatement::InsertStatement(s) => s.build(SqliteQueryBuilder),
        SubQueryStatement::UpdateStatement(s) => s.build(SqliteQueryBuilder),
        SubQueryStatement::DeleteStatement(s) => s.build(SqliteQueryBuilder),
        SubQueryStatement::WithStatement(s) => s.build(SqliteQueryBuilder),
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

fn sql_state(error: &DbErr) -> Option<String> {
    match error {
        DbErr::Exec(RuntimeErr::SqlxError(e)) | DbErr::Query(RuntimeErr::SqlxError(e)) => {
            e.as_database_error().and_then(|e| e.code()).map(|code| code.into_owned())
        }
        _ => None,
    }
}
