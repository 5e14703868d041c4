//! Answers that hold leases, read lease by lease.
//!
//! One poll brings the tasks of many clients. What cannot be read of one of them must not keep the others from being
//! worked on, so the answer is taken apart without a look into its elements, and each is read by itself.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use wire::worker::HeldLease;

use crate::client::LeaseKey;

/// What the platform answered of several leases.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// What could be read, in order.
    pub leases: Vec<T>,
    /// What could not.
    pub unreadable: Vec<Unreadable>,
    /// Whether the platform asks to take no more work: the session is drained.
    pub drain: bool,
}

/// An element of an answer that this worker cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The lease it is about, where at least that could be read. The epoch is 0 where the answer has none.
    pub key: Option<LeaseKey>,
    /// The task it is about; empty where unknown.
    pub task: String,
    /// What is wrong with it. It quotes nothing of the answer.
    pub error: String,
}

impl<T> Answer<T> {
    /// Whether the answer holds nothing at all.
    pub fn is_empty(&self) -> bool {
        self.leases.is_empty() && self.unreadable.is_empty()
    }
}

impl<T: DeserializeOwned> Answer<T> {
    /// Takes an answer apart. Fails only for what is no answer of leases at all.
    pub(crate) fn read(body: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Leases<'a> {
            #[serde(borrow, default)]
            leases: Option<Vec<&'a RawValue>>,
            #[serde(default)]
            drain: Option<bool>,
        }
        let whole: Leases<'_> = serde_json::from_slice(body)?;
        let drain = whole.drain.unwrap_or_default();
        let mut answer = Self { leases: Vec::new(), unreadable: Vec::new(), drain };
        for element in whole.leases.unwrap_or_default() {
            match wire::parse(element.get().as_bytes()) {
                Ok(lease) => answer.leases.push(lease),
                Err(error) => answer.unreadable.push(Unreadable::new(element.get(), error.message)),
            }
        }
        Ok(answer)
    }
}

impl Unreadable {
    fn new(element: &str, error: String) -> Self {
        #[derive(Deserialize)]
        struct Lease {
            task: Task,
        }
        #[derive(Deserialize)]
        struct Task {
            id: String,
        }
        let held: Option<HeldLease> = wire::parse(element.as_bytes()).ok();
        let key = held.filter(|held| !held.lease.is_empty());
        let key = key.map(|held| LeaseKey { lease: held.lease, epoch: held.epoch });
        let task = serde_json::from_str::<Lease>(element).map(|lease| lease.task.id).unwrap_or_default();
        Self { key, task, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::worker::Lease;

    #[test]
    fn each_lease_is_read_by_itself() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let part = |data: &str| format!(r#"{{"id":"t","history":[{{"parts":[{{"data":{data}}}]}}]}}"#);
        let lease = |task: &str| format!(r#"{{"lease":"l","epoch":7,"task":{task}}}"#);
        let leases = [
            lease(&part("1")),
            lease(&part(&deep)),
            lease(r#"{"id":"u","status":"s3cret"}"#),
            lease("5"),
            r#"{"lease":5}"#.to_owned(),
            deep.clone(),
            lease(&part("[2]")),
        ];
        let answer = Answer::<Lease>::read(format!(r#"{{"leases":[{}]}}"#, leases.join(",")).as_bytes()).unwrap();
        assert_eq!(answer.leases.len(), 2);
        let named: Vec<_> = answer.unreadable.iter().map(|one| (one.key.is_some(), one.task.as_str())).collect();
        assert_eq!(named, [(true, "t"), (true, "u"), (true, ""), (false, ""), (false, "")]);
        assert_eq!(answer.unreadable[0].key, Some(LeaseKey { lease: "l".to_owned(), epoch: 7 }));
        let error = &answer.unreadable[1].error;
        assert!(error.contains("task.status") && !error.contains("s3cret"), "{error}");
    }

    #[test]
    fn no_leases_are_no_fault_and_no_answer_is() {
        for none in ["{}", r#"{"leases":null}"#, r#"{"leases":[],"other":1}"#] {
            assert!(Answer::<Lease>::read(none.as_bytes()).unwrap().is_empty(), "{none}");
        }
        for wrong in ["", "5", r#"{"leases":5}"#, r#"{"leases":[{]}"#] {
            assert!(Answer::<Lease>::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
