//! The report for people, and the goals that the figures are held against.

use std::fmt::Write as _;

use serde::Serialize;

use crate::meter::Measurement;

/// The clients at which the goals hold.
const CLIENTS: usize = 16;
/// Whole task cycles a second.
const CYCLES: f64 = 600.0;
/// CPU milliseconds over all processes for a cycle.
const CPU: f64 = 2.0;
/// Of what the database could commit.
const SHARE: f64 = 1.0 / 3.0;
/// Milliseconds that all but one event in a hundred may take from the worker to a subscriber.
const EVENT: f64 = 50.0;

/// All that was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) goals: Vec<Goal>,
}

/// One goal, and how near the figures came.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Goal {
    pub(crate) goal: String,
    pub(crate) found: String,
    /// `None` when what it takes was not measured.
    pub(crate) reached: Option<bool>,
}

impl Report {
    pub(crate) fn new(measurements: Vec<Measurement>) -> Report {
        let goals = goals(&measurements);
        Report { measurements, goals }
    }

    /// The report as text. The goals are left out when nothing they are about was measured.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let sections = [figures(&self.measurements), cpu(&self.measurements), database(&self.measurements)];
        for table in sections.into_iter().filter(|table| table.len() > 1) {
            print(&mut text, &table);
            text.push('\n');
        }
        for measurement in self.measurements.iter().filter(|measurement| !measurement.note.is_empty()) {
            line(&mut text, format_args!("{}: {}", title(measurement), measurement.note));
        }
        for measurement in &self.measurements {
            for (why, times) in &measurement.figures.why {
                line(&mut text, format_args!("{}: {times} times: {why}", title(measurement)));
            }
        }
        if self.goals.iter().any(|goal| goal.reached.is_some()) {
            line(&mut text, format_args!("\nGoals, at {CLIENTS} clients on a quiet machine"));
            for Goal { goal, found, reached } in &self.goals {
                let mark = reached.map_or("?", |reached| if reached { "yes" } else { "NO" });
                line(&mut text, format_args!("  {mark:<4} {goal}: {found}"));
            }
        }
        text
    }
}

fn goals(measurements: &[Measurement]) -> Vec<Goal> {
    let at = |name| measurements.iter().find(|found| found.name == name && found.clients == CLIENTS);
    let (send, ceiling) = (at("send"), at("ceiling").map(|ceiling| ceiling.figures.per_second));
    let unknown = |missing: &str| (format!("not measured ({missing})"), None);

    let rate = send.map(|send| send.figures.per_second);
    let (cycles, cycles_reached) = match rate {
        Some(rate) => (format!("{rate:.0}"), Some(rate >= CYCLES)),
        None => unknown("`send`"),
    };
    let (used, used_reached) = match send.and_then(|send| send.cpu.as_ref()) {
        Some(cpu) => {
            let with = cpu.all + cpu.client;
            (format!("{:.2} ms, {with:.2} with the bench's own", cpu.all), Some(cpu.all <= CPU))
        }
        None => unknown("--pid or --pids-of"),
    };
    let (share, share_reached) = match (rate, ceiling, send.and_then(|send| send.database)) {
        (Some(rate), Some(ceiling), Some(done)) if done.commits > 0.0 => {
            let could = ceiling / done.commits;
            let found = format!(
                "{ceiling:.0} commits a second / {:.2} a cycle = {could:.0}, of which {rate:.0} are {:.0} %",
                done.commits,
                rate / could * 100.0
            );
            (found, Some(rate >= could * SHARE))
        }
        _ => unknown("`ceiling` and `send` with --database-url"),
    };
    let (event, event_reached) = match at("events").filter(|events| events.figures.count > 0) {
        Some(events) => (format!("{:.1} ms", events.figures.p99), Some(events.figures.p99 < EVENT)),
        None => unknown("`events`"),
    };
    vec![
        Goal { goal: format!("at least {CYCLES} cycles a second"), found: cycles, reached: cycles_reached },
        Goal {
            goal: format!("at most {CPU} ms of CPU a cycle over all processes"),
            found: used,
            reached: used_reached,
        },
        Goal {
            goal: "at least a third of the commit ceiling over the commits of a cycle".to_owned(),
            found: share,
            reached: share_reached,
        },
        Goal {
            goal: format!("p99 of an event from worker to subscriber below {EVENT} ms"),
            found: event,
            reached: event_reached,
        },
    ]
}

fn title(measurement: &Measurement) -> String {
    format!("{} at {}", measurement.name, measurement.clients)
}

