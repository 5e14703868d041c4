//! The four push-config operations (§3.1.7-3.1.10) and what a send with an inline config shares with them.

use entity::{push_config, push_delivery, push_lane, task_log};
use serde_json::json;
use uuid::Uuid;
use wire::{
    DeleteTaskPushNotificationConfigRequest, Error, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, StreamResponse,
    TaskPushNotificationConfig, Tenant,
};

use super::list_tasks::page_size;
use super::new_task::new_lane;
use super::task_id;
use crate::change::{delivery, to_text};
use crate::cursor::{Cursor, begin_page, end_page};
use crate::store::Write;
use crate::store::task::TaskAndWork;
use crate::view::Shown;
use crate::{Caller, Engine, Hint, database, store, view, webhook_url};

/// A config that is about to be stored.
pub(super) struct Put {
    pub(super) row: push_config::Model,
    pub(super) hints: Vec<Hint>,
}

impl Engine {
    /// Register a webhook on a task, or replace the one of the same id. Only this answer carries token and credentials.
    ///
    /// # Errors
    /// `PushNotificationNotSupported`; `InvalidParams`; `TaskNotFound`; `ResourceExhausted` when the task holds its maximum and this
    /// would be one more.
    pub async fn create_push_config(
        &self,
        caller: &Caller,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        check_capability(caller)?;
        require_task(&request.task_id)?;
        wire::validate(&request)?;
        self.check_webhook("url", &request.url)?;
        let id = task_id(&request.task_id)?;
        self.check_can_seal(&request).await?;
        let mut attempts = self.attempts("storing a push config", Some(id));
        loop {
            let attempt = attempts.next().await?;
            let mut read = self.task_for_config(caller, id, &request.task_id).await?;
            let before = read.task.config_count;
            let now = self.clock().now();
            let mut write = Write::new();
            let Put { row, hints } = self.put_push_config(caller, &mut read, &request, now, &mut write).await?;
            guard(&read, before, read.task.config_count, &mut write);
            if attempt.write(write).await? {
                self.bus().send(hints);
                let (tenant, task_id) = (row.tenant, id.to_string());
                return Ok(TaskPushNotificationConfig { id: row.config_id, task_id, tenant, ..request });
            }
        }
    }

    /// One config, without its secrets.
    ///
    /// # Errors
    /// `PushNotificationNotSupported`; `InvalidParams`; `TaskNotFound` for the task and for the config.
    pub async fn get_push_config(
        &self,
        caller: &Caller,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        check_capability(caller)?;
        wire::validate(&request)?;
        let id = task_id(&request.task_id)?;
        let read = self.task_for_config(caller, id, &request.task_id).await?;
        store::push::config(self.store().read(), &caller.tenant, read.task.id, &request.id)
            .await
            .map_err(database("reading a push config"))?
            .map(|row| view::push_config(&row))
            .ok_or_else(|| Error::push_config_not_found(&request.task_id, &request.id))
    }

    /// One page of a task's configs, in the order they were made, without their secrets.
    ///
    /// # Errors
    /// `PushNotificationNotSupported`; `InvalidParams`; `TaskNotFound`.
    pub async fn list_push_configs(
        &self,
        caller: &Caller,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        check_capability(caller)?;
        wire::validate(&request)?;
        let id = task_id(&request.task_id)?;
        let read = self.task_for_config(caller, id, &request.task_id).await?;
        let query = format!("configs {} {}", caller.tenant.as_str(), read.task.id);
        let after = begin_page(&request.page_token, self.secrets(), &query)?.map(|cursor| cursor.id);
        // All of them unless the client asks for less: a task holds few.
        let asked = Some(request.page_size).filter(|size| *size != 0).unwrap_or(self.settings().page_max);
        let size = page_size(Some(asked), self.settings())?;
        let mut rows = store::push::configs(self.store().read(), &caller.tenant, read.task.id, after, size as u64 + 1)
            .await
            .map_err(database("listing push configs"))?;
        let next_page_token = end_page(&mut rows, size, self.secrets(), &query, |last| Cursor { at: 0, id: last.id });
        let configs = rows.iter().map(view::push_config).collect();
        Ok(ListTaskPushNotificationConfigsResponse { configs, next_page_token })
    }

