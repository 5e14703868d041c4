//! The demo agent: everything an agent can do, in as few lines as it takes. Made to be read.
//!
//! Without a command it gives back what it was sent. Three habits are worth copying:
//!
//! - **What must be known later is read from the task, not kept in memory.** The next call for the
//!   same task may reach another worker: after a question the client answered, and after a worker
//!   died. Here the first message names the command and the number of messages says how far it is.
//! - **A run can be repeated.** Artifacts have ids chosen here, and a growing one starts with
//!   [`Context::begin`], which replaces what a dead worker left of it.
//! - **What need not be seen at once is gathered** with [`Context::then`], and travels with the end
//!   of the run in one update. An echo costs the platform one commit.

use std::time::Duration;

use async_trait::async_trait;
use wire::{Artifact, Message, Part};

use crate::text::{artifact, text_of};
use crate::{Agent, Context, Outcome, Result};

/// The most chunks one `stream` makes.
const MOST_CHUNKS: u32 = 1_000;
/// The longest `wait`, in seconds.
const LONGEST_WAIT: f64 = 3_600.0;

const HELP: &str = "\
Send any text, and it comes back as an artifact. These do something else:
  stream [N]      an artifact in N chunks (default 5)
  ask             asks for input, then gives back your next message
  auth            asks for authorization, then goes on with your next message
  wait SECONDS    takes its time, and says how far it is
  fail [WHY]      fails
  reject [WHY]    refuses the task
  say WORDS       answers with these words alone; with a message and no task, where the
                  agent is configured to answer directly and the client waits
  help            this text";

/// The agent `demo`: answers at once with what it was sent, or does what the text's first word asks
/// for; `help` lists the words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demo;

#[async_trait]
impl Agent for Demo {
    async fn run(&self, ctx: Context) -> Result {
        let first = ctx.messages().next().or(ctx.input());
        let command = Command::read(&first.map(|message| text_of(&message.parts)).unwrap_or_default());
        // The answer to a question, once there is one.
        let answer = ctx.messages().nth(1).and(ctx.input());

        match (command, answer) {
            (Command::Ask, None) => Ok(Outcome::ask("What shall I give back?")),
            (Command::Ask, Some(answer)) => echo(&ctx, answer),
            (Command::Authorize, None) => Ok(Outcome::ask_authorization("May I? Send a word to say so.")),
            (Command::Authorize, Some(_)) => {
                // Never give back what authorized: it may be a secret, and artifacts are not.
                ctx.then().artifact(artifact("authorized", "Authorized, thank you."));
                Ok(Outcome::complete())
            }
            (Command::Stream(chunks), _) => stream(&ctx, chunks).await,
            (Command::Wait(seconds), _) => wait(&ctx, seconds).await,
            (Command::Say(words), _) => Ok(Outcome::reply(words)),
            (Command::Fail(why), _) => Ok(Outcome::fail(why)),
            (Command::Reject(why), _) => Ok(Outcome::reject(why)),
            (Command::Help, _) => {
                ctx.then().artifact(artifact("help", HELP));
                Ok(Outcome::complete())
            }
            (Command::Echo, _) => match ctx.input() {
                Some(message) => echo(&ctx, message),
                None => Ok(Outcome::reject("There is no message to give back.")),
            },
        }
    }
}

/// Gives back a message, part by part: one artifact and the end, in one update.
fn echo(ctx: &Context, message: &Message) -> Result {
    ctx.then().artifact(Artifact {
        artifact_id: "echo".to_owned(),
        name: "Echo".to_owned(),
        parts: message.parts.clone(),
        ..Artifact::default()
    });
    Ok(Outcome::complete())
}

/// An artifact that grows while the client looks on.
async fn stream(ctx: &Context, chunks: u32) -> Result {
    let chunk = |number: u32| format!("chunk {number} of {chunks}\n");
    if chunks == 1 {
        ctx.then().artifact(artifact("stream", chunk(1)));
        return Ok(Outcome::complete());
    }
    // Each of these is one call, and the client sees it at once ...
    ctx.begin(artifact("stream", chunk(1))).await?;
    for number in 2..chunks {
        ctx.append("stream", vec![Part::text(chunk(number))], false).await?;
    }
    // ... and the last one travels with the end.
    ctx.then().append("stream", vec![Part::text(chunk(chunks))], true);
    Ok(Outcome::complete())
}

/// Long work: heartbeats keep the task meanwhile, the runtime sees to that.
async fn wait(ctx: &Context, seconds: f64) -> Result {
    let mut left = seconds;
    while left > 0.0 {
        ctx.progress(format!("{left:.1} of {seconds} seconds to go")).await?;
        let step = left.min(1.0);
        // A cancel would end this future by itself a little later. Listening ends it at once, and
        // is the place to put things away.
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs_f64(step)) => left -= step,
            () = ctx.cancelled() => return Ok(Outcome::fail("Canceled.")),
        }
    }
    ctx.then().artifact(artifact("wait", format!("Waited {seconds} seconds.")));
    Ok(Outcome::complete())
}

/// What the text of a task's first message asks for.
#[derive(Debug, PartialEq)]
enum Command {
    Echo,
    Stream(u32),
    Ask,
    Authorize,
    Wait(f64),
    Say(String),
    Fail(String),
    Reject(String),
    Help,
}

impl Command {
    /// The command in `words`; whatever is not exactly one is to be echoed.
    fn read(words: &str) -> Self {
        let words = words.trim();
        let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let rest = rest.trim();
        let why = |otherwise: &str| if rest.is_empty() { otherwise } else { rest }.to_owned();
        match (verb, rest) {
            ("stream", "") => Self::Stream(5),
            ("stream", n) => match n.parse() {
                Ok(n @ 1..=MOST_CHUNKS) => Self::Stream(n),
                _ => Self::Echo,
            },
            ("ask", "") => Self::Ask,
            ("auth", "") => Self::Authorize,
            ("wait", n) => match n.parse() {
                Ok(n) if (0.0..=LONGEST_WAIT).contains(&n) => Self::Wait(n),
                _ => Self::Echo,
            },
            ("say", words) if !words.is_empty() => Self::Say(words.to_owned()),
            ("fail", _) => Self::Fail(why("Failed, as asked.")),
            ("reject", _) => Self::Reject(why("Rejected, as asked.")),
            ("help", "") => Self::Help,
            _ => Self::Echo,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_exactly_a_command_is_one() {
        for (words, command) in [
            ("hello", Command::Echo),
            ("", Command::Echo),
            ("stream", Command::Stream(5)),
            (" stream 3 ", Command::Stream(3)),
            ("stream 0", Command::Echo),
            ("stream 1001", Command::Echo),
            ("stream of words", Command::Echo),
            ("ask", Command::Ask),
            ("ask me anything", Command::Echo),
            ("auth", Command::Authorize),
            ("wait 0.5", Command::Wait(0.5)),
            ("wait", Command::Echo),
            ("wait NaN", Command::Echo),
            ("wait -1", Command::Echo),
            ("wait for me", Command::Echo),
            ("say", Command::Echo),
            ("say hello there", Command::Say("hello there".to_owned())),
            ("fail", Command::Fail("Failed, as asked.".to_owned())),
            ("fail no luck", Command::Fail("no luck".to_owned())),
            ("reject", Command::Reject("Rejected, as asked.".to_owned())),
            ("help", Command::Help),
            ("failure", Command::Echo),
        ] {
            assert_eq!(Command::read(words), command, "`{words}`");
        }
    }
}
