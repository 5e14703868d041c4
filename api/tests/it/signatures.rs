//! Signed cards, verified as a client would: with other code than the one that signs.

use std::sync::Arc;

use api::{Options, Signer, SigningKeyError};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::pkcs8::EncodePrivateKey as _;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use engine::{Extended, ExtendedCard};
use poem::{Endpoint, Response};
use serde_json::{Value, json};

use crate::cards::CARD;
use crate::client::{Answer, Platform, platform_with, settings};

const KEYS: &str = "/.well-known/jwks.json";

fn p256_pem() -> String {
    p256::SecretKey::from_slice(&[7; 32]).unwrap().to_sec1_pem(LineEnding::LF).unwrap().to_string()
}

fn p256_pkcs8() -> String {
    p256::SecretKey::from_slice(&[7; 32]).unwrap().to_pkcs8_pem(LineEnding::CRLF).unwrap().to_string()
}

fn ed25519_pem() -> String {
    ed25519_dalek::SigningKey::from_bytes(&[7; 32]).to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
}

async fn signing(pem: &str) -> Platform<impl Endpoint<Output = Response>> {
    let mut settings = settings();
    let card = &mut Arc::make_mut(settings.agents.get_mut("echo").unwrap()).card;
    card.description = "Größe, \u{1F600} and \"quotes\"".into();
    let params = json!({"b": 1e21, "a": [1, 2.50, true, null], "\u{10000}": {"deep": "x"}, "\u{e000}": -0.000001});
    card.extensions = vec![wire::AgentExtension {
        uri: "https://ext.example/v1".into(),
        params: params.as_object().cloned(),
        ..wire::AgentExtension::default()
    }];
    card.extended = Extended::Configured(ExtendedCard::default());
    let signer = Signer::from_pem(pem, "key-1").unwrap();
    let options = Options {
        public_url: Some("https://yard.example".into()),
        signer: Some(Arc::new(signer)),
        ..Options::default()
    };
    platform_with(settings, options).await
}

fn decode(value: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(value.as_str().unwrap()).unwrap()
}

/// Whether the card's one signature is good by the key that its header names.
fn verifies(card: &Value, keys: &Value) -> bool {
    let mut unsigned = card.clone();
    let signatures = unsigned.as_object_mut().unwrap().remove("signatures").unwrap();
    assert_eq!(signatures.as_array().unwrap().len(), 1, "{signatures}");
    let header: Value = serde_json::from_slice(&decode(&signatures[0]["protected"])).unwrap();
    assert_eq!((&header["typ"], &header["jku"]), (&json!("JOSE"), &json!(format!("https://yard.example{KEYS}"))));
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]).unwrap();
    assert_eq!((&key["alg"], &key["use"]), (&header["alg"], &json!("sig")));
    let payload = URL_SAFE_NO_PAD.encode(serde_json_canonicalizer::to_vec(&unsigned).unwrap());
    let input = format!("{}.{payload}", signatures[0]["protected"].as_str().unwrap());
    let signature = decode(&signatures[0]["signature"]);
    match header["alg"].as_str().unwrap() {
        "ES256" => {
            use p256::ecdsa::signature::Verifier as _;
            assert_eq!((&key["kty"], &key["crv"]), (&json!("EC"), &json!("P-256")));
            let point = [vec![4], decode(&key["x"]), decode(&key["y"])].concat();
            let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).unwrap();
            key.verify(input.as_bytes(), &p256::ecdsa::Signature::from_slice(&signature).unwrap()).is_ok()
        }
        "EdDSA" => {
            assert_eq!((&key["kty"], &key["crv"]), (&json!("OKP"), &json!("Ed25519")));
            let key = ed25519_dalek::VerifyingKey::from_bytes(&decode(&key["x"]).try_into().unwrap()).unwrap();
            let signature = ed25519_dalek::Signature::from_slice(&signature).unwrap();
            key.verify_strict(input.as_bytes(), &signature).is_ok()
        }
        other => panic!("{other}"),
    }
}

/// Whether an empty string, list or object stands anywhere: verifiers drop those before they verify.
fn is_hollow(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty() || items.iter().any(is_hollow),
        Value::Object(members) => members.is_empty() || members.values().any(is_hollow),
        _ => false,
    }
}

#[tokio::test]
async fn a_signed_card_is_verified_by_other_code() {
    for pem in [p256_pem(), p256_pkcs8(), ed25519_pem()] {
        let platform = signing(&pem).await;
        let keys = Answer::of(platform.client.get(KEYS)).await;
        assert_eq!((keys.status, keys.content_type.as_str()), (200, "application/json"));
        assert_eq!(keys.headers["access-control-allow-origin"], "*");
        let private = ["d", "p", "q", "k"].iter().any(|name| keys.body["keys"][0].get(name).is_some());
        assert!(!private, "{keys:?}");
        for path in [CARD, "/t/acme/agents/other/.well-known/agent-card.json"] {
            let got = platform.get(path).await;
            assert!(verifies(&got.body, &keys.body), "{got:?}");
            assert!(!is_hollow(&got.body), "{got:?}");
            let mut changed = got.body.clone();
            changed["supportedInterfaces"][0]["url"] = json!("https://evil.example");
            assert!(!verifies(&changed, &keys.body));
            let again = platform.get(path).await;
            assert_eq!(again.headers["etag"], got.headers["etag"]);
            let known = platform.client.get(path).header("A2A-Version", "1.0");
            let known = known.header("If-None-Match", got.headers["etag"].to_str().unwrap());
            assert_eq!(Answer::of(known).await.status, 304);
            // The document of both versions is signed over what 1.0 reads of it.
            let both = Answer::of(platform.client.get(path)).await;
            assert!(both.body["url"].is_string() && !verifies(&both.body, &keys.body));
            let read: wire::AgentCard = serde_json::from_value(both.body).unwrap();
            assert!(verifies(&serde_json::to_value(read).unwrap(), &keys.body));
        }
        let extended = platform.get("/extendedAgentCard").await;
        assert!(verifies(&extended.body, &keys.body), "{extended:?}");
        let called = platform.rpc("GetExtendedAgentCard", json!({})).await;
        assert!(verifies(&called.body["result"], &keys.body), "{called:?}");
        let old = Answer::of(platform.client.get("/v1/card")).await;
        let read: wire::AgentCard = serde_json::from_value(old.body).unwrap();
        assert!(verifies(&serde_json::to_value(read).unwrap(), &keys.body));
    }
}

#[tokio::test]
async fn without_a_key_there_are_no_signatures_and_no_keys() {
    let platform = crate::client::platform().await;
    let got = Answer::of(platform.client.get(CARD)).await;
    assert!(got.body.get("signatures").is_none());
    let keys = Answer::of(platform.client.get(KEYS)).await;
    assert_eq!((keys.status, keys.reason()), (404, "METHOD_NOT_FOUND"));
}

#[test]
fn what_is_no_key_signs_nothing() {
    let public = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n";
    for text in ["", "key", public, "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----"] {
        assert_eq!(Signer::from_pem(text, "k").unwrap_err(), SigningKeyError::NotPem, "{text}");
    }
    let other = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----";
    assert_eq!(Signer::from_pem(other, "k").unwrap_err(), SigningKeyError::NotSupported);
    let shown = format!("{:?}", Signer::from_pem(&p256_pem(), "k").unwrap());
    assert_eq!(shown, "Signer { id: \"k\", algorithm: \"ES256\", .. }");
}
