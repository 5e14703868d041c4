//! A worker introduces itself, is told the times to keep, and is seen from then on by its polls and heartbeats.

use std::sync::Arc;
use std::time::Duration;

use entity::worker_session;
use sea_orm::DbErr;
use uuid::Uuid;
use wire::Error;
use wire::worker::{POLL_MAX, SessionRequest, SessionResponse};

use crate::change::{from_text, to_text};
use crate::sessions::{Nudge, Present, Session};
use crate::store::Write;
use crate::{Engine, Worker, database, store, unwritten};

/// How often it is written who was heard of, and read who drains.
const NOTED: Duration = Duration::from_secs(5);
/// Sessions noted in one statement.
const BATCH: usize = 5_000;
/// A session nobody has heard of for so long is deleted.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

/// A session as its worker names it. Ids are the platform's, so that nothing else is one.
pub(super) fn session_id(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == uuid::fmt::Hyphenated::LENGTH)
}

impl Engine {
    /// A session for a worker of these agents: heartbeats come three times a lease, the shortest of its agents'.
    ///
    /// # Errors
    /// `InvalidParams` for an agent that is not configured or not the worker's.
    pub async fn open_session(&self, worker: &Worker, request: &SessionRequest) -> Result<SessionResponse, Error> {
        wire::validate(request)?;
        self.check_agents(worker, &request.agents)?;
        let leases =
            request.agents.iter().filter_map(|agent| self.settings().agents.get(agent)).map(|agent| agent.lease);
        let lease = leases.min().unwrap_or_default();
        let now = self.clock().now();
        let session = Session {
            id: self.ids().next(),
            worker: request.worker.clone(),
            agents: sorted(&request.agents),
            created_at: now,
            draining: false,
        };
        let mut write = Write::new();
        write.insert(worker_session::ActiveModel::from(row(&session, now)?));
        self.store().write(write).await.map_err(unwritten("opening a worker's session"))?;
        let id = session.id.to_string();
        self.bus().hub().sessions.learn(session);
        Ok(SessionResponse {
            session: id,
            heartbeat_seconds: lease.as_secs_f64() / 3.0,
            lease_seconds: lease.as_secs_f64(),
            poll_seconds: self.settings().poll_wait.as_secs_f64(),
            max_leases: POLL_MAX,
        })
    }

    /// The session a request names; none when it names none, and none that anything is known of when it is forgotten and `agents` do
    /// not say what for it is to be there again.
    ///
    /// # Errors
    /// `InvalidParams` for what is no session's id, and for a session of agents that are not all this worker's.
    pub(super) async fn present(
        &self,
        worker: &Worker,
        session: &str,
        agents: Option<&[String]>,
    ) -> Result<Option<Present>, Error> {
        if session.is_empty() {
            return Ok(None);
        }
        let id = session_id(session)
            .ok_or_else(|| Error::invalid("session", "must be what `POST /sessions` answered as `session`"))?;
        let Some(present) = self.find_session(id, agents).await? else { return Ok(None) };
        match present.agents.iter().all(|agent| worker.may(agent)) {
            true => Ok(Some(present)),
            false => Err(Error::invalid("session", "is not a session of this worker")),
        }
    }

    /// The session of a path.
    ///
    /// # Errors
    /// `SessionNotFound`, also for one of agents that are not all this worker's.
    pub(super) async fn session(&self, worker: &Worker, session: &str) -> Result<Present, Error> {
        let unknown = || Error::session_not_found(session);
        let found = self.find_session(session_id(session).ok_or_else(unknown)?, None).await?;
        found.filter(|present| present.agents.iter().all(|agent| worker.may(agent))).ok_or_else(unknown)
    }

    /// What this process knows, or else what the row says: that is read once, and known from then on.
    async fn find_session(&self, id: Uuid, agents: Option<&[String]>) -> Result<Option<Present>, Error> {
        let sessions = &self.bus().hub().sessions;
        if let Some(present) = sessions.enter(id) {
            return Ok(Some(present));
        }
        let read = store::session::read(self.store().read(), &id.to_string())
            .await
            .map_err(database("reading a worker's session"))?;
        let session = match (read, agents) {
            (Some(row), _) => Session {
                id,
                agents: from_text::<Vec<String>>(&row.agents)?.into(),
                worker: row.worker,
                created_at: row.created_at,
                draining: row.draining,
            },
            (None, Some(agents)) => Session {
                id,
                worker: String::new(),
                agents: sorted(agents),
                created_at: self.clock().now(),
                draining: false,
            },
            (None, None) => return Ok(None),
        };
        sessions.learn(session);
        Ok(sessions.enter(id))
    }

    /// Write who was heard of and hear who drains, and forget who was not heard of for long, for ever.
    pub(crate) async fn keep_sessions(&self) {
        let mut rounds = 0_u32;
        loop {
            tokio::time::sleep(NOTED).await;
            if let Err(error) = self.note_sessions().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "noting which workers were heard of");
            }
            if rounds.is_multiple_of(12) {
                let mut write = Write::new();
                write.delete(store::session::forget(self.clock().now() - FORGOTTEN.as_millis() as i64));
                if let Err(error) = self.store().write(write).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "forgetting workers not heard of for long"
                    );
                }
            }
            rounds = rounds.wrapping_add(1);
        }
    }

    /// Write who was heard of since the last time, and hear who drains.
    ///
    /// # Errors
    /// When the database fails; who was not written is written the next time.
    pub(super) async fn note_sessions(&self) -> Result<(), Error> {
        let sessions = &self.bus().hub().sessions;
        let now = self.clock().now();
        let heard = sessions.heard();
        for (n, some) in heard.chunks(BATCH).enumerate() {
            let rows = some.iter().map(|session| row(session, now)).collect::<Result<Vec<_>, _>>()?;
            let noted: Result<Vec<String>, DbErr> = store::session::heard(self.store(), &rows).await;
            let draining = noted.map_err(|error| {
                sessions.unwritten(&heard[n * BATCH..]);
                database("noting which workers were heard of")(error)
            })?;
            draining.iter().filter_map(|id| session_id(id)).for_each(|id| sessions.hear(id, Nudge::Drain));
        }
        Ok(())
    }
}

fn sorted(agents: &[String]) -> Arc<[String]> {
    let mut agents = agents.to_vec();
    agents.sort_unstable();
    agents.dedup();
    agents.into()
}

fn row(session: &Session, seen_at: i64) -> Result<worker_session::Model, Error> {
    Ok(worker_session::Model {
        id: session.id.to_string(),
        worker: session.worker.clone(),
        agents: to_text(&session.agents.to_vec())?,
        draining: session.draining,
        created_at: session.created_at,
        seen_at,
    })
}
