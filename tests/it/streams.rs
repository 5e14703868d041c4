//! Streams over replicas: whoever follows a task has every event once and in order, whatever breaks meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use e2e::{Binding, Client, Event, Failure, Next, PATIENCE, Platform, Setup, eventually, text};
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

const TASKS: usize = 4;
const SUBSCRIBERS: usize = 20;
const CHUNKS: usize = 100;

/// What all of them have in common.
#[derive(Debug, Default)]
struct Tally {
    /// Subscribers that have their first item.
    begun: AtomicUsize,
    /// Chunks that the worker wrote.
    written: AtomicUsize,
    /// Streams that a client left, that broke, and that said where to resume.
    left: AtomicUsize,
    broken: AtomicUsize,
    told: AtomicUsize,
}

fn count(counter: &AtomicUsize) -> usize {
    counter.fetch_add(1, Ordering::Relaxed)
}

fn one_in(n: u64) -> bool {
    Uuid::new_v4().as_u64_pair().1.is_multiple_of(n)
}

/// Follows a task to its end, resuming wherever it is cut: every event it got, in the order it got them.
async fn follow(client: &Client, task: &Value, number: usize, tally: &Tally) -> Vec<Event> {
    let client = client.over(Binding::ALL[number % 2]);
    let params = json!({"id": task});
    let mut events: Vec<Event> = Vec::new();
    let mut quiet = Instant::now();
    loop {
        assert!(quiet.elapsed() < PATIENCE, "subscriber {number} got nothing more after {:?}", events.last());
        let last = events.last().map(|event| event.id.clone());
        let mut stream = match client.stream("SubscribeToTask", &params, last.as_deref()).await {
            Ok(stream) => stream,
            Err(Failure::Refused(refusal)) if !refusal.is_passing() => panic!("subscriber {number}: {refusal:?}"),
            Err(_) => {
                count(&tally.broken);
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        loop {
            match stream.next().await {
                Ok(Next::Event(event)) => {
                    if events.is_empty() {
                        count(&tally.begun);
                    }
                    let state = event.body["statusUpdate"]["status"]["state"].as_str().map(str::to_owned);
                    events.push(event);
                    quiet = Instant::now();
                    if state.as_deref() == Some("TASK_STATE_COMPLETED") {
                        assert_eq!(stream.next().await.expect("a stream's end"), Next::Ended);
                        return events;
                    }
                    // Not before it has begun, so that everybody begins with the task as it was.
                    if events.len() > 1 && one_in(8) {
                        count(&tally.left);
                        break;
                    }
                }
                Ok(Next::Resume(id)) => {
                    assert_eq!(events.last().map(|event| &event.id), Some(&id));
                    count(&tally.told);
                    break;
                }
                Ok(Next::Ended) => panic!("a stream of subscriber {number} ended after {:?}", events.last()),
                Err(_) => {
                    count(&tally.broken);
                    break;
                }
            }
        }
    }
}

/// Writes numbered chunks to every task, one after the other, and then completes it.
async fn write(platform: &Platform, tasks: &[Value], tally: &Tally) {
    let worker = platform.worker().at(0);
    let mut leases = Vec::new();
    for _ in tasks {
        leases.push(worker.lease("raw").await);
    }
    for n in 0..CHUNKS {
        for lease in &leases {
            let artifact = json!({"artifactId": "a", "parts": [{"text": n.to_string()}]});
            let updates = json!([{"artifact": {"artifact": artifact, "append": n > 0}}]);
            worker.apply(lease.task(), Some(&lease.held()), updates).await.expect("a chunk");
        }
        tally.written.store(n + 1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for lease in &leases {
        worker.apply(lease.task(), Some(&lease.held()), json!([{"complete": {}}])).await.expect("the end");
    }
}

/// One replica dies and comes back, then is asked to stop and comes back.
async fn disturb(platform: &Platform, tally: &Tally) {
    let written = async |n: usize| {
        eventually("chunks", async || (tally.written.load(Ordering::Relaxed) >= n).then_some(())).await;
    };
    written(CHUNKS / 5).await;
    platform.kill("api-1");
    written(CHUNKS / 5 * 2).await;
    platform.restart("api-1");
    platform.healthy().await;
    written(CHUNKS / 5 * 3).await;
    platform.terminate("api-1");
    assert!(platform.end_of("api-1").await.success());
    platform.restart("api-1");
    platform.healthy().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_has_every_event_once_and_in_order() {
    let Some(setup) = Setup::replicas(2, 0, 0) else { return };
    let platform = Platform::start(setup.agent("raw", "lease_seconds = 3600")).await;
    let client = platform.client().of("", "raw");
    let mut tasks = Vec::new();
    for _ in 0..TASKS {
        tasks.push(client.start(text("stream")).await["id"].take());
    }
    let tally = Tally::default();
    let followers = join_all((0..SUBSCRIBERS).map(|n| follow(&client, &tasks[n % TASKS], n, &tally)));
    let work = async {
        eventually("every subscriber", async || (tally.begun.load(Ordering::Relaxed) == SUBSCRIBERS).then_some(()))
            .await;
        tokio::join!(write(&platform, &tasks, &tally), disturb(&platform, &tally));
    };
    let (followed, ()) = tokio::join!(followers, work);
    for (n, events) in followed.iter().enumerate() {
        let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
        // The task, the beginning of the work, the chunks, the end.
        let all: Vec<String> = (1..=CHUNKS + 3).map(|id| id.to_string()).collect();
        assert_eq!(ids, all, "subscriber {n}");
        assert_eq!(events[0].body["task"]["id"], tasks[n % TASKS]);
        for (chunk, event) in events[2..CHUNKS + 2].iter().enumerate() {
            let artifact = &event.body["artifactUpdate"]["artifact"];
            assert_eq!(artifact["parts"][0]["text"], chunk.to_string(), "subscriber {n}");
        }
        assert_eq!(events, &followed[n % TASKS], "subscribers {n} and {}", n % TASKS);
    }
    let of = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!("left {}, broken {}, told {}", of(&tally.left), of(&tally.broken), of(&tally.told));
    assert!(of(&tally.left) > SUBSCRIBERS && of(&tally.broken) > 0 && of(&tally.told) > 0, "{tally:?}");
}
