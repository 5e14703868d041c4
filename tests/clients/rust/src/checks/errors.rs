//! The error of each kind, by the code that the SDK makes of it.
//!
//! Left out, for this SDK's client has no way to ask for it: a send without a message, which its types do not know.

use a2a::{
    GetExtendedAgentCardRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, Part,
    SendMessageConfiguration, SendMessageRequest, TaskState, error_code,
};
use uuid::Uuid;

use crate::Checked;
use crate::agent::LOYALTY;
use crate::checks::push::hook;
use crate::suite::{
    Suite, answer, cancel, configuration, fails, fails_to_open, get, listing, request, send, subscribe,
};

/// A send of these parts.
fn of(parts: Vec<Part>) -> SendMessageRequest {
    let mut request = request("");
    request.message.parts = parts;
    request
}

pub(super) async fn task_not_found(on: Suite) -> Checked {
    let code = error_code::TASK_NOT_FOUND;
    let nobody = Uuid::new_v4().to_string();
    fails(code, on.get(&nobody).await);
    fails(code, on.get("no such id").await);
    fails(code, cancel(&on.here, &nobody).await);
    fails(code, send(&on.here, answer(&nobody, "hello")).await);
    fails_to_open(code, subscribe(&on.there, &nobody).await).await;
    fails_to_open(code, on.here.send_streaming_message(&answer(&nobody, "hello")).await).await;
    fails(code, on.here.create_push_config(&hook(&nobody, "https://hooks.example.com")).await);
    let every =
        ListTaskPushNotificationConfigsRequest { task_id: nobody, page_size: None, page_token: None, tenant: None };
    fails(code, on.here.list_push_configs(&every).await);
    Ok(())
}

pub(super) async fn not_cancelable(on: Suite) -> Checked {
    let code = error_code::TASK_NOT_CANCELABLE;
    for words in ["hello", "fail", "reject"] {
        fails(code, cancel(&on.there, &on.send(words).await?.id).await);
    }
    let asking = on.send("ask").await?;
    cancel(&on.here, &asking.id).await?;
    fails(code, cancel(&on.there, &asking.id).await);
    // An agent that lets nothing be canceled.
    let plain = on.agent("plain").await?;
    let asking = send(&plain, request("ask")).await?;
    fails(code, cancel(&plain, &asking.id).await);
    Ok(())
}

pub(super) async fn unsupported_operation(on: Suite) -> Checked {
    let code = error_code::UNSUPPORTED_OPERATION;
    let task = on.send("hello").await?.id;
    fails(code, send(&on.there, answer(&task, "more")).await);
    fails_to_open(code, subscribe(&on.there, &task).await).await;
    fails_to_open(code, on.here.send_streaming_message(&answer(&task, "more")).await).await;
    // An agent without streams.
    let plain = on.agent("plain").await?;
    fails_to_open(code, plain.send_streaming_message(&request("hello")).await).await;
    let asking = send(&plain, request("ask")).await?;
    fails_to_open(code, subscribe(&plain, &asking.id).await).await;
    // An agent without an extended card.
    let loyal = on.saying("/agents/loyal", a2a::SVC_PARAM_EXTENSIONS, LOYALTY).await?;
    fails(code, loyal.get_extended_agent_card(&GetExtendedAgentCardRequest { tenant: None }).await);
    Ok(())
}

pub(super) async fn content_type(on: Suite) -> Checked {
    let plain = on.agent("plain").await?;
    let picture = Part::raw(b"png".to_vec()).with_media_type("image/png");
    fails(error_code::CONTENT_TYPE_NOT_SUPPORTED, send(&plain, of(vec![picture])).await);
    Ok(())
}

pub(super) async fn invalid_params(on: Suite) -> Checked {
    let code = error_code::INVALID_PARAMS;
    let list = async |asked: ListTasksRequest| on.here.list_tasks(&asked).await;
    let names = |field: &str, error: a2a::A2AError| assert!(error.message.contains(field), "no {field} in {error:?}");
    names("message.parts", fails(code, send(&on.here, of(Vec::new())).await));
    names("message.parts", fails_to_open(code, on.here.send_streaming_message(&of(Vec::new())).await).await);
    names("pageSize", fails(code, list(ListTasksRequest { page_size: Some(101), ..listing() }).await));
    let page_token = Some("no such token".to_owned());
    names("pageToken", fails(code, list(ListTasksRequest { page_token, ..listing() }).await));
    names("historyLength", fails(code, list(ListTasksRequest { history_length: Some(-1), ..listing() }).await));
    let task = on.send("hello").await?.id;
    names("url", fails(code, on.here.create_push_config(&hook(&task, "ftp://hooks.example.com")).await));
    let mut elsewhere = answer(&on.send("ask").await?.id, "this");
    elsewhere.message.context_id = Some(Uuid::new_v4().to_string());
    names("contextId", fails(code, send(&on.here, elsewhere).await));
    Ok(())
}

pub(super) async fn push_not_supported(on: Suite) -> Checked {
    let code = error_code::PUSH_NOTIFICATION_NOT_SUPPORTED;
    let plain = on.agent("plain").await?;
    let task = send(&plain, request("hello")).await?.id;
    let config = hook(&task, "https://hooks.example.com");
    fails(code, plain.create_push_config(&config).await);
    let mut inline = request("hello");
    inline.configuration =
        Some(SendMessageConfiguration { task_push_notification_config: Some(config), ..configuration() });
    fails(code, send(&plain, inline).await);
    Ok(())
}

pub(super) async fn no_extended_card(on: Suite) -> Checked {
    let asked = GetExtendedAgentCardRequest { tenant: None };
    fails(error_code::EXTENDED_CARD_NOT_CONFIGURED, on.agent("plain").await?.get_extended_agent_card(&asked).await);
    Ok(())
}

pub(super) async fn extension_required(on: Suite) -> Checked {
    let code = error_code::EXTENSION_SUPPORT_REQUIRED;
    let loyal = on.agent("loyal").await?;
    fails(code, send(&loyal, request("hello")).await);
    fails(code, loyal.list_tasks(&listing()).await);
    let loyal = on.saying("/agents/loyal", a2a::SVC_PARAM_EXTENSIONS, LOYALTY).await?;
    assert_eq!(send(&loyal, request("hello")).await?.status.state, TaskState::Completed);
    Ok(())
}

pub(super) async fn version_not_supported(on: Suite) -> Checked {
    let code = error_code::VERSION_NOT_SUPPORTED;
    let client = on.saying("", a2a::SVC_PARAM_VERSION, "99.0").await?;
    fails(code, client.list_tasks(&listing()).await);
    fails(code, send(&client, request("hello")).await);
    fails(code, get(&client, &Uuid::new_v4().to_string(), None).await);
    fails_to_open(code, client.send_streaming_message(&request("hello")).await).await;
    Ok(())
}
