//! Every outcome of every client command (`outcomes.tsv`), by all three bindings.
//!
//! A row's error comes from the table, what it is called in each binding from the error table, and the situation that leads to it from
//! `case.rs`. A row without a situation fails the test. Every request is first sent without the version and then without the extension
//! that the agent requires, which are decided before everything else.

use std::collections::BTreeMap;

use api::Options;
use engine::{Agent, Extended, ExtendedCard};
use poem::{Endpoint, Response};
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};
use wire::Kind;

use crate::client::{Platform, platform_with, settings};
use crate::grpc::client::Remote;

pub(crate) mod ask;
mod case;
mod row;

use ask::{Ask, Binding, Items, Told, ask};
use case::{Case, World};
use row::{Refusal, Row, rows};

/// The extension that the agent requires.
const NEEDED: &str = "https://ext.example/needed/v1";

/// Every row of every table, and how many rows each has.
#[derive(Debug, PartialEq)]
struct Stored {
    rows: BTreeMap<String, Vec<String>>,
}

impl Stored {
    async fn read<E>(platform: &Platform<E>) -> Stored {
        let db = platform.engine.store().read();
        let ask = async |sql: &str| -> Vec<String> {
            let found = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
            found.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
        };
        let mut rows = BTreeMap::new();
        for table in ask("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").await {
            let columns = ask(&format!("SELECT 'quote(' || name || ')' FROM pragma_table_info('{table}')")).await;
            let text = columns.join(" || '|' || ");
            rows.insert(table.clone(), ask(&format!("SELECT {text} FROM {table} ORDER BY 1")).await);
        }
        Stored { rows }
    }

    /// How many rows came or went, where any did.
    fn since(&self, before: &Stored) -> BTreeMap<String, i64> {
        let count = |stored: &Stored, table: &str| stored.rows.get(table).map_or(0, Vec::len) as i64;
        let tables = self.rows.keys().map(|table| (table.clone(), count(self, table) - count(before, table)));
        tables.filter(|(_, more)| *more != 0).collect()
    }
}

/// The agent that a row needs.
fn shape(agent: &mut Agent, outcome: &str) {
    let extension = wire::AgentExtension { uri: NEEDED.into(), required: true, ..wire::AgentExtension::default() };
    agent.card.extensions = vec![extension];
    agent.card.extended = Extended::Configured(ExtendedCard { version: Some("2".into()), ..ExtendedCard::default() });
    match outcome {
        "push-not-supported" => agent.push_notifications = false,
        "streaming-not-supported" => agent.streaming = false,
        "context-not-accepted" => agent.client_contexts = false,
        "content-type-not-supported" => agent.input_modes = vec!["text/*".into()],
        "history-limit" => agent.limits.history = 1,
        "config-limit" => agent.limits.push_configs = 1,
        "not-supported" => agent.card.extended = Extended::Undeclared,
        "direct-message" => agent.direct = Some(std::time::Duration::from_secs(60)),
        "not-configured" => agent.card.extended = Extended::Unconfigured,
        _ => {}
    }
}

/// Asserts that `asked` is refused so, and that nothing is stored.
async fn is_refused<E: Endpoint<Output = Response>>(
    world: &World<'_, E>,
    asked: &Ask,
    expected: &Refusal,
    title: &str,
) {
    let before = Stored::read(world.platform).await;
    let told = ask(world.platform, world.remote, world.binding, asked).await;
    let Told::Refused { kind, fields, reasons } = &told else { panic!("{title}: {told:?}, wanted is {expected:?}") };
    assert_eq!(*kind, expected.kind, "{title}: {told:?}");
    assert_eq!(!fields.is_empty(), expected.field, "{title}: {told:?}");
    assert_eq!(reasons.first().map(String::as_str), expected.reason, "{title}: {told:?}");
    assert_eq!(Stored::read(world.platform).await, before, "{title}");
}

/// What differs between two runs of the same: ids, times, tenants. Empty values go, since protobuf does not send them.
fn leveled(value: Value, tenant: &str) -> Value {
    match value {
        Value::Object(members) => {
            let level = |name: &str, value| if name == "nextPageToken" { json!("") } else { leveled(value, tenant) };
            let members = members.into_iter().map(|(name, value)| (name.clone(), level(&name, value)));
            members.filter(|(_, value)| !matches!(value.to_string().as_str(), "\"\"" | "[]" | "{}" | "0")).collect()
        }
        Value::Array(items) => items.into_iter().map(|item| leveled(item, tenant)).collect(),
        Value::String(text) if uuid::Uuid::parse_str(&text).is_ok() => json!("an id"),
        Value::String(text) if text.len() == 24 && text.ends_with('Z') => json!("a time"),
        Value::String(text) => json!(text.replace(tenant, "a tenant")),
        other => other,
    }
}

