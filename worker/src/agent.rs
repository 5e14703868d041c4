//! What an author writes: one method, from a claimed task to how the work ended.
//!
//! The end is the method's return value and not a call, so that it is stated exactly once, nothing
//! can be written after it, and it travels in one update with whatever [`Context::then`] gathered.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use wire::worker::{StatusChange, Update};
use wire::{Message, Struct, TaskState};

use crate::Context;
use crate::text::message;

/// An agent: it is handed a task, works, and says how the work ended.
///
/// One value serves all tasks at once, so keep what belongs to one task in the method's own
/// variables. `run` may be called again for the same task: after the client answered a question,
/// and after a worker died, when the task is still Working and its history and artifacts are what
/// the last worker left. What has to be known across calls belongs in the task, not in memory.
///
/// ```
/// use worker::{Agent, Context, Outcome, Result, async_trait};
///
/// struct Shout;
///
/// #[async_trait]
/// impl Agent for Shout {
///     async fn run(&self, ctx: Context) -> Result {
///         let loud = ctx.input_text().to_uppercase();
///         ctx.then().artifact(worker::artifact("shout", loud));
///         Ok(Outcome::complete())
///     }
/// }
/// ```
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Works on the task of `ctx` and says how that ended.
    ///
    /// The future is dropped when the lease is lost (the client cancelled, say), soon after
    /// [`Context::cancelled`] told of it, so whatever must be undone belongs in a `Drop`. Work that
    /// computes for long between two awaits belongs in `spawn_blocking`.
    ///
    /// # Errors
    /// An error fails the task, and **its text is the status message the client reads**; its causes
    /// go to the log only. An [`Error`](crate::Error) of the context's own calls is best passed on
    /// with `?`: a lost lease ends the work silently, a platform that does not answer gives the
    /// task to another worker. A panic fails the task with a text of the runtime's.
    async fn run(&self, ctx: Context) -> Result;
}

/// What [`Agent::run`] returns.
pub type Result<T = Outcome, E = Box<dyn StdError + Send + Sync>> = std::result::Result<T, E>;

#[async_trait]
impl<A: Agent + ?Sized> Agent for Arc<A> {
    async fn run(&self, ctx: Context) -> Result {
        (**self).run(ctx).await
    }
}

/// An agent made of a closure.
///
/// ```
/// use worker::{Context, Outcome, agent_fn};
///
/// let shout = agent_fn(|ctx: Context| async move {
///     ctx.then().artifact(worker::artifact("shout", ctx.input_text().to_uppercase()));
///     Ok(Outcome::complete())
/// });
/// # fn takes(_: impl worker::Agent) {}
/// # takes(shout);
/// ```
pub fn agent_fn<F, R>(run: F) -> impl Agent
where
    F: Fn(Context) -> R + Send + Sync + 'static,
    R: Future<Output = Result> + Send + 'static,
{
    AgentFn(run)
}

struct AgentFn<F>(F);

#[async_trait]
impl<F, R> Agent for AgentFn<F>
where
    F: Fn(Context) -> R + Send + Sync + 'static,
    R: Future<Output = Result> + Send + 'static,
{
    async fn run(&self, ctx: Context) -> Result {
        (self.0)(ctx).await
    }
}

/// How a turn at a task ended.
#[derive(Debug, Clone)]
#[must_use = "return it from `Agent::run`"]
pub struct Outcome(pub(crate) End);

#[derive(Debug, Clone)]
pub(crate) enum End {
    Move { to: Ending, message: Option<Message>, metadata: Option<Struct> },
    Reply(Message),
    Release { delay: Duration, reason: String, failed: bool },
}

/// The moves that end a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    Fail,
    Reject,
    RequireInput,
    RequireAuth,
}

impl Outcome {
    /// The task is done; its results are its artifacts.
    pub fn complete() -> Self {
        Self::end(Ending::Complete, None)
    }

    /// The answer is `words` and nothing else. Of an agent that is configured to answer directly the client gets this message and there
    /// is no task, unless something was reported before or the client did not want to wait; then, and of any other agent, the task is
    /// completed with it as the status message.
    pub fn reply(words: impl Into<String>) -> Self {
        Self(End::Reply(message(words)))
    }

    /// The task failed; `why` is the status message the client reads.
    pub fn fail(why: impl Into<String>) -> Self {
        Self::end(Ending::Fail, Some(message(why)))
    }

    /// The agent will not do it; `why` is the status message the client reads.
    pub fn reject(why: impl Into<String>) -> Self {
        Self::end(Ending::Reject, Some(message(why)))
    }

    /// The client has to say more; `question` is the status message it reads. `run` is called
    /// again with its answer, perhaps on another worker.
    pub fn ask(question: impl Into<String>) -> Self {
        Self::end(Ending::RequireInput, Some(message(question)))
    }

    /// The client has to authorize something first; `what` is the status message it reads. `run`
    /// is called again when it writes.
    pub fn ask_authorization(what: impl Into<String>) -> Self {
        Self::end(Ending::RequireAuth, Some(message(what)))
    }

    /// The end that an update stands for, where it stands for one.
    pub(crate) fn of(update: Update) -> std::result::Result<Self, Box<Update>> {
        let (to, StatusChange { status_message: message, metadata }) = match update {
            Update::Complete(body) => (Ending::Complete, body),
            Update::Fail(body) => (Ending::Fail, body),
            Update::Reject(body) => (Ending::Reject, body),
            Update::RequireInput(body) => (Ending::RequireInput, body),
            Update::RequireAuth(body) => (Ending::RequireAuth, body),
            going_on => return Err(Box::new(going_on)),
        };
        Ok(Self(End::Move { to, message, metadata }))
    }

    /// Not now: the task goes back as it is, to be claimed by any worker `delay` from now.
    /// `reason` is for the operator.
    pub fn retry_later(delay: Duration, reason: impl Into<String>) -> Self {
        Self(End::Release { delay, reason: reason.into(), failed: false })
    }

    /// This try failed and another may help: as [`retry_later`](Self::retry_later), and the delivery counts. When there were as many as
    /// the agent's `max_deliveries`, the platform fails the task.
    pub fn try_again(delay: Duration, reason: impl Into<String>) -> Self {
        Self(End::Release { delay, reason: reason.into(), failed: true })
    }

    /// The same with another status message; role and ids may be left empty.
    pub fn with_message(mut self, text: Message) -> Self {
        match &mut self.0 {
            End::Move { message, .. } => *message = Some(text),
            End::Reply(message) => *message = text,
            End::Release { .. } => {}
        }
        self
    }

    /// The same with metadata on the status event; a reply and a release have none.
    pub fn with_metadata(mut self, entries: Struct) -> Self {
        if let End::Move { metadata, .. } = &mut self.0 {
            *metadata = Some(entries);
        }
        self
    }

    fn end(to: Ending, message: Option<Message>) -> Self {
        Self(End::Move { to, message, metadata: None })
    }
}

impl Ending {
    pub(crate) fn target(self) -> TaskState {
        match self {
            Self::Complete => TaskState::Completed,
            Self::Fail => TaskState::Failed,
            Self::Reject => TaskState::Rejected,
            Self::RequireInput => TaskState::InputRequired,
            Self::RequireAuth => TaskState::AuthRequired,
        }
    }

    pub(crate) fn update(self, body: StatusChange) -> Update {
        match self {
            Self::Complete => Update::Complete(body),
            Self::Fail => Update::Fail(body),
            Self::Reject => Update::Reject(body),
            Self::RequireInput => Update::RequireInput(body),
            Self::RequireAuth => Update::RequireAuth(body),
        }
    }
}
