//! What 0.3 clients send, and what 1.0 makes of it.

use serde::Serialize;
use serde_json::{Value, json};
use wire::v03::{proto, rpc};
use wire::{Error, SendMessageRequest};

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// What a reader makes of a document: 1.0's JSON.
fn read<T: Serialize>(reader: fn(&[u8]) -> Result<T, Error>, document: &Value) -> Value {
    let request = reader(&text(document)).unwrap_or_else(|error| panic!("{error}: {document}"));
    serde_json::to_value(request).unwrap()
}

/// What a reader finds wrong: `path: description` of every violation.
fn refused<T>(reader: fn(&[u8]) -> Result<T, Error>, document: &Value) -> Vec<String> {
    let Err(error) = reader(&text(document)) else { panic!("accepted: {document}") };
    assert_eq!(error.kind, wire::Kind::InvalidParams, "{document}");
    error.violations.iter().map(|violation| format!("{}: {}", violation.field, violation.description)).collect()
}

fn send(message: Value) -> Value {
    json!({"message": message})
}

fn with_part(part: Value) -> Value {
    send(json!({"messageId": "m", "role": "user", "parts": [part]}))
}

#[test]
fn a_send_of_json_rpc_is_read() {
    let sent = json!({
        "message": {
            "kind": "message", "messageId": "m1", "role": "user", "contextId": "c", "taskId": "t",
            "parts": [{"kind": "text", "text": "hi", "metadata": {"a": 1}}],
            "metadata": {"k": "v"}, "extensions": ["https://e"], "referenceTaskIds": ["r"], "unknown": true
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": false,
            "pushNotificationConfig": {
                "id": "p", "url": "https://c.example/hook", "token": "n",
                "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "w"}
            }
        },
        "metadata": {"m": []}
    });
    let expected = json!({
        "message": {
            "messageId": "m1", "role": "ROLE_USER", "contextId": "c", "taskId": "t",
            "parts": [{"text": "hi", "metadata": {"a": 1}}],
            "metadata": {"k": "v"}, "extensions": ["https://e"], "referenceTaskIds": ["r"]
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 3, "returnImmediately": true,
            "taskPushNotificationConfig": {
                "id": "p", "url": "https://c.example/hook", "token": "n",
                "authentication": {"scheme": "Bearer", "credentials": "w"}
            }
        },
        "metadata": {"m": []}
    });
    assert_eq!(read(rpc::send_request, &sent), expected);
}

#[test]
fn waiting_and_history_have_the_defaults_of_0_3() {
    let cases = [
        (json!({}), json!({})),
        (json!({"blocking": true}), json!({})),
        (json!({"blocking": null}), json!({})),
        (json!({"blocking": false}), json!({"returnImmediately": true})),
        (json!({"historyLength": 0}), json!({})),
        (json!({"historyLength": 7}), json!({"historyLength": 7})),
        (
            json!({"history_length": 7, "accepted_output_modes": ["a/b"]}),
            json!({"historyLength": 7, "acceptedOutputModes": ["a/b"]}),
        ),
    ];
    for (configuration, expected) in cases {
        let mut sent = with_part(json!({"kind": "text", "text": ""}));
        sent["configuration"] = configuration;
        assert_eq!(read(rpc::send_request, &sent)["configuration"], expected, "{sent}");
    }
}

/// Parts of either dialect, with what 1.0 makes of them.
fn parts() -> Vec<(Value, Value)> {
    vec![
        (json!({"kind": "text", "text": ""}), json!({"text": ""})),
        (json!({"text": "x", "metadata": {}}), json!({"text": "x", "metadata": {}})),
        (
            json!({"kind": "file", "file": {"bytes": "JVBERi0=", "name": "visa.pdf", "mimeType": "application/pdf"}}),
            json!({"raw": "JVBERi0=", "filename": "visa.pdf", "mediaType": "application/pdf"}),
        ),
        (
            json!({"kind": "file", "file": {"uri": "https://f/1", "mime_type": "a/b"}}),
            json!({"url": "https://f/1", "mediaType": "a/b"}),
        ),
        (
            json!({"file": {"fileWithBytes": "JVBERi0", "mimeType": "a/b"}}),
            json!({"raw": "JVBERi0=", "mediaType": "a/b"}),
        ),
        (
            json!({"file": {"file_with_uri": "https://f/1", "name": "n"}}),
            json!({"url": "https://f/1", "filename": "n"}),
        ),
        (json!({"kind": "file", "file": {"fileWithUri": "https://f/1"}}), json!({"url": "https://f/1"})),
        (json!({"kind": "data", "data": {"a": [1, null]}}), json!({"data": {"a": [1, null]}})),
        (json!({"kind": "data", "data": {"data": {}}}), json!({"data": {"data": {}}})),
        (json!({"data": {"data": {"a": 1}}, "metadata": {"x": 1}}), json!({"data": {"a": 1}, "metadata": {"x": 1}})),
        (json!({"data": {"a": 1}}), json!({"data": {"a": 1}})),
        (json!({"data": {"data": 1}}), json!({"data": {"data": 1}})),
        (json!({"data": {"data": {}, "b": 1}}), json!({"data": {"data": {}, "b": 1}})),
        (json!({"data": {}}), json!({"data": {}})),
        (json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}}), json!({"data": [1]})),
        (
            json!({"data": {"data": {"value": null}}, "metadata": {"data_part_compat": true, "x": 1}}),
            json!({"data": null, "metadata": {"x": 1}}),
        ),
        (
            json!({"kind": "data", "data": {"other": 1}, "metadata": {"data_part_compat": true}}),
            json!({"data": {"other": 1}, "metadata": {"data_part_compat": true}}),
        ),
    ]
}

