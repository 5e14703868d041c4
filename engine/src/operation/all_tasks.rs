//! The agent's own view of tasks: every column of the model, of every tenant the worker serves.

use wire::worker::{ListAllTasksResponse, TaskRecord};
use wire::{Error, TaskState, Tenant};

use super::list_tasks::page_size;
use crate::change::{state_of, timestamp};
use crate::cursor::{Cursor, begin_page, end_page};
use crate::store::task::TaskFilter;
use crate::view::{Shown, within_bounds};
use crate::{Engine, Worker, database, store};

/// What a worker asks of its view; every member may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllTasks {
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only of this tenant; the empty name is *no tenant*.
    pub tenant: Option<String>,
    /// Only in this state.
    pub state: TaskState,
    /// Only of this context.
    pub context_id: Option<String>,
    /// 1 to 100; 50 without.
    pub page_size: Option<i32>,
    /// Where the previous page ended.
    pub page_token: Option<String>,
}

impl Engine {
    /// One page, in the order of creation.
    ///
    /// # Errors
    /// `InvalidParams` naming the field.
    pub async fn all_tasks(&self, worker: &Worker, request: AllTasks) -> Result<ListAllTasksResponse, Error> {
        let size = page_size(request.page_size, self.settings())?;
        if let Some(agent) = &request.agent {
            self.check_agents(worker, std::slice::from_ref(agent))
                .map_err(|_| Error::invalid("agent", format!("there is no agent `{agent}` for this worker")))?;
        }
        let tenant = request.tenant.as_deref().map(Tenant::parse).transpose()?;
        let filter = TaskFilter {
            agent: request.agent,
            agents: worker.agents.clone(),
            context_id: request.context_id,
            state: Some(request.state).filter(|state| *state != TaskState::Unspecified).map(|state| state as i16),
            status_from: None,
        };
        let query = format!("all tasks {tenant:?} {filter:?}");
        let token = request.page_token.as_deref().unwrap_or_default();
        let after = begin_page(token, self.secrets(), &query)?.map(|cursor| cursor.id);
        let mut tasks =
            store::task::list_for_agents(self.store().read(), tenant.as_ref(), &filter, after, size as u64 + 1)
                .await
                .map_err(database("listing an agent's tasks"))?;
        let fit = within_bounds(&tasks, Shown::ALL).min(size);
        let next_page_token = end_page(&mut tasks, fit, self.secrets(), &query, |last| Cursor { at: 0, id: last.id });
        let views = self.view_many(&tasks, Shown::ALL).await?;
        let records = tasks.iter().zip(views).map(|(row, view)| TaskRecord {
            id: view.id,
            tenant: row.tenant.clone(),
            agent: row.agent.clone(),
            context_id: view.context_id,
            state: state_of(row),
            status_message: view.status.message,
            status_timestamp: view.status.timestamp,
            metadata: view.metadata,
            history: view.history,
            artifacts: view.artifacts,
            generation: row.generation,
            created_at: timestamp(row.created_at),
        });
        Ok(ListAllTasksResponse { tasks: records.collect(), next_page_token })
    }
}
