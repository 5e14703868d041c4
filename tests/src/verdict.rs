//! Whether the promises were kept: what the clients were told, what the platform holds and what the webhooks heard, held together.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::Value;

use crate::receiver::is_terminal;
use crate::worker::number;
use crate::{Answer, Hit, Platform, Receiver, said};

/// What was found. All but the last four must be 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Sends that never got an answer, or whose task the platform does not have.
    pub lost: usize,
    /// Tasks beyond the first of one send.
    pub doubled: usize,
    /// Tasks that are not Completed with what was sent as their artifact.
    pub wrong: usize,
    /// Tasks with two terminal events, at the webhook or in the store.
    pub two_ends: usize,
    /// Tasks whose stored events are not numbered 1, 2, 3, ... up to the task's generation.
    pub gaps: usize,
    /// Events a webhook never got.
    pub missing: usize,
    /// Notifications whose first arrival was after a later one's.
    pub out_of_order: usize,
    /// Notifications that were not what the event says, or lacked a header.
    pub spoiled: usize,
    /// Tries that a replica answered with 500.
    pub errors: usize,
    /// Tasks sent.
    pub tasks: usize,
    /// Events stored.
    pub events: usize,
    /// Notifications that came once more.
    pub duplicates: usize,
    /// Tries of clients that broke or were put off.
    pub retries: usize,
}

