//! One call: version, then who asks whom, then what the agent can be asked, then one operation of the engine.

use std::sync::Arc;

use engine::stream::{Cut, EventStream};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use hyper::body::Bytes;
use prost_reflect::{DynamicMessage, MethodDescriptor, Value};
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::{Code, Response, Status, Streaming};
use wire::{Error, TaskPushNotificationConfig, Tenant};

use super::{json, status};
use crate::app::Shared;
use crate::dialect::{Dialect, Spoken};
use crate::operation::{Asker, Operation, Said};
use crate::route::by_key;
use crate::{body, log, service, version};

/// The metadata that says which number the first item of a stream has; each of the others has one more than the item before it.
const FIRST_EVENT: &str = "first-event-id";

/// What a method answers: one message, or a stream of them.
pub(crate) type Items = BoxStream<'static, Result<Vec<u8>, Status>>;

/// A call of one method.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) dialect: Dialect,
    pub(crate) operation: Operation,
    pub(crate) descriptor: MethodDescriptor,
}

impl Call {
    /// Answer it. `tenant` is set as soon as it is known.
    ///
    /// # Errors
    /// Whatever the operation refuses; nothing has been answered then.
    pub(crate) async fn answer(
        &self,
        request: tonic::Request<Streaming<Bytes>>,
        tenant: &mut Tenant,
    ) -> Result<Response<Items>, Error> {
        let (metadata, _, mut sent) = request.into_parts();
        let headers = metadata.as_ref();
        let (spoken, served) = ([self.dialect.version()], self.shared.served());
        version::check(headers, None, &spoken, served)?;
        let arrived = tokio::time::timeout(body::ARRIVES, sent.message()).await.map_err(|_| body::late())?;
        let bytes = match arrived {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(Error::invalid_request("the request holds no message")),
            Err(status) => return Err(unread(&status, self.shared.options.body_bytes)),
        };
        let mut message = json::decode(self.descriptor.input(), bytes)?;
        let key = take_key(&mut message);
        let caller = by_key(&self.shared, &key)?;
        tenant.clone_from(&caller.tenant);
        set_tenant(&mut message, caller.tenant.as_str());
        let activated = service::check(&caller.agent, headers, None, &spoken, served)?;
        let asker = Asker { shared: &self.shared, caller: &caller, dialect: self.dialect, headers, request: None };
        let said = asker.ask(self.operation, || self.dialect.read(self.operation, &json::print(&message)?)).await?;
        let mut answer = self.say(said, &key)?;
        let header = activated.header().and_then(|(name, value)| {
            let name: AsciiMetadataKey = name.to_ascii_lowercase().parse().ok()?;
            Some((name, value.to_str().ok()?.parse::<AsciiMetadataValue>().ok()?))
        });
        if let Some((name, value)) = header {
            answer.metadata_mut().insert(name, value);
        }
        Ok(answer)
    }

    /// The answer that says it to who came by `key`.
    fn say(&self, said: Said, key: &str) -> Result<Response<Items>, Error> {
        let said = match said {
            Said::Events(events) => return Ok(self.many(events)),
            Said::PushConfig(config) => Said::PushConfig(keyed(config, key)),
            Said::PushConfigs(mut listed) => {
                listed.configs = listed.configs.into_iter().map(|config| keyed(config, key)).collect();
                Said::PushConfigs(listed)
            }
            said => said,
        };
        let bytes = json::encode(self.descriptor.output(), &Spoken(self.dialect, &said))?;
        Ok(Response::new(stream::once(async { Ok(bytes) }).boxed()))
    }

    fn many(&self, events: EventStream) -> Response<Items> {
        let first = events.next_number();
        let (dialect, kind) = (self.dialect, self.descriptor.output());
        let streamed = log::Streamed::begin(&events);
        let items = stream::try_unfold((events, streamed), move |(mut events, mut streamed)| {
            let kind = kind.clone();
            async move {
                let next = events.next().await;
                streamed.note(&next);
                let Some(item) = next.map_err(|cut| cut_off(cut, events.last()))? else { return Ok(None) };
                let bytes = dialect.item(&item.body).and_then(|body| json::encode_text(kind, &body));
                Ok(Some((bytes.map_err(|error| status::of(&error))?, (events, streamed))))
            }
        });
        let mut response = Response::new(items.boxed());
        if first > 0 {
            response.metadata_mut().insert(FIRST_EVENT, first.into());
        }
        response
    }
}

/// A config with the key that leads back to it, in place of the tenant alone.
fn keyed(config: TaskPushNotificationConfig, key: &str) -> TaskPushNotificationConfig {
    if key.contains('/') { TaskPushNotificationConfig { tenant: key.to_owned(), ..config } } else { config }
}

/// Why a message could not be read.
fn unread(status: &Status, limit: usize) -> Error {
    match status.code() {
        // Tonic's word for a message above the limit.
        Code::OutOfRange => Error::payload_too_large(limit),
        _ => Error::invalid_request(format!("reading the request's message: {}", status.message())),
    }
}

/// Take the routing key off a request: `[tenant]["/" agent]` in its `tenant`.
fn take_key(message: &mut DynamicMessage) -> String {
    let key = message.get_field_by_name("tenant").and_then(|value| value.as_str().map(str::to_owned));
    key.unwrap_or_default()
}

fn set_tenant(message: &mut DynamicMessage, tenant: &str) {
    // Every request has the field; without it there was no key either.
    message.try_set_field_by_name("tenant", Value::String(tenant.to_owned())).ok();
}

/// A stream that ends before its task does.
fn cut_off(cut: Cut, last: i64) -> Status {
    let error = match cut {
        Cut::Slow => Error::unavailable("the client reads too slowly; go on after the last event"),
        Cut::Closing => Error::unavailable("this replica is shutting down; go on after the last event"),
        Cut::Failed(error) => error,
    };
    status::of_stream(&error, last)
}
