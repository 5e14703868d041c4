//! What kind of value a knob takes: how text becomes one, what is right, and how much of it may be shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::address::{HostPattern, Network};
use std::net::IpAddr;
use tracing_subscriber::EnvFilter;
use url::Url;
use wire::description::{FieldDescription, MessageDescription};

/// A value as a flag, a variable, the file or a default gave it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// On or off.
    Switch(bool),
    /// Several values.
    List(Vec<Value>),
    /// A table of the file.
    Table(Box<Given>),
    /// A date or a time, as it is written.
    Date(String),
    /// Something no knob takes, by TOML's word for it.
    Other(&'static str),
}

/// A table of the file, and where everything in it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The line it begins in.
    pub(super) line: usize,
    /// Its keys with their lines and values, in the file's order.
    pub(super) members: Vec<(String, usize, Value)>,
}

/// What a knob takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// An IP address, or `localhost`.
    Host,
    /// A path of the file system, relative to the working directory.
    Path,
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// A port, or `off`.
    Port,
    /// Seconds within these bounds; a fraction is welcome.
    Seconds(f64, f64),
    /// A list of 1 to 50 times in seconds, each within these bounds.
    Delays(f64, f64),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Directives of tracing-subscriber's `EnvFilter`.
    Filter,
    /// An absolute URL of one of these schemes.
    Url(&'static [&'static str]),
    /// An absolute URL of http or https to which paths can be added.
    Base,
    /// Origins of web pages, or `*`.
    Origins,
    /// Text for people.
    Text,
    /// A private key in PEM.
    Pem,
    /// Tables of the file, each with these fields.
    Records(&'static MessageDescription),
    /// 32 bytes as base64.
    Key,
    /// The name of an agent.
    Name,
    /// Names of agents.
    Names,
    /// Media types, `type/*` for all of a type.
    MediaTypes,
    /// The name of a tenant.
    Tenant,
    /// A table of the file with whatever its author likes.
    Free,
    /// A program and its arguments.
    Command,
    /// What is shown to nobody.
    Secret,
    /// Names of hosts, `*.name` for all below one.
    Hosts,
    /// Blocks of addresses (CIDR).
    Networks,
}

