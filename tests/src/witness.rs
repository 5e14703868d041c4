//! What a proxy saw of the workers' calls: who claimed which task, and whose writes were accepted, in one order. It knows nothing of the
//! platform but what went by, so that what the platform says of itself can be held against it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::worker::number;

/// A task and an epoch of it.
type Turn = (String, i64);

/// One call of a worker, as it began.
#[derive(Debug)]
pub(crate) struct Call {
    began: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Poll,
    Write(Turn),
    Other,
}

/// A lease in the answer of a poll, whether or not that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Of which task.
    pub task: String,
    /// The fencing number.
    pub epoch: i64,
    /// When it was seen.
    pub at: u64,
}

/// A write that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// To which task.
    pub task: String,
    /// The epoch it named.
    pub epoch: i64,
    /// The task's last event after it.
    pub generation: i64,
    /// When the call began; of one that was repeated under its key, the first.
    pub began: u64,
}

#[derive(Debug, Default)]
struct Book {
    now: u64,
    keyed: HashMap<(Turn, String), u64>,
    claims: Vec<Claim>,
    writes: Vec<Write>,
    refusals: BTreeMap<String, usize>,
}

/// The witness.
#[derive(Debug, Default)]
pub struct Witness(Mutex<Book>);

impl Witness {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins.
    pub(crate) fn begin(&self, path: &str, headers: &HeaderMap) -> Call {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let epoch = header("taskyard-epoch").and_then(|epoch| epoch.parse().ok());
        let task = path.split_once("/tasks/").and_then(|(_, rest)| rest.split_once(':')).map(|(task, _)| task);
        let mut book = self.book();
        book.now += 1;
        let now = book.now;
        let Some(turn) = task.map(str::to_owned).zip(epoch) else {
            let kind = if path.ends_with("/leases:poll") { Kind::Poll } else { Kind::Other };
            return Call { began: now, kind };
        };
        let key = header("idempotency-key").map(|key| (turn.clone(), key.to_owned()));
        let began = key.map_or(now, |key| *book.keyed.entry(key).or_insert(now));
        Call { began, kind: Kind::Write(turn) }
    }

    /// It was answered.
    pub(crate) fn end(&self, call: Call, status: u16, body: &[u8]) {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut book = self.book();
        book.now += 1;
        let now = book.now;
        if status >= 300 {
            let details = body["error"]["details"].as_array();
            let reason = details.and_then(|details| details.iter().find_map(|detail| detail["reason"].as_str()));
            *book.refusals.entry(format!("{status} {}", reason.unwrap_or("without a reason"))).or_default() += 1;
            return;
        }
        match call.kind {
            Kind::Poll => {
                let leases = body["leases"].as_array().cloned().unwrap_or_default();
                book.claims.extend(leases.iter().map(|lease| Claim {
                    task: lease["task"]["id"].as_str().unwrap_or_default().to_owned(),
                    epoch: number(&lease["epoch"]),
                    at: now,
                }));
            }
            Kind::Write((task, epoch)) if body.get("generation").is_some() => {
                book.writes.push(Write { task, epoch, generation: number(&body["generation"]), began: call.began });
            }
            Kind::Write(_) | Kind::Other => {}
        }
    }

    /// Every claim so far.
    pub fn claims(&self) -> Vec<Claim> {
        self.book().claims.clone()
    }

    /// Every accepted write so far.
    pub fn writes(&self) -> Vec<Write> {
        self.book().writes.clone()
    }

    /// How often calls were refused, by status and reason.
    pub fn refusals(&self) -> BTreeMap<String, usize> {
        self.book().refusals.clone()
    }

    /// Accepted writes of a lease that, before the call began, had been seen to be followed by another.
    pub fn late_writes(&self) -> Vec<Write> {
        let book = self.book();
        let mut claims: HashMap<&str, Vec<&Claim>> = HashMap::new();
        for claim in &book.claims {
            claims.entry(&claim.task).or_default().push(claim);
        }
        let late = |write: &&Write| {
            let claims = claims.get(write.task.as_str());
            claims.is_some_and(|claims| claims.iter().any(|claim| claim.epoch > write.epoch && claim.at < write.began))
        };
        book.writes.iter().filter(late).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(witness: &Witness, epoch: i64) {
        let call = witness.begin("/worker/v1/leases:poll", &HeaderMap::new());
        let body = format!(r#"{{"leases": [{{"epoch": {epoch}, "task": {{"id": "t"}}}}]}}"#);
        witness.end(call, 200, body.as_bytes());
    }

    fn begin(witness: &Witness, epoch: i64, key: Option<&'static str>) -> Call {
        let mut headers = HeaderMap::new();
        headers.insert("taskyard-epoch", epoch.into());
        key.map(|key| headers.insert("idempotency-key", reqwest::header::HeaderValue::from_static(key)));
        witness.begin("/worker/v1/tasks/t:apply", &headers)
    }

    #[test]
    fn only_what_began_after_the_next_claim_is_late() {
        let witness = Witness::default();
        poll(&witness, 1);
        let (under_way, keyed) = (begin(&witness, 1, None), begin(&witness, 1, Some("k")));
        poll(&witness, 2);
        let late = begin(&witness, 1, None);
        let refused = begin(&witness, 1, None);
        let repeated = begin(&witness, 1, Some("k"));
        for call in [under_way, keyed, repeated, begin(&witness, 2, None), late] {
            witness.end(call, 200, br#"{"generation": 3}"#);
        }
        witness.end(refused, 409, br#"{"error": {"details": [{"reason": "LEASE_LOST"}]}}"#);
        let late = witness.late_writes();
        assert_eq!(late.len(), 1, "{late:?}");
        assert_eq!((witness.claims().len(), witness.writes().len()), (2, 5));
        assert_eq!(witness.refusals()["409 LEASE_LOST"], 1);
    }
}
