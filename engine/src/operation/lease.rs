//! How a lease is called on the wire: opaque to workers, and to us the task and the lease in one word, so that no index is needed to find
//! either, also after the lease has ended.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// A lease's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseName {
    /// The task it is on.
    pub task: Uuid,
    /// The lease itself.
    pub lease: Uuid,
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.task.simple(), self.lease.simple())
    }
}

/// The text names no lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a lease")]
pub struct NotALease;

impl FromStr for LeaseName {
    type Err = NotALease;

    fn from_str(text: &str) -> Result<LeaseName, NotALease> {
        let (task, lease) = text.split_once('.').ok_or(NotALease)?;
        let read = |text| Uuid::try_parse(text).map_err(|_| NotALease);
        Ok(LeaseName { task: read(task)?, lease: read(lease)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back() {
        let name = LeaseName { task: Uuid::from_u128(1), lease: Uuid::from_u128(2) };
        assert_eq!(name.to_string().parse(), Ok(name));
        assert_eq!("1.2".parse::<LeaseName>(), Err(NotALease));
        assert_eq!("".parse::<LeaseName>(), Err(NotALease));
    }
}
