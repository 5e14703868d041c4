//! The W3C trace context of a client's request: what its task carries on to the worker.
//!
//! As the recommendation wants it, what is malformed is ignored rather than refused, and a `tracestate` counts only beside a
//! `traceparent`.

use poem::http::HeaderMap;
use wire::worker::TraceContext;

/// The headers; in gRPC metadata they are called the same.
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

/// How long a `tracestate` is carried on at most, in bytes, and how many members of it: as much as the recommendation asks for.
const STATE_BYTES: usize = 512;
const STATE_MEMBERS: usize = 32;

/// What the headers say, as JSON; nothing when they say nothing that could be a trace.
pub(crate) fn of(headers: &HeaderMap) -> Option<String> {
    let mut parents = headers.get_all(PARENT).into_iter();
    let (parent, None) = (parents.next()?, parents.next()) else { return None };
    let traceparent = parent.to_str().ok().map(str::trim).filter(|text| is_parent(text))?.to_owned();
    serde_json::to_string(&TraceContext { traceparent, tracestate: state(headers) }).ok()
}

/// `00-{trace id}-{parent id}-{flags}`, in lower case, neither id zero.
fn is_parent(text: &str) -> bool {
    let fields: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = fields[..] else { return false };
    let is_hex =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_id = |text: &str, length| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
    version == "00" && is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2)
}

/// The members of every `tracestate`, from the newest on, as many as are carried; empty when one of them cannot be.
fn state(headers: &HeaderMap) -> String {
    let mut kept = String::new();
    let mut members = 0;
    for value in headers.get_all(STATE) {
        let Ok(value) = value.to_str() else { return String::new() };
        for member in value.split(',').map(|member| member.trim_matches([' ', '\t'])) {
            if member.is_empty() {
                continue;
            }
            members += 1;
            if !is_member(member) || members > STATE_MEMBERS {
                return String::new();
            }
            let comma = usize::from(!kept.is_empty());
            if kept.len() + comma + member.len() <= STATE_BYTES {
                kept.push_str(if comma == 1 { "," } else { "" });
                kept.push_str(member);
            }
        }
    }
    kept
}

/// `key=value`, as the recommendation spells them.
fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let is_key = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let is_value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=256).contains(&key.len())
        && key.bytes().all(is_key)
        && (1..=256).contains(&value.len())
        && value.bytes().all(is_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(given: &[(&'static str, &str)]) -> Option<TraceContext> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, value.parse().unwrap());
        }
        of(&headers).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_trace_is_read_by_its_shape() {
        assert_eq!(read(&[(PARENT, GOOD)]).unwrap().traceparent, GOOD);
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[(STATE, "a=1")]), None);
        assert_eq!(read(&[(PARENT, GOOD), (PARENT, GOOD)]), None);
        for bad in [
            "",
            "00",
            &GOOD[..54],
            &format!("{GOOD}-"),
            &format!("{GOOD}0"),
            &GOOD.replace("00-4", "01-4"),
            &GOOD.replace("00-4", "ff-4"),
            &GOOD.to_uppercase(),
            &GOOD.replace('-', "_"),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &GOOD.replace("-01", "-0g"),
        ] {
            assert_eq!(read(&[(PARENT, bad)]), None, "{bad}");
        }
    }

    #[test]
    fn a_state_is_bounded_and_never_harms_the_trace() {
        let state = |given: &[&str]| {
            let mut all = vec![(PARENT, GOOD)];
            all.extend(given.iter().map(|value| (STATE, *value)));
            read(&all).unwrap().tracestate
        };
        assert_eq!(state(&["rojo=1 , congo=t6 1", "a@b=c"]), "rojo=1,congo=t6 1,a@b=c");
        for bad in ["novalue", "A=1", "a=1,b", "a==", "=1", &format!("a={}", "x".repeat(257)), &"a=1,".repeat(33)] {
            assert_eq!(state(&[bad]), "", "{bad}");
        }
        let long = format!("a={}", "x".repeat(250));
        assert_eq!(state(&[&long, &long, &long, "b=1"]), format!("{long},{long},b=1"));
    }
}
