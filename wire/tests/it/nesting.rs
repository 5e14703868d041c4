//! How deep free-form JSON may be nested, wherever it stands, and that what is within the bound can be read again
//! from the deepest place it is sent in.

use crate::samples::for_every_type;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use wire::description::{Described, Label};
use wire::worker::{ApplyRequest, MoveRequest, PollResponse};
use wire::{AgentCard, Part, SendMessageRequest, Task, Validate, parse, validate};

const WORDS: &str = "must not be nested deeper than 30 levels";

/// That many objects and lists, one in the other.
fn nested(levels: usize) -> Value {
    (1..levels)
        .fold(json!({}), |inner, level| if level % 2 == 0 { json!([1, inner]) } else { json!({"a": 1, "b": inner}) })
}

/// An object of that many levels.
fn object(levels: usize) -> Value {
    json!({"k": nested(levels - 1)})
}

/// The fields that are nested too deep.
fn too_deep<T: DeserializeOwned + Validate>(value: &Value) -> Vec<String> {
    let value: T = parse(value.to_string().as_bytes()).unwrap();
    let found = validate(&value).err().map(|error| error.violations).unwrap_or_default();
    found.into_iter().filter(|found| found.description == WORDS).map(|found| found.field).collect()
}

#[test]
fn every_free_form_field_of_every_type_ends_at_30_levels() {
    fn check<T: Described + DeserializeOwned + Validate>(seen: &mut usize) {
        let free = |element: &str| ["google.protobuf.Struct", "google.protobuf.Value"].contains(&element);
        for field in T::DESCRIPTION.fields.iter().filter(|field| free(field.element)) {
            assert!(!matches!(field.label, Label::Repeated | Label::Map), "{} is not covered here", field.name);
            let mut value = Map::new();
            value.insert(field.json_name.to_owned(), object(30));
            assert_eq!(too_deep::<T>(&json!(value)), [""; 0], "{} {}", T::DESCRIPTION.name, field.name);
            value.insert(field.json_name.to_owned(), object(31));
            assert_eq!(too_deep::<T>(&json!(value)), [field.json_name], "{}", T::DESCRIPTION.name);
            *seen += 1;
        }
    }
    let mut seen = 0;
    for_every_type!(check, &mut seen);
    assert!(seen > 15, "{seen}");
}

#[test]
fn lists_count_like_objects_and_scalars_not_at_all() {
    let data = |data: Value| too_deep::<Part>(&json!({"data": data}));
    let list = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    assert_eq!(data(json!("text")), [""; 0]);
    assert_eq!(data(list(30)), [""; 0]);
    assert_eq!(data(list(31)), ["data"]);
    assert_eq!(data(nested(30)), [""; 0]);
    assert_eq!(data(nested(120)), ["data"]);
    // The deepest one counts, whatever stands beside it.
    assert_eq!(data(json!([[], {"a": list(63)}, 1])), ["data"]);
}

#[test]
fn clients_and_workers_are_told_the_field() {
    let deep = object(31);
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}, {"data": deep, "metadata": deep}],
        "metadata": deep});
    let send = json!({"message": message, "metadata": deep});
    let expected = ["message.parts[1].data", "message.parts[1].metadata", "message.metadata", "metadata"];
    assert_eq!(too_deep::<SendMessageRequest>(&send), expected);

    let said = json!({"parts": [{"data": deep}], "metadata": deep});
    let expected = ["statusMessage.parts[0].data", "statusMessage.metadata", "metadata"];
    assert_eq!(too_deep::<MoveRequest>(&json!({"statusMessage": said, "metadata": deep})), expected);

    let artifact = json!({"artifactId": "a", "parts": [{"data": deep}], "metadata": deep});
    let updates =
        json!([{"artifact": {"artifact": artifact, "metadata": deep}}, {"progress": {"statusMessage": said}}]);
    let expected = [
        "updates[0].artifact.artifact.parts[0].data",
        "updates[0].artifact.artifact.metadata",
        "updates[0].artifact.metadata",
        "updates[1].progress.statusMessage.parts[0].data",
        "updates[1].progress.statusMessage.metadata",
    ];
    assert_eq!(too_deep::<ApplyRequest>(&json!({"updates": updates})), expected);

    let card = json!({"capabilities": {"extensions": [{"params": deep}]}, "signatures": [{"header": deep}]});
    assert_eq!(too_deep::<AgentCard>(&card), ["capabilities.extensions[0].params", "signatures[0].header"]);
}

#[test]
fn what_is_within_the_bound_is_read_from_the_deepest_place() {
    let message =
        json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": nested(30), "metadata": object(30)}]});
    let task = json!({"id": "t", "status": {"state": "TASK_STATE_WORKING", "message": message}, "history": [message]});
    assert_eq!(too_deep::<Task>(&task), [""; 0]);
    let answer = json!({"leases": [{"lease": "l", "agent": "a", "task": task, "messages": [message]}]});
    let read: PollResponse = parse(answer.to_string().as_bytes()).unwrap();
    assert_eq!(json!(read.leases[0].task), task);
    let stream = json!({"jsonrpc": "2.0", "id": 1, "result": {"task": task}});
    serde_json::from_str::<Value>(&stream.to_string()).unwrap();
}
