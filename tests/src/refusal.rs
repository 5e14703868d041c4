//! An error answer of any surface, taken apart.

use serde_json::Value;

/// What a refused call says.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub http: u16,
    /// `error.code`: the HTTP status over HTTP+JSON, a JSON-RPC code over JSON-RPC.
    pub code: i64,
    /// `ErrorInfo.reason`.
    pub reason: String,
    /// `error.message`.
    pub message: String,
    /// `ErrorInfo.metadata`.
    pub metadata: Value,
    /// The fields of `BadRequest`, each with its reason if it has one.
    pub fields: Vec<(String, Option<String>)>,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
}

impl Refusal {
    /// Of an answer's `error` member.
    pub(crate) fn read(http: u16, retry_after: Option<String>, error: &Value) -> Refusal {
        let details = error.get("details").or(error.get("data")).and_then(Value::as_array).cloned().unwrap_or_default();
        let of = |kind: &str| {
            let is = |detail: &&Value| detail["@type"].as_str().is_some_and(|name| name.ends_with(kind));
            details.iter().find(is).cloned().unwrap_or_default()
        };
        let info = of("google.rpc.ErrorInfo");
        let fields = of("google.rpc.BadRequest")["fieldViolations"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Refusal {
            http,
            code: error["code"].as_i64().unwrap_or_default(),
            reason: text(&info["reason"]),
            message: text(&error["message"]),
            metadata: info["metadata"].clone(),
            fields: fields
                .iter()
                .map(|field| (text(&field["field"]), field["reason"].as_str().map(str::to_owned)))
                .collect(),
            retry_after,
        }
    }

    /// Whether the same call may succeed a little later.
    pub fn is_passing(&self) -> bool {
        self.http == 503 || self.reason == "UNAVAILABLE"
    }
}
