//! CPU time of processes, read from `/proc` before and after a run.
//!
//! A process is counted with all its descendants, the ones it has already buried included: Postgres works in a child for
//! every connection, and what the children used goes to the postmaster when they end. So the sum never falls.

use std::collections::BTreeMap;
use std::time::Duration;

/// How many of the kernel's ticks make a second. It is 100 in everything `/proc` says, on every architecture that Linux runs
/// a server on.
const TICKS: f64 = 100.0;

/// What one line of `/proc/PID/stat` says that matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stat {
    pid: u32,
    /// The first 15 bytes of the program's name.
    name: String,
    parent: u32,
    /// User and system time of the process and of the children it has buried.
    ticks: u64,
}

impl Stat {
    /// The name stands in parentheses and may hold any character, so the last one closes it.
    fn parse(line: &str) -> Option<Stat> {
        let (pid, rest) = line.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        // From here on numbered as in proc(5), where the state is field 3.
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
        let ticks: i64 = (14..=17).map(number).sum::<Option<i64>>()?;
        Some(Stat {
            pid: pid.parse().ok()?,
            name: name.to_owned(),
            parent: number(4)?.try_into().ok()?,
            ticks: ticks.try_into().ok()?,
        })
    }
}

/// Every process there is.
#[derive(Debug, Default)]
struct Table(BTreeMap<u32, Stat>);

impl Table {
    fn read() -> Table {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        // Those that end meanwhile are gone.
        let stats = pids.filter_map(|pid| Stat::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?));
        Table(stats.map(|stat| (stat.pid, stat)).collect())
    }

    /// The ticks of a process and all its descendants.
    fn ticks_of(&self, pid: u32) -> u64 {
        let children = self.0.values().filter(|stat| stat.parent == pid && stat.pid != pid);
        let own = self.0.get(&pid).map_or(0, |stat| stat.ticks);
        own + children.map(|child| self.ticks_of(child.pid)).sum::<u64>()
    }

    /// Processes of that name which are no children of another one of it: those are counted with their parent.
    fn roots_named(&self, name: &str) -> Vec<u32> {
        let named = |stat: &Stat| stat.name == name;
        let roots = self.0.values().filter(|stat| named(stat) && !self.0.get(&stat.parent).is_some_and(named));
        roots.map(|stat| stat.pid).collect()
    }
}

/// The processes that are measured, by the name they are shown under.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(Vec<(String, u32)>);

/// CPU seconds by name. The client that measures is apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) of: BTreeMap<String, f64>,
    pub(crate) client: f64,
    /// Everything that ran on the machine: with `of` and `client` taken off, what disturbed the run.
    pub(crate) machine: f64,
}

impl Watched {
    /// Processes given by id, and all that bear one of the names now.
    ///
    /// # Errors
    /// One of them is not there.
    pub(crate) fn find(given: &[(String, u32)], names: &[String]) -> Result<Watched, String> {
        let table = Table::read();
        let mut watched = Vec::new();
        for (name, pid) in given {
            if !table.0.contains_key(pid) {
                return Err(format!("--pid {name}={pid}: there is no process {pid}"));
            }
            watched.push((name.clone(), *pid));
        }
        for name in names {
            let roots = table.roots_named(name);
            if roots.is_empty() {
                return Err(format!("--pids-of {name}: no process has this name"));
            }
            watched.extend(roots.into_iter().map(|pid| (label(name, pid), pid)));
        }
        Ok(Watched(watched))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What all of them have used since they started.
    pub(crate) fn usage(&self) -> Usage {
        let table = Table::read();
        let mut usage = Usage { client: seconds(table.ticks_of(std::process::id())), ..Usage::default() };
        for (name, pid) in &self.0 {
            *usage.of.entry(name.clone()).or_default() += seconds(table.ticks_of(*pid));
        }
        let machine = std::fs::read_to_string("/proc/stat").ok().and_then(|text| busy_ticks(&text));
        usage.machine = seconds(machine.unwrap_or_default());
        usage
    }
}

impl Usage {
    /// What was used since an earlier look.
    pub(crate) fn since(&self, earlier: &Usage) -> Usage {
        let of = |name: &String| earlier.of.get(name).copied().unwrap_or_default();
        Usage {
            of: self.of.iter().map(|(name, now)| (name.clone(), (now - of(name)).max(0.0))).collect(),
            client: (self.client - earlier.client).max(0.0),
            machine: (self.machine - earlier.machine).max(0.0),
        }
    }

