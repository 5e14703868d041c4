//! Push configs: what is stored, what is shown, and which deliveries exist.

use serde_json::{Value, json};
use wire::{Kind, TaskPushNotificationConfig, Version};

use crate::fixture::*;
use crate::on_every_store;

async fn create(f: &Fixture, config: Value) -> Result<TaskPushNotificationConfig, wire::Error> {
    f.engine.create_push_config(&caller(&f.engine, ""), serde_json::from_value(config).unwrap()).await
}

async fn configs(f: &Fixture, query: Value) -> wire::ListTaskPushNotificationConfigsResponse {
    f.engine.list_push_configs(&caller(&f.engine, ""), serde_json::from_value(query).unwrap()).await.unwrap()
}

on_every_store! {
    /// Only the create answer carries secrets; what is stored does not show them either.
    async fn secrets_are_left_out(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let made = create(&f, json!({"taskId": task.id, "id": "mine", "url": "https://example.com/hook", "token": "tok-1",
            "authentication": {"scheme": "Bearer", "credentials": "cred-1"}})).await.unwrap();
        assert_eq!((made.id.as_str(), made.token.as_str()), ("mine", "tok-1"));
        assert_eq!(made.authentication.unwrap().credentials, "cred-1");
        let shown = f.engine.get_push_config(&caller(&f.engine, ""), serde_json::from_value(json!({"taskId": task.id, "id": "mine"})).unwrap()).await.unwrap();
        assert_eq!((shown.token.as_str(), shown.url.as_str()), ("", "https://example.com/hook"));
        let authentication = shown.authentication.unwrap();
        assert_eq!((authentication.scheme.as_str(), authentication.credentials.as_str()), ("Bearer", ""));
        let listed = serde_json::to_string(&configs(&f, json!({"taskId": task.id})).await).unwrap();
        assert!(!listed.contains("tok-1") && !listed.contains("cred-1"), "{listed}");
    }

    /// A known id replaces; without an id each is its own; pages hold them all.
    async fn ids_replace_and_pages_go_on(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        for _ in 0..2 {
            create(&f, json!({"taskId": task.id, "id": "same", "url": "https://example.com/1"})).await.unwrap();
        }
        for n in 0..3 {
            create(&f, json!({"taskId": task.id, "url": format!("https://example.com/{n}")})).await.unwrap();
        }
        assert_eq!(configs(&f, json!({"taskId": task.id})).await.configs.len(), 4);
        let first = configs(&f, json!({"taskId": task.id, "pageSize": 3})).await;
        let rest = configs(&f, json!({"taskId": task.id, "pageSize": 3, "pageToken": first.next_page_token})).await;
        assert_eq!((first.configs.len(), rest.configs.len(), rest.next_page_token.as_str()), (3, 1, ""));
    }

    /// A config is told in the version its maker spoke, however it was made; who replaces it speaks for it from then on.
    async fn a_config_keeps_its_makers_version(f: Fixture) {
        let (new, old) = (caller(&f.engine, ""), caller(&f.engine, "").speaking(Version::V03));
        let config = |id: &str| json!({"id": id, "url": "https://example.com/"});
        let inline = |id: &str, mut request: wire::SendMessageRequest| {
            request.configuration.as_mut().unwrap().task_push_notification_config =
                Some(serde_json::from_value(config(id)).unwrap());
            request
        };
        let sent = f.engine.send_message(&old, None, inline("begun", say("x"))).await.unwrap();
        let task = task_of(sent).id;
        f.engine.send_message(&old, None, inline("sent", say_to(&task, "y"))).await.unwrap();
        f.engine.send_message(&new, None, inline("now", say_to(&task, "z"))).await.unwrap();
        let set = async |who: &engine::Caller, id: &str| {
            let mut request: TaskPushNotificationConfig = serde_json::from_value(config(id)).unwrap();
            request.task_id.clone_from(&task);
            f.engine.create_push_config(who, request).await.unwrap();
        };
        set(&old, "made").await;
        set(&new, "plain").await;
        let of = async |version: &str, ids: &str| {
            f.count(&format!("push_config WHERE version = '{version}' AND config_id IN ({ids})")).await
        };
        assert_eq!(of("0.3", "'begun', 'sent', 'made'").await, 3);
        assert_eq!(of("1.0", "'now', 'plain'").await, 2);
        set(&new, "made").await;
        set(&old, "plain").await;
        assert_eq!((of("1.0", "'made'").await, of("0.3", "'plain'").await), (1, 1));
        assert_eq!(f.count("push_config").await, 5);
    }

    /// Each event is a delivery of each config, numbered without a gap; a later config hears first how the task stands.
    async fn every_event_is_a_delivery(f: Fixture) {
        let mut wanted = say("x");
        wanted.configuration.as_mut().unwrap().task_push_notification_config =
            Some(serde_json::from_value(json!({"url": "https://example.com/inline"})).unwrap());
        let task = send(&f.engine, "", wanted).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        create(&f, json!({"taskId": task.id, "url": "https://example.com/later"})).await.unwrap();
        apply(&f.engine, &lease, json!([
            {"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}, {"complete": {}},
        ])).await.unwrap();
        assert_eq!(f.count("task_event").await, 4);
        assert_eq!(f.count("push_delivery").await, 4 + 3, "the later one: a snapshot, the artifact, the end");
        assert_eq!(f.count("push_delivery WHERE body IS NOT NULL").await, 1);
        assert_eq!(f.count("push_lane WHERE tail IN (4, 3) AND head = 1 AND due_at IS NOT NULL").await, 2);
        create(&f, json!({"taskId": task.id, "url": "https://example.com/after-the-end"})).await.unwrap();
        assert_eq!(f.count("push_delivery").await, 8);
    }

    /// What a deleted config had yet to deliver is cancelled, deleting again succeeds, and no later event is delivered to it.
    async fn delete_is_final(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        create(&f, json!({"taskId": task.id, "id": "gone", "url": "https://example.com/"})).await.unwrap();
        let request = || serde_json::from_value(json!({"taskId": task.id, "id": "gone"})).unwrap();
        for _ in 0..2 {
            f.engine.delete_push_config(&caller(&f.engine, ""), request()).await.unwrap();
        }
        assert_eq!(f.count("push_config").await, 0);
        assert_eq!(f.count("push_delivery WHERE state = 3").await, 1);
        apply_as(&f.engine, &task.id, None, json!([{"complete": {}}])).await.unwrap();
        assert_eq!(f.count("push_delivery").await, 1);
        assert_eq!(f.count("task_log").await, 2);
        let missing = f.engine.get_push_config(&caller(&f.engine, ""), serde_json::from_value(json!({"taskId": task.id, "id": "gone"})).unwrap()).await;
        assert_eq!(missing.unwrap_err().kind, Kind::TaskNotFound);
        let stranger = f.engine.delete_push_config(&caller(&f.engine, "umbrella"), request()).await;
        assert_eq!(stranger.unwrap_err().kind, Kind::TaskNotFound);
    }

    /// An agent that does not push refuses every push operation, an inline config included, before looking at anything else.
    async fn push_is_a_capability(f: Fixture) {
        let engine = f.replica(|s| {
            let mut agent = engine::Agent::named("demo");
            agent.push_notifications = false;
            s.agents.insert("demo".into(), std::sync::Arc::new(agent));
        });
        let who = caller(&engine, "");
        let config = || serde_json::from_value(json!({"taskId": "none", "url": ""})).unwrap();
        assert_eq!(engine.create_push_config(&who, config()).await.unwrap_err().kind, Kind::PushNotificationNotSupported);
        let mut wanted = say("x");
        wanted.configuration.as_mut().unwrap().task_push_notification_config = Some(Default::default());
        assert_eq!(send(&engine, "", wanted).await.unwrap_err().kind, Kind::PushNotificationNotSupported);
        assert_eq!(f.count("task").await, 0);
    }

    /// A process with another secrets key than the one secrets are sealed with does not start; before the first secret a key may come.
    async fn another_key_refuses_to_start(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let config = || json!({"taskId": task.id, "url": "https://example.com/", "token": "t"});
        assert!(engine::secret_key(f.engine.store(), Some(&[7; 32]), START).await.is_ok());
        // One that has started with the key of before seals nothing that nobody could open.
        assert_eq!(create(&f, config()).await.unwrap_err().kind, Kind::Unavailable);
        let mut wanted = say("x");
        wanted.configuration.as_mut().unwrap().task_push_notification_config = Some(serde_json::from_value(json!({
            "url": "https://example.com/", "authentication": {"scheme": "Bearer", "credentials": "c"},
        })).unwrap());
        assert_eq!(send(&f.engine, "", wanted).await.unwrap_err().kind, Kind::Unavailable);
        assert_eq!((f.count("task").await, f.count("push_config").await), (1, 0));
        assert!(engine::secret_key(f.engine.store(), None, START).await.is_ok());
        create(&f, config()).await.unwrap();
        assert!(engine::secret_key(f.engine.store(), None, START).await.is_ok());
        let other = engine::secret_key(f.engine.store(), Some(&[9; 32]), START).await;
        assert!(matches!(other, Err(engine::StartError::SecretMismatch)), "{other:?}");
    }

    /// Events that come while configs are made and deleted leave every lane without a gap.
    async fn lanes_have_no_gap_under_concurrency(f: Fixture) {
        let task = send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let writing = async {
            for n in 0..20 {
                apply(&f.engine, &lease, json!([{"artifact": {"artifact": {"artifactId": n.to_string(), "parts": [{"text": "x"}]}}}])).await.unwrap();
            }
        };
        let creating = async {
            for _ in 0..10 {
                create(&f, json!({"taskId": task.id, "url": "https://example.com/"})).await.unwrap();
            }
        };
        tokio::join!(writing, creating);
        let broken = "(SELECT lane_id FROM push_delivery GROUP BY lane_id HAVING min(sequence) <> 1 OR count(*) <> max(sequence) \
            OR max(generation) <> 22 OR max(generation) - min(generation) + 1 <> count(*)) AS broken";
        assert_eq!(f.count(broken).await, 0);
        assert_eq!(f.count("push_lane").await, 10);
    }
}
