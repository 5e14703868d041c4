//! The worker's side of a task.

use serde_json::json;

use crate::{Suite, part, send};
use progenitor_client_test::worker::Client;
use progenitor_client_test::worker::types::{
    ApplyRequest, Artifact, ArtifactUpdate, HeartbeatRequest, HeldLease, MessageDraft, MoveRequest, Part, PartData,
    PartText, PollRequest, Progress, SessionRequest, TaskState, Update, UpdateArtifact, UpdateProgress,
};

pub async fn worker(suite: &Suite) {
    let worker = Client::new(&format!("{}/worker/v1", suite.url));
    let agents = || vec!["plain".parse().unwrap()];
    let session = worker.open_session().body(SessionRequest::builder().agents(agents())).send().await.unwrap();
    assert!(session.lease_seconds > 0.0);
    let task = send(&suite.at("/agents/plain"), vec![part("for you")], true).await;
    let poll = PollRequest::builder().agents(agents()).wait_seconds(20.0).start(true);
    let polled = worker.poll_leases().body(poll).send().await.unwrap();
    let lease = &polled.leases[0];
    assert_eq!(*lease.task.id, *task.id);
    assert!(matches!(&lease.messages[0].parts[0], Part::Text(part) if part.text == "for you"));

    let held: HeldLease = HeldLease::builder().lease(lease.lease.as_str()).epoch(lease.epoch).try_into().unwrap();
    let beat = worker.heartbeat_leases().body(HeartbeatRequest::builder().leases(vec![held])).send().await.unwrap();
    assert!(beat.leases[0].held);

    let half: PartText = PartText::builder().text("half").try_into().unwrap();
    let said: MessageDraft = MessageDraft::builder().parts(vec![half.into()]).try_into().unwrap();
    let data: PartData = PartData::builder().data(json!({"n": 1})).try_into().unwrap();
    let artifact: Artifact = Artifact::builder().artifact_id("a").parts(vec![data.into()]).try_into().unwrap();
    let progress: Progress = Progress::builder().status_message(said.clone()).try_into().unwrap();
    let artifact: ArtifactUpdate = ArtifactUpdate::builder().artifact(artifact).try_into().unwrap();
    let updates: Vec<Update> = vec![UpdateProgress { progress }.into(), UpdateArtifact { artifact }.into()];
    let apply =
        worker.apply_updates().id(task.id.as_str()).taskyard_lease(lease.lease.as_str()).taskyard_epoch(lease.epoch);
    let applied = apply.body(ApplyRequest::builder().updates(updates)).send().await.unwrap();
    assert!(applied.lease_held);

    let end = || worker.complete_task().id(task.id.as_str()).body(MoveRequest::builder().status_message(said.clone()));
    let nameless = end().send().await;
    assert_eq!(nameless.err().and_then(|error| error.status()).map(|status| status.as_u16()), Some(428));
    let done = end().taskyard_lease(lease.lease.as_str()).taskyard_epoch(lease.epoch).send().await.unwrap();
    assert_eq!(done.state, TaskState::TaskStateCompleted);
    let seen = worker.all_tasks().agent("plain").state(TaskState::TaskStateCompleted).page_size(100).send().await;
    assert!(seen.unwrap().tasks.iter().any(|record| *record.id == *task.id));
}
