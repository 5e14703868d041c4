//! What is no good request: refused with details, never a fault of ours.

use std::time::Duration;

use serde_json::json;
use tonic::Code;

use super::client::{Remote, encode, fields, info, reason};
use crate::client::{immediately, platform};

const VERSION: &[(&str, &str)] = &[("a2a-version", "1.0")];

/// The field `number` of a message, with these bytes in it.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
    out.extend_from_slice(bytes);
    out
}

#[tokio::test]
async fn a_message_above_the_limit_is_refused_with_details() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let send = |length: usize| encode("SendMessage", immediately(json!({"parts": [{"text": "x".repeat(length)}]})));
    let refused = remote.raw("SendMessage", send(4 << 20), VERSION).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::ResourceExhausted, "PAYLOAD_TOO_LARGE"));
    assert_eq!(info(&refused).metadata["limitBytes"], "4194304");
    assert!(remote.raw("SendMessage", send((4 << 20) - 200), VERSION).await.is_ok());
}

#[tokio::test]
async fn what_is_not_protobuf_is_refused() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let broken = [
        vec![0xff],
        vec![0x12, 0x05, 0x01],
        b"{\"id\":\"1\"}".to_vec(),
        field(2, &[0xc3, 0x28]),
        // A task id that is a number.
        vec![0x10, 0x01],
        // Groups in groups.
        vec![0x0b; 3_000],
    ];
    for bytes in broken {
        let refused = remote.raw("GetTask", bytes.clone(), VERSION).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::InvalidArgument, "PARSE_ERROR"), "{bytes:?}");
    }
    let nothing = remote.raw("GetTask", Vec::new(), VERSION).await.unwrap_err();
    assert_eq!(fields(&nothing), ["id"]);
    // A field that nobody knows is ignored.
    assert!(remote.raw("ListTasks", vec![0xa2, 0x06, 0x01, 0x41], VERSION).await.is_ok());
}

#[tokio::test]
async fn what_protobuf_says_and_json_cannot_is_the_fields_fault() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    // statusTimestampAfter: a year that does not exist.
    let year = field(7, &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    let refused = remote.raw("ListTasks", year, VERSION).await.unwrap_err();
    assert_eq!((refused.code(), fields(&refused)), (Code::InvalidArgument, vec!["statusTimestampAfter".to_owned()]));
    // message.parts[0].data: not a number.
    let value = [&[0x11][..], &f64::NAN.to_le_bytes()].concat();
    let message = [field(1, b"m"), vec![0x20, 0x01], field(5, &field(4, &value))].concat();
    let refused = remote.raw("SendMessage", field(2, &message), VERSION).await.unwrap_err();
    assert_eq!((refused.code(), fields(&refused)), (Code::InvalidArgument, vec!["message.parts[0].data".to_owned()]));
    // A value of no kind is null.
    let message = [field(1, b"m"), vec![0x20, 0x01], field(5, &field(4, &[]))].concat();
    let send = [field(2, &message), field(3, &[0x20, 0x01])].concat();
    assert!(remote.raw("SendMessage", send, VERSION).await.is_ok());
    // An enum's unknown number.
    let refused = remote.raw("ListTasks", vec![0x18, 0x63], VERSION).await.unwrap_err();
    assert_eq!((refused.code(), fields(&refused)), (Code::InvalidArgument, vec!["status".to_owned()]));
}

#[tokio::test]
async fn no_bytes_are_a_fault_of_ours() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    let data = json!({"parts": [{"data": {"a": [1, null, {"b": "c"}]}}, {"raw": "aGk="}], "metadata": {"k": 1.5}});
    let seeds = [
        ("SendMessage", encode("SendMessage", immediately(data))),
        (
            "ListTasks",
            encode("ListTasks", json!({"statusTimestampAfter": "2026-01-02T03:04:05Z", "pageSize": 5, "status": 2})),
        ),
        (
            "CreateTaskPushNotificationConfig",
            encode("CreateTaskPushNotificationConfig", json!({"taskId": "x", "url": "http://127.0.0.1:2/"})),
        ),
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for round in 0..1_500 {
        let (method, seed) = &seeds[round % seeds.len()];
        let mut bytes = seed.clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, next(256) as u8),
            }
        }
        // One that has lost `returnImmediately` waits for a worker.
        let asked = remote.raw(method, bytes.clone(), VERSION);
        let Ok(answered) = tokio::time::timeout(Duration::from_millis(100), asked).await else { continue };
        if let Err(status) = answered {
            let ours = matches!(status.code(), Code::InvalidArgument | Code::NotFound | Code::Unimplemented);
            assert!(ours, "{bytes:?}: {status:?}");
        }
    }
}
