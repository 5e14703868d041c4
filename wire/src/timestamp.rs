//! A point in time as A2A wants it: UTC, milliseconds, `Z` (§5.6.1).
//!
//! The value is cut to milliseconds when it is made, not when it is printed, so that a filter or a cursor
//! built from a printed timestamp finds the row it came from on every database.

use crate::description::Label;
use crate::json::{Element, inline};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// UTC, whole milliseconds, years 0001 to 9999. Prints `2026-01-02T03:04:05.678Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(OffsetDateTime);

impl Timestamp {
    /// Cuts a time to whole milliseconds (towards the past) and moves it to UTC.
    pub fn new(time: OffsetDateTime) -> Self {
        let utc = time.to_offset(UtcOffset::UTC);
        let millis = utc.nanosecond() / 1_000_000;
        Timestamp(utc.replace_nanosecond(millis * 1_000_000).unwrap_or(utc))
    }

    /// Milliseconds since 1970; `None` outside the years 0001 to 9999.
    pub fn from_unix_millis(millis: i64) -> Option<Self> {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000).ok()?;
        in_range(time).then(|| Timestamp::new(time))
    }

    /// Milliseconds since 1970.
    pub fn unix_millis(self) -> i64 {
        self.0.unix_timestamp() * 1000 + i64::from(self.0.millisecond())
    }

    /// The time, in UTC.
    pub const fn get(self) -> OffsetDateTime {
        self.0
    }
}

/// What years ProtoJSON can print.
fn in_range(time: OffsetDateTime) -> bool {
    (1..=9999).contains(&time.year())
}

impl From<OffsetDateTime> for Timestamp {
    fn from(time: OffsetDateTime) -> Self {
        Timestamp::new(time)
    }
}

impl From<Timestamp> for OffsetDateTime {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, date) = (self.0.time(), self.0.date());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.millisecond()
        )
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a timestamp looks like.
const EXPECTED: &str = "a timestamp such as 2026-01-02T03:04:05.678Z, with `T` and `Z` or an offset";

/// A text that is not a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be {EXPECTED}")]
pub struct NotATimestamp;

impl FromStr for Timestamp {
    type Err = NotATimestamp;

    /// Takes `YYYY-MM-DDTHH:MM:SS`, 0 to 9 digits of a second, and `Z` or `±HH:MM`; upper case only.
    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        parse(text.as_bytes()).filter(|time| in_range(*time)).map(Timestamp::new).ok_or(NotATimestamp)
    }
}

fn parse(text: &[u8]) -> Option<OffsetDateTime> {
    let (head, rest) = text.split_at_checked(19)?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if marks.iter().any(|(at, mark)| head.get(*at) != Some(mark)) {
        return None;
    }
    let year = i32::try_from(digits(head.get(0..4)?)?).ok()?;
    let month = Month::try_from(small(head, 5)?).ok()?;
    let date = Date::from_calendar_date(year, month, small(head, 8)?).ok()?;
    let (nanosecond, zone) = fraction(rest)?;
    let time = Time::from_hms_nano(small(head, 11)?, small(head, 14)?, small(head, 17)?, nanosecond).ok()?;
    PrimitiveDateTime::new(date, time).assume_offset(offset(zone)?).checked_to_offset(UtcOffset::UTC)
}

/// `.123Z` gives 123,000,000 and `Z`.
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let Some((b'.', rest)) = text.split_first() else { return Some((0, text)) };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, zone) = rest.split_at_checked(length)?;
    if !(1..=9).contains(&length) {
        return None;
    }
    let scale = 10u32.pow(u32::try_from(9 - length).ok()?);
    Some((digits(number)? * scale, zone))
}

fn offset(zone: &[u8]) -> Option<UtcOffset> {
    let sign = match (zone, zone.first()?) {
        ([b'Z'], _) => return Some(UtcOffset::UTC),
        ([_, _, _, b':', _, _], b'+') => 1,
        ([_, _, _, b':', _, _], b'-') => -1,
        _ => return None,
    };
    let (hours, minutes) = (i8::try_from(small(zone, 1)?).ok()?, i8::try_from(small(zone, 4)?).ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

/// The two digits at `at`.
fn small(text: &[u8], at: usize) -> Option<u8> {
    u8::try_from(digits(text.get(at..at + 2)?)?).ok()
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0u32, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
            // A query cannot tell a number from a text, and does not read it by way of `parse`.
            fn visit_i64<E: de::Error>(self, _number: i64) -> Result<Timestamp, E> {
                Err(E::custom(NotATimestamp))
            }
            fn visit_u64<E: de::Error>(self, _number: u64) -> Result<Timestamp, E> {
                Err(E::custom(NotATimestamp))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl Element for Timestamp {
    const TYPE: &'static str = "google.protobuf.Timestamp";
    const PRESENCE: Label = Label::Singular;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Timestamp::deserialize(deserializer)
    }
    fn schema() -> MetaSchemaRef {
        inline(MetaSchema::new_with_format("string", "date-time"))
    }
}
