//! A worker introduces itself and is told the times to keep.

use wire::Error;
use wire::worker::{POLL_MAX, SessionRequest, SessionResponse};

use crate::{Engine, Worker};

impl Engine {
    /// A session for a worker of these agents: heartbeats come three times a lease, the shortest of its agents'.
    ///
    /// # Errors
    /// `InvalidParams` for an agent that is not configured or not the worker's.
    pub fn open_session(&self, worker: &Worker, request: &SessionRequest) -> Result<SessionResponse, Error> {
        wire::validate(request)?;
        self.check_agents(worker, &request.agents)?;
        let leases =
            request.agents.iter().filter_map(|agent| self.settings().agents.get(agent)).map(|agent| agent.lease);
        let lease = leases.min().unwrap_or_default();
        Ok(SessionResponse {
            session: self.ids().next().to_string(),
            heartbeat_seconds: lease.as_secs_f64() / 3.0,
            lease_seconds: lease.as_secs_f64(),
            poll_seconds: self.settings().poll_wait.as_secs_f64(),
            max_leases: POLL_MAX,
        })
    }
}
