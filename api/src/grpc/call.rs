//! One call: version, then who asks whom, then what the agent can be asked, then one operation of the engine.

use std::sync::Arc;

use engine::Caller;
use engine::stream::{Cut, EventStream};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use hyper::body::Bytes;
use poem::http::HeaderMap;
use prost_reflect::{DynamicMessage, MethodDescriptor, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tonic::{Code, Response, Status, Streaming};
use wire::{Error, TaskPushNotificationConfig, Tenant};

use super::{json, status};
use crate::app::Shared;
use crate::call::{Key, LastEvent};
pub(crate) use crate::jsonrpc::METHODS;
use crate::route::by_key;
use crate::{body, capability, card, service, version};

/// The metadata that says which number the first item of a stream has; each of the others has one more than the item before it.
const FIRST_EVENT: &str = "first-event-id";

/// The extensions that count, in the answer's metadata.
const EXTENSIONS: &str = "a2a-extensions";

/// What a method answers: one message, or a stream of them.
pub(crate) type Items = BoxStream<'static, Result<Vec<u8>, Status>>;

/// A call of one method.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: &'static str,
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
        version::check(headers, None)?;
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
        let activated = service::check(&caller.agent, headers, None)?;
        capability::check(&caller.agent, self.name)?;
        let mut answer = Exchange { call: self, caller: &caller, key: &key, headers, message: &message }.run().await?;
        if let Some(value) = activated.value().and_then(|value| value.to_str().ok()?.parse().ok()) {
            answer.metadata_mut().insert(EXTENSIONS, value);
        }
        Ok(answer)
    }
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

/// A call whose caller is known.
struct Exchange<'a> {
    call: &'a Call,
    caller: &'a Caller,
    key: &'a str,
    headers: &'a HeaderMap,
    message: &'a DynamicMessage,
}

impl Exchange<'_> {
    async fn run(&self) -> Result<Response<Items>, Error> {
        let (engine, caller) = (&self.call.shared.engine, self.caller);
        match self.call.name {
            "SendMessage" => {
                let request: wire::SendMessageRequest = self.read()?;
                self.one(&engine.send_message(caller, Key::of(self.headers)?, request).await?)
            }
            "SendStreamingMessage" => {
                let request: wire::SendMessageRequest = self.read()?;
                let (key, last) = (Key::of(self.headers)?, LastEvent::of(self.headers)?);
                Ok(self.many(engine.send_streaming_message(caller, key, request, last).await?))
            }
            "GetTask" => self.one(&engine.get_task(caller, self.read()?).await?),
            // Protobuf has no empty `artifacts` to tell from none.
            "ListTasks" => self.one(&engine.list_tasks(caller, self.read()?).await?.response),
            "CancelTask" => self.one(&engine.cancel_task(caller, self.read()?).await?),
            "SubscribeToTask" => {
                let request: wire::SubscribeToTaskRequest = self.read()?;
                Ok(self.many(engine.subscribe_to_task(caller, request, LastEvent::of(self.headers)?).await?))
            }
            "CreateTaskPushNotificationConfig" => {
                let config = engine.create_push_config(caller, self.read()?).await?;
                self.one(&self.keyed(config))
            }
            "GetTaskPushNotificationConfig" => {
                let config = engine.get_push_config(caller, self.read()?).await?;
                self.one(&self.keyed(config))
            }
            "ListTaskPushNotificationConfigs" => {
                let mut listed = engine.list_push_configs(caller, self.read()?).await?;
                listed.configs = listed.configs.into_iter().map(|config| self.keyed(config)).collect();
                self.one(&listed)
            }
            "DeleteTaskPushNotificationConfig" => {
                engine.delete_push_config(caller, self.read()?).await?;
                self.one(&serde_json::Map::new())
            }
            "GetExtendedAgentCard" => self.one(&card::extended(&self.call.shared, caller, None)?),
            other => Err(Error::internal(format!("no handler for the method {other}"))),
        }
    }

    /// The request as every binding reads it.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        wire::parse(&json::print(self.message)?)
    }

    /// A config with the key that leads back to it, in place of the tenant alone.
    fn keyed(&self, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
        if self.key.contains('/') {
            TaskPushNotificationConfig { tenant: self.key.to_owned(), ..config }
        } else {
            config
        }
    }

    fn one(&self, value: &impl Serialize) -> Result<Response<Items>, Error> {
        let bytes = json::encode(self.call.descriptor.output(), value)?;
        Ok(Response::new(stream::once(async { Ok(bytes) }).boxed()))
    }

    fn many(&self, events: EventStream) -> Response<Items> {
        let first = events.next_number();
        let kind = self.call.descriptor.output();
        let items = stream::try_unfold(events, move |mut events| {
            let kind = kind.clone();
            async move {
                let item = events.next().await.map_err(|cut| cut_off(cut, events.last()))?;
                let Some(item) = item else { return Ok(None) };
                let bytes = json::encode_text(kind, &item.body).map_err(|error| status::of(&error))?;
                Ok(Some((bytes, events)))
            }
        });
        let mut response = Response::new(items.boxed());
        response.metadata_mut().insert(FIRST_EVENT, first.into());
        response
    }
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
