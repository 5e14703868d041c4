//! The pull loop: as many tasks as there is room for, one poll at a time, until told to stop.
//!
//! One poll suffices: it brings up to as many leases as slots are free, and what queues while it is
//! on its way comes with the next. Every failure pauses the loop, longer each time, and says so; no
//! failure ends it, except a platform that refuses the very first session, which no waiting mends.
//!
//! The stop begins with a word to the platform that this session takes no more, upon which it answers the open poll. So nothing is
//! on its way to a worker that has gone, and no lease has to wait for its expiry.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tracing::{debug, error, info, warn};
use wire::AgentName;
use wire::worker::{DrainRequest, Lease, POLL_MAX, PollRequest, SessionRequest};

use crate::agent::Agent;
use crate::answer::{Answer, Unreadable};
use crate::backoff::Backoff;
use crate::client::{Client, LeaseKey};
use crate::error::Error;
use crate::keeper::{Keeper, Pace};
use crate::lease::Leases;
use crate::turn::{give_back, give_up, work};

/// How long the platform may take to hear that a session takes no more.
const DRAIN: Duration = Duration::from_secs(3);
/// How long the open poll of a drained session may take to come back: as long as the replica that holds it may take to hear of it.
const DRAINED_POLL: Duration = Duration::from_secs(7);
/// The same where the platform knows nothing of draining. A busy one answers in this time anyway, and what it hands out is given
/// back; an idle one has nothing on its way.
const LAST_POLL: Duration = Duration::from_millis(500);
/// How long the releases at the end may take.
const LAST_RELEASES: Duration = Duration::from_secs(5);
/// A poll that comes back empty in less than this did not wait for work, and must not set the pace.
const SHORT_POLL: Duration = Duration::from_millis(100);

/// How a worker is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The platform's base URL; default `http://127.0.0.1:8080`.
    pub url: String,
    /// The API key, where the platform asks for one.
    pub key: Option<String>,
    /// The agents to pull tasks of, by name; at least one.
    pub agents: Vec<String>,
    /// What the platform calls this worker in its lists and logs; it need not be unique.
    pub name: Option<String>,
    /// Tasks worked on at once, at least 1; default 16.
    pub concurrency: usize,
    /// How long running tasks may take to finish after the stop; default 10 s. What is not done by
    /// then is given back for others to claim.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            url: "http://127.0.0.1:8080".to_owned(),
            key: None,
            agents: Vec::new(),
            name: None,
            concurrency: 16,
            grace: Duration::from_secs(10),
        }
    }
}

/// A worker: pulls tasks and runs an agent on them.
#[derive(Debug)]
pub struct Worker {
    client: Client,
    /// For heartbeats, with connections of their own.
    keeper: Client,
    options: Options,
}

/// What one session lets this worker do.
struct Session {
    id: String,
    wait_seconds: f64,
    most: usize,
}

/// A poll on its way.
type Poll = Pin<Box<dyn Future<Output = Result<Answer<Lease>, Error>> + Send>>;

/// What is open when the pulling ends.
#[derive(Default)]
struct Left {
    session: Option<Session>,
    poll: Option<Poll>,
}

impl Worker {
    /// A worker that is ready to [`run`](Self::run). Nothing is dialled yet.
    ///
    /// # Errors
    /// [`Error::Options`], naming the option that is wrong.
    pub fn new(options: Options) -> Result<Self, Error> {
        if options.agents.is_empty() {
            return Err(Error::Options("no agent is named, at least one is needed".to_owned()));
        }
        if let Some(name) = options.agents.iter().find(|name| AgentName::parse(name).is_err()) {
            return Err(Error::Options(format!("`{name}` is not an agent's name")));
        }
        if options.concurrency == 0 {
            return Err(Error::Options("the concurrency is at least 1, not 0".to_owned()));
        }
        let client = || Client::new(&options.url, options.key.as_deref());
        Ok(Self { client: client()?, keeper: client()?, options })
    }

