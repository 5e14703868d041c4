//! Streams of sends and of subscriptions.

use a2a::TaskState;
use futures_util::StreamExt as _;

use crate::Checked;
use crate::agent::{artifacts, end, is_open, kinds, state, task, text, texts};
use crate::suite::{Suite, answer, collect, request, send, subscribe};

pub(super) async fn stream(on: Suite) -> Checked {
    let items = collect(on.here.send_streaming_message(&request("stream 5")).await).await?;
    let artifact = "artifactUpdate";
    let wanted = ["task", "statusUpdate", artifact, artifact, artifact, artifact, artifact, "statusUpdate"];
    assert_eq!(kinds(&items), wanted);
    let task = task(items.first());
    let states: Vec<_> = items.iter().filter_map(state).collect();
    assert_eq!(states, [TaskState::Submitted, TaskState::Working, TaskState::Completed]);
    let chunks = artifacts(&items);
    for (n, chunk) in (1..).zip(&chunks) {
        assert_eq!((&*chunk.artifact.artifact_id, text(&chunk.artifact)), ("stream", format!("chunk {n} of 5\n")));
        assert_eq!((chunk.append.unwrap_or(false), chunk.last_chunk.unwrap_or(false)), (n > 1, n == 5), "chunk {n}");
        assert_eq!((&chunk.task_id, &chunk.context_id), (&task.id, &task.context_id));
    }
    let whole: String = chunks.iter().map(|chunk| text(&chunk.artifact)).collect();
    assert_eq!(texts(&on.get(&task.id).await?), [whole]);
    Ok(())
}

pub(super) async fn subscribe_twice(on: Suite) -> Checked {
    let begun = on.begin("wait 2").await?;
    let follow = async |client| collect(subscribe(client, &begun.id).await).await;
    // Two subscribers of two replicas see the same events.
    let (here, there) = tokio::try_join!(follow(&on.here), follow(&on.there))?;
    for items in [&here, &there] {
        let first = task(items.first());
        assert_eq!(first.id, begun.id);
        assert!(is_open(first), "{first:?}");
        assert!(!kinds(&items[1..]).contains(&"task"), "{items:?}");
        assert_eq!(end(items), TaskState::Completed);
        let made: Vec<_> = artifacts(items).iter().map(|update| text(&update.artifact)).collect();
        assert_eq!(made, ["Waited 2 seconds."]);
    }
    let shorter = here.len().min(there.len()) - 1;
    assert!(shorter >= 3, "{here:?} and {there:?}");
    assert_eq!(here[here.len() - shorter..], there[there.len() - shorter..], "the events of two subscribers");
    Ok(())
}

pub(super) async fn resubscribe(on: Suite) -> Checked {
    // The connection goes, and so does the replica.
    let mut begun = on.here.send_streaming_message(&request("wait 2")).await?;
    let first = begun.next().await.transpose()?;
    let id = task(first.as_ref()).id.clone();
    drop(begun);
    let mut again = subscribe(&on.there, &id).await?;
    let first = again.next().await.transpose()?;
    let first = task(first.as_ref());
    assert!(first.id == id && is_open(first), "{first:?}");
    drop(again);
    let items = collect(subscribe(&on.here, &id).await).await?;
    assert_eq!((&task(items.first()).id, end(&items)), (&id, TaskState::Completed));
    Ok(())
}

pub(super) async fn subscribe_to_a_question(on: Suite) -> Checked {
    let asking = on.send("ask").await?;
    assert_eq!(asking.status.state, TaskState::InputRequired);
    let mut stream = subscribe(&on.there, &asking.id).await?;
    let first = stream.next().await.transpose()?;
    assert_eq!(task(first.as_ref()).status.state, TaskState::InputRequired);
    // It stays open until the question is answered, by a client of the other replica.
    let (items, done) = tokio::try_join!(collect(Ok(stream)), send(&on.here, answer(&asking.id, "this")))?;
    assert_eq!((end(&items), done.status.state), (TaskState::Completed, TaskState::Completed));
    let made: Vec<_> = artifacts(&items).iter().map(|update| text(&update.artifact)).collect();
    assert_eq!(made, ["this"]);
    Ok(())
}
