//! Secrets at rest: tokens and credentials of push configs are sealed with AES-256-GCM before they reach a row, and bound to that row,
//! so that one copied to another row does not open.
//!
//! The key is the operator's (`secrets.key`). Without one, the deployment makes its own and keeps it in the database, which keeps
//! secrets out of dumps of single tables but not from whoever has the whole database; starting that way is said in the log.

use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use uuid::Uuid;

const VERSION: u8 = 1;
const NONCE: usize = 12;

/// Why a secret could not be sealed or opened. Says nothing about the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The key is not 32 bytes.
    #[error("the secrets key must be 32 bytes")]
    KeyLength,
    /// The cipher refused to seal.
    #[error("sealing a secret")]
    Seal,
    /// Another key, another row, or damaged bytes.
    #[error("opening a secret: it was sealed with another key or for another row")]
    Open,
}

/// The key that seals and opens.
pub struct SecretKey {
    seal: RandomizedNonceKey,
    mac: hmac::Key,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl SecretKey {
    /// A key of 32 bytes.
    ///
    /// # Errors
    /// When `bytes` are not 32.
    pub fn new(bytes: &[u8]) -> Result<SecretKey, SecretError> {
        let seal = RandomizedNonceKey::new(&AES_256_GCM, bytes).map_err(|_| SecretError::KeyLength)?;
        // One key for one purpose: what marks is derived from what seals.
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, bytes), b"taskyard mark");
        Ok(SecretKey { seal, mac: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()) })
    }

    /// 32 bytes nobody can guess.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn generate() -> Result<[u8; 32], SecretError> {
        let mut bytes = [0; 32];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| SecretError::Seal)?;
        Ok(bytes)
    }

    /// A mark over these parts that only this deployment can make.
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> Vec<u8> {
        let mut context = hmac::Context::with_key(&self.mac);
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.sign().as_ref().to_vec()
    }

    /// Seal `plain` for the row `row`.
    ///
    /// # Errors
    /// When the cipher fails.
    pub fn seal(&self, row: Uuid, plain: &str) -> Result<Vec<u8>, SecretError> {
        let mut text = plain.as_bytes().to_vec();
        let nonce =
            self.seal.seal_in_place_append_tag(Aad::from(row.as_bytes()), &mut text).map_err(|_| SecretError::Seal)?;
        let mut sealed = Vec::with_capacity(1 + NONCE + text.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(nonce.as_ref());
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// Open what was sealed for the row `row`.
    ///
    /// # Errors
    /// When it was sealed with another key, for another row, or is damaged.
    pub fn open(&self, row: Uuid, sealed: &[u8]) -> Result<String, SecretError> {
        let (version, rest) = sealed.split_first().ok_or(SecretError::Open)?;
        if *version != VERSION || rest.len() < NONCE {
            return Err(SecretError::Open);
        }
        let (nonce, text) = rest.split_at(NONCE);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SecretError::Open)?;
        let mut text = text.to_vec();
        let plain =
            self.seal.open_in_place(nonce, Aad::from(row.as_bytes()), &mut text).map_err(|_| SecretError::Open)?;
        String::from_utf8(plain.to_vec()).map_err(|_| SecretError::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_with_its_key_and_for_its_row() {
        let row = Uuid::from_u128(1);
        let key = SecretKey::new(&[7; 32]).unwrap();
        let sealed = key.seal(row, "hush").unwrap();
        assert_eq!(key.open(row, &sealed).unwrap(), "hush");
        assert_ne!(key.seal(row, "hush").unwrap(), sealed, "a nonce is never used twice");
        assert!(!sealed.windows(4).any(|w| w == b"hush"));
        assert_eq!(key.open(Uuid::from_u128(2), &sealed), Err(SecretError::Open));
        assert_eq!(SecretKey::new(&[8; 32]).unwrap().open(row, &sealed), Err(SecretError::Open));
        assert_eq!(key.open(row, &sealed[..5]), Err(SecretError::Open));
        assert_eq!(SecretKey::new(&[7; 16]).unwrap_err(), SecretError::KeyLength);
    }
}
