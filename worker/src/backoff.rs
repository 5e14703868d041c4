//! Pauses between attempts: doubling, bounded, and with jitter so that a fleet does not come back in step.

use std::time::Duration;

use uuid::Uuid;

/// The pauses of one run of failures.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// Pauses that start around `first` and never exceed `longest`.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// The next pause: a random length between half and all of the doubled one.
    pub(crate) fn next(&mut self) -> Duration {
        let full = self.first.saturating_mul(1 << self.failures.min(16)).min(self.longest);
        self.failures += 1;
        let dice = Uuid::new_v4().as_u64_pair().1 as u32;
        full.mul_f64(0.5 + 0.5 * f64::from(dice) / f64::from(u32::MAX))
    }

    /// How many attempts failed in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Something worked: the next pause is short again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_start_over_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for full in [100, 200, 400, 800, 1000, 1000] {
            let pause = backoff.next().as_millis();
            assert!(pause >= full / 2 && pause <= full, "{pause} of {full}");
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(100));
    }
}
