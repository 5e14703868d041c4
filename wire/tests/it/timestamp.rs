//! Timestamps: milliseconds, UTC, `Z`; offsets in, never out.

use time::macros::datetime;
use wire::Timestamp;

#[test]
fn every_legal_spelling_is_normalised() {
    let cases = [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T03:04:05.6Z", "2026-01-02T03:04:05.600Z"),
        ("2026-01-02T03:04:05.6789Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.999999999Z", "2026-01-02T03:04:05.999Z"),
        ("2026-01-02T03:04:05.678+02:30", "2026-01-02T00:34:05.678Z"),
        ("2025-12-31T23:30:00-01:00", "2026-01-01T00:30:00.000Z"),
        ("2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.9999Z", "9999-12-31T23:59:59.999Z"),
    ];
    for (text, printed) in cases {
        let timestamp: Timestamp = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(timestamp.to_string(), printed);
        assert_eq!(printed.parse(), Ok(timestamp));
        assert_eq!(Timestamp::from_unix_millis(timestamp.unix_millis()), Some(timestamp));
    }
}

#[test]
fn everything_else_is_refused() {
    let cases = [
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02t03:04:05Z",
        "2026-01-02T03:04:05z",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567890Z",
        "2026-01-02T03:04:05,5Z",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04:05+02",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+02:60",
        "2026-01-02T03:04:05ZZ",
        "2026-01-02T03:04Z",
        "2026-13-02T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:04:60Z",
        "+026-01-02T03:04:05Z",
        "2026-1-02T03:04:05.1Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "2026-01-02T03:04:05é",
    ];
    for text in cases {
        assert!(text.parse::<Timestamp>().is_err(), "{text}");
    }
}

#[test]
fn a_time_is_cut_when_it_is_made() {
    let timestamp = Timestamp::new(datetime!(2026-01-02 03:04:05.678_999_999 +1));
    assert_eq!(timestamp.get(), datetime!(2026-01-02 02:04:05.678 UTC));
    assert_eq!(Timestamp::new(datetime!(1969-12-31 23:59:59.999_9 UTC)).unix_millis(), -1);
    assert_eq!(Timestamp::from_unix_millis(i64::MAX), None);
    assert!(timestamp < Timestamp::new(datetime!(2026-01-02 02:04:05.679 UTC)));
}
