//! Page cursors: opaque, bound to the tenant and the query they came from, and sealed, so that one of another tenant, another filter or
//! of nobody's making is refused rather than believed.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use uuid::Uuid;
use wire::Error;

use crate::secret::SecretKey;

const MAC: usize = 16;

/// Where a page ended: a status time and an id, or an id alone (with time 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) at: i64,
    pub(crate) id: Uuid,
}

impl Cursor {
    /// As clients carry it. `query` is everything the next request must repeat.
    pub(crate) fn seal(self, key: &SecretKey, query: &str) -> String {
        let mut bytes = Vec::with_capacity(24 + MAC);
        bytes.extend_from_slice(&self.at.to_be_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        let mac = key.mac(&[&bytes, query.as_bytes()]);
        bytes.extend_from_slice(&mac[..MAC]);
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// What [`Cursor::seal`] made for the same query.
    ///
    /// # Errors
    /// `InvalidParams` on `pageToken` for anything else.
    pub(crate) fn open(token: &str, key: &SecretKey, query: &str) -> Result<Cursor, Error> {
        let refused =
            || Error::invalid("pageToken", "must be a nextPageToken of the same list with the same filters, unchanged");
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| refused())?;
        if bytes.len() != 24 + MAC {
            return Err(refused());
        }
        let (place, mac) = bytes.split_at(24);
        if aws_lc_rs::constant_time::verify_slices_are_equal(&key.mac(&[place, query.as_bytes()])[..MAC], mac).is_err()
        {
            return Err(refused());
        }
        let (at, id) = place.split_at(8);
        let at = i64::from_be_bytes(at.try_into().map_err(|_| refused())?);
        let id = Uuid::from_slice(id).map_err(|_| refused())?;
        Ok(Cursor { at, id })
    }
}

/// Where a page begins: after the one whose token this is, or at the start.
///
/// # Errors
/// `InvalidParams` on `pageToken`.
pub(crate) fn begin_page(token: &str, key: &SecretKey, query: &str) -> Result<Option<Cursor>, Error> {
    if token.is_empty() { Ok(None) } else { Cursor::open(token, key, query).map(Some) }
}

/// Cut what was read (one more than a page may hold) to `size`, and yield the next page's token, empty on the last.
pub(crate) fn end_page<T>(
    rows: &mut Vec<T>,
    size: usize,
    key: &SecretKey,
    query: &str,
    place: impl Fn(&T) -> Cursor,
) -> String {
    let more = rows.len() > size;
    rows.truncate(size);
    match rows.last() {
        Some(last) if more => place(last).seal(key, query),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_opens_only_for_its_query_and_key() {
        let key = SecretKey::new(&[1; 32]).unwrap();
        let cursor = Cursor { at: 1_764_000_000_123, id: Uuid::from_u128(9) };
        let token = cursor.seal(&key, "acme|demo|");
        assert_eq!(Cursor::open(&token, &key, "acme|demo|").unwrap(), cursor);
        assert!(Cursor::open(&token, &key, "umbrella|demo|").is_err());
        assert!(Cursor::open(&token, &SecretKey::new(&[2; 32]).unwrap(), "acme|demo|").is_err());
        assert!(Cursor::open("garbage", &key, "acme|demo|").is_err());
        assert!(Cursor::open("", &key, "acme|demo|").is_err());
    }
}
