//! The report for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::goals::{Goal, goals};
use crate::meter::Measurement;

/// All that was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) goals: Vec<Goal>,
}

impl Report {
    /// A report of a platform with so many replicas.
    pub(crate) fn new(measurements: Vec<Measurement>, replicas: usize) -> Report {
        let goals = goals(&measurements, replicas);
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
            line(&mut text, format_args!("\nGoals, on a quiet machine"));
            for Goal { goal, found, reached } in &self.goals {
                let mark = reached.map_or("?", |reached| if reached { "yes" } else { "NO" });
                line(&mut text, format_args!("  {mark:<4} {goal}: {found}"));
            }
        }
        text
    }
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
    use crate::goals::tests::{cost, measurement};

    #[test]
    fn the_text_names_figures_costs_and_goals() {
        let mut send = measurement("send", 16, 612.34);
        cost(&mut send, 1.5, 3.0);
        let text = Report::new(vec![measurement("ceiling", 16, 3_000.0), send], 1).text();
        for part in [
            "send at 16",
            "612.3",
            "1.500",
            "yes  at least 600 cycles a second, 16 clients: 612",
            "= 1000, of which 612 are 61 %",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