impl Kind {
    /// The name of the value in `--help`.
    pub(super) fn placeholder(self) -> &'static str {
        match self {
            Kind::Host => "ADDRESS",
            Kind::Path => "PATH",
            Kind::Whole(..) | Kind::Port => "N",
            Kind::Seconds(..) => "SECONDS",
            Kind::Delays(..) => "SECONDS,...",
            Kind::Switch => "BOOL",
            Kind::Word(_) => "WORD",
            Kind::Filter => "FILTER",
            Kind::Url(_) => "URL",
            Kind::Base => "URL",
            Kind::Origins => "ORIGIN,...",
            Kind::Text => "TEXT",
            Kind::Pem => "PEM",
            Kind::Records(_) => "TABLES",
            Kind::Key => "BASE64",
            Kind::Name | Kind::Tenant => "NAME",
            Kind::Free => "TABLE",
            Kind::Names => "NAME,...",
            Kind::MediaTypes => "TYPE,...",
            Kind::Command => "COMMAND",
            Kind::Secret => "SECRET",
            Kind::Hosts => "HOST,...",
            Kind::Networks => "NETWORK,...",
        }
    }

    /// What would be right, to end the sentence "wanted is ...".
    pub(super) fn wanted(self) -> String {
        match self {
            Kind::Host => "an IP address, such as 127.0.0.1 or ::1, or localhost".into(),
            Kind::Path => "a path".into(),
            Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Port => "a whole number from 0 to 65535, or off".into(),
            Kind::Seconds(least, most) => format!("a number of seconds from {least} to {most}"),
            Kind::Delays(least, most) => format!("a list of 1 to 50 times in seconds, each from {least} to {most}"),
            Kind::Switch => "true or false".into(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Filter => "a level (error, warn, info, debug, trace) or directives such as info,engine=debug".into(),
            Kind::Url(schemes) => format!("a URL that begins with {}://", schemes.join(":// or ")),
            Kind::Base => "an http or https URL without query, fragment and credentials".into(),
            Kind::Origins => "a list of origins, such as https://app.example, or *".into(),
            Kind::Text => "text that is not empty".into(),
            Kind::Pem => "a private key in PEM, which begins with -----BEGIN".into(),
            Kind::Records(of) => {
                let names: Vec<&str> = fields(of).map(|field| field.name).collect();
                format!("a list of tables with {}", names.join(", "))
            }
            Kind::Key => "32 bytes in base64, such as `openssl rand -base64 32` prints".into(),
            Kind::Name => "1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first".into(),
            Kind::Tenant => {
                "1 to 128 letters, digits, dots, dashes and underscores, a letter or digit first, and no word of a path"
                    .into()
            }
            Kind::Free => "a table of texts, numbers, switches, dates, lists and tables".into(),
            Kind::Names => "a list of agent names".into(),
            Kind::MediaTypes => "a list of media types, such as text/plain or image/*".into(),
            Kind::Command => r#"a program and its arguments, such as ["python3", "agent.py"] in the file or 'python3 agent.py' in a flag"#.into(),
            Kind::Secret => "visible ASCII characters without blanks".into(),
            Kind::Hosts => "a list of host names such as hooks.internal, or *.internal for all below".into(),
            Kind::Networks => "a list of networks such as 10.1.0.0/16, without bits beyond the length".into(),
        }
    }

    /// Text of a flag or variable as the value it stands for. What does not fit stays text, for `check` to refuse.
    pub(super) fn lift(self, text: &str) -> Value {
        let text = text.trim();
        let number = |text: &str| match (text.parse(), text.parse()) {
            (Ok(whole), _) => Value::Whole(whole),
            (_, Ok(fraction)) => Value::Fraction(fraction),
            _ => Value::Text(text.into()),
        };
        let list = |of: &dyn Fn(&str) -> Value| {
            Value::List(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(of).collect())
        };
        match self {
            Kind::Whole(..) | Kind::Port | Kind::Seconds(..) => number(text),
            Kind::Switch => text.parse().map_or_else(|_| Value::Text(text.into()), Value::Switch),
            Kind::Delays(..) => list(&number),
            Kind::Command => match shlex::split(text) {
                Some(words) => Value::List(words.into_iter().map(Value::Text).collect()),
                None => Value::Text(text.into()),
            },
            Kind::Names | Kind::MediaTypes | Kind::Origins | Kind::Hosts | Kind::Networks => {
                list(&|part| Value::Text(part.into()))
            }
            _ => Value::Text(text.into()),
        }
    }

    /// Whether the value is a right one.
    pub(super) fn check(self, value: &Value) -> bool {
        match (self, value) {
            (Kind::Host, Value::Text(text)) => text == "localhost" || text.parse::<IpAddr>().is_ok(),
            (Kind::Path, Value::Text(text)) => !text.is_empty() && !text.contains('\0'),
            (Kind::Whole(least, most), Value::Whole(n)) => (least..=most).contains(n),
            (Kind::Port, Value::Whole(n)) => (0..=65_535).contains(n),
            (Kind::Port, Value::Text(text)) => text == OFF,
            (Kind::Seconds(least, most), value) => value.number().is_some_and(|n| (least..=most).contains(&n)),
            (Kind::Delays(least, most), Value::List(list)) => {
                (1..=50).contains(&list.len()) && list.iter().all(|each| Kind::Seconds(least, most).check(each))
            }
            (Kind::Switch, Value::Switch(_)) => true,
            (Kind::Word(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Kind::Filter, Value::Text(text)) => !text.is_empty() && EnvFilter::try_new(text).is_ok(),
            (Kind::Url(schemes), Value::Text(text)) => Url::parse(text)
                .is_ok_and(|url| schemes.contains(&url.scheme()) && (url.has_host() || url.path().len() > 1)),
            (Kind::Base, Value::Text(text)) => is_base(text),
            (Kind::Origins, Value::List(list)) => {
                list.iter().all(|each| matches!(each, Value::Text(text) if text == "*" || is_origin(text)))
            }
            (Kind::Text, Value::Text(text)) => !text.trim().is_empty(),
            (Kind::Pem, Value::Text(text)) => text.trim_start().starts_with("-----BEGIN "),
            (Kind::Records(_), Value::List(list)) => list.iter().all(|each| matches!(each, Value::Table(_))),
            (Kind::Key, Value::Text(text)) => key(text).is_some(),
            (Kind::Name, Value::Text(text)) => is_name(text),
            (Kind::Tenant, Value::Text(text)) => !text.is_empty() && wire::Tenant::parse(text).is_ok(),
            (Kind::Free, Value::Table(_)) => is_free(value),
            (Kind::Names, Value::List(list)) => list.iter().all(|each| Kind::Name.check(each)),
            (Kind::Command, Value::List(list)) => {
                let is_word = |each: &Value| matches!(each, Value::Text(text) if !text.contains('\0'));
                list.first().is_some_and(|first| *first != Value::Text(String::new())) && list.iter().all(is_word)
            }
            (Kind::Secret, Value::Text(text)) => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()),
            (Kind::MediaTypes, Value::List(list)) => {
                list.iter().all(|each| matches!(each, Value::Text(text) if is_media_type(text)))
            }
            (Kind::Hosts, Value::List(list)) => {
                list.iter().all(|each| matches!(each, Value::Text(text) if text.parse::<HostPattern>().is_ok()))
            }
            (Kind::Networks, Value::List(list)) => {
                list.iter().all(|each| matches!(each, Value::Text(text) if text.parse::<Network>().is_ok()))
            }
            _ => false,
        }
    }

    /// The value as it may be shown: keys not at all, URLs without what they hide.
    pub(super) fn show(self, value: &Value) -> Value {
        match (self, value) {
            (Kind::Key | Kind::Pem | Kind::Secret, _) => Value::Text(MASK.into()),
            (Kind::Url(_) | Kind::Base, Value::Text(text)) => Value::Text(mask(text)),
            _ => value.clone(),
        }
    }
}