    /// Remove a config; nothing is dialled for it after this answers. Removing what is not there succeeds.
    ///
    /// # Errors
    /// `PushNotificationNotSupported`; `InvalidParams`; `TaskNotFound` for the task.
    pub async fn delete_push_config(
        &self,
        caller: &Caller,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        check_capability(caller)?;
        wire::validate(&request)?;
        let id = task_id(&request.task_id)?;
        let mut attempts = self.attempts("deleting a push config", Some(id));
        loop {
            let attempt = attempts.next().await?;
            let read = self.task_for_config(caller, id, &request.task_id).await?;
            let config = store::push::config(self.store().read(), &caller.tenant, read.task.id, &request.id)
                .await
                .map_err(database("reading a push config to delete"))?;
            let Some(config) = config else { return Ok(()) };
            let now = self.clock().now();
            let mut write = Write::new();
            guard(&read, read.task.config_count, read.task.config_count - 1, &mut write);
            write.must_delete(store::push::delete_config(config.id));
            // A guard, so that the lane is locked before its deliveries, as whoever records them does.
            write.must_update(store::push::close_lane(config.id));
            write.update(store::push::cancel_deliveries(config.id, now));
            write.insert(task_log::ActiveModel::from(self.log(&config, "PushNotificationConfigDeleted", now)?));
            if attempt.write(write).await? {
                self.let_go(config.id).await;
                return Ok(());
            }
        }
    }

    /// Wait until nobody dials for a lane that was closed.
    async fn let_go(&self, lane: Uuid) {
        if let Err(error) = store::delivery::holder_gone(self.store(), lane).await {
            // What is not known is whether somebody still dials. In that time nobody does any more.
            tracing::warn!(%error, "waiting for a deleted config's notifier");
            tokio::time::sleep(store::delivery::LET_GO).await;
        }
    }

    /// Add storing `config` to `write`. The task's row in `read` is changed along; whoever writes guards it.
    ///
    /// # Errors
    /// `ResourceExhausted` when the task holds its maximum and this would be one more.
    pub(super) async fn put_push_config(
        &self,
        caller: &Caller,
        read: &mut TaskAndWork,
        config: &TaskPushNotificationConfig,
        now: i64,
        write: &mut Write,
    ) -> Result<Put, Error> {
        let Caller { tenant, agent, .. } = caller;
        let known = match config.id.as_str() {
            "" => None,
            id => store::push::config(self.store().read(), tenant, read.task.id, id)
                .await
                .map_err(database("reading a push config to replace"))?,
        };
        let mut row = self.new_push_config(caller, read.task.id, config, now)?;
        let mut hints = Vec::new();
        match known {
            Some(known) => {
                row.created_at = known.created_at;
                self.seal(&mut row, known.id, config)?;
                write.update(store::push::replace_config(&row));
            }
            None => {
                let limit = agent.limits.push_configs;
                if read.task.config_count >= limit {
                    return Err(Error::resource_exhausted(
                        "push_configs",
                        format!("the task holds its maximum of {limit} push notification configs"),
                    ));
                }
                read.task.config_count += 1;
                let mut lane = new_lane(&row);
                if agent.push_snapshot {
                    self.add_snapshot(tenant, &read.task, &mut lane, now, write).await?;
                    hints.push(Hint::Delivery);
                }
                write.insert(push_lane::ActiveModel::from(lane));
                write.insert(push_config::ActiveModel::from(row.clone()));
            }
        }
        write.insert(task_log::ActiveModel::from(self.log(&row, "PushNotificationConfigCreated", now)?));
        Ok(Put { row, hints })
    }

    /// A config made on a running task hears first how the task stands.
    async fn add_snapshot(
        &self,
        tenant: &Tenant,
        task: &entity::task::Model,
        lane: &mut push_lane::Model,
        now: i64,
        write: &mut Write,
    ) -> Result<(), Error> {
        let db = self.store().read();
        let read = store::task::read_whole(db, tenant, &task.agent, task.id, Shown::ALL.history, Shown::ALL.artifacts)
            .await
            .map_err(database("reading a task for a snapshot"))?
            .ok_or_else(|| Error::task_not_found(&task.id.to_string()))?;
        // What has happened since the decision began is another write's, and this one is made anew.
        let body = to_text(&StreamResponse::Task(view::whole(&read)?))?;
        lane.tail = 1;
        lane.due_at = Some(now);
        let first = delivery(lane, 1, task.generation, Some(body), now);
        write.insert(push_delivery::ActiveModel::from(first));
        Ok(())
    }

