//! The goals that the figures are held against.

use serde::Serialize;

use crate::meter::Measurement;
use crate::updates::SIZES;

/// The clients at which a cycle's first goals hold.
const CLIENTS: usize = 16;
/// Whole task cycles a second.
const CYCLES: f64 = 600.0;
/// CPU milliseconds over all processes for a cycle.
const CPU: f64 = 2.0;
/// Of what the database could commit.
const SHARE: f64 = 1.0 / 3.0;
/// Milliseconds that all but one event in a hundred may take from the worker to a subscriber.
const EVENT: f64 = 50.0;

/// The same for many clients.
const MANY_CLIENTS: usize = 64;
const MANY_CYCLES: f64 = 1_200.0;
const MANY_CPU: f64 = 1.2;
/// Of what the database could commit, where that is less than [`MANY_CYCLES`].
const MANY_SHARE: f64 = 0.4;

/// Milliseconds that all but one send in a hundred may take until it is claimed.
const CLAIM: f64 = 60.0;
/// Transactions a second that idle workers may cost a replica.
const IDLE: f64 = 5.0;
/// How many times as many tasks a second a worker does that reports at once, for each of [`SIZES`].
const BATCHES: [f64; 2] = [1.3, 3.0];

/// One goal, and how near the figures came.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Goal {
    pub(crate) goal: String,
    pub(crate) found: String,
    /// `None` when what it takes was not measured.
    pub(crate) reached: Option<bool>,
}

/// Every goal. `replicas` are polled by idle workers.
pub(crate) fn goals(measurements: &[Measurement], replicas: usize) -> Vec<Goal> {
    let find = |name: &str, clients: Option<usize>| {
        let found = |found: &&Measurement| found.name == name && clients.is_none_or(|number| found.clients == number);
        measurements.iter().find(found)
    };
    let at = |name, clients| find(name, Some(clients));
    let mut goals = of_cycles(at("send", CLIENTS), at("ceiling", CLIENTS));
    goals.extend(of_many_cycles(at("send", MANY_CLIENTS), at("ceiling", MANY_CLIENTS)));
    let event = at("events", CLIENTS).filter(|events| events.figures.count > 0).map(|events| events.figures.p99);
    let goal = format!("p99 of an event from worker to subscriber below {EVENT} ms, {CLIENTS} tasks");
    goals.push(below(goal, event, EVENT, "ms", "`events`"));
    let claim = find("claims", None);
    let goal = format!("p99 from send to claimed below {CLAIM} ms, {} workers", claim.map_or(0, |found| found.clients));
    let p99 = claim.filter(|claim| claim.figures.count > 0).map(|claim| claim.figures.p99);
    goals.push(below(goal, p99, CLAIM, "ms", "`claims`"));
    let idle = find("idle", None);
    let goal =
        format!("below {IDLE} transactions a second and replica for {} idle", idle.map_or(0, |idle| idle.clients));
    let each = idle.map(|idle| idle.figures.per_second / replicas.max(1) as f64);
    goals.push(below(goal, each, IDLE, "a second", "`claims` with --database-url"));
    for ((artifacts, batch, steps), times) in SIZES.into_iter().zip(BATCHES) {
        let (batch, steps) = (find(batch, None), find(steps, None));
        let ratio = batch.zip(steps).map(|(batch, steps)| batch.figures.per_second / steps.figures.per_second);
        goals.push(Goal {
            goal: format!("batched updates at least {times} times as many tasks a second, artifacts: {artifacts}"),
            found: ratio.map_or_else(|| unknown("`updates`"), |ratio| format!("{ratio:.2}")),
            reached: ratio.map(|ratio| ratio >= times),
        });
    }
    goals
}

fn of_cycles(send: Option<&Measurement>, ceiling: Option<&Measurement>) -> Vec<Goal> {
    let rate = send.map(|send| send.figures.per_second);
    let share = share(send, ceiling);
    vec![
        Goal {
            goal: format!("at least {CYCLES} cycles a second, {CLIENTS} clients"),
            found: rate.map_or_else(|| unknown("`send`"), |rate| format!("{rate:.0}")),
            reached: rate.map(|rate| rate >= CYCLES),
        },
        of_cpu(send, CPU, CLIENTS),
        Goal {
            goal: format!("at least a third of the commit ceiling over the commits of a cycle, {CLIENTS} clients"),
            found: share.as_ref().map_or_else(
                || unknown("`ceiling` and `send` with --database-url"),
                |share| format!("{}, of which {:.0} are {:.0} %", share.text, share.rate, share.of_all() * 100.0),
            ),
            reached: share.map(|share| share.of_all() >= SHARE),
        },
    ]
}

fn of_many_cycles(send: Option<&Measurement>, ceiling: Option<&Measurement>) -> Vec<Goal> {
    let rate = send.map(|send| send.figures.per_second);
    // Where the machine cannot commit as much, the goal is less.
    let lower = share(send, ceiling).map(|share| share.could * MANY_SHARE).filter(|lower| *lower < MANY_CYCLES);
    let goal = lower.unwrap_or(MANY_CYCLES);
    let why = lower.map_or("", |_| ", which are 40 % of the commit ceiling over the commits of a cycle");
    vec![
        Goal {
            goal: format!("at least {goal:.0} cycles a second{why}, {MANY_CLIENTS} clients"),
            found: rate.map_or_else(|| unknown("`send`"), |rate| format!("{rate:.0}")),
            reached: rate.map(|rate| rate >= goal),
        },
        of_cpu(send, MANY_CPU, MANY_CLIENTS),
    ]
}