impl Figures {
    /// Every promise by what breaks it, with how often that happened.
    pub fn promises(&self) -> [(&'static str, usize); 9] {
        [
            ("lost", self.lost),
            ("doubled", self.doubled),
            ("not completed, or wrong artifact", self.wrong),
            ("two terminal events", self.two_ends),
            ("gaps in the stored events", self.gaps),
            ("webhook events missing", self.missing),
            ("webhook events out of order", self.out_of_order),
            ("webhook events spoiled", self.spoiled),
            ("answers 500", self.errors),
        ]
    }

    /// Whether every promise was kept.
    pub fn kept(&self) -> bool {
        self.promises().iter().all(|(_, broken)| *broken == 0)
    }

    /// Holds answers, store and webhooks together. Each broken promise's first case is told on stderr.
    ///
    /// # Panics
    /// When the platform cannot be asked.
    pub async fn find(platform: &Platform, receiver: &Receiver, answers: &[Answer]) -> Figures {
        let mut made: HashMap<String, Vec<Value>> = HashMap::new();
        for task in platform.worker().all_tasks().await {
            made.entry(said(&task["history"][0]).to_owned()).or_default().push(task);
        }
        let stored = stored_events(platform).await;
        let mut figures = Figures { tasks: answers.len(), ..Figures::default() };
        for answer in answers {
            figures.retries += answer.retries;
            figures.errors += answer.errors;
            let tasks = made.remove(&answer.name).unwrap_or_default();
            figures.doubled += tell("doubled", &answer.name, tasks.len().saturating_sub(1));
            let told = match &answer.task {
                Ok(task) => task,
                Err(failure) => {
                    figures.lost += tell("lost", format!("{}: {failure:?}", answer.name), 1);
                    continue;
                }
            };
            let Some(task) = tasks.iter().find(|task| task["id"] == told["id"]) else {
                figures.lost += tell("lost", told, 1);
                continue;
            };
            let fine = |task: &Value, state: &Value| {
                *state == "TASK_STATE_COMPLETED"
                    && task["artifacts"].as_array().is_some_and(|artifacts| artifacts.len() == 1)
                    && said(&task["artifacts"][0]) == answer.name
            };
            if !fine(told, &told["status"]["state"]) || !fine(task, &task["state"]) {
                figures.wrong += tell("wrong", task, 1);
            }
            let events = stored.get(told["id"].as_str().unwrap_or_default()).cloned().unwrap_or_default();
            figures.events += events.len();
            if !events.keys().copied().eq(1..=number(&task["generation"])) {
                figures.gaps += tell("gaps", format!("{:?} of {task}", events.keys()), 1);
            }
            figures.webhook(&answer.name, &events, &receiver.hits(&answer.name));
        }
        figures
    }

    fn webhook(&mut self, name: &str, events: &BTreeMap<i64, Value>, hits: &[Hit]) {
        let ends = |bodies: &mut dyn Iterator<Item = &Value>| bodies.filter(|body| ends(body)).count();
        let mut first: BTreeMap<i64, &Hit> = BTreeMap::new();
        let mut highest = 0;
        for hit in hits {
            if first.insert(hit.sequence, hit).is_some() {
                self.duplicates += 1;
            } else if hit.sequence < highest {
                self.out_of_order += tell("out of order", format!("{name}: {} after {highest}", hit.sequence), 1);
            }
            highest = highest.max(hit.sequence);
        }
        if ends(&mut events.values()) > 1 || ends(&mut first.values().map(|hit| &hit.body)) > 1 {
            self.two_ends += tell("two ends", name, 1);
        }
        for (generation, event) in events {
            // The config came with the task: its line and the task's events have the same numbers.
            match first.get(generation) {
                None => self.missing += tell("missing", format!("{name}: event {generation} of {}", events.len()), 1),
                Some(hit) if !faithful(hit, *generation, event) => {
                    self.spoiled += tell("spoiled", format!("{name}: {hit:?} for {event}"), 1);
                }
                Some(_) => {}
            }
        }
    }
}

/// Tells of a broken promise, at most a few times each, and hands the count on.
pub(crate) fn tell(promise: &str, case: impl fmt::Display, count: usize) -> usize {
    if count > 0 {
        let mut case = case.to_string();
        if case.len() > 2_000 {
            case = case.chars().take(2_000).collect();
        }
        eprintln!("{promise}: {case}");
    }
    count
}

fn ends(event: &Value) -> bool {
    let state = ["task", "statusUpdate"].iter().find_map(|member| event.get(member));
    state.and_then(|of| of["status"]["state"].as_str()).is_some_and(is_terminal)
}

/// Whether a notification is its event, with everything a receiver checks.
fn faithful(hit: &Hit, generation: i64, event: &Value) -> bool {
    let header = |name: &str| hit.headers.get(name).map(String::as_str);
    hit.generation == generation
        && hit.body == *event
        && header("content-type") == Some("application/a2a+json")
        && header("authorization") == Some("Bearer the-credentials")
        && header("x-a2a-notification-token") == Some("the-token")
        && header("a2a-notification-token") == Some("the-token")
}

/// Every stored event, by task and generation.
async fn stored_events(platform: &Platform) -> HashMap<String, BTreeMap<i64, Value>> {
    let database = platform.database().await;
    let mut stored: HashMap<String, BTreeMap<i64, Value>> = HashMap::new();
    for row in database.rows("SELECT task_id, generation, body FROM task_event").await {
        let task: uuid::Uuid = row.try_get("", "task_id").expect("an event's task");
        let generation: i64 = row.try_get("", "generation").expect("an event's generation");
        let body: String = row.try_get("", "body").expect("an event's body");
        let body = serde_json::from_str(&body).expect("an event is JSON");
        stored.entry(task.to_string()).or_default().insert(generation, body);
    }
    stored
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tasks, {} events", self.tasks, self.events)?;
        for (promise, broken) in self.promises() {
            write!(f, ", {broken} {promise}")?;
        }
        write!(f, "; {} duplicates, {} retries", self.duplicates, self.retries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(state: &str) -> Value {
        json!({"statusUpdate": {"status": {"state": state}}})
    }

    fn hit(sequence: i64, body: &Value) -> Hit {
        let headers = [
            ("content-type", "application/a2a+json"),
            ("authorization", "Bearer the-credentials"),
            ("x-a2a-notification-token", "the-token"),
            ("a2a-notification-token", "the-token"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Hit { generation: sequence, sequence, headers, body: body.clone(), answered: 200 }
    }

    /// What is found when the events 1 to 3 arrive so; 3 is the end.
    fn found(arrivals: &[i64], change: impl Fn(&mut Vec<Hit>)) -> Figures {
        let bodies = [event("TASK_STATE_SUBMITTED"), event("TASK_STATE_WORKING"), event("TASK_STATE_COMPLETED")];
        let events: BTreeMap<i64, Value> = (1..).zip(bodies.iter().cloned()).collect();
        let mut hits: Vec<Hit> = arrivals.iter().map(|n| hit(*n, &bodies[*n as usize - 1])).collect();
        change(&mut hits);
        let mut figures = Figures::default();
        figures.webhook("w", &events, &hits);
        figures
    }

    #[test]
    fn every_broken_promise_of_a_webhook_is_seen() {
        let fine = |_: &mut Vec<Hit>| {};
        assert_eq!(found(&[1, 2, 3], fine), Figures::default());
        assert_eq!(found(&[1, 2, 2, 1, 2, 3], fine), Figures { duplicates: 3, ..Figures::default() });
        assert_eq!(found(&[1, 3, 2], fine), Figures { out_of_order: 1, ..Figures::default() });
        assert_eq!(found(&[1, 2], fine), Figures { missing: 1, ..Figures::default() });
        let two_ends = found(&[1, 2, 3], |hits| hits.push(hit(4, &event("TASK_STATE_CANCELED"))));
        assert_eq!(two_ends, Figures { two_ends: 1, ..Figures::default() });
        let unsigned = found(&[1, 2, 3], |hits| {
            hits[1].headers.remove("authorization");
        });
        assert_eq!(unsigned, Figures { spoiled: 1, ..Figures::default() });
        let renumbered = found(&[1, 2, 3], |hits| hits[2].generation = 2);
        assert_eq!(renumbered, Figures { spoiled: 1, ..Figures::default() });
    }
}
