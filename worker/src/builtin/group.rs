//! A command and everything it started: one process group, which ends with it.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::debug;

/// A running process group. Dropping it asks it to end, and kills it after the grace.
#[derive(Debug)]
pub(super) struct Group {
    running: Option<Running>,
    grace: Duration,
}

/// What ends a command talks through.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Whatever is left of it is killed when this is dropped, which a runtime that ends does too.
#[derive(Debug)]
struct Running {
    child: Child,
    id: Pid,
}

impl Running {
    fn signal(&self, signal: Signal) {
        if let Err(error) = kill_process_group(self.id, signal) {
            debug!(group = self.id.as_raw_nonzero(), error = &error as &dyn std::error::Error, "nobody to signal");
        }
    }

    async fn end(mut self, grace: Duration) {
        self.signal(Signal::TERM);
        // Whether it went or not, nobody of the group stays.
        let _ = timeout(grace, self.child.wait()).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Group {
    /// Starts a command as the leader of a group of its own.
    pub(super) fn start(command: &mut Command, grace: Duration) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(id), (Some(stdin), Some(stdout), Some(stderr))) = (id, pipes) else {
            return Err(io::Error::other("the process has no id or no pipes"));
        };
        Ok((Self { running: Some(Running { child, id }), grace }, Pipes { stdin, stdout, stderr }))
    }

    /// Waits for the end of the command itself.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match &mut self.running {
            Some(running) => running.child.wait().await,
            None => std::future::pending().await,
        }
    }

    /// Asks all of it to end, and kills what is left after the grace.
    pub(super) async fn end(mut self) {
        // Taken only once it is over: who is not patient enough drops this, and that goes on in the background.
        if let Some(running) = &mut self.running {
            running.signal(Signal::TERM);
            let _ = timeout(self.grace, running.child.wait()).await;
        }
        self.running = None;
    }

    /// Lets it end by itself within the grace.
    pub(super) fn leave(mut self) {
        if let (Some(mut running), Ok(runtime), grace) = (self.running.take(), Handle::try_current(), self.grace) {
            runtime.spawn(async move {
                if timeout(grace, running.child.wait()).await.is_err() {
                    running.end(grace).await;
                }
            });
        }
    }

    /// The command has ended: so does whatever it left behind.
    pub(super) fn clear(mut self) {
        self.running = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let (Some(running), Ok(runtime)) = (self.running.take(), Handle::try_current()) {
            runtime.spawn(running.end(self.grace));
        }
    }
}
