//! An `Idempotency-Key`: what makes a send safe to repeat. Of a worker's writes see `update_key.rs`; what a key may be and how it is bound
//! to a request is the same for both.

use serde::Serialize;
use uuid::Uuid;
use wire::{Error, SendMessageConfiguration, SendMessageRequest, Violation};

use super::send_message::{Sent, Tried};
use crate::change::from_text;
use crate::store::Write;
use crate::{Caller, Engine, database, store, unwritten};

/// An `Idempotency-Key` and what it was used with.
#[derive(Debug, Clone)]
pub(super) struct Key {
    /// The key as the client gave it.
    pub(super) text: String,
    /// Of the request it came with.
    pub(super) hash: String,
}

/// The header.
const HEADER: &str = "Idempotency-Key";
/// The longest key, in bytes.
const LENGTH: usize = 256;

/// Refuse what is no key.
///
/// # Errors
/// `InvalidParams` naming the header.
pub(super) fn check(text: &str) -> Result<(), Error> {
    if text.is_empty() || text.len() > LENGTH || text.chars().any(char::is_control) {
        return Err(Error::invalid(HEADER, format!("must be 1 to {LENGTH} bytes without control characters")));
    }
    Ok(())
}

/// What a key is bound to: the request in canonical JSON, however its members came.
pub(super) fn hash(request: &impl Serialize) -> Result<String, Error> {
    let canonical = canonical(&serde_json::to_value(request).map_err(Error::internal)?);
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, canonical.as_bytes());
    Ok(digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The refusal of a key that stands for another request.
pub(super) fn reused() -> Error {
    let violation = Violation::new(HEADER, "was used with another request").reason("IDEMPOTENCY_KEY_REUSED");
    Error::invalid_all(vec![violation])
}

impl Key {
    /// The hash is over the decoded request in canonical JSON without what may differ between two calls that mean the same: the message
    /// id, whether to wait, and the tenant, which may stand in the path.
    pub(super) fn of(text: String, request: &SendMessageRequest) -> Result<Key, Error> {
        check(&text)?;
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
        let hash = hash(&request)?;
        Ok(Key { text, hash })
    }
}

impl Engine {
    /// What the key stands for, if it is known. One that has expired, or whose message was never answered and is gone, is forgotten first:
    /// a row cannot be deleted and inserted anew in one statement.
    pub(super) async fn find_key(&self, caller: &Caller, key: &Key, now: i64) -> Result<Option<Tried>, Error> {
        let db = self.store().read();
        let known = store::send_key::read(db, &caller.tenant, &caller.agent.name, &key.text)
            .await
            .map_err(database("looking up an idempotency key"))?;
        let Some(known) = known else { return Ok(None) };
        let mut forget = Write::new();
        let oldest = now - self.settings().key_lifetime.as_millis() as i64;
        if known.created_at < oldest {
            forget.delete(store::send_key::delete_expired(&known, oldest));
        } else if known.body_hash != key.hash {
            return Err(reused());
        } else if let Some(answer) = &known.message {
            return Ok(Some(Tried::Message(from_text(answer)?)));
        } else if known.seq > 0 {
            return Ok(Some(Tried::Task(Sent { task: known.task_id, seq: known.seq }, None)));
        } else if let Some(found) = self.find_waiting(caller, known.task_id).await? {
            return Ok(Some(found));
        } else {
            let (tenant, agent) = (&known.tenant, &known.agent);
            forget.delete(store::send_key::delete_unanswered(tenant, agent, &known.key, known.task_id));
        }
        self.store().write(forget).await.map_err(unwritten("forgetting an idempotency key"))?;
        Ok(None)
    }

    /// The message that waits for a direct answer, or the task it has become.
    async fn find_waiting(&self, caller: &Caller, id: Uuid) -> Result<Option<Tried>, Error> {
        let doing = "looking for the message of an idempotency key";
        let db = self.store().read();
        if let Some(row) = store::waiting::read(db, &caller.tenant, id).await.map_err(database(doing))? {
            return Ok(Some(Tried::Waiting(Box::new(row))));
        }
        let task = store::task::read_for_write(db, &caller.tenant, &caller.agent.name, id).await;
        let task = task.map_err(database(doing))?;
        Ok(task.map(|_| Tried::Task(Sent { task: id, seq: 1 }, None)))
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
