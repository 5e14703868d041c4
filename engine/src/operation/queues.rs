//! How long the queues are, for people and autoscalers.

use std::collections::BTreeMap;

use entity::{waiting_message, work};
use wire::Error;
use wire::worker::{ListQueuesResponse, QueueStats};

use crate::change::from_text;
use crate::store::{length, session};
use crate::{Engine, Worker, database};

/// A worker that was not heard of for so long, in milliseconds, does not count.
const SEEN: i64 = 60_000;

impl Engine {
    /// The queues of these agents (none: of every one that is this worker's business), by name.
    ///
    /// # Errors
    /// `InvalidParams` for an agent that is not configured or not this worker's.
    pub async fn queues(&self, worker: &Worker, agents: &[String]) -> Result<ListQueuesResponse, Error> {
        self.check_agents(worker, agents)?;
        let doing = "counting what waits in the queues";
        let named = |agent: &&String| worker.may(agent) && (agents.is_empty() || agents.contains(agent));
        let names: Vec<&str> = self.settings().agents.keys().filter(named).map(String::as_str).collect();
        let mut queues: BTreeMap<&str, QueueStats> = names
            .iter()
            .map(|name| (*name, QueueStats { agent: (*name).to_owned(), ..QueueStats::default() }))
            .collect();
        if names.is_empty() {
            return Ok(ListQueuesResponse::default());
        }
        let (db, now) = (self.store().read(), self.clock().now());
        let mut lengths = length::of_agents::<work::Model, _>(db, &names, now).await.map_err(database(doing))?;
        let direct = self.settings().agents.values().filter(|agent| agent.direct.is_some());
        let direct: Vec<&str> = direct.map(|agent| agent.name.as_str()).filter(|name| names.contains(name)).collect();
        if !direct.is_empty() {
            lengths.extend(
                length::of_agents::<waiting_message::Model, _>(db, &direct, now).await.map_err(database(doing))?,
            );
        }
        for length in lengths {
            let Some(queue) = queues.get_mut(length.agent.as_str()) else { continue };
            queue.ready += length.ready;
            queue.delayed += length.delayed;
            queue.in_flight += length.in_flight;
            queue.waiting += length.waiting;
            let oldest = length.oldest.map_or(0.0, |due| (now - due).max(0) as f64 / 1_000.0);
            queue.oldest_seconds = queue.oldest_seconds.max(oldest);
        }
        for agents in session::agents_of_seen(db, now - SEEN).await.map_err(database(doing))? {
            for agent in from_text::<Vec<String>>(&agents)? {
                if let Some(queue) = queues.get_mut(agent.as_str()) {
                    queue.workers += 1;
                }
            }
        }
        Ok(ListQueuesResponse { queues: queues.into_values().collect() })
    }
}
