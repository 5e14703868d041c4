//! The agent `exec`: a command for each task, in any language.
//!
//! The command gets its task on stdin and says on stdout what became of it, line by line; `script.rs` tells how it is understood. It
//! ends with its task: a cancel, a stop and a fault reach its whole process group, so nothing of it is left behind.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::group::{Group, Pipes};
use super::script::{Bounds, Fault, Script};
use crate::error::{Error, chain};
use crate::{Agent, Context, Outcome, Result};

/// How long what a command wrote may take to arrive after its end; what it started may hold the pipes.
const STRAGGLERS: Duration = Duration::from_secs(1);
/// What a failure shows of stderr, in bytes.
const TAIL: usize = 2_048;
/// What one line of stderr shows in the log, in bytes.
const LOGGED: u64 = 4_096;
/// When a task is tried again whose command could not be started.
const AGAIN: Duration = Duration::from_secs(5);
/// Our own variables, of which none is passed on: they may hold a key.
const OURS: &str = "TASKYARD_";

/// How a command is run.
#[derive(Debug, Clone)]
pub struct Exec {
    command: Vec<String>,
    timeout: Option<Duration>,
    grace: Duration,
    messages: bool,
}

impl Exec {
    /// The program and its arguments. No shell is involved.
    ///
    /// stdin gets one line of JSON, the lease as a poll answers it: `task` with history and artifacts, `messages` that are to be
    /// answered, `attempt` and the rest. Of stdout a line that is a JSON object is an update in the format of the worker surface's
    /// `:apply`, such as `{"complete": {}}`; all other lines are the text of an artifact `output`. A last update (`complete`, `fail`,
    /// `reject`, `requireInput`, `requireAuth`) ends the work; else exit code 0 completes the task, and any other end fails it with the
    /// end of stderr, which the client reads. The environment holds `TASKYARD_TASK_ID`, `TASKYARD_CONTEXT_ID`, `TASKYARD_TENANT`,
    /// `TASKYARD_AGENT`, `TASKYARD_ATTEMPT`, and `TRACEPARENT` and `TRACESTATE` where there is a trace.
    ///
    /// # Errors
    /// [`Error::Options`] when there is no program, or none that can be run.
    pub fn new(command: Vec<String>) -> std::result::Result<Self, Error> {
        let program = command.first().filter(|program| !program.is_empty());
        let Some(program) = program else {
            return Err(Error::Options(
                "the command to run is empty, wanted are a program and its arguments".to_owned(),
            ));
        };
        if !can_run(program) {
            return Err(Error::Options(format!("the command's program `{program}` is not one that can be run")));
        }
        Ok(Self { command, timeout: None, grace: Duration::from_secs(5), messages: false })
    }

    /// The same with a time after which the command is ended and the task fails.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// The same with another time between SIGTERM and SIGKILL; else it is 5 s.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// The same with stdin kept open: what the client writes while the command runs comes as a line `{"message": ...}`.
    #[must_use]
    pub fn with_messages(self) -> Self {
        Self { messages: true, ..self }
    }

    fn command(&self, ctx: &Context) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(OURS.as_bytes()) {
                command.env_remove(name);
            }
        }
        let (task, lease) = (ctx.task(), ctx.lease());
        command
            .env("TASKYARD_TASK_ID", &task.id)
            .env("TASKYARD_CONTEXT_ID", &task.context_id)
            .env("TASKYARD_TENANT", &lease.tenant)
            .env("TASKYARD_AGENT", &lease.agent)
            .env("TASKYARD_ATTEMPT", lease.attempt.to_string());
        if let Some(trace) = ctx.trace_context() {
            command.env("TRACEPARENT", &trace.traceparent);
            if !trace.tracestate.is_empty() {
                command.env("TRACESTATE", &trace.tracestate);
            }
        }
        command
    }
}

