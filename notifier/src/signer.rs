//! The keys of tenants that are notified for, remembered for a moment: a rotation is noticed within [`FRESH`], and a busy tenant costs one
//! read in that time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::secret::SecretKey;
use engine::signing::{self, SigningError, SigningKey};
use engine::store::Store;
use wire::Tenant;

/// How long keys are used without a look at the database.
const FRESH: Duration = Duration::from_secs(5);
/// Tenants that are remembered before those that are no longer fresh are dropped.
const TENANTS: usize = 1_000;

/// What was read of a tenant, and when.
type Read = (Instant, Arc<[SigningKey]>);

/// Where keys come from.
#[derive(Debug)]
pub(crate) struct Signers {
    store: Store,
    secrets: Arc<SecretKey>,
    known: Mutex<HashMap<String, Read>>,
}

impl Signers {
    pub(crate) fn new(store: Store, secrets: Arc<SecretKey>) -> Signers {
        Signers { store, secrets, known: Mutex::default() }
    }

    /// The keys of `tenant`; its first is made when it has none.
    pub(crate) async fn of(&self, tenant: &str, now: i64) -> Result<Arc<[SigningKey]>, SigningError> {
        if let Some((read, keys)) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(tenant)
            && read.elapsed() < FRESH
        {
            return Ok(keys.clone());
        }
        let began = Instant::now();
        // A row's tenant has been one since it was written.
        let named = Tenant::parse(tenant).map_err(|_| SigningError::Damaged)?;
        let keys: Arc<[SigningKey]> = signing::keys(&self.store, &self.secrets, &named, now).await?.into();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TENANTS {
            known.retain(|_, (read, _)| read.elapsed() < FRESH);
        }
        known.insert(tenant.to_owned(), (began, keys.clone()));
        Ok(keys)
    }
}
