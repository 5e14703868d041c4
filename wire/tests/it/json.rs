//! What JSON a field takes, and what it becomes.

use serde_json::{Value, json};
use wire::{Content, Kind, Part, SendMessageRequest, Timestamp, parse};

/// Reads `{field: value}` as a `T` and prints that field again.
fn through<T: serde::de::DeserializeOwned + serde::Serialize>(field: &str, value: &str) -> Result<Value, wire::Error> {
    let value: T = parse(format!("{{\"{field}\":{value}}}").as_bytes())?;
    Ok(json!(value)[field].take())
}

#[test]
fn int32_takes_whole_numbers_in_range_however_written() {
    let taken = [
        ("5", 5),
        ("\"5\"", 5),
        ("5.0", 5),
        ("5e0", 5),
        ("\"5.0\"", 5),
        ("-0", 0),
        ("0", 0),
        ("-7", -7),
        ("2147483647", i32::MAX),
        ("-2147483648", i32::MIN),
    ];
    for (text, number) in taken {
        assert_eq!(through::<wire::GetTaskRequest>("historyLength", text).unwrap(), json!(number), "{text}");
    }
    let refused = [
        "5.5",
        "true",
        "2147483648",
        "-2147483649",
        "1e10",
        "18446744073709551615",
        "\"\"",
        "\"x\"",
        "\"5.5\"",
        "\"inf\"",
        "\"NaN\"",
        "\" 5\"",
        "[5]",
        "{}",
    ];
    for text in refused {
        let error = through::<wire::GetTaskRequest>("historyLength", text).expect_err(text);
        assert_eq!(error.kind, Kind::InvalidParams, "{text}");
        assert_eq!(error.violations[0].field, "historyLength", "{text}");
    }
}

#[test]
fn int64_keeps_every_digit() {
    for text in ["9223372036854775807", "\"9223372036854775807\""] {
        let held = through::<wire::worker::HeldLease>("epoch", text).unwrap();
        assert_eq!(held, json!(i64::MAX));
    }
    through::<wire::worker::HeldLease>("epoch", "9223372036854775808").unwrap_err();
    // An f64 cannot tell this one from its neighbours.
    through::<wire::worker::HeldLease>("epoch", "9.3e18").unwrap_err();
}

#[test]
fn bool_takes_true_and_false_only() {
    for (text, value) in [("true", json!(true)), ("false", json!(false))] {
        assert_eq!(through::<wire::ListTasksRequest>("includeArtifacts", text).unwrap(), value);
    }
    for text in ["\"true\"", "1", "0", "[]"] {
        through::<wire::ListTasksRequest>("includeArtifacts", text).expect_err(text);
    }
}

#[test]
fn an_enum_is_read_by_name_or_number_and_nothing_unknown() {
    let taken =
        [("\"TASK_STATE_FAILED\"", "TASK_STATE_FAILED"), ("4", "TASK_STATE_FAILED"), ("8", "TASK_STATE_AUTH_REQUIRED")];
    for (text, name) in taken {
        assert_eq!(through::<wire::TaskStatus>("state", text).unwrap(), json!(name));
    }
    for text in
        ["\"TASK_STATE_RUNNING\"", "\"task_state_failed\"", "\"failed\"", "\"4\"", "9", "-1", "4.0", "true", "\"\""]
    {
        let error = through::<wire::TaskStatus>("state", text).expect_err(text);
        assert_eq!(error.violations[0].field, "state", "{text}");
    }
}

#[test]
fn a_string_takes_strings_only() {
    for text in ["5", "true", "[]", "{}"] {
        through::<wire::GetTaskRequest>("id", text).expect_err(text);
    }
}

#[test]
fn a_struct_takes_objects_only_without_equal_keys() {
    assert_eq!(through::<wire::Task>("metadata", "{}").unwrap(), json!({}));
    for text in ["[]", "\"x\"", "5", "true", r#"{"a":1,"a":2}"#, r#"{"a":[{"b":1,"b":1}]}"#] {
        let error = through::<wire::Task>("metadata", text).expect_err(text);
        assert!(error.violations[0].field.starts_with("metadata"), "{error}");
    }
}

#[test]
fn bytes_take_both_alphabets_and_optional_padding_and_print_the_standard_one() {
    for text in ["+/+/AA==", "-_-_AA==", "+/+/AA", "-_-_AA"] {
        assert_eq!(through::<Part>("raw", &json!(text).to_string()).unwrap(), json!("+/+/AA=="), "{text}");
    }
    assert_eq!(through::<Part>("raw", "\"\"").unwrap(), json!(""));
    for text in ["\"a\"", "\"+-AA\"", "\"AA A\"", "\"AAA!\"", "5", "[1,2]"] {
        let error = through::<Part>("raw", text).expect_err(text);
        assert_eq!(error.violations[0].field, "raw", "{text}");
    }
}

