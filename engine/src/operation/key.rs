//! An `Idempotency-Key`: what makes a send safe to repeat.

use wire::{Error, SendMessageConfiguration, SendMessageRequest};

/// An `Idempotency-Key` and what it was used with.
#[derive(Debug, Clone)]
pub(super) struct Key {
    /// The key as the client gave it.
    pub(super) text: String,
    /// Of the request it came with.
    pub(super) hash: String,
}

impl Key {
    /// The longest key, in bytes.
    const LENGTH: usize = 256;

    /// The hash is over the decoded request in canonical JSON without what may differ between two calls that mean the same: the message
    /// id, whether to wait, and the tenant, which may stand in the path.
    pub(super) fn of(text: String, request: &SendMessageRequest) -> Result<Key, Error> {
        if text.is_empty() || text.len() > Key::LENGTH || text.chars().any(char::is_control) {
            return Err(Error::invalid(
                "Idempotency-Key",
                format!("must be 1 to {} bytes without control characters", Key::LENGTH),
            ));
        }
        let mut request = request.clone();
        request.tenant.clear();
        if let Some(message) = &mut request.message {
            message.message_id.clear();
        }
        if let Some(configuration) = &mut request.configuration {
            configuration.return_immediately = false;
        }
        if request.configuration == Some(SendMessageConfiguration::default()) {
            request.configuration = None;
        }
        let canonical = canonical(&serde_json::to_value(&request).map_err(Error::internal)?);
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, canonical.as_bytes());
        let hash = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Key { text, hash })
    }
}

/// JSON with its members in order, whatever order a map keeps.
fn canonical(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            let each =
                sorted.into_iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wire::Content;

    fn hash(body: serde_json::Value) -> String {
        Key::of("k".into(), &serde_json::from_value(body).unwrap()).unwrap().hash
    }

    #[test]
    fn a_key_is_bound_to_what_a_request_means() {
        let one = json!({"message": {"messageId": "a", "role": "ROLE_USER", "parts": [{"text": "hi"}], "metadata": {"x": 1, "y": 2}}});
        let same = json!({"tenant": "acme", "configuration": {"returnImmediately": true},
            "message": {"message_id": "b", "metadata": {"y": 2, "x": 1}, "parts": [{"text": "hi"}], "role": 1}});
        let other = json!({"message": {"messageId": "a", "role": "ROLE_USER", "parts": [{"text": "ho"}], "metadata": {"x": 1, "y": 2}}});
        assert_eq!(hash(one.clone()), hash(same));
        assert_ne!(hash(one), hash(other));
    }

    #[test]
    fn a_key_is_a_short_printable_text() {
        let request = SendMessageRequest::default();
        assert!(Key::of(String::new(), &request).is_err());
        assert!(Key::of("a\nb".into(), &request).is_err());
        assert!(Key::of("k".repeat(257), &request).is_err());
        assert!(Key::of("k".repeat(256), &request).is_ok());
    }

    #[test]
    fn text_and_content_survive_the_canonical_form() {
        let part = wire::Part::new(Content::Data(json!(null)));
        assert_eq!(canonical(&serde_json::to_value(part).unwrap()), r#"{"data":null}"#);
    }
}
