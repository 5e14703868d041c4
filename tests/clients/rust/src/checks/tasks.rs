//! Lists and cancels.

use std::collections::HashMap;

use a2a::{CancelTaskRequest, ListTasksRequest, TaskState};
use futures_util::StreamExt as _;
use serde_json::json;
use uuid::Uuid;

use crate::Checked;
use crate::agent::{end, history, task, texts};
use crate::suite::{Suite, cancel, collect, listing, request, send, subscribe};

pub(super) async fn list_with_paging(on: Suite) -> Checked {
    let context = Uuid::new_v4().to_string();
    let mut tasks = Vec::new();
    for words in ["number 0", "number 1", "number 2", "number 3", "number 4", "ask"] {
        let mut request = request(words);
        request.message.context_id = Some(context.clone());
        tasks.insert(0, send(&on.here, request).await?);
    }
    let wanted: Vec<_> = tasks.iter().map(|task| task.id.clone()).collect();
    let list = ListTasksRequest { context_id: Some(context), ..listing() };
    let mut found = Vec::new();
    let mut token = String::new();
    for client in [&on.here, &on.there, &on.here] {
        let page_token = Some(token).filter(|token| !token.is_empty());
        let page = client.list_tasks(&ListTasksRequest { page_size: Some(2), page_token, ..list.clone() }).await?;
        assert_eq!((page.page_size, page.total_size, page.tasks.len()), (2, 6, 2));
        assert!(page.tasks.iter().all(|task| texts(task).is_empty()), "{page:?}");
        found.extend(page.tasks.into_iter().map(|task| task.id));
        token = page.next_page_token;
    }
    assert_eq!((&found, &*token), (&wanted, ""), "the pages, newest first");
    let completed = ListTasksRequest {
        status: Some(TaskState::Completed),
        include_artifacts: Some(true),
        history_length: Some(0),
        ..list.clone()
    };
    let page = on.there.list_tasks(&completed).await?;
    assert_eq!(page.tasks.iter().map(|task| &task.id).collect::<Vec<_>>(), wanted[1..].iter().collect::<Vec<_>>());
    for (n, task) in page.tasks.iter().rev().enumerate() {
        assert_eq!(texts(task), [format!("number {n}")]);
        assert!(history(task).is_empty());
    }
    // At or after.
    let after = ListTasksRequest { status_timestamp_after: tasks[0].status.timestamp, ..list };
    let found = on.here.list_tasks(&after).await?.tasks;
    assert!(found.iter().any(|task| task.id == wanted[0]), "{found:?}");
    assert!(found.iter().all(|task| task.status.timestamp >= tasks[0].status.timestamp), "{found:?}");
    let none = ListTasksRequest { context_id: Some(Uuid::new_v4().to_string()), ..listing() };
    let none = on.here.list_tasks(&none).await?;
    assert_eq!((none.tasks.len(), none.total_size, &*none.next_page_token), (0, 0, ""));
    Ok(())
}

pub(super) async fn cancel_it(on: Suite) -> Checked {
    let begun = on.begin("wait 60").await?;
    let mut stream = subscribe(&on.here, &begun.id).await?;
    let first = stream.next().await.transpose()?;
    assert_eq!(task(first.as_ref()).id, begun.id);
    let metadata = Some(HashMap::from([("why".to_owned(), json!("enough"))]));
    let canceled = on.there.cancel_task(&CancelTaskRequest { id: begun.id.clone(), metadata, tenant: None }).await?;
    assert_eq!((&canceled.id, canceled.status.state), (&begun.id, TaskState::Canceled));
    assert_eq!(end(&collect(Ok(stream)).await?), TaskState::Canceled, "the subscriber's last event");
    assert_eq!(on.get(&begun.id).await?.status.state, TaskState::Canceled);
    let asking = on.send("ask").await?;
    assert_eq!(cancel(&on.there, &asking.id).await?.status.state, TaskState::Canceled);
    Ok(())
}
