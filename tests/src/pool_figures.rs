//! Whether a pool in trouble kept what is promised: what the clients were told, what the platform shows and stores, and what the proxy
//! saw the workers claim and write, held together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::pool::{Sent, Want};
use crate::receiver::is_terminal;
use crate::verdict::tell;
use crate::worker::number;
use crate::{Claim, Platform, Write};

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// Tasks sent.
    pub tasks: usize,
    /// Events stored.
    pub events: usize,
    /// Calls of workers.
    pub calls: usize,
    /// Those whose answer the proxy lost.
    pub lost_answers: usize,
    /// The longest that a client waited for its task.
    pub slowest: Duration,
    /// Leases handed out beyond a task's first.
    pub redeliveries: usize,
    /// Calls refused with `LEASE_LOST`.
    pub fenced: usize,
    /// How often each promise was broken.
    broken: BTreeMap<&'static str, usize>,
}

/// Every promise, by what breaks it.
const PROMISES: [&str; 14] =
    [LOST, DOUBLED, GIVEN_UP, STATE, ARTIFACT, LOG, TWO_ENDS, AFTER_END, GAPS, BACK, UNCLAIMED, ATTRIBUTED, LATE, LEFT];
const LOST: &str = "sends without their task";
const DOUBLED: &str = "tasks beyond the first of a send";
const GIVEN_UP: &str = "failed by the platform";
const STATE: &str = "tasks in a wrong state";
const ARTIFACT: &str = "artifacts with a chunk twice or missing";
const LOG: &str = "event logs with a chunk twice or missing";
const TWO_ENDS: &str = "tasks with two terminal events";
const AFTER_END: &str = "tasks with events after their end";
const GAPS: &str = "tasks with a gap in their generations";
const BACK: &str = "tasks whose epochs go back";
const UNCLAIMED: &str = "events of an epoch nobody claimed";
const ATTRIBUTED: &str = "accepted writes the log has otherwise";
const LATE: &str = "accepted writes of a lease taken over";
const LEFT: &str = "work rows left";

/// One stored event.
struct Event {
    epoch: Option<i64>,
    body: Value,
}

/// A task's events, by generation.
type Log = BTreeMap<i64, Event>;

impl PoolFigures {
    /// Every promise by what breaks it, with how often that happened.
    pub fn promises(&self) -> impl Iterator<Item = (&'static str, usize)> {
        PROMISES.into_iter().map(|promise| (promise, self.broken.get(promise).copied().unwrap_or_default()))
    }

    /// Whether every promise was kept.
    pub fn kept(&self) -> bool {
        self.broken.values().all(|broken| *broken == 0)
    }

    fn found(&mut self, promise: &'static str, broken: bool, case: impl FnOnce() -> String) {
        if broken {
            *self.broken.entry(promise).or_default() += tell(promise, case(), 1);
        }
    }

    /// Holds everything together. Each broken promise is told on stderr.
    ///
    /// # Panics
    /// When the platform cannot be asked, or has no proxy.
    pub async fn find(platform: &Platform, sent: &[Sent]) -> PoolFigures {
        let proxy = platform.proxy().expect("a pool stands behind a proxy");
        let mut figures = PoolFigures {
            tasks: sent.len(),
            slowest: sent.iter().map(|sent| sent.took).max().unwrap_or_default(),
            calls: proxy.calls(),
            lost_answers: proxy.lost(),
            fenced: proxy.witness().refusals().get("409 LEASE_LOST").copied().unwrap_or_default(),
            ..PoolFigures::default()
        };
        let mut made: HashMap<String, Vec<Value>> = HashMap::new();
        for task in platform.worker().all_tasks().await {
            made.entry(task["history"][0]["messageId"].as_str().unwrap_or_default().to_owned()).or_default().push(task);
        }
        let logs = logs(platform).await;
        figures.events = logs.values().map(Log::len).sum();
        for sent in sent {
            figures.task(sent, &made.remove(&sent.message).unwrap_or_default(), &logs);
        }
        figures.epochs(&logs, &proxy.witness().claims(), &proxy.witness().writes());
        for write in proxy.witness().late_writes() {
            figures.found(LATE, true, || format!("{write:?}"));
        }
        let left = platform.database().await.number("SELECT count(*) FROM work").await;
        figures.found(LEFT, left != 0, || format!("{left} rows"));
        figures
    }