    /// The row of a config that is new. Its receiver is told in the version that the caller speaks.
    pub(super) fn new_push_config(
        &self,
        caller: &Caller,
        task: Uuid,
        config: &TaskPushNotificationConfig,
        now: i64,
    ) -> Result<push_config::Model, Error> {
        let id = self.ids().next();
        let mut row = push_config::Model {
            id,
            tenant: caller.tenant.as_str().to_owned(),
            task_id: task,
            config_id: if config.id.is_empty() { id.to_string() } else { config.id.clone() },
            url: config.url.clone(),
            token: None,
            scheme: config.authentication.as_ref().map(|auth| auth.scheme.clone()),
            credentials: None,
            version: caller.version.as_str().to_owned(),
            created_at: now,
        };
        self.seal(&mut row, id, config)?;
        Ok(row)
    }

    /// Seal the config's secrets for the row `id`.
    /// Refuse a config with secrets on a process that cannot keep them.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(super) async fn check_can_seal(&self, config: &TaskPushNotificationConfig) -> Result<(), Error> {
        let credentials = config.authentication.as_ref().is_some_and(|auth| !auth.credentials.is_empty());
        if credentials || !config.token.is_empty() { self.check_secrets_key().await } else { Ok(()) }
    }

    fn seal(&self, row: &mut push_config::Model, id: Uuid, config: &TaskPushNotificationConfig) -> Result<(), Error> {
        let seal = |secret: &str| match secret {
            "" => Ok(None),
            secret => self.secrets().seal(id, secret).map(Some).map_err(Error::internal),
        };
        row.id = id;
        row.token = seal(&config.token)?;
        row.credentials = seal(config.authentication.as_ref().map(|a| a.credentials.as_str()).unwrap_or_default())?;
        Ok(())
    }

    /// Refuse a url that no delivery could go to.
    pub(super) fn check_webhook(&self, field: &str, url: &str) -> Result<(), Error> {
        match webhook_url::refusal(url, &self.settings().webhooks) {
            Some(refusal) => Err(Error::invalid(field, refusal)),
            None => Ok(()),
        }
    }

    async fn task_for_config(&self, caller: &Caller, id: Uuid, text: &str) -> Result<TaskAndWork, Error> {
        store::task::read_for_write(self.store().read(), &caller.tenant, &caller.agent.name, id)
            .await
            .map_err(database("reading the task of a push config"))?
            .ok_or_else(|| Error::task_not_found(text))
    }

    fn log(&self, config: &push_config::Model, kind: &str, now: i64) -> Result<task_log::Model, Error> {
        Ok(task_log::Model {
            id: self.ids().next(),
            tenant: config.tenant.clone(),
            task_id: config.task_id,
            kind: kind.to_owned(),
            body: to_text(&json!({"configId": config.config_id}))?,
            at: now,
        })
    }
}

fn check_capability(caller: &Caller) -> Result<(), Error> {
    if caller.agent.push_notifications { Ok(()) } else { Err(Error::push_notification_not_supported()) }
}

fn require_task(id: &str) -> Result<(), Error> {
    if id.is_empty() { Err(Error::invalid("taskId", "is required")) } else { Ok(()) }
}

/// What a config's write stands on: the work row while there is one, so that no event falls between, and the count of configs.
fn guard(read: &TaskAndWork, before: i32, after: i32, write: &mut Write) {
    if let Some(work) = &read.work {
        write.must(store::work::update(work, &moved_on(work)));
    }
    write.must_update(store::task::update_config_count(read.task.id, before, after));
}

fn moved_on(work: &entity::work::Model) -> entity::work::Model {
    entity::work::Model { revision: work.revision + 1, ..work.clone() }
}
