//! The agent's own view of push configs, secrets left out.

use wire::Error;
use wire::worker::{AuthenticationScheme, ListAllPushNotificationConfigsResponse, PushConfigRecord};

use super::list_tasks::page_size;
use super::task_id;
use crate::change::timestamp;
use crate::cursor::{Cursor, begin_page, end_page};
use crate::{Engine, Worker, database, store};

/// What a worker asks of its view; every member may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllPushConfigs {
    /// Only of this task.
    pub task_id: Option<String>,
    /// 1 to 100; 50 without.
    pub page_size: Option<i32>,
    /// Where the previous page ended.
    pub page_token: Option<String>,
}

impl Engine {
    /// One page, in the order of creation.
    ///
    /// # Errors
    /// `InvalidParams` naming the field; `TaskNotFound` when `taskId` is no task's.
    pub async fn all_push_configs(
        &self,
        worker: &Worker,
        request: AllPushConfigs,
    ) -> Result<ListAllPushNotificationConfigsResponse, Error> {
        let size = page_size(request.page_size, self.settings())?;
        let task = request.task_id.as_deref().map(task_id).transpose()?;
        let query = format!("all configs {:?} {task:?}", worker.agents);
        let token = request.page_token.as_deref().unwrap_or_default();
        let after = begin_page(token, self.secrets(), &query)?.map(|cursor| cursor.id);
        let agents = worker.agents.as_deref();
        let mut rows = store::push::configs_for_agents(self.store().read(), agents, task, after, size as u64 + 1)
            .await
            .map_err(database("listing push configs"))?;
        let next_page_token = end_page(&mut rows, size, self.secrets(), &query, |last| Cursor { at: 0, id: last.id });
        let records = rows.into_iter().map(|row| PushConfigRecord {
            row: row.id.to_string(),
            id: row.config_id,
            task_id: row.task_id.to_string(),
            tenant: row.tenant,
            url: row.url,
            created_at: timestamp(row.created_at),
            authentication: row.scheme.map(|scheme| AuthenticationScheme { scheme }),
        });
        Ok(ListAllPushNotificationConfigsResponse { configs: records.collect(), next_page_token })
    }
}