/// Runs a row in one binding: what it answered, if it did what was asked.
async fn run<E: Endpoint<Output = Response>>(row: &Row, world: &World<'_, E>, case: Case) -> Vec<Value> {
    let title = format!("{} {} {:?}", row.command, row.outcome, world.binding);
    let (mut answers, mut case) = (Vec::new(), case);
    for (params, key) in std::mem::take(&mut case.requests) {
        let asked = Ask::of(row.command, world.binding.tenant(), params);
        let asked = key.map_or(asked.clone(), |key| asked.with("Idempotency-Key", key));
        let refusal = |kind| Refusal { kind, field: false, reason: None };
        let bare = asked.clone().with("A2A-Extensions", "");
        for version in ["0.3", "99.0"] {
            let old = bare.clone().with("A2A-Version", version);
            is_refused(world, &old, &refusal(Kind::VersionNotSupported), &title).await;
        }
        is_refused(world, &bare, &refusal(Kind::ExtensionSupportRequired), &title).await;
        match (&row.refusal, row.outcome) {
            (_, "version-not-supported" | "extension-required") => {}
            (Some(refusal), _) => is_refused(world, &asked, refusal, &title).await,
            (None, _) => {
                answers.extend(is_done(world, &asked, &case, &title).await);
                case = Case::default();
            }
        }
    }
    answers
}

/// Asserts that `asked` is done and stores what it should: everything it answered.
async fn is_done<E: Endpoint<Output = Response>>(
    world: &World<'_, E>,
    asked: &Ask,
    case: &Case,
    title: &str,
) -> Vec<Value> {
    let before = Stored::read(world.platform).await;
    let told = match case.reply {
        None => ask(world.platform, world.remote, world.binding, asked).await,
        Some(words) => {
            let asking = ask(world.platform, world.remote, world.binding, asked);
            tokio::join!(asking, world.reply(words)).0
        }
    };
    let after = Stored::read(world.platform).await;
    let more: BTreeMap<String, i64> = case.stores.iter().map(|(table, more)| ((*table).to_owned(), *more)).collect();
    assert_eq!(after.since(&before), more, "{title}");
    assert_eq!(after == before, !case.writes, "{title}");
    let items = match told {
        Told::Done(answer) => vec![answer],
        Told::Streams(stream) => followed(world, stream, title).await,
        told @ Told::Refused { .. } => panic!("{title}: {told:?}"),
    };
    for (pointer, value) in &case.answers {
        assert_eq!(items[0].pointer(pointer), Some(value), "{title}: {pointer} of {}", items[0]);
    }
    items
}

/// A stream's first item is the task, or the one message; what happens to it follows, and its end ends the stream.
async fn followed<E: Endpoint<Output = Response>>(world: &World<'_, E>, mut stream: Items, title: &str) -> Vec<Value> {
    let first = stream.next().await.unwrap_or_else(|| panic!("{title}: an empty stream"));
    if first["message"].is_object() {
        assert_eq!(stream.next().await, None, "{title}");
        return vec![first];
    }
    world.done("CancelTask", json!({"id": first["task"]["id"]})).await;
    let last = stream.next().await.unwrap_or_else(|| panic!("{title}: no end of the task"));
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED", "{title}");
    assert_eq!(stream.next().await, None, "{title}");
    vec![first, last]
}

#[tokio::test]
async fn every_outcome_is_the_same_in_every_binding() {
    let rows = rows();
    assert!(rows.len() > 80, "outcomes.tsv has {} rows about clients", rows.len());
    let mut missing = Vec::new();
    for row in &rows {
        let mut settings = settings();
        match row.outcome {
            "task-limit" => settings.tasks_per_tenant = 1,
            // Which come before it.
            "context-not-accepted" | "content-type-not-supported" => settings.tasks_per_tenant = 0,
            _ => {}
        }
        shape(std::sync::Arc::make_mut(settings.agents.get_mut("echo").unwrap()), row.outcome);
        let options = Options { public_url: Some("https://agents.example".into()), ..Options::default() };
        let platform = platform_with(settings, options.clone()).await;
        let remote = Remote::with(&platform.engine, options).await;
        let mut answers: Vec<Vec<Value>> = Vec::new();
        for binding in Binding::ALL {
            let world = World { platform: &platform, remote: &remote, binding };
            match world.stage(row.command, row.outcome).await {
                Some(case) => {
                    let told = run(row, &world, case).await;
                    answers.push(told.into_iter().map(|item| leveled(item, binding.tenant())).collect());
                }
                None => missing.push((row.command, row.outcome)),
            }
        }
        assert!(answers.windows(2).all(|two| two[0] == two[1]), "{} {}: {answers:#?}", row.command, row.outcome);
    }
    missing.dedup();
    assert!(missing.is_empty(), "outcomes.tsv has rows without a case in case.rs: {missing:?}");
}
