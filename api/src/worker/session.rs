//! Sessions: a worker introduces itself, hears what concerns it, and is sent home; and the queues they work on.

use poem_openapi::OpenApi;
use wire::Error;
use wire::worker::{DrainRequest, DrainResponse, ListQueuesResponse, SessionRequest, SessionResponse};

use crate::answer::{Reply, answer as reply};
use crate::body::{Body, MaybeBody};
use crate::call::{Call, Path};
use crate::failure::Failure;
use crate::query::Asked;
use crate::sse::Control;

/// The operations, as the document has them.
pub(crate) struct Sessions;

#[OpenApi]
impl Sessions {
    /// Introduce a worker and learn the times to keep.
    ///
    /// Polls and heartbeats that name the session keep it: it counts as a worker as long as it is heard of, and is forgotten after a day.
    #[oai(path = "/sessions", method = "post", operation_id = "OpenSession")]
    async fn open_session(&self, call: &Call, body: Body<SessionRequest>) -> Reply<SessionResponse> {
        reply(&call.engine.open_session(&call.worker, &body.0).await?)
    }

    /// Give a session no more work, on any replica: its polls answer at once with `drain`, its heartbeats and its control stream say so.
    ///
    /// With `release` everything it holds is ready for others at once. A replica that does not hear of it may lease something to the
    /// session for five seconds more.
    #[oai(path = "/sessions/:session/@drain", method = "post", operation_id = "DrainSession")]
    async fn drain(
        &self,
        call: &Call,
        /** The session. */
        session: Path,
        body: MaybeBody<DrainRequest>,
    ) -> Reply<DrainResponse> {
        reply(&call.engine.drain_session(&call.worker, &session.0, body.0).await?)
    }

    /// Listen for what concerns a session: that the client canceled a task it holds or wrote to it, that it lost a lease, that it is to
    /// stop.
    ///
    /// Events are named `cancel`, `message`, `lost` and `drain`. They say nothing that heartbeats do not say, only sooner; after
    /// `message` a heartbeat brings what was written. What happens while nobody listens is not told here: send a heartbeat after each
    /// connect. A stream that ends is to be opened again; one that is not read ends, and so does the oldest of more than four.
    #[oai(path = "/sessions/:session/control", method = "get", operation_id = "ControlSession")]
    async fn control(
        &self,
        call: &Call,
        /** The session. */
        session: Path,
    ) -> Result<Control, Failure> {
        let events = call.engine.control(&call.worker, &session.0).await?;
        Ok(Control::of(events, call.keep_alive))
    }

    /// How long the queues of the worker's agents are and who works on them, as an autoscaler wants to know it.
    #[oai(path = "/queues", method = "get", operation_id = "ListQueues")]
    async fn queues(
        &self,
        call: &Call,
        /** Only of this agent. */
        agent: Asked<String>,
    ) -> Reply<ListQueuesResponse> {
        let agents: Vec<String> = agent.0.into_iter().collect();
        let queues = call.engine.queues(&call.worker, &agents).await.map_err(|mut error| {
            // It is the one there is.
            for violation in error.violations.iter_mut().filter(|violation| violation.field == "agents[0]") {
                violation.field = "agent".to_owned();
            }
            if error.violations.is_empty() { error } else { Error::invalid_all(error.violations) }
        })?;
        reply(&queues)
    }
}
