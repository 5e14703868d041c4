//! A worker asks for work and waits for it.

use std::time::Duration;

use wire::Error;
use wire::worker::{PollRequest, PollResponse};

use crate::queue::Poll;
use crate::{Engine, Worker};

impl Engine {
    /// Up to `max` leases of the named agents, as soon as there is one, or none once `waitSeconds` are over.
    ///
    /// # Errors
    /// `InvalidParams`, also for an agent that is not configured or not this worker's.
    pub async fn poll(&self, worker: &Worker, request: PollRequest) -> Result<PollResponse, Error> {
        wire::validate(&request)?;
        self.check_agents(worker, &request.agents)?;
        let most = self.settings().poll_wait;
        let wait = match request.wait_seconds {
            Some(seconds) if seconds > most.as_secs_f64() => {
                let most = most.as_secs();
                return Err(Error::invalid("waitSeconds", format!("must be at most {most}")));
            }
            Some(seconds) => Duration::from_secs_f64(seconds),
            None => most,
        };
        let mut agents = request.agents;
        agents.sort_unstable();
        agents.dedup();
        let poll = Poll {
            agents,
            max: request.max.unwrap_or(1).max(1) as usize,
            start: request.start,
            worker: Some(request.session).filter(|session| !session.is_empty()),
        };
        let mut waiting = self.wait_for_work(poll);
        let come = tokio::select! {
            leases = waiting.leases() => Some(leases),
            () = tokio::time::sleep(wait) => None,
            () = self.closed() => Some(waiting.last_look()),
        };
        let leases = match come {
            Some(leases) => leases,
            None => {
                waiting.looked().await;
                waiting.last_look()
            }
        };
        Ok(PollResponse { leases, drain: false })
    }
}
