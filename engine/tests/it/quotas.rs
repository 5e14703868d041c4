//! Quotas: exact under concurrency, and nothing is stored when one refuses.

use serde_json::json;
use tokio::task::JoinSet;
use wire::Kind;

use crate::fixture::*;
use crate::on_every_store;

on_every_store! {
    /// 64 senders on two replicas get exactly as many tasks as the tenant may hold.
    async fn task_limits_are_exact(f: Fixture) {
        for limit in [1, 23] {
            let replicas = [f.replica(|s| s.tasks_per_tenant = limit), f.replica(|s| s.tasks_per_tenant = limit)];
            let tenant = format!("t{limit}");
            let mut senders = JoinSet::new();
            for n in 0..64 {
                let (engine, tenant) = (replicas[n % 2].clone(), tenant.clone());
                senders.spawn(async move { send(&engine, &tenant, say("x")).await });
            }
            let mut accepted = 0;
            for result in senders.join_all().await {
                match result {
                    Ok(_) => accepted += 1,
                    Err(error) => {
                        assert_eq!(error.kind, Kind::ResourceExhausted);
                        assert_eq!(error.metadata["limit"], "tasks_per_tenant");
                    }
                }
            }
            assert_eq!(accepted, limit);
            assert_eq!(list(&f.engine, &tenant, json!({})).await.unwrap().response.total_size as i64, limit);
        }
    }

    /// A limit the operator changes counts from then on.
    async fn a_changed_limit_counts(f: Fixture) {
        let small = f.replica(|s| s.tasks_per_tenant = 2);
        for _ in 0..2 {
            send(&small, "acme", say("x")).await.unwrap();
        }
        assert_eq!(send(&small, "acme", say("x")).await.unwrap_err().kind, Kind::ResourceExhausted);
        let larger = f.replica(|s| s.tasks_per_tenant = 4);
        for _ in 0..2 {
            send(&larger, "acme", say("x")).await.unwrap();
        }
        assert_eq!(send(&larger, "acme", say("x")).await.unwrap_err().kind, Kind::ResourceExhausted);
        let none = f.replica(|s| s.tasks_per_tenant = 1);
        assert_eq!(send(&none, "acme", say("x")).await.unwrap_err().kind, Kind::ResourceExhausted);
    }

    /// Messages, configs, artifacts and their bytes have a bound each, also when many come at once.
    async fn a_tasks_bounds_are_exact(f: Fixture) {
        let engine = f.replica(|s| {
            let mut agent = engine::Agent::named("demo");
            agent.limits.history = 5;
            agent.limits.push_configs = 3;
            agent.limits.artifacts = 2;
            agent.limits.artifact_bytes = 200;
            s.agents.insert("demo".into(), std::sync::Arc::new(agent));
            s.webhooks.allow_loopback = true;
        });
        let task = send(&engine, "", say("x")).await.unwrap();
        let mut senders = JoinSet::new();
        for n in 0..12 {
            let (engine, id) = (engine.clone(), task.id.clone());
            senders.spawn(async move { send(&engine, "", say_to(&id, &n.to_string())).await.is_ok() });
        }
        assert_eq!(senders.join_all().await.into_iter().filter(|ok| *ok).count(), 4);
        let mut creators = JoinSet::new();
        for _ in 0..12 {
            let (engine, id) = (engine.clone(), task.id.clone());
            creators.spawn(async move {
                let config = serde_json::from_value(json!({"taskId": id, "url": "http://127.0.0.1:2/"})).unwrap();
                engine.create_push_config(&caller(&engine, ""), config).await.map_err(|error| error.kind)
            });
        }
        let results = creators.join_all().await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 3);
        assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(Kind::ResourceExhausted))));
        assert_eq!(f.count("push_config").await, 3);
        let artifact = |id: &str, text: String| json!([{"artifact": {"artifact": {"artifactId": id, "parts": [{"text": text}]}}}]);
        for (id, text, limit) in [("a", "y".repeat(300), Some("artifact_bytes")), ("a", "1".into(), None), ("b", "2".into(), None), ("c", "3".into(), Some("artifacts")), ("a", "y".repeat(60), None)] {
            let result = apply_as(&engine, &task.id, None, artifact(id, text)).await;
            assert_eq!(result.err().map(|error| error.metadata["limit"].clone()).as_deref(), limit, "{id}");
        }
    }
}
