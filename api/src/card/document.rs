//! Cards and keys in the OpenAPI document. They stand below a base and not below `/{tenant}`, and take no service parameters, so they are
//! not declared with the operations.

use serde_json::{Value, json};

use super::location::{AGENT_CARD, KEYS};
use crate::answer::{A2A_JSON, JSON};
use crate::failure::{CLIENTS, FAILED, OURS, REFUSED};
use crate::version::HEADER;

/// The paths, each with what it answers.
pub(crate) fn paths() -> [(&'static str, Value); 2] {
    let mut card = get(
        "GetAgentCard",
        "The agent's card: what it does, what it can be asked for, and where.",
        "Also under `/agents/{agent}`, `/t/{tenant}` and `/t/{tenant}/agents/{agent}`. Signed when a key is configured. To clients that do \
         not say that they speak 1.0 it also says what clients of 0.3 read; its signature is over the members of 1.0.",
        &json!({"$ref": "#/components/schemas/AgentCard"}),
    );
    let keys = get(
        "GetSigningKeys",
        "The public keys that cards are signed with (RFC 7517).",
        "404 when cards are not signed.",
        &json!({"$ref": "#/components/schemas/JsonWebKeySet"}),
    );
    if let Some(parameters) = card["get"]["parameters"].as_array_mut() {
        parameters.push(version());
    }
    card["get"]["responses"]["200"]["headers"]["Vary"] =
        json!({"description": "What it differs by.", "schema": {"type": "string"}});
    [(AGENT_CARD, card), (KEYS, keys)]
}

/// The schemas that no message of the protocol has, each with its name.
pub(crate) fn schemas() -> [(&'static str, Value); 2] {
    let text = |about: &str| json!({"type": "string", "description": about});
    let keys = json!({
        "description": "Public keys (RFC 7517).",
        "type": "object",
        "required": ["keys"],
        "properties": {"keys": {"type": "array", "items": {"$ref": "#/components/schemas/JsonWebKey"}}},
    });
    let key = json!({
        "description": "A public key (RFC 7517).",
        "type": "object",
        "required": ["kty", "crv", "x", "kid", "alg", "use"],
        "properties": {
            "kty": text("`EC` or `OKP`."),
            "crv": text("`P-256` or `Ed25519`."),
            "x": text("The key, or the point's first coordinate, base64url."),
            "y": text("The point's second coordinate, base64url; `EC` alone has it."),
            "kid": text("What signatures call the key."),
            "alg": text("`ES256` or `EdDSA`."),
            "use": text("`sig`."),
        },
    });
    [("JsonWebKeySet", keys), ("JsonWebKey", key)]
}

/// The service parameter that a card differs by.
fn version() -> Value {
    json!({
        "name": HEADER, "in": "header", "required": false,
        "description": "With `1.0` the card says what clients of 1.0 read and nothing else.",
        "schema": {"type": "string"},
    })
}

fn get(id: &str, summary: &str, description: &str, schema: &Value) -> Value {
    let validator = |name: &str, description: &str| json!({"name": name, "in": "header", "required": false, "description": description, "schema": {"type": "string"}});
    let header = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let headers = json!({
        "Cache-Control": header("`public` and how long it may be kept."),
        "ETag": header("What this version of it is called."),
        "Last-Modified": header("When it last could have changed."),
    });
    let error = json!({"schema": {"$ref": "#/components/schemas/ErrorResponse"}});
    let error = json!({A2A_JSON: error, JSON: error});
    json!({
        "servers": [{"url": "/"}],
        "get": {
            "operationId": id,
            "summary": summary,
            "description": description,
            "parameters": [
                validator("If-None-Match", "The `ETag` of the copy at hand: 304 when it is still right."),
                validator("If-Modified-Since", "The `Last-Modified` of the copy at hand; counts without `If-None-Match`."),
            ],
            "responses": {
                "200": {"description": "OK", "headers": headers, "content": {JSON: {"schema": schema}}},
                "304": {"description": "The copy at hand is still right."},
                CLIENTS: {"description": REFUSED, "content": error},
                OURS: {"description": FAILED, "content": error},
            },
        },
    })
}
