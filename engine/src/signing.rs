//! What notifications are signed with, after Standard Webhooks: a secret that the tenant shares with its receivers (`v1`, HMAC-SHA256) and
//! a key pair whose public half anybody may read (`v1a`, Ed25519).
//!
//! Each tenant has its own, made on first use and kept sealed, so that one's receivers cannot sign for another, and one can be rotated
//! alone. While a key that was replaced still counts, everything is signed with both: whoever verifies changes over when it suits them.

use std::time::Duration;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entity::signing_key::{ActiveModel, Model};
use sea_orm::DbErr;
use uuid::Uuid;
use wire::{Error, Tenant};

use crate::secret::{SecretError, SecretKey};
use crate::store::{self, Store, Write, WriteError};
use crate::{Engine, StartError, database, deployment_key};

/// Keys of a tenant that may count at once.
const KEYS: usize = 5;
/// The longest that a replaced key may go on to count.
pub const LONGEST_OVERLAP: Duration = Duration::from_secs(7 * 24 * 3600);

/// Why there is no key to sign with.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// The database failed.
    #[error("reading or writing the signing keys of a tenant")]
    Database(#[from] DbErr),
    /// The process cannot seal for this deployment.
    #[error("keeping the signing keys of a tenant")]
    SecretsKey(#[from] StartError),
    /// A key does not open, or cannot be made.
    #[error("opening or making the signing keys of a tenant")]
    Secret(#[from] SecretError),
    /// The stored key is not one.
    #[error("a signing key that is stored is damaged")]
    Damaged,
    /// Another process rotated in the same moment.
    #[error("the keys were rotated by somebody else in this moment; look at them before you try again")]
    Rotated,
    /// As many keys count as may.
    #[error("{KEYS} keys of the tenant still count, which is the most; wait for one to end")]
    Full,
    /// The overlap is too long.
    #[error("a replaced key may go on to count for at most 7 days")]
    Overlap,
}

/// One key of a tenant.
pub struct SigningKey {
    /// What verifiers know the public key as.
    pub id: Uuid,
    /// When it was made, in milliseconds since the epoch.
    pub created_at: i64,
    /// When it ceases to count; none for the current one.
    pub until: Option<i64>,
    secret: [u8; 32],
    mac: hmac::Key,
    pair: Ed25519KeyPair,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SigningKey {
    fn open(row: &Model, secrets: &SecretKey) -> Result<SigningKey, SigningError> {
        let plain = STANDARD.decode(secrets.open(row.id, &row.sealed)?).map_err(|_| SigningError::Damaged)?;
        let (secret, seed) = plain.split_at_checked(32).ok_or(SigningError::Damaged)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| SigningError::Damaged)?;
        let mac = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let secret = secret.try_into().map_err(|_| SigningError::Damaged)?;
        Ok(SigningKey { id: row.id, created_at: row.created_at, until: row.until, secret, mac, pair })
    }

    /// The secret as receivers are given it. Whoever has it can sign for the tenant.
    pub fn reveal(&self) -> String {
        format!("whsec_{}", STANDARD.encode(self.secret))
    }

    /// The public key as receivers are given it.
    pub fn public(&self) -> String {
        format!("whpk_{}", STANDARD.encode(self.pair.public_key().as_ref()))
    }

    fn counts(&self, now: i64) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// The value of `webhook-signature` over the bytes that are sent, with every key that counts at `now`, the current one first.
/// `timestamp` is the value of `webhook-timestamp`.
pub fn sign(keys: &[SigningKey], id: &str, timestamp: i64, body: &[u8], now: i64) -> String {
    let mut content = format!("{id}.{timestamp}.").into_bytes();
    content.extend_from_slice(body);
    let counting = || keys.iter().filter(|key| key.counts(now));
    let shared = counting().map(|key| format!("v1,{}", STANDARD.encode(hmac::sign(&key.mac, &content).as_ref())));
    let public = counting().map(|key| format!("v1a,{}", STANDARD.encode(key.pair.sign(&content).as_ref())));
    shared.chain(public).collect::<Vec<_>>().join(" ")
}

/// The keys that a tenant signs with at `now`, the current one first. The first is made when there is none.
///
/// # Errors
/// When the database fails, or a key cannot be sealed or opened.
pub async fn keys(
    store: &Store,
    secrets: &SecretKey,
    tenant: &Tenant,
    now: i64,
) -> Result<Vec<SigningKey>, SigningError> {
    let mut rows = store::signing_key::valid(store.read(), tenant, now).await?;
    if rows.is_empty() {
        deployment_key::check(store, secrets).await?;
        let mut write = Write::new();
        write.insert(ActiveModel::from(make(tenant, 1, secrets, now)?));
        match store.write(write).await {
            // Lost: another process made it in the same moment.
            Ok(()) | Err(WriteError::Lost) => rows = store::signing_key::valid(store.read(), tenant, now).await?,
            Err(WriteError::Failed(error)) => return Err(error.into()),
        }
    }
    rows.iter().map(|row| SigningKey::open(row, secrets)).collect()
}

/// Make a new key for a tenant; the one before counts for `overlap` more. The answer is as that of [`keys`].
///
/// # Errors
/// As of [`keys`], and when the overlap is too long, too many keys count, or somebody else rotates.
pub async fn rotate(
    store: &Store,
    secrets: &SecretKey,
    tenant: &Tenant,
    overlap: Duration,
    now: i64,
) -> Result<Vec<SigningKey>, SigningError> {
    if overlap > LONGEST_OVERLAP {
        return Err(SigningError::Overlap);
    }
    keys(store, secrets, tenant, now).await?;
    deployment_key::check(store, secrets).await?;
    let rows = store::signing_key::valid(store.read(), tenant, now).await?;
    if rows.len() >= KEYS {
        return Err(SigningError::Full);
    }
    let current = rows.first().ok_or(SigningError::Rotated)?;
    let mut write = Write::new();
    write.must_update(store::signing_key::retire(current, now.saturating_add(overlap.as_millis() as i64)));
    write.insert(ActiveModel::from(make(tenant, current.number + 1, secrets, now)?));
    match store.write(write).await {
        Ok(()) => keys(store, secrets, tenant, now).await,
        Err(WriteError::Lost) => Err(SigningError::Rotated),
        Err(WriteError::Failed(error)) => Err(error.into()),
    }
}

/// The public keys that a tenant's notifications may be signed with at `now`, each with its id. None is made.
///
/// # Errors
/// When the database fails.
pub async fn public_keys(store: &Store, tenant: &Tenant, now: i64) -> Result<Vec<(Uuid, Vec<u8>)>, DbErr> {
    let rows = store::signing_key::valid(store.read(), tenant, now).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.public)).collect())
}

fn make(tenant: &Tenant, number: i32, secrets: &SecretKey, now: i64) -> Result<Model, SigningError> {
    let (secret, seed) = (SecretKey::generate()?, SecretKey::generate()?);
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| SigningError::Damaged)?;
    let id = Uuid::now_v7();
    let sealed = secrets.seal(id, &STANDARD.encode([secret, seed].concat()))?;
    Ok(Model {
        tenant: tenant.as_str().to_owned(),
        number,
        id,
        sealed,
        public: pair.public_key().as_ref().to_vec(),
        created_at: now,
        until: None,
    })
}

impl Engine {
    /// The public keys that a tenant's notifications may be signed with now, the current one first, each with its id.
    ///
    /// # Errors
    /// `Unavailable` when the database fails.
    pub async fn webhook_keys(&self, tenant: &Tenant) -> Result<Vec<(Uuid, Vec<u8>)>, Error> {
        let keys = public_keys(self.store(), tenant, self.clock().now()).await;
        keys.map_err(database("reading the public keys of webhooks"))
    }
}
