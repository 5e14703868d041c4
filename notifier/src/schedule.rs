//! When to try again.

use std::sync::Arc;
use std::time::Duration;

use time::PrimitiveDateTime;
use time::macros::format_description;

/// Numbers from 0 to 1, for jitter. Tests pin them.
pub type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// The longest wait a receiver can ask for with `Retry-After`.
pub const LONGEST_HINT: Duration = Duration::from_secs(24 * 3600);

/// The waits before each attempt, and by how much they vary.
///
/// Without jitter, receivers that failed together would be tried again together.
#[derive(Clone)]
pub struct Schedule {
    waits: Vec<Duration>,
    jitter: f64,
    random: Random,
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedule").field("waits", &self.waits).field("jitter", &self.jitter).finish_non_exhaustive()
    }
}

impl Default for Schedule {
    /// 0, 5 s, 30 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: eleven attempts in 75 h 36 m, each wait up to a fifth longer or shorter.
    fn default() -> Schedule {
        let seconds = [0, 5, 30, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
        Schedule::new(seconds.map(Duration::from_secs))
    }
}

impl Schedule {
    /// One attempt after each of `waits`; the first is made as soon as there is something to deliver, whatever the first wait says.
    /// Waits vary by 20 %.
    pub fn new(waits: impl IntoIterator<Item = Duration>) -> Schedule {
        Schedule { waits: waits.into_iter().collect(), jitter: 0.2, random: Arc::new(random) }
    }

    /// The same waits, varied by other numbers.
    #[must_use]
    pub fn with_random(self, random: Random) -> Schedule {
        Schedule { random, ..self }
    }

    /// How many attempts a delivery gets.
    pub fn attempts(&self) -> usize {
        self.waits.len()
    }

    /// How long to wait after attempt number `attempt` (1 for the first) has failed; none when it was the last. `hint` is what the
    /// receiver asked for: it makes the wait longer, never shorter.
    pub fn after(&self, attempt: i32, hint: Option<Duration>) -> Option<Duration> {
        let wait = self.plain(attempt)?;
        let random = Some((self.random)()).filter(|random| random.is_finite()).unwrap_or(0.5).clamp(0.0, 1.0);
        let factor = 1.0 + self.jitter * (2.0 * random - 1.0);
        Some(wait.mul_f64(factor).max(hint.unwrap_or_default().min(LONGEST_HINT)))
    }

    /// The wait of the table, without jitter.
    pub(crate) fn plain(&self, attempt: i32) -> Option<Duration> {
        self.waits.get(usize::try_from(attempt).unwrap_or_default()).copied()
    }
}

/// The low bits of a random UUID.
fn random() -> f64 {
    let bits = uuid::Uuid::new_v4().as_u64_pair().1 & ((1 << 53) - 1);
    bits as f64 / (1_u64 << 53) as f64
}

/// What `Retry-After` asks for: whole seconds or an HTTP date, at most [`LONGEST_HINT`]; none when it is neither, or is past. `now` is
/// in milliseconds since the epoch.
pub fn retry_after(value: &[u8], now: i64) -> Option<Duration> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return None;
    }
    if value.iter().all(u8::is_ascii_digit) {
        // More digits than fit are more seconds than are granted.
        let seconds = std::str::from_utf8(value).ok()?.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST_HINT));
    }
    let form =
        format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");
    let date = PrimitiveDateTime::parse(std::str::from_utf8(value).ok()?, form).ok()?;
    let at = date.assume_utc().unix_timestamp().saturating_mul(1000);
    let wait = u64::try_from(at.saturating_sub(now)).ok().filter(|wait| *wait > 0)?;
    Some(Duration::from_millis(wait).min(LONGEST_HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleven_attempts_in_75_hours_and_36_minutes() {
        let schedule = Schedule::default().with_random(Arc::new(|| 0.5));
        let waits: Vec<Duration> = (1..).map_while(|attempt| schedule.after(attempt, None)).collect();
        assert_eq!(schedule.attempts(), 11);
        assert_eq!(waits.len(), 10, "the eleventh is the last");
        assert_eq!(waits[0], Duration::from_secs(5));
        assert_eq!(waits.iter().sum::<Duration>(), Duration::from_secs(75 * 3600 + 35 * 60 + 35));
    }

    #[test]
    fn waits_vary_by_a_fifth_whatever_the_numbers() {
        for (random, millis) in [(0.0, 4000), (0.5, 5000), (1.0, 6000), (-7.0, 4000), (7.0, 6000), (f64::NAN, 5000)] {
            let schedule = Schedule::default().with_random(Arc::new(move || random));
            assert_eq!(schedule.after(1, None).unwrap().as_millis(), millis, "{random}");
        }
        assert!((0..1000).map(|_| random()).all(|n| (0.0..1.0).contains(&n)));
    }

    #[test]
    fn a_hint_lengthens_and_never_shortens() {
        let schedule = Schedule::default().with_random(Arc::new(|| 0.5));
        let hint = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(schedule.after(1, hint(120)), hint(120));
        assert_eq!(schedule.after(1, hint(1)), hint(5));
        assert_eq!(schedule.after(1, hint(u64::MAX)), hint(86_400));
        assert_eq!(schedule.after(11, hint(120)), None);
        assert_eq!(schedule.after(i32::MAX, None), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_or_nothing() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = 784_111_777_000;
        let long = "9".repeat(10_000);
        let text = "x".repeat(10_240);
        for (value, seconds) in [
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("0", Some(0)),
            ("86401", Some(86_400)),
            ("1000000000000000000", Some(86_400)),
            (&long, Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 9999 08:50:37 GMT", Some(86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", None),
            ("Sat, 05 Nov 1994 08:49:37 GMT", None),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("1e18", None),
            ("inf", None),
            ("NaN", None),
            ("soon", None),
            ("١٢٠", None),
            (&text, None),
        ] {
            assert_eq!(retry_after(value.as_bytes(), now), seconds.map(Duration::from_secs), "{value:.40}");
        }
        assert_eq!(retry_after(b"\xff\xfe", now), None);
        assert_eq!(retry_after(b"Sun, 06 Nov 1994 08:50:37 GMT", i64::MIN), Some(LONGEST_HINT));
        assert_eq!(retry_after(b"Sun, 06 Nov 1994 08:50:37 GMT", i64::MAX), None);
    }
}