#[test]
fn a_part_holds_the_one_member_that_is_set() {
    let cases = [
        (r#"{"text":""}"#, Some(Content::Text(String::new()))),
        (r#"{"text":"a","url":null}"#, Some(Content::Text("a".into()))),
        (r#"{"url":null,"raw":"AA=="}"#, Some(Content::Raw(vec![0]))),
        (r#"{"url":"u"}"#, Some(Content::Url("u".into()))),
        (r#"{"data":null}"#, Some(Content::Data(Value::Null))),
        (r#"{"data":[1,{"a":null}]}"#, Some(Content::Data(json!([1, {"a": null}])))),
        (r#"{"text":null}"#, None),
        (r#"{"kind":"text"}"#, None),
    ];
    for (text, content) in cases {
        assert_eq!(parse::<Part>(text.as_bytes()).unwrap().content, content, "{text}");
    }
}

#[test]
fn two_members_are_refused_where_they_stand() {
    let parts = [r#"{"text":"a","url":"b"}"#, r#"{"text":"a","data":null}"#, r#"{"data":1,"raw":""}"#];
    for part in parts {
        let request = format!("{{\"message\":{{\"parts\":[{{\"text\":\"x\"}},{part}]}}}}");
        let error = parse::<SendMessageRequest>(request.as_bytes()).expect_err(part);
        assert_eq!(error.violations[0].field, "message.parts[1]");
        assert_eq!(error.violations[0].description, "exactly one of text, raw, url, data must be set");
    }
    parse::<wire::StreamResponse>(br#"{"task":{},"message":{}}"#).unwrap_err();
    parse::<wire::OAuthFlows>(br#"{"implicit":{},"password":{}}"#).unwrap_err();
}

#[test]
fn a_union_without_a_member_is_refused() {
    for text in ["{}", r#"{"task":null}"#, r#"{"other":{}}"#] {
        let error = parse::<wire::StreamResponse>(text.as_bytes()).expect_err(text);
        assert!(error.message.contains("exactly one of task, message, statusUpdate, artifactUpdate"), "{error}");
    }
    parse::<wire::StreamResponse>(br#"{"task":{},"message":null}"#).unwrap();
}

#[test]
fn an_error_names_the_field_by_its_path() {
    let cases = [
        (r#"{"message":{"parts":[{"raw":5}]}}"#, "message.parts[0].raw"),
        (r#"{"message":{"messageId":{}}}"#, "message.messageId"),
        (r#"{"message":[]}"#, "message"),
        (r#"{"message":{"messageId":"a","messageId":"b"}}"#, "message.messageId"),
        (r#"{"message":{"metadata":{"a":{"b":1,"b":2}}}}"#, "message.metadata.a"),
        (r#"{"configuration":{"historyLength":"x"}}"#, "configuration.historyLength"),
        (r#"{"message":{"parts":[null]}}"#, "message.parts[0]"),
        ("[]", ""),
        ("null", ""),
        ("5", ""),
    ];
    for (text, field) in cases {
        let error = parse::<SendMessageRequest>(text.as_bytes()).expect_err(text);
        assert_eq!((error.kind, error.violations[0].field.as_str()), (Kind::InvalidParams, field), "{text}");
        assert!(!error.message.contains("line"), "{error}");
    }
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    let deep = format!("{{\"metadata\":{}{}}}", "{\"a\":".repeat(200), "}".repeat(200));
    let lone_surrogate = r#"{"tenant":"\ud800"}"#;
    let cases: [&[u8]; 7] =
        [b"", b"{", b"{}x", b"{\"tenant\":\"\xff\"}", b"{'a':1}", deep.as_bytes(), lone_surrogate.as_bytes()];
    for text in cases {
        let error = parse::<SendMessageRequest>(text).expect_err("not JSON");
        assert_eq!(error.kind, Kind::ParseError, "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
fn nul_in_text_survives() {
    assert_eq!(through::<Part>("text", r#""a\u0000b""#).unwrap(), json!("a\0b"));
}

#[test]
fn a_timestamp_is_printed_in_milliseconds() {
    let request: wire::ListTasksRequest =
        parse(br#"{"statusTimestampAfter":"2026-01-02T05:04:05.6789+02:00"}"#).unwrap();
    assert_eq!(request.status_timestamp_after.map(Timestamp::unix_millis), Some(1_767_323_045_678));
    assert_eq!(json!(request), json!({"statusTimestampAfter": "2026-01-02T03:04:05.678Z"}));
    parse::<wire::ListTasksRequest>(br#"{"statusTimestampAfter":1767323045}"#).unwrap_err();
}
