//! A worker asks for work and waits for it.

use std::time::Duration;

use wire::Error;
use wire::worker::{PollRequest, PollResponse};

use crate::queue::Poll;
use crate::sessions::Present;
use crate::{Engine, Worker};

impl Engine {
    /// Up to `max` leases of the named agents, as soon as there is one, or none once `waitSeconds` are over. A session that drains gets
    /// none and is told so at once; a replica that ends answers its polls too, and says nothing of the kind: others go on.
    ///
    /// # Errors
    /// `InvalidParams`, also for an agent that is not configured or not this worker's, and for what is no session of its own.
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
        let mut present = self.present(worker, &request.session, Some(&agents)).await?;
        if present.as_ref().is_some_and(Present::is_draining) {
            return Ok(PollResponse { leases: Vec::new(), drain: true });
        }
        let poll = Poll {
            agents,
            max: request.max.unwrap_or(1).max(1) as usize,
            start: request.start,
            worker: present.as_ref().map(|present| present.id.to_string()),
        };
        let mut waiting = self.wait_for_work(poll);
        let drained = async {
            match &mut present {
                Some(present) => present.drained().await,
                None => std::future::pending().await,
            }
        };
        let come = tokio::select! {
            // What has come at the same moment goes back with the place.
            () = drained => return Ok(PollResponse { leases: Vec::new(), drain: true }),
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