    /// CPU seconds of all that is measured, without the client.
    pub(crate) fn servers(&self) -> f64 {
        self.of.values().sum()
    }

    /// The share of the machine that others took, 0 to 1, in a run of that length.
    pub(crate) fn disturbance(&self, elapsed: Duration) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let others = self.machine - self.servers() - self.client;
        (others / (cores * elapsed.as_secs_f64()).max(f64::EPSILON)).clamp(0.0, 1.0)
    }
}

/// A process by its name and, if there is one, its subcommand: `taskyard worker`.
fn label(name: &str, pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let subcommand = line.split(|byte| *byte == 0).nth(1).and_then(|word| std::str::from_utf8(word).ok());
    match subcommand {
        Some(word) if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()) => {
            format!("{name} {word}")
        }
        _ => name.to_owned(),
    }
}

/// From `/proc/stat`: the ticks in which any core worked, those that the hypervisor took included.
fn busy_ticks(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().map(|field| field.parse().ok()).collect::<Option<_>>()?;
    // user nice system idle iowait irq softirq steal; what follows (guests) is in user already.
    Some(fields.iter().take(8).sum::<u64>() - fields.get(3)? - fields.get(4)?)
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "4120 (postgres: (a) b) S 4100 4120 4120 0 -1 4194624 513 9 0 0 31 12 5 2 20 0 1 0 190 2000 8 18446744073709551615";

    fn stat(pid: u32, parent: u32, name: &str, ticks: u64) -> (u32, Stat) {
        (pid, Stat { pid, name: name.to_owned(), parent, ticks })
    }

    #[test]
    fn a_line_of_stat_is_read_past_any_name() {
        let (_, expected) = stat(4120, 4100, "postgres: (a) b", 31 + 12 + 5 + 2);
        assert_eq!(Stat::parse(LINE), Some(expected));
    }

    #[test]
    fn a_line_cut_short_is_none() {
        let end = LINE.find(" 12 5 2").unwrap();
        for line in ["", "1", "1 (x", "1 (x) S", &LINE[..end]] {
            assert_eq!(Stat::parse(line), None, "{line}");
        }
    }

    #[test]
    fn descendants_count_with_their_root_and_once() {
        let table = Table(BTreeMap::from([
            stat(1, 0, "init", 1_000),
            stat(10, 1, "postgres", 5),
            stat(11, 10, "postgres", 7),
            stat(12, 11, "helper", 1),
            stat(20, 1, "redis-server", 3),
            stat(30, 1, "postgres", 100),
        ]));
        assert_eq!(table.ticks_of(10), 13);
        assert_eq!(table.roots_named("postgres"), [10, 30]);
        assert_eq!(table.roots_named("helper"), [12]);
        assert!(table.roots_named("mysqld").is_empty());
    }

    #[test]
    fn idle_and_waiting_are_not_busy() {
        assert_eq!(busy_ticks("cpu  10 1 5 1000 50 2 3 4 9 0\ncpu0 1 1 1 1\n"), Some(25));
        assert_eq!(busy_ticks("intr 1\n"), None);
    }

    #[test]
    fn this_process_is_there_and_its_use_grows() {
        let own = Watched::find(&[("self".to_owned(), std::process::id())], &[]).unwrap();
        let before = own.usage();
        let used = own.usage().since(&before);
        assert!(used.of["self"] >= 0.0 && used.client >= 0.0);
        assert!(Watched::find(&[("none".to_owned(), u32::MAX)], &[]).is_err());
        assert!(Watched::find(&[], &["no such name".to_owned()]).is_err());
    }
}