    fn task(&mut self, sent: &Sent, tasks: &[Value], logs: &HashMap<String, Log>) {
        self.found(DOUBLED, tasks.len() > 1, || format!("{tasks:?}"));
        let told = match &sent.task {
            Ok(told) => told,
            Err(failure) => return self.found(LOST, true, || format!("{}: {failure:?}", sent.message)),
        };
        let Some(task) = tasks.iter().find(|task| task["id"] == told["id"]) else {
            return self.found(LOST, true, || told.to_string());
        };
        let by_platform = task["statusMessage"].to_string().contains("The platform failed this task");
        self.found(GIVEN_UP, by_platform, || task.to_string());
        let done = "TASK_STATE_COMPLETED";
        let wrong = !by_platform && (task["state"] != done || told["status"]["state"] != done);
        self.found(STATE, wrong, || format!("{task}, and the client was told {told}"));
        let fine = |task: &Value| is_wanted(&sent.want, &task["artifacts"]);
        self.found(ARTIFACT, !fine(task) || !fine(told), || format!("{task}, and the client was told {told}"));

        let none = Log::new();
        let log = logs.get(told["id"].as_str().unwrap_or_default()).unwrap_or(&none);
        let shown = || format!("{:?} of {task}", log.values().map(|event| &event.body).collect::<Vec<_>>());
        self.found(LOG, !is_wanted(&sent.want, &folded(log)), shown);
        let ends: Vec<i64> = log.iter().filter(|(_, event)| is_end(&event.body)).map(|(number, _)| *number).collect();
        self.found(TWO_ENDS, ends.len() > 1, shown);
        let last = log.keys().last().copied().unwrap_or_default();
        self.found(AFTER_END, ends.first().is_some_and(|end| *end < last), shown);
        self.found(GAPS, !log.keys().copied().eq(1..=number(&task["generation"])), shown);
    }

    /// What the log says of leases, against what was seen of them.
    fn epochs(&mut self, logs: &HashMap<String, Log>, claims: &[Claim], writes: &[Write]) {
        let claimed: HashSet<(&str, i64)> = claims.iter().map(|claim| (claim.task.as_str(), claim.epoch)).collect();
        self.redeliveries = claimed.iter().filter(|(_, epoch)| *epoch > 1).count();
        for (task, log) in logs {
            let epochs: Vec<i64> = log.values().filter_map(|event| event.epoch).collect();
            self.found(BACK, !epochs.is_sorted(), || format!("{task}: {epochs:?}"));
            for (generation, Event { epoch, body }) in log {
                // The start is written by the claim itself, whose answer nobody may have seen.
                let is_start = body["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING" && *generation == 2;
                let unknown = epoch.is_some_and(|epoch| !claimed.contains(&(task.as_str(), epoch)));
                self.found(UNCLAIMED, unknown && !is_start, || format!("{task}: {epoch:?} wrote {body}"));
            }
        }
        for write in writes {
            let event = logs.get(&write.task).and_then(|log| log.get(&write.generation));
            let other = event.and_then(|event| event.epoch) != Some(write.epoch);
            self.found(ATTRIBUTED, other, || {
                format!("{write:?}, and the log says {:?}", event.map(|event| event.epoch))
            });
        }
    }
}

fn is_end(event: &Value) -> bool {
    event["statusUpdate"]["status"]["state"].as_str().is_some_and(is_terminal)
}

/// Whether these are the artifacts that were wanted, part by part.
fn is_wanted(want: &Want, artifacts: &Value) -> bool {
    let parts: Vec<Value> = want.parts.iter().map(|text| json!({"text": text})).collect();
    let one = artifacts.as_array().filter(|artifacts| artifacts.len() == 1).map(|artifacts| &artifacts[0]);
    one.is_some_and(|one| one["artifactId"] == want.artifact && one["parts"] == Value::Array(parts))
}

/// The artifacts that a log adds up to.
fn folded(log: &Log) -> Value {
    let mut artifacts: Vec<Value> = Vec::new();
    for update in log.values().filter_map(|event| event.body.get("artifactUpdate")) {
        let artifact = &update["artifact"];
        match artifacts.iter_mut().find(|known| known["artifactId"] == artifact["artifactId"]) {
            None => artifacts.push(artifact.clone()),
            Some(known) if update["append"] == true => {
                let more = artifact["parts"].as_array().cloned().unwrap_or_default();
                known["parts"].as_array_mut().into_iter().for_each(|parts| parts.extend(more.iter().cloned()));
            }
            Some(known) => *known = artifact.clone(),
        }
    }
    Value::Array(artifacts)
}

/// Every stored event, by task and generation.
async fn logs(platform: &Platform) -> HashMap<String, Log> {
    let mut logs: HashMap<String, Log> = HashMap::new();
    for row in platform.database().await.rows("SELECT task_id, generation, epoch, body FROM task_event").await {
        let task: uuid::Uuid = row.try_get("", "task_id").expect("an event's task");
        let generation: i64 = row.try_get("", "generation").expect("an event's generation");
        let epoch: Option<i64> = row.try_get("", "epoch").expect("an event's epoch");
        let body: String = row.try_get("", "body").expect("an event's body");
        let body = serde_json::from_str(&body).expect("an event is JSON");
        logs.entry(task.to_string()).or_default().insert(generation, Event { epoch, body });
    }
    logs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: &[(Option<i64>, Value)]) -> Log {
        (1..).zip(events).map(|(number, (epoch, body))| (number, Event { epoch: *epoch, body: body.clone() })).collect()
    }

