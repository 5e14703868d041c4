//! What is refused beyond types, where, and that it is reported all at once.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wire::*;

/// The fields that violate a rule, in the order of the report.
fn violations<T: DeserializeOwned + Validate>(value: &Value) -> Vec<String> {
    fields(validate(&read::<T>(value)))
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    parse(value.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn fields(checked: Result<(), Error>) -> Vec<String> {
    match checked {
        Ok(()) => Vec::new(),
        Err(error) => {
            assert_eq!(error.kind, Kind::InvalidParams);
            error.violations.into_iter().map(|violation| violation.field).collect()
        }
    }
}

fn send(message: &Value) -> Vec<String> {
    let request: SendMessageRequest = read(&json!({"message": message}));
    fields(validate_send(&request, &Limits { parts: 3 }))
}

/// A good message with some members replaced.
fn message(changes: Value) -> Value {
    let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    for (key, value) in changes.as_object().unwrap() {
        message[key] = value.clone();
    }
    message
}

#[test]
fn a_clients_message_is_checked_whole() {
    let part = json!({"text": "x"});
    let cases = [
        (json!({}), vec![]),
        (json!({"messageId": null}), vec!["message.messageId"]),
        (json!({"messageId": ""}), vec!["message.messageId"]),
        (json!({"messageId": "é".repeat(256)}), vec![]),
        (json!({"messageId": "é".repeat(257)}), vec!["message.messageId"]),
        (json!({"messageId": "a\u{0}"}), vec!["message.messageId"]),
        (json!({"contextId": "x".repeat(257)}), vec!["message.contextId"]),
        (json!({"contextId": "\u{0}"}), vec!["message.contextId"]),
        (json!({"taskId": "x".repeat(257)}), vec!["message.taskId"]),
        (json!({"taskId": "\u{0}"}), vec!["message.taskId"]),
        (
            json!({"referenceTaskIds": ["a", "", "\u{0}"]}),
            vec!["message.referenceTaskIds[1]", "message.referenceTaskIds[2]"],
        ),
        (json!({"role": null}), vec!["message.role"]),
        (json!({"role": "ROLE_UNSPECIFIED"}), vec!["message.role"]),
        (json!({"role": "ROLE_AGENT"}), vec!["message.role"]),
        (json!({"parts": null}), vec!["message.parts"]),
        (json!({"parts": []}), vec!["message.parts"]),
        (json!({"parts": [{}]}), vec!["message.parts[0]"]),
        (json!({"parts": [part, {"filename": "f"}, part]}), vec!["message.parts[1]"]),
        (json!({"parts": [part, part, part]}), vec![]),
        (json!({"parts": [part, part, part, part]}), vec!["message.parts"]),
        (json!({"parts": [{"data": null}]}), vec![]),
        (
            json!({"messageId": "", "role": null, "parts": [{}]}),
            vec!["message.messageId", "message.role", "message.parts[0]"],
        ),
    ];
    for (changes, expected) in cases {
        assert_eq!(send(&message(changes.clone())), expected, "{changes}");
    }
    assert_eq!(send(&Value::Null), ["message"]);
    assert_eq!(send(&json!({})), ["message.messageId", "message.role", "message.parts"]);
    assert_eq!(Limits::default().parts, 256);
}

#[test]
fn an_agents_message_may_have_the_agents_role() {
    assert!(violations::<Message>(&message(json!({"role": "ROLE_AGENT"}))).is_empty());
}

#[test]
fn a_sends_configuration_is_checked_too() {
    let cases = [
        (json!({"historyLength": 0}), vec![]),
        (json!({"historyLength": -1}), vec!["configuration.historyLength"]),
        (json!({"taskPushNotificationConfig": {}}), vec!["configuration.taskPushNotificationConfig.url"]),
        (
            json!({"taskPushNotificationConfig": {"url": "u", "authentication": {}}}),
            vec!["configuration.taskPushNotificationConfig.authentication.scheme"],
        ),
    ];
    for (configuration, expected) in cases {
        let request = json!({"message": message(json!({})), "configuration": configuration});
        assert_eq!(violations::<SendMessageRequest>(&request), expected, "{configuration}");
    }
}

#[test]
fn a_push_config_cannot_smuggle_headers() {
    let config = |changes: Value| {
        let mut config =
            json!({"url": "https://x", "token": "t", "authentication": {"scheme": "Bearer", "credentials": "c"}});
        for (key, value) in changes.as_object().unwrap() {
            config[key] = value.clone();
        }
        violations::<TaskPushNotificationConfig>(&config)
    };
    assert!(config(json!({})).is_empty());
    assert_eq!(config(json!({"url": ""})), ["url"]);
    assert_eq!(config(json!({"id": "x".repeat(257), "taskId": "\u{0}"})), ["id", "taskId"]);
    for bad in ["a\rb", "a\nb", "a\u{0}b"] {
        assert_eq!(config(json!({"token": bad})), ["token"]);
        assert_eq!(config(json!({"url": bad})), ["url"]);
        let authentication = json!({"scheme": bad, "credentials": bad});
        assert_eq!(
            config(json!({"authentication": authentication})),
            ["authentication.scheme", "authentication.credentials"]
        );
    }
    for bad in ["a\u{1b}b", "a\u{7f}b", "a\u{85}b", "a\u{2028}b", "é", "a\u{b}b"] {
        assert_eq!(config(json!({"token": bad})), ["token"], "{bad:?}");
        let authentication = json!({"scheme": "Bearer", "credentials": bad});
        assert_eq!(config(json!({"authentication": authentication})), ["authentication.credentials"], "{bad:?}");
    }
    let authentication = json!({"scheme": "Digest", "credentials": "username=\"a\",\tqop=auth, x=~"});
    assert!(config(json!({"authentication": authentication})).is_empty());
    for scheme in ["Bearer x", "Bearer:", "Bär", "a,b", "\"a\"", "(a)", ""] {
        assert_eq!(config(json!({"authentication": {"scheme": scheme}})), ["authentication.scheme"], "{scheme}");
    }
    for scheme in ["bearer", "SCRAM-SHA-256", "a!#$%&'*+-.^_`|~9"] {
        assert!(config(json!({"authentication": {"scheme": scheme}})).is_empty(), "{scheme}");
    }
}

#[test]
fn the_secrets_of_a_push_config_have_a_length() {
    let cases = [("token", 4_096), ("credentials", 8_192), ("scheme", 64)];
    let found = |name: &str, text: String| {
        let mut config = json!({"url": "https://x", "authentication": {"scheme": "Bearer"}});
        match name {
            "token" => config["token"] = json!(text),
            _ => config["authentication"][name] = json!(text),
        }
        violations::<SendMessageRequest>(
            &json!({"message": message(json!({})), "configuration": {"taskPushNotificationConfig": config}}),
        )
    };
    for (name, most) in cases {
        assert_eq!(found(name, "x".repeat(most)), [""; 0], "{name}");
        let longer = found(name, "x".repeat(most + 1));
        let at = if name == "token" { "" } else { "authentication." };
        assert_eq!(longer, [format!("configuration.taskPushNotificationConfig.{at}{name}")]);
    }
}

#[test]
fn requests_need_their_ids_and_keep_their_bounds() {
    assert_eq!(violations::<GetTaskRequest>(&json!({})), ["id"]);
    assert_eq!(violations::<GetTaskRequest>(&json!({"id": "x", "historyLength": -1})), ["historyLength"]);
    assert_eq!(violations::<CancelTaskRequest>(&json!({"id": ""})), ["id"]);
    assert_eq!(violations::<SubscribeToTaskRequest>(&json!({"id": "x".repeat(257)})), ["id"]);
    assert_eq!(violations::<GetTaskPushNotificationConfigRequest>(&json!({})), ["taskId", "id"]);
    assert_eq!(violations::<DeleteTaskPushNotificationConfigRequest>(&json!({})), ["taskId", "id"]);
    assert_eq!(violations::<ListTaskPushNotificationConfigsRequest>(&json!({})), ["taskId"]);
    let page_sizes = [(0, false), (1, true), (100, true), (101, false), (-1, false)];
    for (size, good) in page_sizes {
        let found = violations::<ListTasksRequest>(&json!({"pageSize": size}));
        assert_eq!(found.is_empty(), good, "{size}");
        // Without presence, zero is unset.
        let found = violations::<ListTaskPushNotificationConfigsRequest>(&json!({"taskId": "t", "pageSize": size}));
        assert_eq!(found.is_empty(), good || size == 0, "{size}");
    }
    assert_eq!(
        violations::<ListTasksRequest>(&json!({"historyLength": -1, "contextId": "\u{0}"})),
        ["contextId", "historyLength"]
    );
    assert!(violations::<ListTasksRequest>(&json!({})).is_empty());
    assert!(violations::<GetExtendedAgentCardRequest>(&json!({})).is_empty());
}

#[test]
fn answers_are_checked_to_their_depth() {
    let task = json!({"id": "t", "status": {"state": "TASK_STATE_WORKING", "message": {}}, "artifacts": [{"parts": [{}]}], "history": [{}]});
    let expected = [
        "task.status.message.messageId",
        "task.status.message.role",
        "task.status.message.parts",
        "task.artifacts[0].artifactId",
        "task.artifacts[0].parts[0]",
        "task.history[0].messageId",
        "task.history[0].role",
        "task.history[0].parts",
    ];
    assert_eq!(violations::<StreamResponse>(&json!({"task": task})), expected);
    assert_eq!(violations::<Task>(&json!({})), ["id", "status.state"]);
    assert_eq!(violations::<ListTasksResponse>(&json!({})), [""; 0]);
    assert_eq!(
        violations::<StreamResponse>(&json!({"statusUpdate": {}})),
        ["statusUpdate.taskId", "statusUpdate.contextId", "statusUpdate.status.state"]
    );
}

#[test]
fn a_card_needs_what_the_proto_requires() {
    assert_eq!(
        violations::<AgentCard>(&json!({})),
        ["name", "description", "supportedInterfaces", "version", "defaultInputModes", "defaultOutputModes", "skills"]
    );
    let schemes = json!({"o": {"oauth2SecurityScheme": {}}, "k": {"apiKeySecurityScheme": {}}});
    let found = violations::<AgentCard>(&json!({"securitySchemes": schemes}));
    for field in [
        "securitySchemes.o.oauth2SecurityScheme.flows",
        "securitySchemes.k.apiKeySecurityScheme.location",
        "securitySchemes.k.apiKeySecurityScheme.name",
    ] {
        assert!(found.iter().any(|found| found == field), "{field}: {found:?}");
    }
}