    /// Works until `shutdown` is done, and then: takes no more, lets running tasks finish within the grace, gives the rest back, and
    /// returns. That takes the grace and some seconds at most.
    ///
    /// A platform that is not there (yet) is waited for. One that drains this worker gets no more polls: what runs is finished, and
    /// then the worker is idle until the shutdown. Dropping the future instead stops at once, and the held leases run until their
    /// expiry.
    ///
    /// # Errors
    /// When the platform refuses the first session in a way that waiting does not mend: the key is
    /// wrong, or this is not a Taskyard.
    pub async fn run(self, agent: impl Agent, shutdown: impl Future<Output = ()> + Send) -> Result<(), Error> {
        let agent: Arc<dyn Agent> = Arc::new(agent);
        let leases = Arc::new(Leases::default());
        let (pace, paced) = watch::channel(Pace { session: String::new(), heartbeat: Duration::from_secs(10) });
        let _keeper = Keeper::start(self.keeper.clone(), leases.clone(), paced)?;
        let mut turns = JoinSet::new();

        let pulled = {
            let start = |lease: Lease, slot: OwnedSemaphorePermit| {
                let turn = work(self.client.clone(), leases.clone(), agent.clone(), lease);
                while turns.try_join_next().is_some() {}
                turns.spawn(async move {
                    let _slot = slot;
                    turn.await;
                });
            };
            self.pull(&pace, start, shutdown).await
        };
        leases.drain();
        let (left, pulled) = match pulled {
            Ok(left) => (left, Ok(())),
            Err(error) => (Left::default(), Err(error)),
        };
        let (drained, ()) = tokio::join!(self.take_no_more(left), self.finish(&leases, &mut turns));
        if let Some(session) = drained {
            // A poll's answer that was lost on its way holds leases too.
            self.drain(&session, true).await;
        }
        pulled
    }

    /// Lets running tasks end within the grace, and asks for the rest back.
    async fn finish(&self, leases: &Leases, turns: &mut JoinSet<()>) {
        let open = leases.len();
        if open > 0 {
            let grace_ms = self.options.grace.as_millis() as u64;
            info!(tasks = open, grace_ms, "stopping, running tasks may finish");
        }
        if timeout(self.options.grace, join(turns)).await.is_err() {
            info!(tasks = leases.len(), "giving back what is not done");
            leases.stop();
            if timeout(LAST_RELEASES, join(turns)).await.is_err() {
                warn!(tasks = leases.len(), "leaving leases to their expiry, the platform is away");
            }
        }
    }

    /// Ends what is left of the pulling; the session, where the platform drained it.
    async fn take_no_more(&self, left: Left) -> Option<String> {
        let session = left.session?.id;
        let drained = self.drain(&session, false).await;
        if let Some(poll) = left.poll {
            let patience = if drained { DRAINED_POLL } else { LAST_POLL };
            if let Ok(Ok(late)) = timeout(patience, poll).await {
                self.hand_back(late.leases, "the worker is stopping").await;
                self.give_up(late.unreadable).await;
            }
        }
        drained.then_some(session)
    }

    /// Drains the session; whether the platform knows how to.
    async fn drain(&self, session: &str, release: bool) -> bool {
        match timeout(DRAIN, self.client.drain(session, &DrainRequest { release })).await {
            Ok(Ok(drained)) => {
                if drained.released > 0 {
                    info!(released = drained.released, "the platform took back leases whose end it had not heard of");
                }
                true
            }
            Ok(Err(error)) => {
                debug!(error = error.chain(), "the session was not drained");
                false
            }
            Err(_) => {
                debug!("the session was not drained in time");
                false
            }
        }
    }