fn of_cpu(send: Option<&Measurement>, most: f64, clients: usize) -> Goal {
    let cpu = send.and_then(|send| send.cpu.as_ref());
    Goal {
        goal: format!("at most {most} ms of CPU a cycle over all processes, {clients} clients"),
        found: cpu.map_or_else(
            || unknown("--pid or --pids-of"),
            |cpu| format!("{:.2} ms, {:.2} with the bench's own", cpu.all, cpu.all + cpu.client),
        ),
        reached: cpu.map(|cpu| cpu.all <= most),
    }
}

fn below(goal: String, found: Option<f64>, most: f64, unit: &str, missing: &str) -> Goal {
    Goal {
        goal,
        found: found.map_or_else(|| unknown(missing), |found| format!("{found:.1} {unit}")),
        reached: found.map(|found| found < most),
    }
}

/// Cycles next to what the database could commit of them.
struct Share {
    rate: f64,
    could: f64,
    text: String,
}

impl Share {
    fn of_all(&self) -> f64 {
        self.rate / self.could
    }
}

fn share(send: Option<&Measurement>, ceiling: Option<&Measurement>) -> Option<Share> {
    let (send, ceiling) = (send?, ceiling?.figures.per_second);
    let commits = send.database.map(|done| done.commits).filter(|commits| *commits > 0.0)?;
    let could = ceiling / commits;
    let text = format!("{ceiling:.0} commits a second / {commits:.2} a cycle = {could:.0}");
    Some(Share { rate: send.figures.per_second, could, text })
}

fn unknown(missing: &str) -> String {
    format!("not measured ({missing})")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::database::Done;
    use crate::figures::Figures;
    use crate::meter::Cpu;

    pub(crate) fn measurement(name: &'static str, clients: usize, per_second: f64) -> Measurement {
        Measurement::new(name, clients, Figures { count: 10, per_second, ..Figures::default() })
    }

    pub(crate) fn cost(send: &mut Measurement, cpu: f64, commits: f64) {
        let of = std::collections::BTreeMap::from([("api".to_owned(), cpu)]);
        send.cpu = Some(Cpu { all: cpu, of: of.clone(), client: 0.3, seconds: of, others: 0.0 });
        send.database = Some(Done { commits, transactions: 5.0, log_bytes: 9.0 });
    }

    /// What became of the goals that something is known of, in their order.
    fn reached(measurements: &[Measurement]) -> Vec<bool> {
        goals(measurements, 2).iter().filter_map(|goal| goal.reached).collect()
    }

    #[test]
    fn a_goal_needs_what_it_is_about() {
        assert!(reached(&[]).is_empty());
        assert_eq!(reached(&[measurement("send", 16, 600.0)]), [true]);
        assert!(reached(&[measurement("send", 17, 600.0)]).is_empty());
    }

    #[test]
    fn goals_are_reached_or_not() {
        let mut send = measurement("send", 16, 500.0);
        cost(&mut send, 2.0, 3.0);
        assert_eq!(reached(&[measurement("ceiling", 16, 4_500.0), send.clone()]), [false, true, true]);
        cost(&mut send, 2.1, 3.0);
        assert_eq!(reached(&[measurement("ceiling", 16, 4_600.0), send]), [false, false, false]);
    }

    #[test]
    fn a_slow_disk_lowers_what_many_clients_are_to_reach() {
        let mut send = measurement("send", 64, 1_000.0);
        cost(&mut send, 1.2, 2.0);
        assert_eq!(reached(&[measurement("ceiling", 64, 9_000.0), send.clone()]), [false, true]);
        assert_eq!(reached(&[measurement("ceiling", 64, 5_000.0), send]), [true, true]);
    }

    #[test]
    fn whatever_is_timed_has_a_goal_of_its_own() {
        for (name, clients, limit) in [("events", 16, 50.0), ("claims", 1_000, 60.0)] {
            for (p99, fine) in [(limit - 0.1, true), (limit, false)] {
                let mut timed = measurement(name, clients, 200.0);
                timed.figures.p99 = p99;
                assert_eq!(reached(&[timed]), [fine]);
            }
        }
    }

    #[test]
    fn idle_workers_are_counted_by_the_replica() {
        assert_eq!(reached(&[measurement("idle", 1_000, 9.0)]), [true]);
        assert_eq!(reached(&[measurement("idle", 1_000, 11.0)]), [false]);
    }

    #[test]
    fn batches_are_held_against_steps() {
        let rates = |batch, steps| [measurement("batch of 10", 16, batch), measurement("steps of 10", 16, steps)];
        assert_eq!(reached(&rates(310.0, 100.0)), [true]);
        assert_eq!(reached(&rates(290.0, 100.0)), [false]);
    }
}
