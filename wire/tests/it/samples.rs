//! Every type reads and prints its samples unchanged, by serde and by poem-openapi, in both spellings.

use poem_openapi::types::{ParseFromJSON, ToJSON};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Debug;
use wire::description::{Described, Label};
use wire::{Validate, validate};

/// Calls a generic function once for every type of the wire, then for those of the worker surface.
macro_rules! for_every_type {
    ($function:ident $(, $argument:expr)*) => {
        for_every_type!(@ $function ($($argument),*) wire:
            SendMessageConfiguration Task TaskStatus Part Message Artifact TaskStatusUpdateEvent
            TaskArtifactUpdateEvent AuthenticationInfo AgentInterface AgentCard AgentProvider AgentCapabilities
            AgentExtension AgentSkill AgentCardSignature TaskPushNotificationConfig StringList SecurityRequirement
            SecurityScheme APIKeySecurityScheme HTTPAuthSecurityScheme OAuth2SecurityScheme
            OpenIdConnectSecurityScheme MutualTlsSecurityScheme OAuthFlows AuthorizationCodeOAuthFlow
            ClientCredentialsOAuthFlow ImplicitOAuthFlow PasswordOAuthFlow DeviceCodeOAuthFlow SendMessageRequest
            GetTaskRequest ListTasksRequest ListTasksResponse CancelTaskRequest
            GetTaskPushNotificationConfigRequest DeleteTaskPushNotificationConfigRequest SubscribeToTaskRequest
            ListTaskPushNotificationConfigsRequest GetExtendedAgentCardRequest SendMessageResponse StreamResponse
            ListTaskPushNotificationConfigsResponse);
        for_every_type!(@ $function ($($argument),*) wire::worker:
            SessionRequest SessionResponse PollRequest PollResponse Lease UnfinishedArtifact TraceContext AgentSettings
            DrainRequest DrainResponse ControlEvent QueueStats ListQueuesResponse HeldLease HeartbeatRequest
            HeartbeatResponse LeaseStatus ReleaseRequest MoveRequest ReplyRequest Replied StatusChange Progress ArtifactUpdate
            ApplyRequest Update Applied TaskRecord ListAllTasksResponse PushConfigRecord AuthenticationScheme
            ListAllPushNotificationConfigsResponse);
    };
    (@ $function:ident $arguments:tt $module:path: $($Name:ident)*) => {{
        use $module as module;
        $(for_every_type!(@call $function module::$Name, $arguments);)*
    }};
    (@call $function:ident $Name:path, ($($argument:expr),*)) => {
        $function::<$Name>($($argument),*)
    };
}
pub(crate) use for_every_type;

fn samples() -> Map<String, Value> {
    serde_json::from_str(include_str!("samples.json")).unwrap()
}

fn samples_of<T: Described>() -> Vec<Value> {
    let name = T::DESCRIPTION.name;
    let samples = samples().remove(name).unwrap_or_else(|| panic!("no sample of {name}"));
    samples.as_array().unwrap().clone()
}

trait Wire:
    Described + Serialize + DeserializeOwned + ParseFromJSON + ToJSON + Validate + Debug + Clone + PartialEq
{
}
impl<T: Described + Serialize + DeserializeOwned + ParseFromJSON + ToJSON + Validate + Debug + Clone + PartialEq> Wire
    for T
{
}

fn read<T: Wire>(sample: &Value) -> T {
    wire::parse(sample.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}: {sample}"))
}

#[test]
fn every_sample_is_printed_as_it_was_read() {
    fn check<T: Wire>() {
        for sample in samples_of::<T>() {
            let value: T = read(&sample);
            assert_eq!(serde_json::to_value(&value).unwrap(), sample);
            assert_eq!(value.to_json().unwrap(), sample);
            assert_eq!(T::parse_from_json(Some(sample)).unwrap(), value);
        }
    }
    for_every_type!(check);
}