#[test]
fn parts_of_either_dialect_are_read() {
    for (part, expected) in parts() {
        for reader in [rpc::send_request, proto::send_request] {
            assert_eq!(read(reader, &with_part(part.clone()))["message"]["parts"][0], expected, "{part}");
        }
        let sent = json!({"request": {"message_id": "m", "role": "ROLE_USER", "content": [part]}});
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [expected]});
        assert_eq!(read(proto::send_request, &sent), json!({"message": message}));
    }
}

#[test]
fn what_is_wrong_is_named_as_0_3_names_it() {
    let role = "must be `user` or `agent`; in the proto's dialect ROLE_USER or ROLE_AGENT";
    let one = "exactly one of text, file, data must be set";
    let cases = [
        (json!({}), vec!["message: is required".to_owned()]),
        (
            send(json!({})),
            vec![
                "message.messageId: is required".to_owned(),
                "message.role: is required".to_owned(),
                "message.parts: is required".to_owned(),
            ],
        ),
        (
            send(json!({"messageId": "m", "role": "system", "kind": "task", "parts": [{"kind": "text", "text": ""}]})),
            vec!["message.kind: must be message".to_owned(), format!("message.role: {role}")],
        ),
        (
            with_part(json!({"kind": "video", "text": "x"})),
            vec!["message.parts[0].kind: must be text, file or data".to_owned()],
        ),
        (with_part(json!({"kind": "text"})), vec!["message.parts[0].text: is required".to_owned()]),
        (
            with_part(json!({"kind": "file", "text": "x"})),
            vec!["message.parts[0].kind: must name the member that is set".to_owned()],
        ),
        (with_part(json!({"text": "x", "data": {}})), vec![format!("message.parts[0]: {one}")]),
        (with_part(json!({"kind": "text", "text": "x", "data": {}})), vec![format!("message.parts[0]: {one}")]),
        (with_part(json!({})), vec![format!("message.parts[0]: {one}")]),
        (
            with_part(json!({"kind": "file", "file": {}})),
            vec!["message.parts[0].file: exactly one of bytes, uri, fileWithBytes, fileWithUri must be set".to_owned()],
        ),
        (
            with_part(json!({"kind": "file", "file": {"bytes": "", "uri": ""}})),
            vec!["message.parts[0].file: exactly one of bytes, uri, fileWithBytes, fileWithUri must be set".to_owned()],
        ),
        (with_part(json!({"kind": "data", "data": [1]})), vec!["message.parts[0].data: must be an object".to_owned()]),
        (with_part(json!({"kind": 1})), vec!["message.parts[0].kind: must be a string".to_owned()]),
        (
            with_part(json!({"kind": "file", "file": {"bytes": "*"}})),
            vec!["message.parts[0].file.bytes: must be base64".to_owned()],
        ),
        (
            send(json!({"messageId": "m", "role": "user", "parts": [{"text": ""}], "content": [{"text": ""}]})),
            vec!["message.content: must not stand beside `parts`".to_owned()],
        ),
    ];
    for (sent, expected) in cases {
        assert_eq!(refused(rpc::send_request, &sent), expected, "{sent}");
    }
}

#[test]
fn a_webhook_that_is_wrong_is_named_as_0_3_names_it() {
    let at = "configuration.pushNotificationConfig";
    let cases = [
        (json!({}), vec![format!("{at}.url: is required")]),
        (
            json!({"url": "u", "token": "a\nb"}),
            vec![format!("{at}.token: must be visible ASCII, spaces and tabs: it goes into a header")],
        ),
        (
            json!({"url": "u", "authentication": {"credentials": "c"}}),
            vec![format!("{at}.authentication.schemes: is required")],
        ),
        (
            json!({"url": "u", "authentication": {"schemes": ["a b"]}}),
            vec![format!("{at}.authentication.schemes[0]: must be an HTTP authentication scheme")],
        ),
    ];
    for (config, expected) in cases {
        let mut sent = with_part(json!({"text": ""}));
        sent["configuration"] = json!({"pushNotificationConfig": config});
        assert_eq!(refused(rpc::send_request, &sent), expected, "{sent}");
    }
    let mut sent = with_part(json!({"text": ""}));
    sent["configuration"] = json!({"pushNotificationConfig": {"url": "u", "authentication": {"schemes": []}}});
    assert_eq!(read(rpc::send_request, &sent)["configuration"]["taskPushNotificationConfig"], json!({"url": "u"}));
}

