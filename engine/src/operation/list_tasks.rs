//! ListTasks (§3.1.4): newest status first, by keyset, so that a deep page costs what the first costs.

use wire::{Error, ListTasksRequest, ListTasksResponse, Task, TaskState};

use crate::cursor::{Cursor, begin_page, end_page};
use crate::settings::Settings;
use crate::store::task::TaskFilter;
use crate::view::{Shown, within_bounds};
use crate::{Caller, Engine, database, store};

/// A page whose tasks say whether artifacts were asked for: then the member is there, also when empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTasks {
    /// The answer.
    pub response: ListTasksResponse,
    /// Whether `artifacts` is shown on every task, `[]` included.
    pub include_artifacts: bool,
}

impl Engine {
    /// One page of the tenant's tasks with this agent; shorter than asked for where histories and artifacts are large.
    ///
    /// # Errors
    /// `InvalidParams` naming the field: page size outside 1-100, unknown token, negative history length.
    pub async fn list_tasks(&self, caller: &Caller, request: ListTasksRequest) -> Result<ListedTasks, Error> {
        wire::validate(&request)?;
        let page_size = page_size(request.page_size, self.settings())?;
        let filter = TaskFilter {
            agent: Some(caller.agent.name.clone()),
            context_id: Some(request.context_id.clone()).filter(|id| !id.is_empty()),
            state: Some(request.status).filter(|state| *state != TaskState::Unspecified).map(|state| state as i16),
            status_from: request.status_timestamp_after.map(|from| from.unix_millis()),
            ..TaskFilter::default()
        };
        let query = format!("tasks {} {filter:?}", caller.tenant.as_str());
        let after = begin_page(&request.page_token, self.secrets(), &query)?;
        let db = self.store().read();
        let doing = "listing tasks";
        // One more than the page tells whether there is another page.
        let mut tasks = store::task::list(
            db,
            &caller.tenant,
            &filter,
            after.map(|cursor| (cursor.at, cursor.id)),
            page_size as u64 + 1,
        )
        .await
        .map_err(database(doing))?;
        let include_artifacts = request.include_artifacts.unwrap_or(false);
        // Without historyLength a list shows no history.
        let shown = Shown { history: Some(request.history_length.unwrap_or(0)), artifacts: include_artifacts };
        let fit = within_bounds(&tasks, shown).min(page_size);
        let next_page_token =
            end_page(&mut tasks, fit, self.secrets(), &query, |last| Cursor { at: last.status_at, id: last.id });
        let total_size = match (&after, next_page_token.is_empty()) {
            // The only page holds them all.
            (None, true) => tasks.len() as u64,
            _ => store::task::count(db, &caller.tenant, &filter).await.map_err(database(doing))?,
        };
        let tasks: Vec<Task> = self.view_many(&tasks, shown).await?;
        let total_size = i32::try_from(total_size).unwrap_or(i32::MAX);
        let response = ListTasksResponse { tasks, next_page_token, page_size: page_size as i32, total_size };
        Ok(ListedTasks { response, include_artifacts })
    }
}

/// The size of a page, asked for or not.
///
/// # Errors
/// `InvalidParams` outside 1 to the largest the operator permits.
pub(super) fn page_size(asked: Option<i32>, settings: &Settings) -> Result<usize, Error> {
    let size = asked.unwrap_or(settings.page_default);
    if (1..=settings.page_max).contains(&size) {
        return Ok(size as usize);
    }
    Err(Error::invalid("pageSize", format!("must be between 1 and {}", settings.page_max)))
}
