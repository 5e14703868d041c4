//! Idle subscribers in numbers, as cheap as a client can be: what a stream that nothing happens on costs the process that holds it.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Client, PATIENCE, text};

/// Streams that are opened at once.
const AT_ONCE: usize = 32;

/// Subscribers that have had their first item and wait.
#[derive(Debug)]
pub struct Crowd {
    sockets: Vec<TcpStream>,
}

impl Crowd {
    /// So many tasks that nobody works on.
    ///
    /// # Panics
    /// When one cannot be created.
    pub async fn tasks(client: &Client, number: usize) -> Vec<Value> {
        let each = (0..number).map(|_| async { client.start(text("idle")).await["id"].take() });
        futures_util::stream::iter(each).buffered(AT_ONCE).collect().await
    }

    /// So many subscribers, in turn on each of `tasks`, at the process on this port.
    ///
    /// # Panics
    /// When one is not answered with its task.
    pub async fn gather(port: u16, tasks: &[Value], number: usize) -> Crowd {
        let each = (0..number).map(|n| subscribe(port, &tasks[n % tasks.len()]));
        Crowd { sockets: futures_util::stream::iter(each).buffer_unordered(AT_ONCE).collect().await }
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Whether they are none.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Asserts that every one of them is still there, and has heard nothing or that the stream lives.
    ///
    /// # Panics
    /// When one is not, or has.
    pub fn wait_on(&self) {
        let mut heard = [0; 1024];
        for socket in &self.sockets {
            match socket.try_read(&mut heard) {
                Ok(0) => panic!("an idle stream ended"),
                Ok(length) => {
                    let text = String::from_utf8_lossy(&heard[..length]);
                    assert!(text.contains(": keep-alive"), "an idle stream said {text}");
                }
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
        }
    }
}

async fn subscribe(port: u16, task: &Value) -> TcpStream {
    let id = task.as_str().expect("a task's id");
    let opened = async {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).await.expect("connecting");
        let request = format!("GET /tasks/{id}:subscribe HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n\r\n");
        socket.write_all(request.as_bytes()).await.expect("asking for a stream");
        let mut read = Vec::with_capacity(2_048);
        // The head, and the first item with the blank line after it.
        while !(read.starts_with(b"HTTP/1.1 200") && read.windows(4).any(|end| end == b"}\n\n\r")) {
            assert!(socket.read_buf(&mut read).await.expect("reading") > 0, "{}", String::from_utf8_lossy(&read));
        }
        socket
    };
    tokio::time::timeout(PATIENCE, opened).await.expect("the first item of a stream")
}

/// What a process has of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// Resident bytes.
    pub resident: u64,
    /// Open descriptors.
    pub descriptors: usize,
}

impl Holding {
    /// Of the process of this id.
    ///
    /// # Panics
    /// When it does not run, or this is no Linux.
    pub fn of(process: u32) -> Holding {
        let folder = format!("/proc/{process}");
        let status = std::fs::read_to_string(format!("{folder}/status")).expect("reading a process' status");
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        let kilobytes: u64 = kilobytes.and_then(|number| number.parse().ok()).expect("a process' resident size");
        let descriptors = std::fs::read_dir(format!("{folder}/fd")).expect("reading a process' descriptors").count();
        Holding { resident: kilobytes * 1_024, descriptors }
    }

    /// The same, once descriptors no longer come and go.
    ///
    /// # Panics
    /// When the process does not run.
    pub async fn at_rest(process: u32) -> Holding {
        let mut holding = Holding::of(process);
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let before = holding.descriptors;
            holding = Holding::of(process);
            if holding.descriptors == before {
                break;
            }
        }
        holding
    }
}

/// What idle streams cost.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Streams that were open together.
    pub streams: usize,
    /// Resident bytes for each of them.
    pub bytes: u64,
    /// What the process held before they came.
    pub before: Holding,
}

/// What so many idle streams cost the process, on as many tasks as there are.
///
/// # Panics
/// When one of them does not last.
pub async fn idle(process: u32, port: u16, tasks: &[Value], streams: usize) -> Cost {
    let before = Holding::at_rest(process).await;
    let crowd = Crowd::gather(port, tasks, streams).await;
    let with = Holding::at_rest(process).await;
    crowd.wait_on();
    Cost { streams: crowd.len(), bytes: with.resident.saturating_sub(before.resident) / streams as u64, before }
}

/// Open and drop so many streams, some together: what the process holds before and after.
///
/// # Panics
/// When one is not answered.
pub async fn come_and_go(process: u32, port: u16, tasks: &[Value], streams: usize) -> (Holding, Holding) {
    const TOGETHER: usize = 100;
    let round = async || drop(Crowd::gather(port, tasks, TOGETHER).await);
    // What the first ones make the process allocate for all that follow is no leak.
    for _ in 0..10 {
        round().await;
    }
    let before = Holding::at_rest(process).await;
    for _ in 0..streams / TOGETHER {
        round().await;
    }
    (before, Holding::at_rest(process).await)
}