impl Value {
    /// The number it is, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "bounds of knobs are far below 2^53")]
            Value::Whole(n) => Some(*n as f64),
            Value::Fraction(n) => Some(*n),
            _ => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Whole(n) => n.fmt(f),
            Value::Fraction(n) => n.fmt(f),
            Value::Switch(on) => on.fmt(f),
            Value::Date(_) => f.write_str("a date"),
            Value::Other(word) => f.write_str(word),
            Value::Table(_) => serde_json::Value::from(self).fmt(f),
            Value::List(list) => list.iter().enumerate().try_for_each(|(at, each)| {
                f.write_str(if at == 0 { "" } else { "," })?;
                each.fmt(f)
            }),
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Text(text) | Value::Date(text) => text.as_str().into(),
            Value::Other(word) => (*word).into(),
            Value::Whole(n) => (*n).into(),
            Value::Fraction(n) => (*n).into(),
            Value::Switch(on) => (*on).into(),
            Value::List(list) => list.iter().map(serde_json::Value::from).collect(),
            Value::Table(given) => {
                given.members.iter().map(|(name, _, value)| (name.clone(), serde_json::Value::from(value))).collect()
            }
        }
    }
}

/// What stands for no port.
pub(super) const OFF: &str = "off";

/// What stands where a secret is.
pub(super) const MASK: &str = "***";

/// The 32 bytes of a key.
pub(super) fn key(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// A URL without the password and without the values of query parameters that sound like one. What is no URL could hold a
/// password anywhere, so nothing of it is shown.
fn mask(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return MASK.into() };
    let given = url.clone();
    if url.password().is_some() && url.set_password(Some(MASK)).is_err() {
        return MASK.into();
    }
    if !url.has_host() && text.contains('@') {
        return MASK.into();
    }
    if url.query().is_some() {
        let telling =
            |name: &str| ["pass", "secret", "token", "key"].iter().any(|word| name.to_lowercase().contains(word));
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        if pairs.iter().any(|(name, _)| telling(name)) {
            let shown = |(name, value): (String, String)| {
                let value = if telling(&name) { MASK.to_owned() } else { value };
                (name, value)
            };
            url.query_pairs_mut().clear().extend_pairs(pairs.into_iter().map(shown));
        }
    }
    if url == given { text.to_owned() } else { url.to_string().replace("%2A%2A%2A", MASK) }
}

/// The fields of a record that the file can give. Credentials are declared with credentials.
pub(super) fn fields(of: &MessageDescription) -> impl Iterator<Item = &'static FieldDescription> + use<> {
    of.fields.iter().filter(|field| field.name != "security_requirements")
}

/// Whether JSON can say it.
fn is_free(value: &Value) -> bool {
    match value {
        Value::Table(given) => given.members.iter().all(|(.., value)| is_free(value)),
        Value::List(list) => list.iter().all(is_free),
        Value::Fraction(n) => n.is_finite(),
        Value::Other(_) => false,
        _ => true,
    }
}

fn is_base(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

/// Written as browsers write it.
fn is_origin(text: &str) -> bool {
    is_base(text) && Url::parse(text).is_ok_and(|url| url.origin().ascii_serialization() == text)
}

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

pub(super) fn is_media_type(text: &str) -> bool {
    let token =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c));
    match text.split_once('/') {
        Some(("*", "*")) => true,
        Some((kind, "*")) => token(kind),
        Some((kind, sub)) => token(kind) && token(sub),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_do_not_show() {
        let cases = [
            ("postgres://bob:s3cret@db.example/taskyard", "postgres://bob:***@db.example/taskyard"),
            ("postgres://bob@db.example/taskyard", "postgres://bob@db.example/taskyard"),
            ("redis://:s3cret@cache:6379/1", "redis://:***@cache:6379/1"),
            ("postgres://db/x?sslpassword=s3cret&sslmode=require", "postgres://db/x?sslpassword=***&sslmode=require"),
            ("postgres://db/x?user=bob&password=s3cret", "postgres://db/x?user=bob&password=***"),
            ("postgres://bob:s3:cr@et@db/x", "postgres://bob:***@db/x"),
            ("bob:s3cret@db/x", "***"),
            ("s3cret", "***"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ];
        for (given, shown) in cases {
            assert_eq!(mask(given), shown);
        }
    }

    #[test]
    fn media_types_and_names() {
        assert!(["text/plain", "image/*", "*/*", "application/a2a+json"].into_iter().all(is_media_type));
        assert!(!["text", "*/plain", "text/", "text/pl ain", "a/b/c"].into_iter().any(is_media_type));
        assert!(["a", "A-1.b_c", &"x".repeat(64)].into_iter().all(is_name));
        assert!(!["", ".", "..", "-a", "a b", "a/b", &"x".repeat(65)].into_iter().any(is_name));
    }
}
