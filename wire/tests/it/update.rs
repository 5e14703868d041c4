//! The worker surface's own rules: what a worker may leave out, and in what order a batch may stand.

use serde_json::{Value, json};
use wire::worker::{ApplyRequest, LEASE_HEADER, MoveRequest, PollRequest, ReleaseRequest, SessionRequest, Update};
use wire::{Move, Validate, parse, validate};

fn violations<T: serde::de::DeserializeOwned + Validate>(value: &Value) -> Vec<String> {
    let value: T = parse(value.to_string().as_bytes()).unwrap();
    let found = validate(&value).err().map(|error| error.violations).unwrap_or_default();
    found.into_iter().map(|violation| violation.field).collect()
}

#[test]
fn a_status_message_needs_its_parts_only() {
    let cases = [
        (json!({"parts": [{"text": "x"}]}), vec![]),
        (json!({"parts": [{"text": "x"}], "role": "ROLE_AGENT", "messageId": "m"}), vec![]),
        (json!({}), vec!["statusMessage.parts"]),
        (json!({"parts": [{}]}), vec!["statusMessage.parts[0]"]),
        (json!({"parts": [{"text": "x"}], "role": "ROLE_USER"}), vec!["statusMessage.role"]),
        (json!({"parts": [{"text": "x"}], "messageId": "\u{0}"}), vec!["statusMessage.messageId"]),
        (json!({"parts": [{"text": "x"}], "taskId": "x".repeat(257)}), vec!["statusMessage.taskId"]),
    ];
    for (message, expected) in cases {
        assert_eq!(violations::<MoveRequest>(&json!({"statusMessage": message})), expected, "{message}");
    }
    assert!(violations::<MoveRequest>(&json!({})).is_empty());
}

#[test]
fn what_ends_the_turn_comes_last() {
    let done = json!({"complete": {}});
    let cases = [
        (json!([]), vec!["updates"]),
        (
            json!([{"work": {}}, {"artifact": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}, done]),
            vec![],
        ),
        (json!([done, {"work": {}}]), vec!["updates[0].complete"]),
        (json!([{"work": {}}, {"requireInput": {}}, done]), vec!["updates[1].requireInput"]),
        (
            json!([{"artifact": {}}]),
            vec!["updates[0].artifact.artifact.artifactId", "updates[0].artifact.artifact.parts"],
        ),
        (json!([{"progress": {}}]), vec!["updates[0].progress.statusMessage"]),
        (json!([{"progress": {"statusMessage": {}}}]), vec!["updates[0].progress.statusMessage.parts"]),
        (Value::Array(vec![json!({"work": {}}); 100]), vec![]),
        (Value::Array(vec![json!({"work": {}}); 101]), vec!["updates"]),
    ];
    for (updates, expected) in cases {
        assert_eq!(violations::<ApplyRequest>(&json!({"updates": updates})), expected, "{updates}");
    }
}

#[test]
fn an_update_is_exactly_one_member_and_knows_its_move() {
    let cases = [
        ("work", Some(Move::Work)),
        ("progress", None),
        ("artifact", None),
        ("requireInput", Some(Move::RequireInput)),
        ("requireAuth", Some(Move::RequireAuth)),
        ("complete", Some(Move::Complete)),
        ("fail", Some(Move::Fail)),
        ("reject", Some(Move::Reject)),
    ];
    for (member, step) in cases {
        let update: Update = parse(json!({member: {}}).to_string().as_bytes()).unwrap();
        assert_eq!((update.member(), update.step()), (member, step));
        assert_eq!(update.ends_turn(), !["work", "progress", "artifact"].contains(&member));
    }
    for wrong in [json!({}), json!({"cancel": {}}), json!({"work": {}, "fail": {}})] {
        parse::<Update>(wrong.to_string().as_bytes()).expect_err("not one member");
    }
}

#[test]
fn polls_name_agents_and_keep_their_bounds() {
    assert!(violations::<PollRequest>(&json!({"agents": ["echo"]})).is_empty());
    assert_eq!(violations::<PollRequest>(&json!({})), ["agents"]);
    assert_eq!(violations::<SessionRequest>(&json!({"agents": ["echo", "a/b"]})), ["agents[1]"]);
    for max in [0, 101] {
        assert_eq!(violations::<PollRequest>(&json!({"agents": ["echo"], "max": max})), ["max"]);
    }
    assert_eq!(violations::<PollRequest>(&json!({"agents": ["echo"], "waitSeconds": -0.5})), ["waitSeconds"]);
    assert_eq!(violations::<ReleaseRequest>(&json!({"delaySeconds": -1})), ["delaySeconds"]);
    assert_eq!(LEASE_HEADER, "Taskyard-Lease");
}
