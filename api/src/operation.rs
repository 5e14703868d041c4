//! The operations of A2A, for the bindings that are told them by name: what is asked, in the types of 1.0 however it was said, and what
//! is answered, before it is said in a dialect.
//!
//! JSON-RPC, gRPC and every way of speaking 0.3 come to `Asker::ask`. HTTP+JSON of 1.0 has handlers of its own, because they are what
//! the OpenAPI document is made from.

use engine::operation::ListedTasks;
use engine::stream::EventStream;
use engine::{Caller, Extended};
use poem::Request;
use poem::http::HeaderMap;
use wire::{
    AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, Error, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, SendMessageRequest, SendMessageResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, Version,
};

use crate::app::Shared;
use crate::call::{Key, LastEvent};
use crate::dialect::Dialect;
use crate::route::with_tenant;
use crate::{capability, card, trace};

/// An operation, named as in the proto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreateTaskPushNotificationConfig,
    GetTaskPushNotificationConfig,
    ListTaskPushNotificationConfigs,
    GetExtendedAgentCard,
    DeleteTaskPushNotificationConfig,
}

impl Operation {
    /// Every operation, in the order of the proto's service.
    pub(crate) const ALL: &[Operation] = &[
        Operation::SendMessage,
        Operation::SendStreamingMessage,
        Operation::GetTask,
        Operation::ListTasks,
        Operation::CancelTask,
        Operation::SubscribeToTask,
        Operation::CreateTaskPushNotificationConfig,
        Operation::GetTaskPushNotificationConfig,
        Operation::ListTaskPushNotificationConfigs,
        Operation::GetExtendedAgentCard,
        Operation::DeleteTaskPushNotificationConfig,
    ];

    /// Its name in 1.0, in every binding.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Operation::SendMessage => "SendMessage",
            Operation::SendStreamingMessage => "SendStreamingMessage",
            Operation::GetTask => "GetTask",
            Operation::ListTasks => "ListTasks",
            Operation::CancelTask => "CancelTask",
            Operation::SubscribeToTask => "SubscribeToTask",
            Operation::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Operation::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Operation::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Operation::GetExtendedAgentCard => "GetExtendedAgentCard",
            Operation::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
        }
    }

    /// Whether it answers with a stream.
    pub(crate) const fn streams(self) -> bool {
        matches!(self, Operation::SendStreamingMessage | Operation::SubscribeToTask)
    }
}

/// A request.
#[derive(Debug)]
pub(crate) enum Ask {
    SendMessage(SendMessageRequest),
    SendStreamingMessage(SendMessageRequest),
    GetTask(GetTaskRequest),
    ListTasks(ListTasksRequest),
    CancelTask(CancelTaskRequest),
    SubscribeToTask(SubscribeToTaskRequest),
    CreatePushConfig(TaskPushNotificationConfig),
    GetPushConfig(GetTaskPushNotificationConfigRequest),
    ListPushConfigs(ListTaskPushNotificationConfigsRequest),
    DeletePushConfig(DeleteTaskPushNotificationConfigRequest),
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

impl Ask {
    /// The tenant that it names itself.
    fn tenant(&self) -> &str {
        match self {
            Ask::SendMessage(request) | Ask::SendStreamingMessage(request) => &request.tenant,
            Ask::GetTask(request) => &request.tenant,
            Ask::ListTasks(request) => &request.tenant,
            Ask::CancelTask(request) => &request.tenant,
            Ask::SubscribeToTask(request) => &request.tenant,
            Ask::CreatePushConfig(request) => &request.tenant,
            Ask::GetPushConfig(request) => &request.tenant,
            Ask::ListPushConfigs(request) => &request.tenant,
            Ask::DeletePushConfig(request) => &request.tenant,
            Ask::GetExtendedAgentCard(request) => &request.tenant,
        }
    }
}

/// An answer.
pub(crate) enum Said {
    Sent(SendMessageResponse),
    Events(EventStream),
    Task(Task),
    Tasks(ListedTasks),
    PushConfig(TaskPushNotificationConfig),
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    Deleted,
    Card(Box<AgentCard>),
}

/// Who asks, and how.
pub(crate) struct Asker<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) caller: &'a Caller,
    pub(crate) dialect: Dialect,
    pub(crate) headers: &'a HeaderMap,
    /// The request of HTTP, which says where this deployment is; gRPC's does not.
    pub(crate) request: Option<&'a Request>,
}

impl Asker<'_> {
    /// What the agent can be asked, then what is asked, then the operation.
    ///
    /// # Errors
    /// Whatever any of them refuses.
    pub(crate) async fn ask(
        &self,
        operation: Operation,
        read: impl FnOnce() -> Result<Ask, Error>,
    ) -> Result<Said, Error> {
        let public = self.public_card(operation);
        if !public {
            capability::check(&self.caller.agent, operation.name())?;
        }
        let ask = read()?;
        let caller = with_tenant(self.caller, ask.tenant())?.speaking(self.dialect.version());
        let caller = &Caller { trace: trace::of(self.headers), ..caller };
        let engine = &self.shared.engine;
        let key = || Key::of(self.headers);
        let last = || LastEvent::of(self.headers);
        Ok(match ask {
            Ask::SendMessage(request) => Said::Sent(engine.send_message(caller, key()?, request).await?),
            Ask::SendStreamingMessage(request) => {
                let (key, last) = (key()?, last()?);
                Said::Events(engine.send_streaming_message(caller, key, request, last).await?)
            }
            Ask::GetTask(request) => Said::Task(engine.get_task(caller, request).await?),
            Ask::ListTasks(request) => Said::Tasks(engine.list_tasks(caller, request).await?),
            Ask::CancelTask(request) => Said::Task(engine.cancel_task(caller, request).await?),
            Ask::SubscribeToTask(request) => Said::Events(engine.subscribe_to_task(caller, request, last()?).await?),
            Ask::CreatePushConfig(request) => Said::PushConfig(engine.create_push_config(caller, request).await?),
            Ask::GetPushConfig(request) if request.id.is_empty() && self.dialect.version() == Version::V03 => {
                Said::PushConfig(self.first_push_config(caller, request).await?)
            }
            Ask::GetPushConfig(request) => Said::PushConfig(engine.get_push_config(caller, request).await?),
            Ask::ListPushConfigs(request) => Said::PushConfigs(engine.list_push_configs(caller, request).await?),
            Ask::DeletePushConfig(request) => {
                engine.delete_push_config(caller, request).await?;
                Said::Deleted
            }
            Ask::GetExtendedAgentCard(_) if public => {
                Said::Card(Box::new(card::public(self.shared, caller, self.request)?))
            }
            Ask::GetExtendedAgentCard(_) => Said::Card(Box::new(card::extended(self.shared, caller, self.request)?)),
        })
    }

    /// A client of 0.3 need not say which config it means: the first one of the task.
    async fn first_push_config(
        &self,
        caller: &Caller,
        GetTaskPushNotificationConfigRequest { tenant, task_id, id }: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let missing = Error::push_config_not_found(&task_id, &id);
        let list = ListTaskPushNotificationConfigsRequest { tenant, task_id, page_size: 1, ..Default::default() };
        let listed = self.shared.engine.list_push_configs(caller, list).await?;
        listed.configs.into_iter().next().ok_or(missing)
    }

    /// Whether the public card answers: 0.3's `GetAgentCard` gives the extended one only where the agent has one.
    fn public_card(&self, operation: Operation) -> bool {
        operation == Operation::GetExtendedAgentCard
            && self.dialect == Dialect::Proto03
            && self.caller.agent.card.extended == Extended::Undeclared
    }
}
