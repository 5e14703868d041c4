//! Where ids come from: a seam, so that tests pin them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

/// A source of ids that nobody else has.
#[derive(Debug, Clone)]
pub enum Ids {
    /// UUIDv7: in the order of their making, nearly.
    Version7,
    /// 1, 2, 3, ...: a test's.
    Counted(Arc<AtomicU64>),
}

impl Ids {
    /// Counted from 1.
    pub fn counted() -> Ids {
        Ids::Counted(Arc::new(AtomicU64::new(1)))
    }

    /// The next one.
    pub fn next(&self) -> Uuid {
        match self {
            Ids::Version7 => Uuid::now_v7(),
            Ids::Counted(next) => Uuid::from_u128(u128::from(next.fetch_add(1, Ordering::Relaxed))),
        }
    }
}
