//! Statements on `secret_key`.

use entity::secret_key;
use sea_orm::sea_query::{Expr, ExprTrait, Query, UpdateStatement};

/// Put `to` where `from` is kept under `id`.
pub fn replace(id: &str, from: &[u8], to: &[u8]) -> UpdateStatement {
    Query::update()
        .table(secret_key::Entity)
        .value(secret_key::Column::Key, to)
        .and_where(Expr::col(secret_key::Column::Id).eq(id))
        .and_where(Expr::col(secret_key::Column::Key).eq(from))
        .to_owned()
}
