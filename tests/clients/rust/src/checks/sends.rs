//! Sends that wait and sends that do not.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use a2a::{Message, Part, Role, TaskState};
use serde_json::json;

use crate::Checked;
use crate::agent::{history, is_open, said, texts};
use crate::suite::{Suite, request, send};

pub(super) async fn send_and_wait(on: Suite) -> Checked {
    let task = on.send("hello").await?;
    assert_eq!((&task.status.state, texts(&task)), (&TaskState::Completed, vec!["hello".to_owned()]));
    let [first] = history(&task) else { panic!("one message, not {:?}", task.history) };
    assert_eq!((&first.role, &*said(first)), (&Role::User, "hello"));
    assert!(!task.context_id.is_empty());
    assert_eq!((first.task_id.as_ref(), first.context_id.as_ref()), (Some(&task.id), Some(&task.context_id)));
    assert_eq!(on.get(&task.id).await?, task, "the task from the other replica");
    let task = on.send("wait 1").await?;
    assert_eq!((&task.status.state, texts(&task)), (&TaskState::Completed, vec!["Waited 1 seconds.".to_owned()]));
    let ends = [("fail no luck", TaskState::Failed, "no luck"), ("reject not mine", TaskState::Rejected, "not mine")];
    for (words, state, why) in ends {
        let status = on.send(words).await?.status;
        assert_eq!((status.state, status.message.as_ref().map(said).as_deref()), (state, Some(why)));
    }
    Ok(())
}

pub(super) async fn every_kind_of_part(on: Suite) -> Checked {
    let words = Part { metadata: Some(HashMap::from([("language".to_owned(), json!("en"))])), ..Part::text("words") };
    let parts = vec![
        words,
        Part::raw((0..=255).collect()).with_filename("bytes.bin").with_media_type("application/octet-stream"),
        Part::url("https://example.com/a.pdf").with_media_type("application/pdf"),
        // Numbers of this SDK are doubles when they come back.
        Part::data(json!({"a": [1.0, 2.5, null, {"b": true}], "ü": "é"})).with_media_type("application/json"),
    ];
    let mut request = request("");
    request.message = Message::new(Role::User, parts.clone());
    let task = send(&on.here, request).await?;
    assert_eq!(task.artifacts.unwrap_or_default()[0].parts, parts);
    Ok(())
}

pub(super) async fn send_and_poll(on: Suite) -> Checked {
    let began = Instant::now();
    let task = on.begin("wait 2").await?;
    assert!(began.elapsed() < Duration::from_millis(1800), "returnImmediately waited");
    assert!(is_open(&task), "{task:?}");
    assert_eq!(texts(&on.reach(&task.id, TaskState::Completed).await?), ["Waited 2 seconds."]);
    Ok(())
}

pub(super) async fn idempotency_key(on: Suite) -> Checked {
    let client = on.saying("", "Idempotency-Key", &uuid::Uuid::new_v4().to_string()).await?;
    let sent = request("once");
    let task = send(&client, sent.clone()).await?;
    assert_eq!(send(&client, sent.clone()).await?.id, task.id, "the task of the same key");
    // Without a key the same messageId is a new message.
    assert_ne!(send(&on.here, sent).await?.id, task.id);
    Ok(())
}