#[async_trait]
impl Agent for Exec {
    async fn run(&self, ctx: Context) -> Result {
        let program = &self.command[0];
        let (mut group, pipes) = match Group::start(&mut self.command(&ctx), self.grace) {
            Ok(started) => started,
            Err(error) => {
                warn!(program, error = chain(&error), "the command cannot be started");
                return Ok(Outcome::try_again(AGAIN, format!("starting the command `{program}`: {error}")));
            }
        };
        let mut script = Script::new(ctx.clone(), Bounds::default());
        let limit = async {
            match self.timeout {
                Some(time) => sleep(time).await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            ended = follow(&ctx, &mut group, pipes, &mut script, self.messages) => ended,
            () = limit => {
                group.end().await;
                let seconds = self.timeout.unwrap_or_default().as_secs_f64();
                return Ok(Outcome::fail(format!("The command was not done within {seconds} seconds.")));
            }
            () = ctx.stopped() => {
                group.end().await;
                return Ok(Outcome::retry_later(Duration::ZERO, "the worker is stopping"));
            }
        };
        match ended {
            Ok(End::Told) => {
                group.leave();
                Ok(script.end().unwrap_or_else(Outcome::complete))
            }
            Ok(End::Exited(status, tail)) => {
                group.clear();
                Ok(script.end().unwrap_or_else(|| conclusion(status, &tail)))
            }
            Err(Fault::Said(fault)) => {
                group.end().await;
                Ok(Outcome::fail(format!("The command {fault}")))
            }
            Err(Fault::Report(error)) => {
                group.end().await;
                Err(error)?
            }
        }
    }
}

/// How a command ended.
enum End {
    /// It said how.
    Told,
    /// With the end of what it wrote to stderr.
    Exited(ExitStatus, String),
}

fn conclusion(status: ExitStatus, tail: &str) -> Outcome {
    if status.success() {
        return Outcome::complete();
    }
    let how = match status.code() {
        Some(code) => format!("exit code {code}"),
        // Says which signal.
        None => status.to_string(),
    };
    let tail = tail.trim();
    Outcome::fail(if tail.is_empty() {
        format!("The command ended with {how}.")
    } else {
        format!("The command ended with {how}: {tail}")
    })
}

/// Brings the command its words and takes in its own, until it has ended or said so.
async fn follow(
    ctx: &Context,
    group: &mut Group,
    pipes: Pipes,
    script: &mut Script,
    messages: bool,
) -> std::result::Result<End, Fault> {
    let mut tail = VecDeque::new();
    let status = {
        let mut output = std::pin::pin!(hear(pipes.stdout, script).fuse());
        let mut errors = std::pin::pin!(keep_tail(pipes.stderr, &mut tail).fuse());
        let mut feeding = std::pin::pin!(feed(ctx, pipes.stdin, messages).fuse());
        let status = loop {
            tokio::select! {
                told = &mut output => if told? {
                    return Ok(End::Told);
                },
                () = &mut errors => {}
                () = &mut feeding => {}
                status = group.wait() => break status,
            }
        };
        let mut told = false;
        let errors = async {
            if !errors.is_terminated() {
                errors.await;
            }
        };
        let output = async {
            if !output.is_terminated() {
                told = output.await?;
            }
            Ok::<_, Fault>(())
        };
        let rest = async { tokio::join!(errors, output).1 };
        // What still writes then was left behind.
        match timeout(STRAGGLERS, rest).await {
            Ok(Ok(())) | Err(_) => {}
            Ok(Err(fault)) => return Err(fault),
        }
        if told {
            return Ok(End::Told);
        }
        status
    };
    script.hear_rest().await?;
    let status = status.map_err(|error| Fault::Said(format!("could not be waited for: {error}")))?;
    debug!(%status, "the command has ended");
    let tail: Vec<u8> = tail.into();
    Ok(End::Exited(status, String::from_utf8_lossy(&tail).into_owned()))
}

/// Takes in what the command says until it says no more; whether it told how the work ended.
async fn hear(mut stdout: ChildStdout, script: &mut Script) -> std::result::Result<bool, Fault> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            biased;
            read = stdout.read(&mut bytes) => read,
            flushed = script.flush_soon() => {
                flushed?;
                continue;
            }
        };
        match read {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                if script.hear(&bytes[..read]).await? {
                    return Ok(true);
                }
            }
        }
    }
    script.hear_rest().await?;
    Ok(false)
}

/// Logs what the command writes to stderr, and keeps the end of it.
async fn keep_tail(stderr: ChildStderr, tail: &mut VecDeque<u8>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(1..) = (&mut stderr).take(LOGGED).read_until(b'\n', &mut line).await {
        info!(stderr = String::from_utf8_lossy(line.trim_ascii_end()).as_ref(), "the command says");
        tail.extend(line.drain(..));
        let more = tail.len().saturating_sub(TAIL);
        tail.drain(..more);
    }
}

/// Writes the task to the command's stdin, and what the client writes meanwhile.
async fn feed(ctx: &Context, mut stdin: ChildStdin, messages: bool) {
    let mut next = serde_json::to_vec(ctx.lease());
    loop {
        let Ok(mut line) = next else { return };
        line.push(b'\n');
        // A command need not read what it does not want.
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() || !messages {
            return;
        }
        let message = ctx.next_message().await;
        next = serde_json::to_vec(&json!({"message": message}));
    }
}

/// Whether there is such a program, by its path or in `PATH`.
fn can_run(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = |path: &Path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return runs(Path::new(program));
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths::<OsStr>(&paths).any(|folder| runs(&folder.join(program)))
}