#[test]
fn the_samples_hold_every_field_of_every_type() {
    fn check<T: Wire>(types: &mut Vec<&'static str>) {
        let samples = samples_of::<T>();
        let present: BTreeSet<&str> =
            samples.iter().flat_map(|sample| sample.as_object().unwrap().keys().map(String::as_str)).collect();
        let declared: BTreeSet<&str> = T::DESCRIPTION.fields.iter().map(|field| field.json_name).collect();
        assert_eq!(present, declared, "{}", T::DESCRIPTION.name);
        types.push(T::DESCRIPTION.name);
    }
    let mut types = Vec::new();
    for_every_type!(check, &mut types);
    assert_eq!(types.len(), samples().len(), "a sample of a type that is not tested");
    for message in wire::MESSAGES {
        assert!(types.contains(&message.name), "{} is not tested", message.name);
    }
}

#[test]
fn the_names_of_the_proto_are_read_too() {
    fn check<T: Wire>() {
        for sample in samples_of::<T>() {
            let snake: Map<String, Value> = sample
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| {
                    let field = T::DESCRIPTION.fields.iter().find(|field| field.json_name == key).unwrap();
                    (field.name.to_owned(), value.clone())
                })
                .collect();
            assert_eq!(read::<T>(&Value::Object(snake)), read::<T>(&sample));
        }
    }
    for_every_type!(check);
}

#[test]
fn every_sample_is_valid_by_its_own_rules() {
    fn check<T: Wire>() {
        for sample in samples_of::<T>() {
            validate(&read::<T>(&sample)).unwrap_or_else(|error| panic!("{error}: {sample}"));
        }
    }
    for_every_type!(check);
}

#[test]
fn a_key_given_twice_is_refused_in_either_spelling() {
    fn check<T: Wire>() {
        for sample in samples_of::<T>() {
            for (key, value) in sample.as_object().unwrap() {
                let field = T::DESCRIPTION.fields.iter().find(|field| field.json_name == key).unwrap();
                let twice = format!("{{\"{}\":{value},\"{key}\":{value}}}", field.name);
                let error = wire::parse::<T>(twice.as_bytes()).expect_err(&twice);
                assert!(error.message.contains("is given twice"), "{error}");
            }
        }
    }
    for_every_type!(check);
}

#[test]
fn null_is_absent_for_every_field_but_a_value() {
    fn check<T: Wire>() {
        for field in T::DESCRIPTION.fields {
            let null = json!({field.json_name: null, "unknown": {"x": [1]}});
            let empty = wire::parse::<T>(b"{}").map_err(|error| error.message);
            let value = wire::parse::<T>(null.to_string().as_bytes()).map_err(|error| error.message);
            assert_eq!(value == empty, field.element != "google.protobuf.Value", "{null}");
        }
    }
    for_every_type!(check);
}

#[test]
fn null_in_a_list_or_map_is_refused() {
    fn check<T: Wire>() {
        for field in T::DESCRIPTION.fields {
            let wrong = match field.label {
                Label::Repeated => json!({field.json_name: [null]}),
                Label::Map => json!({field.json_name: {"k": null}}),
                _ => continue,
            };
            let error = wire::parse::<T>(wrong.to_string().as_bytes()).expect_err(field.name);
            let inner = if field.label == Label::Map { ".k" } else { "[0]" };
            assert_eq!(error.violations[0].field, format!("{}{inner}", field.json_name));
        }
    }
    for_every_type!(check);
}

#[test]
fn a_default_prints_its_required_fields_and_nothing_else() {
    let cases = [
        (json!(wire::Task::default()), json!({"id": "", "status": {"state": "TASK_STATE_UNSPECIFIED"}})),
        (json!(wire::Message::default()), json!({"messageId": "", "role": "ROLE_UNSPECIFIED", "parts": []})),
        (json!(wire::Part::default()), json!({})),
        (json!(wire::SendMessageRequest::default()), json!({})),
        (json!(wire::ListTasksRequest::default()), json!({})),
        (
            json!(wire::ListTasksResponse::default()),
            json!({"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0}),
        ),
        (json!(wire::ListTaskPushNotificationConfigsResponse::default()), json!({"configs": [], "nextPageToken": ""})),
        (
            json!(wire::AgentCard::default()),
            json!({
                "name": "", "description": "", "supportedInterfaces": [], "version": "", "capabilities": {},
                "defaultInputModes": [], "defaultOutputModes": [], "skills": []
            }),
        ),
        (json!(wire::ClientCredentialsOAuthFlow::default()), json!({"tokenUrl": "", "scopes": {}})),
    ];
    for (printed, expected) in cases {
        assert_eq!(printed, expected);
    }
}
