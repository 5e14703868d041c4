//! Signatures of cards (A2A §8.4): a JWS with a detached payload, and the public key as a JWK.

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use wire::{AgentCardSignature, Error};

/// The key that cards are signed with.
pub struct Signer {
    id: String,
    pair: Pair,
}

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Why a key cannot sign cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningKeyError {
    /// Not a PEM document with a private key.
    NotPem,
    /// A private key, but neither of EC P-256 nor of Ed25519.
    NotSupported,
}

impl fmt::Display for SigningKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SigningKeyError::NotPem => "this is no PEM document with an unencrypted private key",
            SigningKeyError::NotSupported => "the key is neither one of EC P-256 nor one of Ed25519",
        })
    }
}

impl std::error::Error for SigningKeyError {}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("id", &self.id).field("algorithm", &self.algorithm()).finish_non_exhaustive()
    }
}

impl Signer {
    /// A signer with the private key in `pem` (PKCS #8, or SEC 1 for EC), which verifiers know as `id`.
    ///
    /// # Errors
    /// There is no such key in it.
    pub fn from_pem(pem: &str, id: impl Into<String>) -> Result<Signer, SigningKeyError> {
        let key = private_key(pem).ok_or(SigningKeyError::NotPem)?;
        let p256 = || EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, &key).map(Pair::P256);
        let pair = Ed25519KeyPair::from_pkcs8(&key).map(Pair::Ed25519).or_else(|_| p256());
        Ok(Signer { id: id.into(), pair: pair.map_err(|_| SigningKeyError::NotSupported)? })
    }

    /// The signature over `payload`; `keys` is where its public key is found.
    pub(super) fn sign(&self, payload: &[u8], keys: &str) -> Result<AgentCardSignature, Error> {
        let header = json!({"alg": self.algorithm(), "typ": "JOSE", "kid": self.id, "jku": keys});
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload));
        let signature = match &self.pair {
            Pair::P256(pair) => pair
                .sign(&SystemRandom::new(), input.as_bytes())
                .map_err(|_| Error::internal("signing a card failed"))?
                .as_ref()
                .to_vec(),
            Pair::Ed25519(pair) => pair.sign(input.as_bytes()).as_ref().to_vec(),
        };
        Ok(AgentCardSignature { protected, signature: URL_SAFE_NO_PAD.encode(signature), header: None })
    }

    /// The public key as a JWK (RFC 7517, RFC 8037).
    pub(super) fn jwk(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match &self.pair {
            Pair::P256(pair) => {
                // 0x04, then both coordinates.
                let point = pair.public_key().as_ref();
                let (x, y) = point.get(1..).unwrap_or_default().split_at((point.len() - 1) / 2);
                json!({"kty": "EC", "crv": "P-256", "x": text(x), "y": text(y)})
            }
            Pair::Ed25519(pair) => json!({"kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref())}),
        };
        key["kid"] = json!(self.id);
        key["alg"] = json!(self.algorithm());
        key["use"] = json!("sig");
        key
    }

    /// What tells this key's answers from another's.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::P256(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
        }
    }
}

/// The first private key of a PEM document, in DER. `openssl ecparam -genkey` writes parameters before it.
fn private_key(pem: &str) -> Option<Vec<u8>> {
    ["PRIVATE KEY", "EC PRIVATE KEY"].iter().find_map(|label| {
        let (_, after) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
        let (body, _) = after.split_once(&format!("-----END {label}-----"))?;
        let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        STANDARD.decode(body).ok()
    })
}
