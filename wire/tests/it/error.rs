//! The table of errors is that of A2A §5.4, and the bodies are what §9.5 and §11.6 ask.

use serde_json::json;
use std::collections::BTreeSet;
use std::error::Error as _;
use wire::{Error, Kind, Move, TaskState, Violation};

#[test]
fn the_table_is_the_specs() {
    let expected = [
        ("TASK_NOT_FOUND", -32001, "NOT_FOUND", 5, 404),
        ("TASK_NOT_CANCELABLE", -32002, "FAILED_PRECONDITION", 9, 400),
        ("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, "FAILED_PRECONDITION", 9, 400),
        ("UNSUPPORTED_OPERATION", -32004, "FAILED_PRECONDITION", 9, 400),
        ("CONTENT_TYPE_NOT_SUPPORTED", -32005, "INVALID_ARGUMENT", 3, 400),
        ("INVALID_AGENT_RESPONSE", -32006, "INTERNAL", 13, 500),
        ("EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, "FAILED_PRECONDITION", 9, 400),
        ("EXTENSION_SUPPORT_REQUIRED", -32008, "FAILED_PRECONDITION", 9, 400),
        ("VERSION_NOT_SUPPORTED", -32009, "FAILED_PRECONDITION", 9, 400),
        ("INVALID_PARAMS", -32602, "INVALID_ARGUMENT", 3, 400),
        ("INVALID_REQUEST", -32600, "INVALID_ARGUMENT", 3, 400),
        ("PARSE_ERROR", -32700, "INVALID_ARGUMENT", 3, 400),
        ("METHOD_NOT_FOUND", -32601, "UNIMPLEMENTED", 12, 404),
        ("METHOD_NOT_ALLOWED", -32601, "UNIMPLEMENTED", 12, 405),
        ("RESOURCE_EXHAUSTED", -32000, "RESOURCE_EXHAUSTED", 8, 429),
        ("PAYLOAD_TOO_LARGE", -32600, "RESOURCE_EXHAUSTED", 8, 413),
        ("UNAUTHENTICATED", -32600, "UNAUTHENTICATED", 16, 401),
        ("PERMISSION_DENIED", -32600, "PERMISSION_DENIED", 7, 403),
        ("INTERNAL_ERROR", -32603, "INTERNAL", 13, 500),
        ("UNAVAILABLE", -32603, "UNAVAILABLE", 14, 503),
        ("TASK_STATE_CONFLICT", -32000, "FAILED_PRECONDITION", 9, 409),
        ("LEASE_LOST", -32000, "FAILED_PRECONDITION", 9, 409),
        ("LEASE_REQUIRED", -32000, "FAILED_PRECONDITION", 9, 428),
        ("LEASE_NOT_FOUND", -32000, "NOT_FOUND", 5, 404),
        ("SESSION_NOT_FOUND", -32000, "NOT_FOUND", 5, 404),
    ];
    let row = |kind: &Kind| {
        let grpc = kind.grpc();
        (kind.reason(), kind.jsonrpc(), grpc.name(), grpc.number(), kind.http())
    };
    assert_eq!(Kind::ALL.iter().map(row).collect::<Vec<_>>(), expected);
}

#[test]
fn reasons_differ_and_our_own_stand_in_our_own_domain() {
    let reasons: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.reason()).collect();
    assert_eq!(reasons.len(), Kind::ALL.len());
    for kind in Kind::ALL {
        let theirs = (-32009..=-32001).contains(&kind.jsonrpc())
            || ["INVALID_PARAMS", "INVALID_REQUEST", "PARSE_ERROR", "METHOD_NOT_FOUND", "INTERNAL_ERROR"]
                .contains(&kind.reason());
        assert_eq!(kind.domain(), if theirs { "a2a-protocol.org" } else { "taskyard.dev" }, "{kind:?}");
    }
}

#[test]
fn the_body_is_a_status_with_error_info() {
    assert_eq!(
        Error::task_not_found("t-404").status_body(),
        json!({"error": {
            "code": 404, "status": "NOT_FOUND", "message": "task `t-404` not found",
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org", "metadata": {"taskId": "t-404"}
            }]
        }})
    );
}

#[test]
fn violations_are_a_bad_request_beside_the_error_info() {
    let error = Error::invalid_all(vec![
        Violation::new("pageSize", "must be between 1 and 100"),
        Violation::new("Idempotency-Key", "was used with another body").reason("IDEMPOTENCY_KEY_REUSED"),
    ]);
    assert_eq!(error.message, "`pageSize`: must be between 1 and 100 (and 1 more)");
    assert_eq!(
        error.details(),
        [
            json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_PARAMS",
                "domain": "a2a-protocol.org"
            }),
            json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [
                    {"field": "pageSize", "description": "must be between 1 and 100"},
                    {
                        "field": "Idempotency-Key", "description": "was used with another body",
                        "reason": "IDEMPOTENCY_KEY_REUSED"
                    }
                ]
            })
        ]
    );
}

#[test]
fn our_faults_are_logged_and_not_told() {
    let error = Error::internal("password is hunter2").doing("reading task `t1`");
    assert_eq!(error.to_string(), "reading task `t1`");
    assert_eq!(error.source().unwrap().to_string(), "password is hunter2");
    let body = error.status_body().to_string();
    assert!(body.contains("internal error") && !body.contains("hunter2") && !body.contains("t1"), "{body}");
    assert!(!Error::internal("hunter2").status_body().to_string().contains("hunter2"));
}

#[test]
fn constructors_carry_what_a_program_needs() {
    let state = TaskState::Completed;
    let cases = [
        (Error::task_not_cancelable("t", state), Kind::TaskNotCancelable, vec![("state", "TASK_STATE_COMPLETED")]),
        (
            Error::state_conflict("t", state, Move::Work),
            Kind::TaskStateConflict,
            vec![("state", "TASK_STATE_COMPLETED")],
        ),
        (
            Error::lease_lost("t", state, "expired"),
            Kind::LeaseLost,
            vec![("state", "TASK_STATE_COMPLETED"), ("reason", "expired")],
        ),
        (Error::version_not_supported("0.3", "1.0"), Kind::VersionNotSupported, vec![("supportedVersions", "1.0")]),
        (Error::resource_exhausted("tasks", "too many"), Kind::ResourceExhausted, vec![("limit", "tasks")]),
        (Error::push_config_not_found("t", "p"), Kind::TaskNotFound, vec![("taskId", "t"), ("configId", "p")]),
        (Error::unavailable("later").with("retryAfterSeconds", 1), Kind::Unavailable, vec![("retryAfterSeconds", "1")]),
    ];
    for (error, kind, metadata) in cases {
        assert_eq!(error.kind, kind);
        for (key, value) in metadata {
            assert_eq!(error.metadata.get(key).map(String::as_str), Some(value), "{error}");
        }
    }
}