    fn chunk(text: &str, append: bool) -> Value {
        json!({"artifactUpdate": {"artifact": {"artifactId": "stream", "parts": [{"text": text}]}, "append": append}})
    }

    fn state(state: &str) -> Value {
        json!({"statusUpdate": {"status": {"state": state}}})
    }

    fn broken(log: Log, claims: &[i64], writes: &[(i64, i64)]) -> Vec<&'static str> {
        let mut figures = PoolFigures::default();
        let claims: Vec<Claim> = claims.iter().map(|epoch| Claim { task: "t".into(), epoch: *epoch, at: 0 }).collect();
        let writes: Vec<Write> =
            writes.iter().map(|&(generation, epoch)| Write { task: "t".into(), epoch, generation, began: 0 }).collect();
        figures.epochs(&HashMap::from([("t".to_owned(), log)]), &claims, &writes);
        figures.promises().filter(|(_, count)| *count > 0).map(|(promise, _)| promise).collect()
    }

    #[test]
    fn writes_of_old_leases_are_seen() {
        let events = |last| {
            log(&[
                (None, json!({"task": {}})),
                (Some(1), state("TASK_STATE_WORKING")),
                (Some(2), chunk("a", false)),
                (last, chunk("b", true)),
            ])
        };
        assert!(broken(events(Some(2)), &[2], &[(3, 2)]).is_empty(), "an unseen start is fine");
        assert_eq!(broken(events(Some(1)), &[1, 2], &[]), [BACK]);
        assert_eq!(broken(events(Some(3)), &[1, 2], &[]), [UNCLAIMED]);
        assert_eq!(broken(events(None), &[1, 2], &[(4, 2)]), [ATTRIBUTED]);
    }

    #[test]
    fn a_log_adds_up_to_its_artifacts() {
        let want = |parts: &[&str]| {
            let folded = folded(&log(&[
                (Some(1), chunk("a", false)),
                (Some(1), chunk("b", true)),
                (Some(2), chunk("a", false)),
                (Some(2), chunk("b", true)),
            ]));
            folded[0]["parts"] == json!(parts.iter().map(|text| json!({"text": text})).collect::<Vec<_>>())
        };
        assert!(want(&["a", "b"]));
        assert!(!want(&["a", "b", "b"]));
    }
}