#[test]
fn free_form_values_are_bounded_like_those_of_1_0() {
    let deep = |levels: usize| -> Value { (1..levels).fold(json!({}), |inner, _| json!({"n": inner})) };
    let sent = with_part(json!({"kind": "data", "data": deep(30), "metadata": deep(30)}));
    assert!(rpc::send_request(&text(&sent)).is_ok());
    let sent = with_part(json!({"kind": "data", "data": deep(31)}));
    assert_eq!(refused(rpc::send_request, &sent), ["message.parts[0].data: must not be nested deeper than 30 levels"]);
    let long = "i".repeat(257);
    let sent = send(json!({"messageId": long, "role": "user", "parts": [{"text": ""}]}));
    assert_eq!(refused(rpc::send_request, &sent), ["message.messageId: must be at most 256 characters"]);
}

#[test]
fn what_0_3_reads_1_0_finds_nothing_wrong_with() {
    for (part, _) in parts() {
        let request: SendMessageRequest = rpc::send_request(&text(&with_part(part))).unwrap();
        wire::validate_send(&request, &wire::Limits::default()).unwrap();
    }
}

#[test]
fn the_other_params_of_json_rpc_are_read() {
    let task = json!({"id": "t", "historyLength": 2, "metadata": {"m": 1}});
    assert_eq!(read(rpc::get_task_request, &task), json!({"id": "t", "historyLength": 2}));
    assert_eq!(read(rpc::get_task_request, &json!({"id": "t", "historyLength": 0})), json!({"id": "t"}));
    assert_eq!(read(rpc::cancel_task_request, &task), json!({"id": "t", "metadata": {"m": 1}}));
    assert_eq!(read(rpc::subscribe_request, &task), json!({"id": "t"}));
    assert_eq!(read(rpc::list_push_configs_request, &task), json!({"taskId": "t"}));
    let config = json!({"id": "t", "pushNotificationConfigId": "p"});
    assert_eq!(read(rpc::get_push_config_request, &config), json!({"taskId": "t", "id": "p"}));
    assert_eq!(read(rpc::get_push_config_request, &json!({"id": "t"})), json!({"taskId": "t", "id": ""}));
    assert_eq!(read(rpc::delete_push_config_request, &config), json!({"taskId": "t", "id": "p"}));
    let set = json!({"taskId": "t", "pushNotificationConfig": {"id": "p", "url": "https://h", "token": "s"}});
    assert_eq!(
        read(rpc::create_push_config_request, &set),
        json!({"taskId": "t", "id": "p", "url": "https://h", "token": "s"})
    );
    assert_eq!(
        refused(rpc::get_task_request, &json!({"historyLength": -1})),
        ["id: is required", "historyLength: must not be negative"]
    );
    assert_eq!(
        refused(rpc::delete_push_config_request, &json!({"id": "t"})),
        ["pushNotificationConfigId: is required"]
    );
    assert_eq!(
        refused(rpc::create_push_config_request, &json!({"taskId": "t"})),
        ["pushNotificationConfig: is required"]
    );
    assert_eq!(refused(rpc::get_push_config_request, &json!([])), [": must be an object (ConfigParams)"]);
}

#[test]
fn a_send_of_the_proto_is_read() {
    let sent = json!({
        "message": {
            "messageId": "m1", "role": "ROLE_USER", "contextId": "c", "taskId": "t",
            "content": [{"text": "hi"}], "metadata": {"k": "v"}, "extensions": ["https://e"]
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 0, "blocking": true,
            "pushNotification": {"url": "https://h", "authentication": {"schemes": ["Bearer"], "credentials": "w"}}
        },
        "metadata": {"m": 1}
    });
    let expected = json!({
        "message": {
            "messageId": "m1", "role": "ROLE_USER", "contextId": "c", "taskId": "t",
            "parts": [{"text": "hi"}], "metadata": {"k": "v"}, "extensions": ["https://e"]
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"],
            "taskPushNotificationConfig": {
                "url": "https://h", "authentication": {"scheme": "Bearer", "credentials": "w"}
            }
        },
        "metadata": {"m": 1}
    });
    assert_eq!(read(proto::send_request, &sent), expected);
    let mut twice = sent.clone();
    twice["request"] = sent["message"].clone();
    twice["configuration"]["pushNotificationConfig"] = json!({"url": "https://h"});
    assert_eq!(
        refused(proto::send_request, &twice),
        [
            "request: must not stand beside `message`",
            "configuration.pushNotification: must not stand beside `pushNotificationConfig`"
        ]
    );
    let unknown = json!({"message": {"messageId": "m", "role": "ROLE_UNSPECIFIED", "content": [{"kind": "x"}]}});
    assert_eq!(
        refused(proto::send_request, &unknown),
        ["message.role: is required", "message.content[0].kind: must be text, file or data"]
    );
}

