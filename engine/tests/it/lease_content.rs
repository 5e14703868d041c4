//! What a lease tells its worker, beside the task.

use std::sync::Arc;
use std::time::Duration;

use engine::{Caller, Engine};
use serde_json::json;
use wire::worker::{TraceContext, UnfinishedArtifact};

use crate::fixture::*;
use crate::on_every_store;

const LEASE: i64 = 30_000;

fn trace(number: u32) -> TraceContext {
    TraceContext { traceparent: format!("00-{number:032x}-00f067aa0ba902b7-01"), tracestate: "rojo=1".into() }
}

/// Send as a client whose request is part of a trace.
async fn send_in(engine: &Engine, number: u32, request: wire::SendMessageRequest) -> wire::Task {
    let caller = Caller { trace: Some(serde_json::to_string(&trace(number)).unwrap()), ..caller(engine, "") };
    task_of(engine.send_message(&caller, None, request).await.unwrap())
}

on_every_store! {
    /// The next lease is told which artifacts are unfinished, and may go on with one or start it anew.
    async fn unfinished_artifacts_are_told(f: Fixture) {
        send(&f.engine, "", say("x")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert!(lease.unfinished_artifacts.is_empty());
        let chunk = |id: &str, text: &str, append: bool, last: bool| {
            json!({"artifact": {"artifact": {"artifactId": id, "parts": [{ "text": text }]},
                "append": append, "lastChunk": last}})
        };
        let updates = json!([
            chunk("begun", "a", false, false), chunk("begun", "bb", true, false),
            chunk("whole", "c", false, false), chunk("whole", "d", true, true),
            chunk("anew", "e", false, true), chunk("anew", "f", false, false),
        ]);
        apply(&f.engine, &lease, updates).await.unwrap();
        f.clock.advance(LEASE + 1);
        let lease = poll(&f.engine, 1, true).await.remove(0);
        let body = |text: &str, id: &str| format!(r#"{{"artifactId":"{id}","parts":[{{"text":"{text}"}}]}}"#).len() as i64;
        let of = |id: &str, chunks, bytes| UnfinishedArtifact { artifact_id: id.into(), chunks, bytes };
        assert_eq!(
            lease.unfinished_artifacts,
            [of("begun", 2, body("a", "begun") + body("bb", "begun")), of("anew", 1, body("f", "anew"))]
        );
        let updates = json!([chunk("begun", "new", false, false), chunk("anew", "end", true, true)]);
        apply(&f.engine, &lease, updates).await.unwrap();
        f.clock.advance(LEASE + 1);
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(lease.unfinished_artifacts, [of("begun", 1, body("new", "begun"))]);
        let parts: Vec<usize> = lease.task.artifacts.iter().map(|artifact| artifact.parts.len()).collect();
        assert_eq!(parts, [1, 2, 2]);
    }

    /// A lease carries the trace of the request that made the task ready; a request without one leaves it.
    async fn a_lease_carries_the_trace(f: Fixture) {
        let task = send_in(&f.engine, 1, say("x")).await;
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(lease.trace_context, Some(trace(1)));
        apply(&f.engine, &lease, json!([{"requireInput": {}}])).await.unwrap();
        send(&f.engine, "", say_to(&task.id, "without")).await.unwrap();
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(lease.trace_context, Some(trace(1)));
        apply(&f.engine, &lease, json!([{"work": {}}, {"requireInput": {}}])).await.unwrap();
        send_in(&f.engine, 2, say_to(&task.id, "another")).await;
        let lease = poll(&f.engine, 1, true).await.remove(0);
        assert_eq!(lease.trace_context, Some(trace(2)));
        apply(&f.engine, &lease, json!([{"complete": {}}])).await.unwrap();
        send(&f.engine, "", say("y")).await.unwrap();
        assert_eq!(poll(&f.engine, 1, true).await.remove(0).trace_context, None);
    }

    /// So does one on a message that waits for a direct answer, and on the task it becomes.
    async fn a_waiting_message_carries_the_trace(f: Fixture) {
        let direct = f.replica(|settings| {
            let agent = Arc::make_mut(settings.agents.get_mut("demo").unwrap());
            agent.direct = Some(Duration::from_secs(60));
        });
        let mut request = say("x");
        request.configuration = None;
        let sender = tokio::spawn({
            let direct = direct.clone();
            async move { send_in(&direct, 3, request).await }
        });
        let lease = poll(&direct, 1, false).await.remove(0);
        assert_eq!((lease.direct, lease.trace_context.as_ref()), (true, Some(&trace(3))));
        apply(&direct, &lease, json!([{"work": {}}])).await.unwrap();
        f.clock.advance(LEASE + 1);
        let lease = poll(&direct, 1, false).await.remove(0);
        assert_eq!((lease.direct, lease.trace_context.as_ref()), (false, Some(&trace(3))));
        apply(&direct, &lease, json!([{"complete": {}}])).await.unwrap();
        sender.await.unwrap();
    }

    /// Messages since the last lease, the cursor into history, what the client can take back, and the agent as it is configured.
    async fn a_lease_tells_what_is_new_and_what_is_wanted(f: Fixture) {
        let engine = f.replica(|settings| {
            let agent = Arc::make_mut(settings.agents.get_mut("demo").unwrap());
            (agent.lease, agent.max_deliveries, agent.cancelable) = (Duration::from_millis(7_500), 3, false);
            agent.limits.parts = 9;
        });
        let mut request = say("one");
        request.configuration.as_mut().unwrap().accepted_output_modes = vec!["text/plain".into()];
        let task = send(&engine, "acme", request).await.unwrap();
        let lease = poll(&engine, 1, true).await.remove(0);
        let told = lease.agent_settings.as_ref().unwrap();
        assert_eq!((told.lease_seconds, told.max_deliveries, told.cancelable), (7.5, 3, false));
        assert_eq!((told.max_parts, told.max_artifacts, told.max_artifact_bytes), (9, 1_000, 64 << 20));
        assert_eq!((lease.attempt, lease.tenant.as_str(), lease.seconds_left), (1, "acme", 7.5));
        assert_eq!((lease.accepted_output_modes.as_slice(), lease.history_cursor), (&["text/plain".to_owned()][..], 1));
        assert_eq!(lease.messages.iter().map(text).collect::<Vec<_>>(), ["one"]);
        apply(&engine, &lease, json!([{"requireInput": {"statusMessage": {"parts": [{"text": "which?"}]}}}])).await.unwrap();
        send(&engine, "acme", say_to(&task.id, "this")).await.unwrap();
        send(&engine, "acme", say_to(&task.id, "or that")).await.unwrap();
        let lease = poll(&engine, 1, true).await.remove(0);
        assert_eq!(lease.messages.iter().map(text).collect::<Vec<_>>(), ["this", "or that"]);
        assert_eq!((lease.history_cursor, lease.task.history.len()), (3, 3));
        let said: Vec<String> = lease.task.history.iter().map(text).collect();
        assert_eq!(said, ["one", "this", "or that"]);
        assert_eq!(lease.task.status.message.as_ref().map(text).as_deref(), Some("which?"));
        assert_eq!(lease.accepted_output_modes, ["text/plain"]);
        let bytes = serde_json::to_string(&lease).unwrap().len();
        assert!(bytes < 1_600, "{bytes} bytes");
    }
}
