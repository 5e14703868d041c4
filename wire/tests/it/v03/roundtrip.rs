//! Whatever comes is read or refused, and what 1.0 says comes back from 0.3.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wire::v03::{self, proto, rpc};
use wire::{Artifact, Content, Message, Part, Role, Task, TaskState, TaskStatus, Timestamp};

/// Names that mean something, so that what is made up gets past the first look.
const NAMES: &[&str] = &[
    "message",
    "request",
    "configuration",
    "metadata",
    "kind",
    "messageId",
    "role",
    "parts",
    "content",
    "text",
    "file",
    "data",
    "bytes",
    "uri",
    "fileWithBytes",
    "fileWithUri",
    "value",
    "data_part_compat",
    "historyLength",
    "blocking",
    "pushNotificationConfig",
    "pushNotification",
    "url",
    "authentication",
    "schemes",
    "credentials",
    "id",
    "taskId",
    "name",
    "parent",
    "config",
    "configId",
    "task",
    "statusUpdate",
    "artifactUpdate",
    "status",
    "state",
    "artifact",
];

fn scalar() -> impl Strategy<Value = Value> {
    let words =
        prop::sample::select(&["user", "ROLE_USER", "text", "file", "data", "message", "tasks/t", "eA==", ""][..]);
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        words.prop_map(Value::from),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    let name = prop_oneof![3 => prop::sample::select(NAMES).prop_map(str::to_owned), 1 => ".{0,6}"];
    scalar().prop_recursive(6, 48, 6, move |inner| {
        let object = btree_map(name.clone(), inner.clone(), 0..6);
        prop_oneof![
            1 => vec(inner, 0..4).prop_map(Value::from),
            3 => object.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[a-z]{0,4}|data|value", document(), 0..3).prop_map(|members| members.into_iter().collect())
}

fn part() -> impl Strategy<Value = Part> {
    let file = ("[a-z.]{0,6}", "[a-z/]{0,6}");
    let metadata = || prop::option::of(object());
    prop_oneof![
        (".{0,8}", metadata()).prop_map(|(text, metadata)| Part { metadata, ..Part::text(text) }),
        (vec(any::<u8>(), 0..9), file, metadata()).prop_map(|(raw, (filename, media_type), metadata)| Part {
            content: Some(Content::Raw(raw)),
            filename,
            media_type,
            metadata
        }),
        (".{0,8}", file, metadata()).prop_map(|(url, (filename, media_type), metadata)| Part {
            content: Some(Content::Url(url)),
            filename,
            media_type,
            metadata
        }),
        (document(), metadata()).prop_map(|(data, metadata)| {
            // Nothing is left to tell an empty object from none, once the mark is taken out again.
            let metadata = metadata.filter(|metadata| data.is_object() || !metadata.is_empty());
            Part { metadata, ..Part::data(data) }
        }),
    ]
}

prop_compose! {
    fn message(role: Role)(
        (message_id, context_id, task_id) in ("[a-z]{1,6}", "[a-z]{0,6}", "[a-z]{0,6}"),
        parts in vec(part(), 1..4),
        metadata in prop::option::of(object()),
        extensions in vec("[a-z:/]{1,6}", 0..3),
        reference_task_ids in vec("[a-z]{1,6}", 0..3),
    ) -> Message {
        Message { message_id, context_id, task_id, role, parts, metadata, extensions, reference_task_ids }
    }
}

prop_compose! {
    fn artifact()(
        (artifact_id, name, description) in ("[a-z]{1,6}", "[a-z]{0,6}", "[a-z]{0,6}"),
        parts in vec(part(), 1..3),
        metadata in prop::option::of(object()),
        extensions in vec("[a-z:/]{1,6}", 0..3),
    ) -> Artifact {
        Artifact { artifact_id, name, description, parts, metadata, extensions }
    }
}

prop_compose! {
    fn task()(
        (id, context_id) in ("[a-z]{1,6}", "[a-z]{1,6}"),
        state in prop::sample::select(&TaskState::ALL[..]),
        said in prop::option::of(message(Role::Agent)),
        at in prop::option::of(0_i64..4_000_000_000_000),
        artifacts in vec(artifact(), 0..3),
        history in vec(message(Role::User), 0..3),
        metadata in prop::option::of(object()),
    ) -> Task {
        let status = TaskStatus { state, message: said, timestamp: at.and_then(Timestamp::from_unix_millis) };
        Task { id, context_id, status, artifacts, history, metadata }
    }
}

/// A task of 0.3's JSON-RPC as 1.0's JSON: the conversion the other way, written down a second time.
fn inverse(mut task: Value) -> Value {
    let name = task["status"]["state"].as_str().unwrap().to_uppercase().replace('-', "_");
    let name = if name == "UNKNOWN" { "UNSPECIFIED" } else { &name };
    task["status"]["state"] = json!(format!("TASK_STATE_{name}"));
    let (mut messages, mut parts) = (Vec::new(), Vec::new());
    for (key, value) in task.as_object_mut().unwrap() {
        match key.as_str() {
            "status" => messages.extend(value.get_mut("message")),
            "history" => messages.extend(value.as_array_mut().unwrap()),
            "artifacts" => {
                parts.extend(value.as_array_mut().unwrap().iter_mut().map(|artifact| &mut artifact["parts"]))
            }
            _ => {}
        }
    }
    for message in messages {
        assert_eq!(message.as_object_mut().unwrap().remove("kind"), Some(json!("message")));
        message["role"] = json!(format!("ROLE_{}", message["role"].as_str().unwrap().to_uppercase()));
        parts.push(&mut message["parts"]);
    }
    for part in parts.into_iter().flat_map(|parts| parts.as_array_mut().unwrap()) {
        inverse_part(part.as_object_mut().unwrap());
    }
    assert_eq!(task.as_object_mut().unwrap().remove("kind"), Some(json!("task")));
    task
}

fn inverse_part(part: &mut Map<String, Value>) {
    match part.remove("kind").unwrap().as_str().unwrap() {
        "file" => {
            let names = [("bytes", "raw"), ("uri", "url"), ("name", "filename"), ("mimeType", "mediaType")];
            for (name, value) in part.remove("file").unwrap().as_object().unwrap() {
                let name = names.iter().find(|(old, _)| old == name).unwrap().1;
                part.insert(name.into(), value.clone());
            }
        }
        "data" if part.get("metadata").is_some_and(|metadata| metadata["data_part_compat"] == json!(true)) => {
            part["data"] = part["data"]["value"].clone();
            part["metadata"].as_object_mut().unwrap().remove("data_part_compat");
            if part["metadata"] == json!({}) {
                part.remove("metadata");
            }
        }
        _ => {}
    }
}

/// Whether the sender used the mark himself, which 0.3 cannot tell from ours.
fn marks_itself(parts: &[Part]) -> bool {
    parts.iter().any(|part| part.metadata.as_ref().is_some_and(|metadata| metadata.contains_key("data_part_compat")))
}

proptest! {
    #[test]
    fn no_document_and_no_text_makes_a_reader_panic(document in document(), text in ".{0,64}") {
        for text in [document.to_string(), text] {
            let bytes = text.as_bytes();
            for reader in [rpc::send_request, proto::send_request] {
                if let Ok(request) = reader(bytes) {
                    // 1.0 finds nothing wrong that 0.3 has not found, but for who speaks.
                    let found = wire::validate_send(&request, &wire::Limits::default());
                    let found = found.err().map(|error| error.message).unwrap_or_default();
                    prop_assert!(matches!(found.as_str(), "" | "`message.role`: must be ROLE_USER"), "{found}");
                }
            }
            let _read = (rpc::get_task_request(bytes).is_ok(), proto::get_task_request(bytes).is_ok());
            let _read = (rpc::cancel_task_request(bytes).is_ok(), proto::cancel_task_request(bytes).is_ok());
            let _read = (rpc::subscribe_request(bytes).is_ok(), proto::subscribe_request(bytes).is_ok());
            let _read = (rpc::create_push_config_request(bytes).is_ok(), proto::create_push_config_request(bytes).is_ok());
            let _read = (rpc::get_push_config_request(bytes).is_ok(), proto::get_push_config_request(bytes).is_ok());
            let _read = (rpc::list_push_configs_request(bytes).is_ok(), proto::list_push_configs_request(bytes).is_ok());
            let _read = (rpc::delete_push_config_request(bytes).is_ok(), proto::delete_push_config_request(bytes).is_ok());
            let _read = v03::notification(&text).is_ok();
        }
    }

    #[test]
    fn a_message_comes_back_from_either_dialect(message in message(Role::User)) {
        prop_assume!(!marks_itself(&message.parts));
        let sent = json!({"message": rpc::message(&message)}).to_string();
        let back = rpc::send_request(sent.as_bytes()).unwrap().message.unwrap();
        prop_assert_eq!(&back, &message);
        let sent = json!({"message": proto::message(&message)}).to_string();
        let back = proto::send_request(sent.as_bytes()).unwrap().message.unwrap();
        prop_assert_eq!(back, Message { reference_task_ids: Vec::new(), ..message });
    }

    #[test]
    fn a_task_comes_back_from_json_rpc(task in task()) {
        let messages = task.history.iter().chain(&task.status.message);
        let parts = messages.map(|message| &message.parts).chain(task.artifacts.iter().map(|artifact| &artifact.parts));
        prop_assume!(!parts.into_iter().any(|parts| marks_itself(parts)));
        let printed = json!(rpc::task(&task));
        let notified = v03::notification(&json!({ "task": task }).to_string()).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(&notified).unwrap(), &printed);
        prop_assert_eq!(serde_json::from_value::<Task>(inverse(printed)).unwrap(), task);
    }
}
