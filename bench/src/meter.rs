//! What a run cost, next to what it did: CPU by process, and what the database did for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::database::{Counters, Database, Done};
use crate::figures::Figures;
use crate::process::{Usage, Watched};

/// Looks at processes and database before and after a run.
pub(crate) struct Meter {
    processes: Watched,
    pub(crate) database: Option<Database>,
}

/// A look before a run.
pub(crate) struct Before {
    at: Instant,
    usage: Usage,
    counters: Option<Counters>,
}

/// One row of the report.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Measurement {
    pub(crate) name: &'static str,
    pub(crate) clients: usize,
    /// More about it, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    #[serde(flatten)]
    pub(crate) figures: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Cpu>,
    /// What the database did for each cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) database: Option<Done>,
}

/// CPU milliseconds for each cycle.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cpu {
    /// All processes that were named.
    pub(crate) all: f64,
    /// The same by name.
    pub(crate) of: BTreeMap<String, f64>,
    /// This one.
    pub(crate) client: f64,
    /// Seconds that each process used in the whole run.
    pub(crate) seconds: BTreeMap<String, f64>,
    /// The share of the machine that processes nobody named took, 0 to 1.
    pub(crate) others: f64,
}

impl Measurement {
    pub(crate) fn new(name: &'static str, clients: usize, figures: Figures) -> Measurement {
        Measurement { name, clients, note: String::new(), figures, cpu: None, database: None }
    }

    pub(crate) fn note(mut self, note: String) -> Measurement {
        self.note = note;
        self
    }
}

impl Meter {
    pub(crate) fn new(processes: Watched, database: Option<Database>) -> Meter {
        Meter { processes, database }
    }

    pub(crate) async fn begin(&mut self) -> Result<Before, String> {
        let counters = match &mut self.database {
            Some(database) => {
                // What the warm-up did must not count.
                tokio::time::sleep(Database::LAG).await;
                Some(database.counters().await?)
            }
            None => None,
        };
        Ok(Before { at: Instant::now(), usage: self.processes.usage(), counters })
    }

    /// The same, when the database's share does not matter.
    pub(crate) fn begin_without_database(&self) -> Before {
        Before { at: Instant::now(), usage: self.processes.usage(), counters: None }
    }

    /// Adds to a measurement what its cycles cost the processes.
    pub(crate) fn end_without_database(&self, before: &Before, mut measurement: Measurement) -> Measurement {
        let usage = self.processes.usage().since(&before.usage);
        let cycles = measurement.figures.count;
        if !self.processes.is_empty() && cycles > 0 {
            measurement.cpu = Some(cpu(&usage, cycles, before.at.elapsed()));
        }
        measurement
    }

    /// What the database does by itself in that time: its transactions, and CPU of all processes as a share of one core. Nothing
    /// without a database.
    pub(crate) async fn idle(&mut self, time: Duration) -> Result<Option<(Figures, f64)>, String> {
        let Before { at, usage, counters: Some(counters) } = self.begin().await? else { return Ok(None) };
        tokio::time::sleep(time).await;
        let (Some(database), seconds) = (&mut self.database, at.elapsed().as_secs_f64()) else { return Ok(None) };
        let share = self.processes.usage().since(&usage).servers() / seconds;
        // One look of ours is in it.
        let count = ((database.counters().await? - counters).transactions - 1).max(0) as usize;
        let figures = Figures { count, seconds, per_second: count as f64 / seconds, ..Figures::default() };
        Ok(Some((figures, share)))
    }

    /// Adds to a measurement what its cycles cost.
    pub(crate) async fn end(&mut self, before: Before, measurement: Measurement) -> Result<Measurement, String> {
        let mut measurement = self.end_without_database(&before, measurement);
        let cycles = measurement.figures.count;
        if let (Some(earlier), Some(database)) = (before.counters, &mut self.database) {
            let written = database.counters().await?;
            tokio::time::sleep(Database::LAG).await;
            let mut done = written - earlier;
            // Two looks of ours are in it.
            done.transactions = (database.counters().await? - earlier).transactions - 2;
            measurement.database = done.per(cycles);
        }
        Ok(measurement)
    }
}

fn cpu(usage: &Usage, cycles: usize, elapsed: Duration) -> Cpu {
    let share = |seconds: f64| seconds * 1_000.0 / cycles as f64;
    Cpu {
        all: share(usage.servers()),
        of: usage.of.iter().map(|(name, seconds)| (name.clone(), share(*seconds))).collect(),
        client: share(usage.client),
        seconds: usage.of.clone(),
        others: usage.disturbance(elapsed),
    }
}
