//! What a run of many requests comes down to: how many, how fast, how long each took.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// Figures of one run. Times are in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figures {
    /// What went well.
    pub(crate) count: usize,
    /// How long the run took, in seconds, the last answer included.
    pub(crate) seconds: f64,
    pub(crate) per_second: f64,
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    /// What went wrong.
    pub(crate) errors: usize,
    /// What was wrong, and how often; the commonest few.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) why: BTreeMap<String, usize>,
}

/// What clients note while they run; cheap enough to be done for every request.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// How long each took, in microseconds.
    micros: Vec<u32>,
    why: BTreeMap<String, usize>,
}

/// Different errors that are kept; a broken server must not fill our memory with its messages.
const KINDS_OF_ERRORS: usize = 8;

impl Notes {
    pub(crate) fn took(&mut self, time: Duration) {
        self.micros.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn failed(&mut self, why: String) {
        self.add_error(why, 1);
    }

    pub(crate) fn succeeded(&self) -> usize {
        self.micros.len()
    }

    pub(crate) fn merge(&mut self, other: Notes) {
        self.micros.extend(other.micros);
        for (why, times) in other.why {
            self.add_error(why, times);
        }
    }

    fn add_error(&mut self, why: String, times: usize) {
        let known = self.why.len() < KINDS_OF_ERRORS || self.why.contains_key(&why);
        *self.why.entry(if known { why } else { "other".to_owned() }).or_default() += times;
    }

    /// Sums up a run that took `elapsed`.
    pub(crate) fn sum_up(mut self, elapsed: Duration) -> Figures {
        self.micros.sort_unstable();
        let seconds = elapsed.as_secs_f64();
        let count = self.micros.len();
        let at = |of| percentile(&self.micros, of).map_or(0.0, |micros| f64::from(micros) / 1_000.0);
        Figures {
            count,
            seconds,
            per_second: if seconds > 0.0 { count as f64 / seconds } else { 0.0 },
            median: at(50.0),
            p99: at(99.0),
            max: at(100.0),
            errors: self.why.values().sum(),
            why: self.why,
        }
    }
}

/// The nearest-rank percentile of ascending values: the smallest one that at least `of` percent of them do not exceed.
fn percentile(ascending: &[u32], of: f64) -> Option<u32> {
    let rank = (of / 100.0 * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_seen() {
        let hundred: Vec<u32> = (1..=100).collect();
        for (of, value) in [(0.0, 1), (1.0, 1), (50.0, 50), (99.0, 99), (99.1, 100), (100.0, 100)] {
            assert_eq!(percentile(&hundred, of), Some(value), "p{of}");
        }
        assert_eq!(percentile(&[7], 50.0), Some(7));
        assert_eq!(percentile(&[1, 2, 3], 50.0), Some(2));
        assert_eq!(percentile(&[1, 2, 3, 4], 50.0), Some(2));
        assert_eq!(percentile(&[], 99.0), None);
    }

    #[test]
    fn a_run_is_summed_up_in_milliseconds() {
        let mut notes = Notes::default();
        for milliseconds in [3, 1, 2] {
            notes.took(Duration::from_millis(milliseconds));
        }
        let mut other = Notes::default();
        other.took(Duration::from_micros(500));
        other.failed("HTTP 500".to_owned());
        notes.merge(other);
        let figures = notes.sum_up(Duration::from_secs(2));
        assert_eq!((figures.count, figures.errors, figures.per_second), (4, 1, 2.0));
        assert_eq!((figures.median, figures.p99, figures.max), (1.0, 3.0, 3.0));
    }

    #[test]
    fn nothing_done_is_no_division_by_zero() {
        let figures = Notes::default().sum_up(Duration::ZERO);
        assert_eq!((figures.count, figures.per_second, figures.median), (0, 0.0, 0.0));
    }

    #[test]
    fn errors_are_counted_but_not_hoarded() {
        let mut notes = Notes::default();
        for number in 0..100 {
            notes.failed(format!("error {number}"));
        }
        let figures = notes.sum_up(Duration::from_secs(1));
        assert_eq!(figures.errors, 100);
        assert_eq!(figures.why.len(), KINDS_OF_ERRORS + 1);
    }
}
