//! What can be wrong with a send.

use super::{Expected, NO_TASK, invalid};

/// Sends of one message with what is given in place of its parts and beside them.
pub(super) fn sends() -> Vec<(&'static str, String, Expected)> {
    let message = |members: &str| format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER",{members}}}}}"#);
    let parts = |parts: &str| message(&format!(r#""parts":{parts}"#));
    let configured = |members: &str| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"a"}}]}},"configuration":{members}}}"#
        )
    };
    let long = "x".repeat(257);
    vec![
        ("no message", "{}".into(), invalid(&["message"])),
        ("null message", r#"{"message":null}"#.into(), invalid(&["message"])),
        ("message of the wrong type", r#"{"message":"hello"}"#.into(), invalid(&["message"])),
        ("empty message", r#"{"message":{}}"#.into(), invalid(&["message.messageId", "message.role", "message.parts"])),
        ("no role", r#"{"message":{"messageId":"m","parts":[{"text":"a"}]}}"#.into(), invalid(&["message.role"])),
        (
            "unknown role",
            r#"{"message":{"messageId":"m","role":"USER","parts":[{"text":"a"}]}}"#.into(),
            invalid(&["message.role"]),
        ),
        (
            "role of the agent",
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}"#.into(),
            invalid(&["message.role"]),
        ),
        (
            "id of the wrong type",
            r#"{"message":{"messageId":7,"role":"ROLE_USER","parts":[{"text":"a"}]}}"#.into(),
            invalid(&["message.messageId"]),
        ),
        ("no parts", message(r#""metadata":{}"#), invalid(&["message.parts"])),
        ("empty parts", parts("[]"), invalid(&["message.parts"])),
        ("parts of the wrong type", parts(r#"{"text":"a"}"#), invalid(&["message.parts"])),
        ("null in parts", parts("[null]"), invalid(&["message.parts[0]"])),
        ("a part of nothing", parts(r#"[{"text":"a"},{}]"#), invalid(&["message.parts[1]"])),
        ("a part of two", parts(r#"[{"text":"a","url":"https://a.example"}]"#), invalid(&["message.parts[0]"])),
        ("raw that is no base64", parts(r#"[{"raw":"***"}]"#), invalid(&["message.parts[0].raw"])),
        ("text of the wrong type", parts(r#"[{"text":1}]"#), invalid(&["message.parts[0].text"])),
        (
            "too many parts",
            parts(r#"[{"text":"a"},{"text":"a"},{"text":"a"},{"text":"a"}]"#),
            invalid(&["message.parts"]),
        ),
        (
            "metadata of the wrong type",
            message(r#""parts":[{"text":"a"}],"metadata":[1]"#),
            invalid(&["message.metadata"]),
        ),
        (
            "a context id too long",
            message(&format!(r#""parts":[{{"text":"a"}}],"contextId":"{long}""#)),
            invalid(&["message.contextId"]),
        ),
        ("a duplicate", message(r#""parts":[{"text":"a"}],"parts":[]"#), invalid(&["message.parts"])),
        ("a negative history length", configured(r#"{"historyLength":-1}"#), invalid(&["configuration.historyLength"])),
        ("a fraction", configured(r#"{"historyLength":1.5}"#), invalid(&["configuration.historyLength"])),
        (
            "a flag that is none",
            configured(r#"{"returnImmediately":"true"}"#),
            invalid(&["configuration.returnImmediately"]),
        ),
        (
            "a webhook without url",
            configured(r#"{"taskPushNotificationConfig":{"token":"t"}}"#),
            invalid(&["configuration.taskPushNotificationConfig.url"]),
        ),
        (
            "a webhook that is no url",
            configured(r#"{"taskPushNotificationConfig":{"url":"ftp://a.example/"}}"#),
            invalid(&["configuration.taskPushNotificationConfig.url"]),
        ),
        (
            "a webhook without scheme",
            configured(
                r#"{"taskPushNotificationConfig":{"url":"https://a.example/","authentication":{"credentials":"c"}}}"#,
            ),
            invalid(&["configuration.taskPushNotificationConfig.authentication.scheme"]),
        ),
        (
            "a tenant that cannot be",
            r#"{"tenant":"a b","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}}"#.into(),
            invalid(&["tenant"]),
        ),
        (
            "a reserved tenant",
            r#"{"tenant":"tasks","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}}"#.into(),
            invalid(&["tenant"]),
        ),
        ("an unknown task", message(r#""parts":[{"text":"a"}],"taskId":"nope""#), NO_TASK),
    ]
}
