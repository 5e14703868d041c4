//! A worker replies: the message is the answer, and there is no task. Where there is a task by now, or always was, the message is its last
//! word, so that an agent's author need not care which it is.

use uuid::Uuid;
use wire::worker::{ApplyRequest, Replied, ReplyRequest, StatusChange, Update};
use wire::{Error, Message, Role};

use super::new_task::NewTask;
use super::task_id;
use super::update_key::UpdateKey;
use crate::change::{Change, LeaseClaim, to_text};
use crate::store::Write;
use crate::{Engine, Hint, Worker, store};

impl Engine {
    /// Answer the sender of a waiting message with a message, or complete the task there is with it.
    ///
    /// # Errors
    /// As [`Engine::apply`]: `InvalidParams`; `TaskNotFound`, also when the sender of a message has gone away; `LeaseLost` or
    /// `LeaseRequired`; and where there is a task, what its completion refuses.
    pub async fn reply(
        &self,
        worker: &Worker,
        task: &str,
        lease: Option<LeaseClaim>,
        key: Option<String>,
        request: ReplyRequest,
    ) -> Result<Replied, Error> {
        wire::validate(&request)?;
        let id = task_id(task)?;
        let key = UpdateKey::of(key, id, lease, "reply", &request)?;
        let key = key.as_ref();
        match self.try_reply(worker, id, lease, key, request).await {
            Err(refusal) => self.first_answer_or(worker, key, refusal).await,
            replied => replied,
        }
    }

    async fn try_reply(
        &self,
        worker: &Worker,
        id: Uuid,
        lease: Option<LeaseClaim>,
        key: Option<&UpdateKey>,
        request: ReplyRequest,
    ) -> Result<Replied, Error> {
        let message = self.named(request.message.unwrap_or_default());
        let mut attempts = self.attempts("keeping a direct answer", None);
        let mut lost = false;
        loop {
            let attempt = attempts.next().await?;
            let Some(row) = self.waiting_for(worker, id).await? else { break };
            // What came first may have been this very call.
            if lost && let Some(known) = self.find_update(worker, key).await? {
                return Ok(known);
            }
            let agent = self.agent_of(&row.agent);
            let most = agent.limits.parts;
            if message.parts.len() > most {
                return Err(Error::invalid("message.parts", format!("must be at most {most} parts")));
            }
            let now = self.clock().now();
            let would_be = NewTask::of_waiting(&row, now);
            Change::begin(would_be.read(), &agent, now).by_worker(lease)?;
            let answer = Message { role: Role::Agent, context_id: row.context_id.clone(), ..message.clone() };
            let answer = to_text(&answer)?;
            let mut write = Write::new();
            write.must_update(store::waiting::answer(&row, &answer));
            if let Some(key) = &row.key {
                write.update(store::send_key::keep(&row.tenant, &row.agent, key, row.id, &answer));
            }
            let replied = Replied { direct: true, applied: None };
            if let Some(key) = key {
                key.keep(&row.agent, &replied, now, &mut write)?;
            }
            if attempt.write(write).await? {
                let next = agent.takes_turns().then(|| Hint::Work { agent: agent.name.clone() });
                self.bus().send([Hint::Answer { message: id }].into_iter().chain(next));
                return Ok(replied);
            }
            lost = true;
        }
        let last_word = StatusChange { status_message: Some(message), metadata: None };
        let request = ApplyRequest { updates: vec![Update::Complete(last_word)], cancelable: None };
        let replied = |applied| Replied { direct: false, applied: Some(applied) };
        self.apply_under(worker, id, lease, key, &request, replied).await.map_err(|mut error| {
            for violation in &mut error.violations {
                if let Some(field) = violation.field.strip_prefix("updates[0].complete.statusMessage") {
                    violation.field = format!("message{field}");
                }
            }
            if error.violations.is_empty() { error } else { Error::invalid_all(error.violations) }
        })
    }
}
