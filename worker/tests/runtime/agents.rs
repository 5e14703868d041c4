//! Agents that do what a test needs.

use std::io;
use std::sync::Mutex;

use tokio::sync::watch;
use tokio::time::timeout;
use wire::Part;
use worker::{Agent, Context, Outcome, Result, async_trait};

use crate::surface::MISSING;

/// Works until its gate is open. Asked to `converse`, it reports the client's next message first.
#[derive(Debug)]
pub(crate) struct Gated {
    open: watch::Sender<bool>,
    running: watch::Sender<usize>,
    draining: watch::Sender<bool>,
    most: Mutex<usize>,
    cancels: Mutex<usize>,
}

impl Default for Gated {
    fn default() -> Self {
        Self {
            open: watch::Sender::new(false),
            running: watch::Sender::new(0),
            draining: watch::Sender::new(false),
            most: Mutex::default(),
            cancels: Mutex::default(),
        }
    }
}

impl Gated {
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    pub(crate) async fn until_running(&self, count: usize) {
        let mut running = self.running.subscribe();
        timeout(MISSING, running.wait_for(|running| *running == count)).await.unwrap().unwrap();
    }

    pub(crate) async fn until_draining(&self) {
        let mut draining = self.draining.subscribe();
        timeout(MISSING, draining.wait_for(|draining| *draining)).await.unwrap().unwrap();
    }

    pub(crate) fn most_running(&self) -> usize {
        *self.most.lock().unwrap()
    }

    pub(crate) fn heard_of_cancels(&self) -> usize {
        *self.cancels.lock().unwrap()
    }
}

struct Inside<'a>(&'a Gated);

impl<'a> Inside<'a> {
    fn new(gated: &'a Gated) -> Self {
        gated.running.send_modify(|running| {
            *running += 1;
            let mut most = gated.most.lock().unwrap();
            *most = (*most).max(*running);
        });
        Self(gated)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

#[async_trait]
impl Agent for Gated {
    async fn run(&self, ctx: Context) -> Result {
        let _inside = Inside::new(self);
        if ctx.input_text() == "converse" {
            let more = ctx.next_message().await;
            ctx.progress(format!("heard: {}", worker::text_of(&more.parts))).await?;
            ctx.cancelled().await;
            *self.cancels.lock().unwrap() += 1;
        }
        let mut open = self.open.subscribe();
        let opened = async { open.wait_for(|open| *open).await.is_ok() };
        let mut opened = std::pin::pin!(opened);
        tokio::select! {
            _ = &mut opened => {}
            () = ctx.draining() => {
                self.draining.send_replace(true);
                opened.await;
            }
        }
        Ok(Outcome::complete())
    }
}

/// Panics, with reports gathered.
#[derive(Debug)]
pub(crate) struct Panicking;

#[async_trait]
impl Agent for Panicking {
    async fn run(&self, ctx: Context) -> Result {
        ctx.then().progress("about to go wrong");
        panic!("a secret of the agent's insides")
    }
}

/// Fails by an error.
#[derive(Debug)]
pub(crate) struct Failing;

#[async_trait]
impl Agent for Failing {
    async fn run(&self, _ctx: Context) -> Result {
        Err(io::Error::other("out of paper"))?
    }
}

/// Makes an artifact in two chunks.
#[derive(Debug)]
pub(crate) struct Streaming;

#[async_trait]
impl Agent for Streaming {
    async fn run(&self, ctx: Context) -> Result {
        ctx.begin(worker::artifact("stream", "one ")).await?;
        ctx.append("stream", vec![Part::text("two")], true).await?;
        Ok(Outcome::complete())
    }
}
