//! A refusal says what was expected and repeats nothing of what was sent; a map's keys are part of the field's path.

use crate::samples::for_every_type;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wire::description::{Described, Label};
use wire::{Kind, SendMessageRequest, parse};

/// Looks like the end of serde's own words, in case the value is cut out by them.
const SECRET: &str = "s3cret`, expected s3cret at line 1 column 5";

fn wrong() -> [Value; 8] {
    let (list, object) = (json!([SECRET]), json!({"k": SECRET}));
    [json!(SECRET), json!(73131.5), json!(-73131), json!(u64::MAX), json!(true), list, object, json!([[73131]])]
}

#[test]
fn no_field_of_any_type_repeats_a_value() {
    fn check<T: Described + DeserializeOwned>(refused: &mut usize) {
        let mut documents: Vec<(&str, Value)> = wrong().into_iter().map(|value| ("", value)).collect();
        for field in T::DESCRIPTION.fields {
            for value in wrong() {
                documents.push((field.json_name, json!({field.json_name: value})));
                match field.label {
                    Label::Repeated => documents.push((field.json_name, json!({field.json_name: [value]}))),
                    Label::Map => documents.push((field.json_name, json!({field.json_name: {"k": value}}))),
                    _ => {}
                }
            }
        }
        for (field, document) in documents {
            let Err(error) = parse::<T>(document.to_string().as_bytes()) else { continue };
            assert_eq!((error.kind, error.violations.len()), (Kind::InvalidParams, 1), "{document}");
            let violation = &error.violations[0];
            assert!(violation.field.starts_with(field), "{document}: {violation:?}");
            for text in [&error.message, &violation.description] {
                for sent in ["s3cret", "73131", "18446744073709551615", "true"] {
                    assert!(!text.contains(sent), "{document}: {text}");
                }
            }
            let useful = ["must be ", "exactly one of "].iter().any(|words| violation.description.starts_with(words));
            assert!(useful, "{document}: {}", violation.description);
            *refused += 1;
        }
    }
    let mut refused = 0;
    for_every_type!(check, &mut refused);
    assert!(refused > 1000, "{refused}");
}

#[test]
fn the_expectation_is_in_the_protocols_words() {
    let push = "configuration.taskPushNotificationConfig";
    let cases = [
        (
            json!({"configuration": {"taskPushNotificationConfig": {"authentication": SECRET}}}),
            format!("`{push}.authentication`: must be an object (AuthenticationInfo)"),
        ),
        (
            json!({"configuration": {"taskPushNotificationConfig": {"token": [SECRET]}}}),
            format!("`{push}.token`: must be a string"),
        ),
        (
            json!({"configuration": {"returnImmediately": SECRET}}),
            "`configuration.returnImmediately`: must be a boolean".to_owned(),
        ),
        (
            json!({"configuration": {"historyLength": SECRET}}),
            "`configuration.historyLength`: must be a 32 bit integer".to_owned(),
        ),
        (json!({"message": SECRET}), "`message`: must be an object (Message)".to_owned()),
        (json!({"message": {"role": SECRET}}), "`message.role`: must be the name of a Role".to_owned()),
        (json!({"message": {"parts": SECRET}}), "`message.parts`: must be a list of Part".to_owned()),
        (json!({"message": {"parts": [{"raw": SECRET}]}}), "`message.parts[0].raw`: must be base64".to_owned()),
        (json!({"metadata": SECRET}), "`metadata`: must be an object".to_owned()),
        (json!(SECRET), "must be an object (SendMessageRequest)".to_owned()),
    ];
    for (document, expected) in cases {
        let error = parse::<SendMessageRequest>(document.to_string().as_bytes()).expect_err("refused");
        assert_eq!(error.message, expected);
    }
    let twice = format!(r#"{{"metadata":{{"a":{{"{SECRET}":1,"{SECRET}":2}}}}}}"#);
    let error = parse::<SendMessageRequest>(twice.as_bytes()).expect_err("refused");
    assert_eq!(error.message, "`metadata.a`: must not hold a key that is given twice");
}

/// Queries are read from values, not by `parse`: the types themselves must not quote.
#[test]
fn a_name_a_number_and_a_time_do_not_quote_either() {
    for wrong in [json!(SECRET), json!(73131), json!(-73131), json!(u64::MAX)] {
        let refused = |error: serde_json::Error| {
            let text = error.to_string();
            assert!(text.starts_with("must be ") && !text.contains("s3cret") && !text.contains("73131"), "{text}");
        };
        refused(serde_json::from_value::<wire::TaskState>(wrong.clone()).unwrap_err());
        refused(serde_json::from_value::<wire::Timestamp>(wrong.clone()).unwrap_err());
    }
}