#[test]
fn the_other_requests_of_the_proto_are_read_by_name() {
    let task = json!({"name": "tasks/t", "historyLength": 2});
    assert_eq!(read(proto::get_task_request, &task), json!({"id": "t", "historyLength": 2}));
    assert_eq!(read(proto::cancel_task_request, &task), json!({"id": "t"}));
    assert_eq!(read(proto::subscribe_request, &task), json!({"id": "t"}));
    let config = json!({"name": "tasks/t/pushNotificationConfigs/a/b"});
    assert_eq!(read(proto::get_push_config_request, &config), json!({"taskId": "t", "id": "a/b"}));
    assert_eq!(read(proto::delete_push_config_request, &config), json!({"taskId": "t", "id": "a/b"}));
    let list = json!({"parent": "tasks/t", "pageSize": 5, "pageToken": "n"});
    assert_eq!(read(proto::list_push_configs_request, &list), json!({"taskId": "t", "pageSize": 5, "pageToken": "n"}));

    let wrong = "name: must be `tasks/{id}`";
    for name in ["t", "tasks/", "tasks/t/x", "tasks/t/pushNotificationConfigs/c", "/tasks/t"] {
        assert_eq!(refused(proto::get_task_request, &json!({"name": name})), [wrong], "{name}");
    }
    assert_eq!(refused(proto::cancel_task_request, &json!({})), ["name: is required"]);
    let wrong = "name: must be `tasks/{id}/pushNotificationConfigs/{id}`";
    for name in [
        "tasks/t",
        "tasks/t/pushNotificationConfigs",
        "tasks/t/pushNotificationConfigs/",
        "tasks//pushNotificationConfigs/c",
    ] {
        assert_eq!(refused(proto::get_push_config_request, &json!({"name": name})), [wrong], "{name}");
    }
    assert_eq!(refused(proto::list_push_configs_request, &json!({"parent": "t"})), ["parent: must be `tasks/{id}`"]);
}

#[test]
fn a_config_of_the_proto_is_read_from_the_request_or_from_what_it_holds() {
    let inner = json!({"url": "https://h", "token": "s"});
    let nested = json!({"name": "tasks/t/pushNotificationConfigs/None", "pushNotificationConfig": inner});
    let cases = [
        (json!({"parent": "tasks/t", "config": nested}), json!({"taskId": "t", "url": "https://h", "token": "s"})),
        (
            json!({"parent": "tasks/t/pushNotificationConfigs", "configId": "p", "config": nested}),
            json!({"taskId": "t", "id": "p", "url": "https://h", "token": "s"}),
        ),
        (
            json!({"config_id": "p", "push_notification_config": {"id": "own", "url": "https://h"}}),
            json!({"id": "own", "url": "https://h"}),
        ),
    ];
    for (sent, expected) in cases {
        assert_eq!(read(proto::create_push_config_request, &sent), expected, "{sent}");
    }
    let cases = [
        (json!({"parent": "x"}), vec!["parent: must be `tasks/{id}`", "config: is required"]),
        (json!({"config": {}}), vec!["config.pushNotificationConfig: is required"]),
        (
            json!({"config": nested, "pushNotificationConfig": inner}),
            vec!["pushNotificationConfig: must not stand beside `config`"],
        ),
    ];
    for (sent, expected) in cases {
        assert_eq!(refused(proto::create_push_config_request, &sent), expected, "{sent}");
    }
}

/// The proto has no presence there: false is not printed.
#[test]
fn saying_nothing_of_waiting_is_yes_but_in_the_dialect_of_the_proto() {
    let sent = |parts: &str, options: Value| {
        let mut sent = json!({"message": {"messageId": "m", "role": "user", parts: [{"text": "x"}]}});
        sent["configuration"] = options;
        sent
    };
    let cases = [
        (sent("parts", json!({})), false),
        (sent("content", json!({})), true),
        (sent("content", json!({"blocking": true})), false),
        (sent("content", json!({"blocking": false})), true),
        (sent("content", json!(null)), false),
    ];
    for (sent, at_once) in cases {
        let request = proto::send_request(&text(&sent)).unwrap();
        assert_eq!(request.configuration.is_some_and(|options| options.return_immediately), at_once, "{sent}");
    }
}
