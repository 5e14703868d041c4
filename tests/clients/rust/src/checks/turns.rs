//! Tasks that ask, and the answers.

use a2a::{Role, TaskState};

use crate::Checked;
use crate::agent::{end, history, said, said_by, task, texts};
use crate::suite::{Suite, answer, collect, get, request, send};

pub(super) async fn several_turns(on: Suite) -> Checked {
    let asking = on.send("ask").await?;
    let question = asking.status.message.as_ref().expect("a question");
    assert_eq!(asking.status.state, TaskState::InputRequired);
    assert_eq!((&*said(question), &question.role), ("What shall I give back?", &Role::Agent));
    // With the task's id alone: the context is the task's.
    let done = send(&on.there, answer(&asking.id, "this")).await?;
    assert_eq!((&done.id, &done.context_id), (&asking.id, &asking.context_id));
    assert_eq!((&done.status.state, texts(&done)), (&TaskState::Completed, vec!["this".to_owned()]));
    // A status message enters the history when the status goes, so the question stands after its answer.
    assert_eq!(said_by(&done, Role::User), ["ask", "this"]);
    assert_eq!(said_by(&done, Role::Agent), ["What shall I give back?"]);
    let last = get(&on.there, &done.id, Some(1)).await?;
    assert_eq!(history(&last), &history(&done)[history(&done).len() - 1..], "historyLength 1");
    assert_eq!(history(&get(&on.there, &done.id, Some(0)).await?), [], "historyLength 0");
    // A task after it in the same context, which refers to it.
    let mut more = request("more");
    more.message.context_id = Some(done.context_id.clone());
    more.message.reference_task_ids = Some(vec![done.id.clone()]);
    let after = send(&on.here, more).await?;
    assert_eq!(after.context_id, done.context_id);
    assert_ne!(after.id, done.id);
    assert_eq!(history(&after)[0].reference_task_ids.as_deref(), Some(&[done.id][..]));
    // Streamed, a question ends the answer to the send, and not the task.
    let items = collect(on.here.send_streaming_message(&request("ask")).await).await?;
    assert_eq!(end(&items), TaskState::InputRequired);
    let more = answer(&task(items.first()).id, "that");
    let items = collect(on.there.send_streaming_message(&more).await).await?;
    assert_eq!(
        (task(items.first()).id.as_str(), end(&items)),
        (&*more.message.task_id.unwrap_or_default(), TaskState::Completed)
    );
    Ok(())
}

pub(super) async fn authorization(on: Suite) -> Checked {
    let asking = on.send("auth").await?;
    assert_eq!(asking.status.state, TaskState::AuthRequired);
    let done = send(&on.there, answer(&asking.id, "yes")).await?;
    assert_eq!((&done.status.state, texts(&done)), (&TaskState::Completed, vec!["Authorized, thank you.".to_owned()]));
    Ok(())
}