fn figures(measurements: &[Measurement]) -> Vec<Vec<String>> {
    let mut table = vec![row(["", "count", "per second", "median ms", "p99 ms", "max ms", "errors"])];
    table.extend(measurements.iter().map(|measurement| {
        let figures = &measurement.figures;
        vec![
            title(measurement),
            figures.count.to_string(),
            format!("{:.1}", figures.per_second),
            format!("{:.2}", figures.median),
            format!("{:.2}", figures.p99),
            format!("{:.2}", figures.max),
            figures.errors.to_string(),
        ]
    }));
    table
}

fn cpu(measurements: &[Measurement]) -> Vec<Vec<String>> {
    let measured = || measurements.iter().filter_map(|found| Some((title(found), found.cpu.as_ref()?)));
    let Some((_, any)) = measured().next() else { return Vec::new() };
    let mut table = vec![row(["CPU ms of each", "all"])];
    table[0].extend(any.of.keys().cloned());
    table[0].extend(row(["| bench", "| others"]));
    for (title, cpu) in measured() {
        let mut cells = vec![title, format!("{:.3}", cpu.all)];
        cells.extend(cpu.of.values().map(|milliseconds| format!("{milliseconds:.3}")));
        cells.push(format!("| {:.3}", cpu.client));
        cells.push(format!("| {:.0} %", cpu.others * 100.0));
        table.push(cells);
    }
    for (title, cpu) in measured() {
        let mut cells = vec![format!("{title}, CPU s"), format!("{:.2}", cpu.seconds.values().sum::<f64>())];
        cells.extend(cpu.seconds.values().map(|seconds| format!("{seconds:.2}")));
        table.push(cells);
    }
    table
}

fn database(measurements: &[Measurement]) -> Vec<Vec<String>> {
    let mut table = vec![row(["Database, of each", "commits", "all transactions", "log bytes"])];
    table.extend(measurements.iter().filter_map(|measurement| {
        let done = measurement.database?;
        Some(vec![
            title(measurement),
            format!("{:.2}", done.commits),
            format!("{:.2}", done.transactions),
            format!("{:.0}", done.log_bytes),
        ])
    }));
    table
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Prints a table: the first column to the left, the others to the right.
fn print(text: &mut String, table: &[Vec<String>]) {
    let columns = table.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column| table.iter().filter_map(|row: &Vec<String>| row.get(column)).map(String::len).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    for row in table {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        });
        line(text, format_args!("{}", cells.collect::<String>().trim_end()));
    }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    writeln!(text, "{arguments}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Done;
    use crate::figures::Figures;
    use crate::meter::Cpu;

    fn measurement(name: &'static str, per_second: f64) -> Measurement {
        Measurement::new(name, CLIENTS, Figures { count: 10, per_second, ..Figures::default() })
    }

    fn reached(measurements: Vec<Measurement>) -> Vec<Option<bool>> {
        Report::new(measurements).goals.iter().map(|goal| goal.reached).collect()
    }

    fn cost(send: &mut Measurement, cpu: f64, commits: f64) {
        let of = std::collections::BTreeMap::from([("api".to_owned(), cpu)]);
        send.cpu = Some(Cpu { all: cpu, of: of.clone(), client: 0.3, seconds: of, others: 0.0 });
        send.database = Some(Done { commits, transactions: 5.0, log_bytes: 9.0 });
    }

    #[test]
    fn a_goal_needs_what_it_is_about() {
        assert_eq!(reached(vec![]), [None, None, None, None]);
        assert_eq!(reached(vec![measurement("send", 600.0)]), [Some(true), None, None, None]);
    }

    #[test]
    fn goals_are_reached_or_not() {
        let mut send = measurement("send", 500.0);
        cost(&mut send, 2.0, 3.0);
        assert_eq!(
            reached(vec![measurement("ceiling", 4_500.0), send.clone()]),
            [Some(false), Some(true), Some(true), None]
        );
        cost(&mut send, 2.1, 3.0);
        assert_eq!(reached(vec![measurement("ceiling", 4_600.0), send]), [Some(false), Some(false), Some(false), None]);
    }

    #[test]
    fn events_have_a_goal_of_their_own() {
        for (p99, fine) in [(49.9, true), (50.0, false)] {
            let mut events = measurement("events", 200.0);
            events.figures.p99 = p99;
            assert_eq!(reached(vec![events]), [None, None, None, Some(fine)]);
        }
    }

    #[test]
    fn the_text_names_figures_costs_and_goals() {
        let mut send = measurement("send", 612.34);
        cost(&mut send, 1.5, 3.0);
        let text = Report::new(vec![measurement("ceiling", 3_000.0), send]).text();
        for part in
            ["send at 16", "612.3", "1.500", "yes  at least 600 cycles a second: 612", "= 1000, of which 612 are 61 %"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
