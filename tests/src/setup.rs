//! What a platform is to be: its shape and what its `taskyard.toml` says.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Loss, Services};

/// In how many processes it runs.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// `taskyard dev`.
    Embedded,
    /// So many of each on Postgres and Redis.
    Replicas { services: Services, api: usize, worker: usize, notifier: usize },
}

/// A platform to start.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(crate) shape: Shape,
    pub(crate) redis: Option<String>,
    pub(crate) loss: Option<Loss>,
    tables: BTreeMap<String, Vec<String>>,
    agents: Vec<(String, String)>,
}

impl Setup {
    /// Everything in one process.
    pub fn embedded() -> Setup {
        Setup::of(Shape::Embedded, None)
    }

    /// So many processes of each kind. None when there are no services and that is fine ([`Services::find`]).
    pub fn replicas(api: usize, worker: usize, notifier: usize) -> Option<Setup> {
        let services = Services::find()?;
        let redis = Some(services.redis.clone());
        Some(Setup::of(Shape::Replicas { services, api, worker, notifier }, redis))
    }

    fn of(shape: Shape, redis: Option<String>) -> Setup {
        let setup = Setup { shape, redis, loss: None, tables: BTreeMap::new(), agents: Vec::new() };
        // Six processes of several tests share one Postgres, and a receiver that fails is asked again soon.
        setup
            .set("database", "connections = 6")
            .set("webhooks", "allow_loopback = true")
            .set("notifier", "schedule_seconds = [0, 0.2, 0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]")
            .set("log", r#"level = "info,sqlx=warn""#)
    }

    /// One more process of every kind, or fewer: `counts` is api, worker, notifier. `dev` stays what it is.
    #[must_use]
    pub fn counts(mut self, counts: (usize, usize, usize)) -> Setup {
        if let Shape::Replicas { api, worker, notifier, .. } = &mut self.shape {
            (*api, *worker, *notifier) = counts;
        }
        self
    }

    /// A line of a table of the file.
    #[must_use]
    pub fn set(mut self, table: &str, line: &str) -> Setup {
        self.tables.entry(table.to_owned()).or_default().push(line.to_owned());
        self
    }

    /// An agent beside `demo`, with these lines.
    #[must_use]
    pub fn agent(mut self, name: &str, lines: &str) -> Setup {
        self.agents.push((name.to_owned(), lines.to_owned()));
        self
    }

    /// A Redis that is not there.
    #[must_use]
    pub fn without_redis(mut self) -> Setup {
        // Port 1 answers nobody.
        self.redis = self.redis.map(|_| "redis://127.0.0.1:1".to_owned());
        self
    }

    /// A proxy between workers and replicas, that sees every call and loses some answers.
    #[must_use]
    pub fn through_proxy(mut self, loss: Loss) -> Setup {
        self.loss = Some(loss);
        self
    }

    /// Whether it is one process.
    pub fn is_embedded(&self) -> bool {
        matches!(self.shape, Shape::Embedded)
    }

    /// The text of the file.
    pub(crate) fn file(&self) -> String {
        let mut text = String::new();
        for (table, lines) in &self.tables {
            writeln!(text, "[{table}]\n{}\n", lines.join("\n")).expect("writing to a text");
        }
        let demo = [("demo".to_owned(), "default = true".to_owned())];
        let has_demo = self.agents.iter().any(|(name, _)| name == "demo");
        for (name, lines) in demo.iter().filter(|_| !has_demo).chain(&self.agents) {
            writeln!(text, "[[agent]]\nname = \"{name}\"\n{lines}\n").expect("writing to a text");
        }
        text
    }
}
