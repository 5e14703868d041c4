//! The headers that every write of a worker to a task may have: the lease it is made under, and the key that makes it safe to repeat.
//!
//! Handlers take them as one. They are documented once for all of them, in `document/workers.rs`.

use engine::{LeaseClaim, LeaseName};
use poem::http::HeaderMap;
use poem::{FromRequest, Request, RequestBody};
use uuid::Uuid;
use wire::Error;
use wire::worker::{EPOCH_HEADER, LEASE_HEADER};

use crate::call::{Call, Key, header_text};
use crate::failure::Failure;

/// How a request holds the task in its path.
pub(crate) struct Hold {
    /// The lease it names.
    pub(crate) lease: Option<LeaseClaim>,
    /// Its `Idempotency-Key`.
    pub(crate) key: Option<String>,
}

impl Hold {
    /// What the headers of a request on `task` say: lease and epoch, or neither.
    ///
    /// # Errors
    /// `InvalidParams` naming the header.
    fn of(task: &str, headers: &HeaderMap) -> Result<Hold, Error> {
        Ok(Hold { lease: claim(task, headers)?, key: Key::of(headers)? })
    }
}

impl<'a> FromRequest<'a> for Hold {
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> poem::Result<Self> {
        let task = request.data::<Call>().and_then(|call| call.params.first()).map_or("", String::as_str);
        Ok(Hold::of(task, request.headers()).map_err(Failure)?)
    }
}

fn claim(task: &str, headers: &HeaderMap) -> Result<Option<LeaseClaim>, Error> {
    let missing = |header: &str| Err(Error::invalid(header, "is required: a lease is named by its id and its epoch"));
    let (lease, epoch) = match (header_text(headers, LEASE_HEADER)?, header_text(headers, EPOCH_HEADER)?) {
        (None, None) => return Ok(None),
        (Some(_), None) => return missing(EPOCH_HEADER),
        (None, Some(_)) => return missing(LEASE_HEADER),
        (Some(lease), Some(epoch)) => (lease, epoch),
    };
    let name: LeaseName = lease.parse().map_err(|_| Error::invalid(LEASE_HEADER, "is not the name of a lease"))?;
    // The lease of another task is never this one's: the engine says LEASE_LOST of a lease that nobody has.
    let of_this_task = Uuid::try_parse(task).is_ok_and(|task| task == name.task);
    let id = if of_this_task { name.lease } else { Uuid::nil() };
    Ok(Some(LeaseClaim { id, epoch: read_epoch(&epoch)? }))
}

/// The epoch that a header says.
///
/// # Errors
/// `InvalidParams` naming it.
pub(crate) fn read_epoch(text: &str) -> Result<i64, Error> {
    text.trim().parse().map_err(|_| Error::invalid(EPOCH_HEADER, "must be an integer"))
}
