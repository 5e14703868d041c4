//! The bytes that a card's signature is over: RFC 8785, after the presence rules of A2A §8.4.1, which are those our types print by.

use serde_json::Value;
use wire::{AgentCard, Error};

/// The canonical form of a card without its signatures.
///
/// # Errors
/// `Internal` when the card does not print, which no card of ours does.
pub(super) fn of(card: &AgentCard) -> Result<Vec<u8>, Error> {
    let mut card = serde_json::to_value(card).map_err(Error::internal)?;
    if let Value::Object(members) = &mut card {
        members.remove("signatures");
    }
    let mut out = String::with_capacity(1_024);
    write(&card, &mut out);
    Ok(out.into_bytes())
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                // serde_json escapes exactly what RFC 8785 does, and alike.
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Number(number) => out.push_str(&ecmascript(number.as_f64().unwrap_or_default())),
        other => out.push_str(&other.to_string()),
    }
}

/// A number as ECMAScript prints it: the shortest digits, plain from 1e-6 to below 1e21.
fn ecmascript(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or_default());
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    let text = if (1..=21).contains(&point) && count <= point {
        format!("{digits}{}", zeros(point - count))
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
        format!("{whole}.{fraction}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let fraction = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        format!("{first}{fraction}e{exponent:+}")
    };
    if number < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wire::{AgentCapabilities, AgentExtension};

    fn canonical(value: &Value) -> String {
        let mut out = String::new();
        write(value, &mut out);
        out
    }

    #[test]
    fn it_is_what_another_implementation_says() {
        let mut numbers: Vec<f64> = vec![
            0.0,
            -0.0,
            1.0,
            -1.5,
            10.0,
            123456789.0,
            1e20,
            1e21,
            1.5e21,
            999999999999999900000.0,
            1e-6,
            1e-7,
            1.25e-7,
            0.1,
            0.00001,
            1e300,
            5e-324,
            f64::MAX,
            9007199254740993.0,
            333333333.3333333,
            4.5,
            2e-3,
        ];
        numbers.extend((0_u64..2_000).map(|n| f64::from_bits(n.wrapping_mul(0x9E37_79B9_7F4A_7C15))));
        numbers.retain(|number| number.is_finite());
        let values = [
            json!(numbers),
            json!({"\u{e000}": 1, "\u{10000}": 2, "b": [], "a": {"z": null, "y": true}, "": "\u{7f}\u{1}\n\"\\/ä\u{2028}"}),
            json!(9007199254740993_u64),
        ];
        for value in values {
            assert_eq!(canonical(&value), serde_json_canonicalizer::to_string(&value).unwrap());
        }
    }

    #[test]
    fn presence_is_as_the_protocol_says() {
        let card = AgentCard {
            name: "Example Agent".to_owned(),
            capabilities: AgentCapabilities {
                streaming: Some(false),
                push_notifications: Some(false),
                extensions: vec![AgentExtension { uri: "urn:x".to_owned(), ..AgentExtension::default() }],
                ..AgentCapabilities::default()
            },
            signatures: vec![wire::AgentCardSignature::default()],
            ..AgentCard::default()
        };
        let expected = r#"{"capabilities":{"extensions":[{"uri":"urn:x"}],"pushNotifications":false,"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"","name":"Example Agent","skills":[],"supportedInterfaces":[],"version":""}"#;
        assert_eq!(String::from_utf8(of(&card).unwrap()).unwrap(), expected);
    }
}