    /// Polls until the shutdown.
    async fn pull(
        &self,
        pace: &watch::Sender<Pace>,
        mut start: impl FnMut(Lease, OwnedSemaphorePermit),
        shutdown: impl Future<Output = ()>,
    ) -> Result<Left, Error> {
        let mut shutdown = std::pin::pin!(shutdown);
        let slots = Arc::new(Semaphore::new(self.options.concurrency));
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        let mut session: Option<Session> = None;
        let mut introduced = false;
        loop {
            // A slot first: a poll without room would take leases from workers that have some.
            let slot = until(&mut shutdown, slots.clone().acquire_owned()).await;
            let Some(Ok(slot)) = slot else { return Ok(Left { session, poll: None }) };
            let free = 1 + slots.available_permits();

            let asked = Instant::now();
            let polled = match &session {
                None => match until(&mut shutdown, self.open(pace)).await {
                    None => return Ok(Left::default()),
                    Some(Ok(opened)) => {
                        info!(url = self.options.url, agents = ?self.options.agents, "pulling tasks");
                        session = Some(opened);
                        introduced = true;
                        continue;
                    }
                    Some(Err(error)) if !introduced && !error.is_passing() => return Err(error),
                    Some(Err(error)) => Err(error),
                },
                Some(current) => {
                    let mut poll = self.poll(current, free);
                    match until(&mut shutdown, &mut poll).await {
                        Some(polled) => polled,
                        None => return Ok(Left { session, poll: Some(poll) }),
                    }
                }
            };

            let pause = match polled {
                Ok(polled) if polled.is_empty() && !polled.drain && asked.elapsed() < SHORT_POLL => backoff.next(),
                Ok(Answer { leases, unreadable, drain }) => {
                    backoff.reset();
                    let mut first = Some(slot);
                    let mut surplus = Vec::new();
                    for lease in leases {
                        match first.take().or_else(|| slots.clone().try_acquire_owned().ok()) {
                            Some(slot) => start(lease, slot),
                            None => surplus.push(lease),
                        }
                    }
                    self.hand_back(surplus, "the worker has no room").await;
                    self.give_up(unreadable).await;
                    if drain {
                        info!("the platform drains this worker: it takes no more tasks until it is started anew");
                        shutdown.await;
                        return Ok(Left { session, poll: None });
                    }
                    continue;
                }
                Err(error) => {
                    let pause = backoff.next();
                    let pause_ms = pause.as_millis() as u64;
                    let url = &self.options.url;
                    if error.is_passing() {
                        let error = error.chain();
                        warn!(url, error, pause_ms, "the platform does not serve, trying again");
                    } else {
                        // Perhaps it forgot the session; a new one will show.
                        session = None;
                        let error = error.chain();
                        error!(url, error, pause_ms, "the platform refuses this worker, trying again");
                    }
                    pause
                }
            };
            if until(&mut shutdown, tokio::time::sleep(pause)).await.is_none() {
                return Ok(Left { session, poll: None });
            }
        }
    }

    async fn open(&self, pace: &watch::Sender<Pace>) -> Result<Session, Error> {
        let request = SessionRequest {
            worker: self.options.name.clone().unwrap_or_default(),
            agents: self.options.agents.clone(),
        };
        let opened = self.client.open_session(&request).await?;
        // A pace of zero would be a hot loop.
        let heartbeat = Duration::try_from_secs_f64(opened.heartbeat_seconds).unwrap_or_default();
        let heartbeat = heartbeat.max(Duration::from_millis(50));
        pace.send_replace(Pace { session: opened.session.clone(), heartbeat });
        let most = usize::try_from(opened.max_leases.clamp(1, POLL_MAX)).unwrap_or(1);
        Ok(Session { id: opened.session, wait_seconds: opened.poll_seconds, most })
    }

    fn poll(&self, session: &Session, free: usize) -> Poll {
        let request = PollRequest {
            session: session.id.clone(),
            agents: self.options.agents.clone(),
            max: i32::try_from(free.min(session.most)).ok(),
            wait_seconds: Some(session.wait_seconds),
            start: true,
        };
        let client = self.client.clone();
        Box::pin(async move { client.poll(&request).await })
    }

    /// Gives back leases that nothing was done with.
    async fn hand_back(&self, leases: Vec<Lease>, reason: &str) {
        let releases = leases.into_iter().map(|lease| async move {
            let key = LeaseKey { lease: lease.lease, epoch: lease.epoch };
            give_back(&self.client, &key, &lease.task.id, reason.to_owned()).await;
        });
        futures_util::future::join_all(releases).await;
    }

    /// Fails tasks that came and cannot be read.
    async fn give_up(&self, unreadable: Vec<Unreadable>) {
        let releases = unreadable.into_iter().map(|Unreadable { key, task, error }| async move {
            error!(task.id = task, error, "a task cannot be read and fails; the others of the same poll go on");
            if let Some(key) = key {
                give_up(&self.client, &key, &task, "the worker cannot read the task".to_owned()).await;
            }
        });
        futures_util::future::join_all(releases).await;
    }
}

/// What `work` gives, unless `stop` comes first.
async fn until<T>(stop: &mut (impl Future<Output = ()> + Unpin), work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop => None,
        done = work => Some(done),
    }
}

async fn join(turns: &mut JoinSet<()>) {
    while turns.join_next().await.is_some() {}
}
