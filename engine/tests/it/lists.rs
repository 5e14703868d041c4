//! ListTasks: order, filters, pages, totals.

use serde_json::json;
use wire::{Kind, TaskState};

use crate::fixture::*;
use crate::on_every_store;

on_every_store! {
    /// Pages are complete, in order and without doubles, also when many tasks share a time.
    async fn pages_hold_every_task_once(f: Fixture) {
        for n in 0..25 {
            send(&f.engine, "acme", say(&n.to_string())).await.unwrap();
            if n % 5 == 0 {
                f.clock.advance(1);
            }
        }
        send(&f.engine, "umbrella", say("other")).await.unwrap();
        let mut seen: Vec<(String, String)> = Vec::new();
        let mut token = String::new();
        loop {
            let page = list(&f.engine, "acme", json!({"pageSize": 7, "pageToken": token})).await.unwrap().response;
            assert_eq!((page.page_size, page.total_size), (7, 25));
            assert!(page.tasks.iter().all(|task| task.history.is_empty() && task.artifacts.is_empty()));
            seen.extend(page.tasks.into_iter().map(|task| (task.status.timestamp.unwrap().to_string(), task.id)));
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(seen.len(), 25);
        let mut sorted = seen.clone();
        sorted.sort_by(|a, b| b.cmp(a));
        sorted.dedup();
        assert_eq!(seen, sorted, "newest status first, then by id");
    }

    /// Filters narrow, and the time filter includes its own instant.
    async fn filters_narrow(f: Fixture) {
        let mut first = say("a");
        first.message.as_mut().unwrap().context_id = "c1".into();
        let first = send(&f.engine, "", first).await.unwrap();
        f.clock.advance(1_000);
        let second = send(&f.engine, "", say("b")).await.unwrap();
        apply_as(&f.engine, &second.id, None, json!([{"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}, {"complete": {}}])).await.unwrap();
        let ids = async |query: serde_json::Value| -> Vec<String> {
            list(&f.engine, "", query).await.unwrap().response.tasks.into_iter().map(|task| task.id).collect()
        };
        assert_eq!(ids(json!({"contextId": "c1"})).await, std::slice::from_ref(&first.id));
        assert_eq!(ids(json!({"status": "TASK_STATE_COMPLETED"})).await, std::slice::from_ref(&second.id));
        let at = second.status.timestamp.unwrap().to_string();
        assert_eq!(ids(json!({"statusTimestampAfter": at})).await, std::slice::from_ref(&second.id));
        assert_eq!(ids(json!({"contextId": ""})).await, [second.id.clone(), first.id.clone()]);
        let page = list(&f.engine, "", json!({"includeArtifacts": true, "historyLength": 1})).await.unwrap();
        assert!(page.include_artifacts);
        assert_eq!(page.response.tasks[0].artifacts.len(), 1);
        assert_eq!(page.response.tasks[1].history.len(), 1);
        assert_eq!(page.response.tasks[0].status.state, TaskState::Completed);
    }

    /// A page that would be too large is shorter; the next ones hold the rest.
    async fn large_tasks_make_short_pages(f: Fixture) {
        for _ in 0..6 {
            send(&f.engine, "", say(&"y".repeat(4 << 20))).await.unwrap();
        }
        let (mut token, mut sizes) = (String::new(), Vec::new());
        loop {
            let page = list(&f.engine, "", json!({"historyLength": 1, "pageToken": token})).await.unwrap().response;
            assert_eq!(page.total_size, 6);
            sizes.push(page.tasks.len());
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(sizes, [3, 3]);
        assert_eq!(list(&f.engine, "", json!({})).await.unwrap().response.tasks.len(), 6);
    }

    /// A token of another tenant or another query, or of nobody's making, is refused.
    async fn a_token_is_bound_to_its_query(f: Fixture) {
        for n in 0..3 {
            send(&f.engine, "acme", say(&n.to_string())).await.unwrap();
        }
        let token = list(&f.engine, "acme", json!({"pageSize": 1})).await.unwrap().response.next_page_token;
        for (tenant, query) in [
            ("umbrella", json!({"pageToken": token})),
            ("acme", json!({"pageToken": token, "status": "TASK_STATE_WORKING"})),
            ("acme", json!({"pageToken": "nonsense"})),
            ("acme", json!({"pageToken": format!("{token}A")})),
        ] {
            let refused = list(&f.engine, tenant, query).await.unwrap_err();
            assert_eq!((refused.kind, refused.violations[0].field.as_str()), (Kind::InvalidParams, "pageToken"));
        }
        assert_eq!(list(&f.engine, "acme", json!({"pageSize": 2, "pageToken": token})).await.unwrap().response.tasks.len(), 2);
    }

    /// historyLength keeps the newest messages, oldest first.
    async fn history_is_trimmed_to_the_newest(f: Fixture) {
        let task = send(&f.engine, "", say("1")).await.unwrap();
        for n in 2..=5 {
            send(&f.engine, "", say_to(&task.id, &n.to_string())).await.unwrap();
        }
        for (length, expected) in [(Some(0), vec![]), (Some(2), vec!["4", "5"]), (Some(9), vec!["1", "2", "3", "4", "5"]), (None, vec!["1", "2", "3", "4", "5"])] {
            let request = serde_json::from_value(json!({"id": task.id, "historyLength": length})).unwrap();
            let read = f.engine.get_task(&caller(&f.engine, ""), request).await.unwrap();
            assert_eq!(read.history.iter().map(text).collect::<Vec<_>>(), expected);
            let listed = list(&f.engine, "", json!({"historyLength": length.unwrap_or(0)})).await.unwrap().response;
            assert_eq!(listed.tasks[0].history.iter().map(text).collect::<Vec<_>>(), if length.is_some() { expected } else { vec![] });
        }
    }
}
