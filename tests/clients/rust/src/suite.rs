//! What every check has at hand: clients of two replicas for one binding, and the calls that most checks make.

use std::sync::Arc;
use std::time::Duration;

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, TRANSPORT_PROTOCOL_GRPC,
    TRANSPORT_PROTOCOL_HTTP_JSON, TRANSPORT_PROTOCOL_JSONRPC, Task, TaskState,
};
use a2a_client::agent_card::AgentCardResolver;
use a2a_client::jsonrpc::JsonRpcTransportFactory;
use a2a_client::middleware::CallInterceptor;
use a2a_client::rest::RestTransportFactory;
use a2a_client::{A2AClient, A2AClientFactory, BoxStream, ServiceParams, Transport, TransportFactory};
use a2a_grpc::GrpcTransportFactory;
use futures_util::StreamExt as _;

use crate::Checked;
use crate::agent::message;

/// The bindings this SDK speaks, by their names on cards.
pub(crate) const BINDINGS: [&str; 3] =
    [TRANSPORT_PROTOCOL_JSONRPC, TRANSPORT_PROTOCOL_HTTP_JSON, TRANSPORT_PROTOCOL_GRPC];

/// A client whose transport the card chose.
pub(crate) type Client = A2AClient<Box<dyn Transport>>;

/// What a streaming call gives.
pub(crate) type Stream = Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError>;

/// A service parameter of every call: a header, or metadata. It stands in the place of the SDK's own of that name.
struct Parameter(&'static str, String);

#[async_trait::async_trait]
impl CallInterceptor for Parameter {
    async fn before(&self, _method: &str, params: &mut ServiceParams) -> Result<(), A2AError> {
        params.insert(self.0.to_owned(), vec![self.1.clone()]);
        Ok(())
    }
}

/// Clients of the default agent at two replicas (or twice at the only one), for one binding.
pub(crate) struct Suite {
    pub(crate) binding: &'static str,
    pub(crate) urls: Vec<String>,
    pub(crate) here: Client,
    pub(crate) there: Client,
}

impl Suite {
    pub(crate) async fn open(binding: &'static str, urls: Vec<String>) -> Checked<Self> {
        let here = connect(binding, &urls[0], None).await?.0;
        let there = connect(binding, &urls[urls.len() - 1], None).await?.0;
        Ok(Self { binding, urls, here, there })
    }

    /// Another agent at the first replica.
    pub(crate) async fn agent(&self, name: &str) -> Checked<Client> {
        Ok(connect(self.binding, &format!("{}/agents/{name}", self.urls[0]), None).await?.0)
    }

    /// A client that says a parameter in every call; `base` is below the first replica's URL.
    pub(crate) async fn saying(&self, base: &str, name: &'static str, value: &str) -> Checked<Client> {
        let url = format!("{}{base}", self.urls[0]);
        Ok(connect(self.binding, &url, Some(Parameter(name, value.to_owned()))).await?.0)
    }

    /// The card at a base, and a client that it led to over this binding.
    pub(crate) async fn card(&self, base: &str) -> Checked<(Client, AgentCard)> {
        connect(self.binding, &format!("{}{base}", self.urls[0]), None).await
    }

    pub(crate) async fn send(&self, words: &str) -> Result<Task, A2AError> {
        send(&self.here, request(words)).await
    }

    /// A send that does not wait.
    pub(crate) async fn begin(&self, words: &str) -> Result<Task, A2AError> {
        let mut request = request(words);
        request.configuration = Some(SendMessageConfiguration { return_immediately: Some(true), ..configuration() });
        send(&self.here, request).await
    }

    /// The task as the other replica knows it.
    pub(crate) async fn get(&self, id: &str) -> Result<Task, A2AError> {
        get(&self.there, id, None).await
    }

    /// Polls until the task is in that state.
    pub(crate) async fn reach(&self, id: &str, state: TaskState) -> Checked<Task> {
        let mut task = self.get(id).await?;
        for _ in 0..200 {
            if task.status.state == state {
                return Ok(task);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            task = self.get(id).await?;
        }
        Err(format!("the task stays {:?}", task.status.state).into())
    }
}

async fn connect(binding: &str, url: &str, parameter: Option<Parameter>) -> Checked<(Client, AgentCard)> {
    let card = AgentCardResolver::new(None).resolve(url).await?;
    let transport: Arc<dyn TransportFactory> = match binding {
        TRANSPORT_PROTOCOL_JSONRPC => Arc::new(JsonRpcTransportFactory::new(None)),
        TRANSPORT_PROTOCOL_HTTP_JSON => Arc::new(RestTransportFactory::new(None)),
        _ => Arc::new(GrpcTransportFactory::new()),
    };
    let mut factory = A2AClientFactory::builder().no_defaults().register(transport);
    if let Some(parameter) = parameter {
        factory = factory.with_interceptor(Arc::new(parameter));
    }
    Ok((factory.build().create_from_card(&card).await?, card))
}

/// A configuration that asks for nothing.
pub(crate) fn configuration() -> SendMessageConfiguration {
    SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: None,
    }
}

/// A send of some words.
pub(crate) fn request(words: &str) -> SendMessageRequest {
    SendMessageRequest { message: message(words), configuration: None, metadata: None, tenant: None }
}

/// A send of some words to a task that there is.
pub(crate) fn answer(task: &str, words: &str) -> SendMessageRequest {
    let mut request = request(words);
    request.message.task_id = Some(task.to_owned());
    request
}

/// Sends; the answer has to be a task.
pub(crate) async fn send(client: &Client, request: SendMessageRequest) -> Result<Task, A2AError> {
    match client.send_message(&request).await? {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(message) => Err(A2AError::internal(format!("wanted a task, found {message:?}"))),
    }
}

pub(crate) async fn get(client: &Client, id: &str, history_length: Option<i32>) -> Result<Task, A2AError> {
    client.get_task(&GetTaskRequest { id: id.to_owned(), history_length, tenant: None }).await
}

pub(crate) async fn cancel(client: &Client, id: &str) -> Result<Task, A2AError> {
    client.cancel_task(&CancelTaskRequest { id: id.to_owned(), metadata: None, tenant: None }).await
}

pub(crate) async fn subscribe(client: &Client, id: &str) -> Stream {
    client.subscribe_to_task(&SubscribeToTaskRequest { id: id.to_owned(), tenant: None }).await
}

/// A question about tasks that asks for nothing in particular.
pub(crate) fn listing() -> ListTasksRequest {
    ListTasksRequest {
        context_id: None,
        status: None,
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    }
}

/// The whole of a stream, to its end.
pub(crate) async fn collect(stream: Stream) -> Result<Vec<StreamResponse>, A2AError> {
    stream?.collect::<Vec<_>>().await.into_iter().collect()
}

/// The error that a call has to end with: exactly of this code.
#[track_caller]
pub(crate) fn fails<T: std::fmt::Debug>(code: i32, call: Result<T, A2AError>) -> A2AError {
    let error = call.expect_err("the call has to be refused");
    assert_eq!(error.code, code, "another error: {error:?}");
    error
}

/// The error that a stream has to end with before it gave anything. A binding may have opened it by then.
pub(crate) async fn fails_to_open(code: i32, stream: Stream) -> A2AError {
    let first = match stream {
        Ok(mut stream) => stream.next().await.expect("an error, and not the end"),
        Err(error) => Err(error),
    };
    fails(code, first)
}
