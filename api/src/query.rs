//! Query parameters as a request message (§11.5): named in camelCase or snake_case, typed by the message's own description.

use std::borrow::Cow;
use std::str::FromStr;

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaParamIn, MetaSchemaRef, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wire::description::{Described, FieldDescription};
use wire::{Error, Path, Validate, Violation};

use crate::failure::Failure;
use crate::route::percent_decode;

/// A query read as the message `T`. Parameters that are none of its fields are ignored.
pub(crate) struct Query<T>(pub(crate) T);

impl<'a, T: Described + DeserializeOwned + Validate + Send> ApiExtractor<'a> for Query<T> {
    // The document's parameters are added from the same description: see `document.rs`.
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::PoemExtractor];
    type ParamType = ();
    type ParamRawType = ();

    fn register(_registry: &mut Registry) {}

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        Ok(Query(read(request.uri().query().unwrap_or_default()).map_err(Failure)?))
    }
}

/// One query parameter of an operation whose query is no message: absent, or a `T`.
pub(crate) struct Asked<T>(pub(crate) Option<T>);

impl<'a, T: Type + FromStr> ApiExtractor<'a> for Asked<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];
    type ParamType = T;
    type ParamRawType = T;

    fn param_in() -> Option<MetaParamIn> {
        Some(MetaParamIn::Query)
    }

    fn param_schema_ref() -> Option<MetaSchemaRef> {
        Some(T::schema_ref())
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        options: ExtractParamOptions<T>,
    ) -> poem::Result<Self> {
        let name = options.name;
        let mut values =
            pairs(request.uri().query().unwrap_or_default()).filter(|pair| pair.0.as_deref() == Some(name));
        let wrong = |complaint: String| Err(Failure(Error::invalid(name, complaint)).into());
        match (values.next(), values.next()) {
            (None, _) => Ok(Asked(None)),
            (Some(_), Some(_)) => wrong("is given twice".into()),
            (Some((_, None)), None) => wrong("is not UTF-8".into()),
            (Some((_, Some(text))), None) => match text.parse() {
                Ok(value) => Ok(Asked(Some(value))),
                Err(_) => wrong(format!("must be a {}", T::name())),
            },
        }
    }
}

/// Read a query.
///
/// # Errors
/// `InvalidParams` naming every parameter that is wrong.
pub(crate) fn read<T: Described + DeserializeOwned + Validate>(query: &str) -> Result<T, Error> {
    let mut members = Map::new();
    let mut violations = Vec::new();
    for (name, value) in pairs(query) {
        let fields = T::DESCRIPTION.fields;
        let Some(field) =
            name.and_then(|name| fields.iter().find(|field| field.name == name || field.json_name == name))
        else {
            continue;
        };
        let complaint = match value.map(|value| typed(field, value)) {
            None => "is not UTF-8".to_owned(),
            Some(Err(complaint)) => complaint.to_owned(),
            Some(Ok(_)) if members.contains_key(field.json_name) => "is given twice".to_owned(),
            Some(Ok(value)) => match refusal::<T>(field, &value) {
                Some(complaint) => complaint,
                None => {
                    members.insert(field.json_name.to_owned(), value);
                    continue;
                }
            },
        };
        violations.push(Violation::new(field.json_name, complaint));
    }
    if violations.is_empty() {
        // The operation checks the rest, together with what stands in the path.
        return parse(Value::Object(members));
    }
    let known: Vec<String> = members.keys().cloned().collect();
    let message: T = parse(Value::Object(members))?;
    let mut others = Vec::new();
    message.check(&Path::ROOT, &mut others);
    violations.extend(others.into_iter().filter(|other| known.contains(&other.field)));
    Err(Error::invalid_all(violations))
}

fn parse<T: DeserializeOwned>(members: Value) -> Result<T, Error> {
    serde_json::from_value(members).map_err(|error| Error::invalid("", error.to_string()))
}

/// The value in JSON, by the field's type.
fn typed(field: &FieldDescription, value: Cow<'_, str>) -> Result<Value, &'static str> {
    match field.element {
        "int32" => value.parse::<i32>().map(Value::from).map_err(|_| "must be an integer"),
        "bool" => value.parse::<bool>().map(Value::from).map_err(|_| "must be `true` or `false`"),
        "string" => Ok(Value::from(value)),
        // A name, a number, a timestamp: empty is absent.
        _ if value.is_empty() => Ok(Value::Null),
        _ => Ok(value.parse::<i64>().map_or_else(|_| Value::from(value.as_ref()), Value::from)),
    }
}

/// What the field's own type says against a value that JSON cannot tell from a good one.
fn refusal<T: DeserializeOwned>(field: &FieldDescription, value: &Value) -> Option<String> {
    if matches!(field.element, "int32" | "bool" | "string") {
        return None;
    }
    let alone = Map::from_iter([(field.json_name.to_owned(), value.clone())]);
    serde_json::from_value::<T>(Value::Object(alone)).err().map(|error| error.to_string())
}

/// The pairs of a query, decoded; nothing for what is not UTF-8.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Option<Cow<'_, str>>, Option<Cow<'_, str>>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (form_decode(name), form_decode(value))
    })
}

fn form_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('+') {
        return percent_decode(text);
    }
    percent_decode(&text.replace('+', " ")).map(|text| Cow::Owned(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{ListTasksRequest, TaskState};

    #[test]
    fn a_query_reads_as_its_message() {
        let request: ListTasksRequest = read(
            "page_size=5&contextId=a+b%2Bc&status=TASK_STATE_WORKING&includeArtifacts=true&nothing=x&historyLength=0\
             &statusTimestampAfter=2026-01-02T03:04:05Z&A2A-Version=1.0",
        )
        .unwrap();
        assert_eq!(request.page_size, Some(5));
        assert_eq!(request.context_id, "a b+c");
        assert_eq!(request.status, TaskState::Working);
        assert_eq!(request.include_artifacts, Some(true));
        assert_eq!(request.history_length, Some(0));
        assert!(request.status_timestamp_after.is_some());
        assert_eq!(read::<ListTasksRequest>("status=2&status_timestamp_after=").unwrap().status, TaskState::Working);
    }

    #[test]
    fn every_bad_parameter_is_named() {
        let error = read::<ListTasksRequest>(
            "page_size=x&includeArtifacts=yes&status=DONE&statusTimestampAfter=today&historyLength=1.5&contextId=%FF&pageToken=a&pageToken=b",
        )
        .unwrap_err();
        let fields: Vec<&str> = error.violations.iter().map(|violation| violation.field.as_str()).collect();
        let expected = [
            "pageSize",
            "includeArtifacts",
            "status",
            "statusTimestampAfter",
            "historyLength",
            "contextId",
            "pageToken",
        ];
        assert_eq!(fields, expected);
        let error = read::<ListTasksRequest>("includeArtifacts=1&pageSize=0").unwrap_err();
        let fields: Vec<&str> = error.violations.iter().map(|violation| violation.field.as_str()).collect();
        assert_eq!(fields, ["includeArtifacts", "pageSize"]);
    }
}
