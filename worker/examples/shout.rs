//! A Taskyard worker that says it louder. Usage: shout [AGENT]
use worker::{Context, Options, Outcome, Worker, agent_fn};

#[tokio::main]
async fn main() -> Result<(), worker::Error> {
    let shout = agent_fn(|ctx: Context| async move {
        let mut loud = ctx.stream("shout");
        for word in ctx.input_text().split_inclusive(' ') {
            loud.text(word.to_uppercase()).await?; // the client sees it grow
        }
        loud.finish_later();
        Ok(Outcome::complete())
    });
    let agents = vec![std::env::args().nth(1).unwrap_or_else(|| "demo".to_owned())];
    let url = std::env::var("TASKYARD_URL").unwrap_or_else(|_| Options::default().url);
    let worker = Worker::new(Options { url, agents, ..Options::default() })?;
    worker.run(shout, async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await
}
