//! Processes killed at random while the platform works, and Redis emptied once.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::{Load, Platform};

/// How much havoc.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Time between two kills.
    pub every: Duration,
    /// How long a killed process stays down.
    pub down: Duration,
    /// Whether Redis is emptied once half of the tasks are answered.
    pub flush: bool,
}

impl Plan {
    /// One kill a second, each restarted after another, and one `FLUSHALL`.
    pub fn every_second() -> Plan {
        Plan { every: Duration::from_secs(1), down: Duration::from_secs(1), flush: true }
    }
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Havoc {
    /// Kills of each process, by name.
    pub kills: Vec<(String, usize)>,
    /// Times Redis was emptied.
    pub flushes: usize,
}

impl Havoc {
    /// Kills by `plan` until `load` is through; then everything runs again.
    ///
    /// # Panics
    /// When the platform does not come up again.
    pub async fn wreak(platform: &Platform, load: &Load, plan: &Plan) -> Havoc {
        let names = platform.names();
        let mut havoc = Havoc { kills: names.into_iter().map(|name| (name, 0)).collect(), flushes: 0 };
        let mut down: Vec<(usize, Instant)> = Vec::new();
        let mut started = vec![Instant::now(); havoc.kills.len()];
        let mut next = Instant::now() + plan.every;
        while load.done() < load.tasks {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let now = Instant::now();
            down.retain(|(n, since)| {
                let stays = now < *since + plan.down;
                if !stays {
                    platform.restart(&havoc.kills[*n].0);
                    started[*n] = now;
                }
                stays
            });
            // The first one by what is done, so that it falls into the run of a quick machine too.
            let first = havoc.count() == 0 && load.done() * 10 >= load.tasks;
            if first || now >= next {
                // Whoever was started again lives so long at least: one process alone would never work.
                let up = (0..havoc.kills.len()).filter(|n| down.iter().all(|(other, _)| other != n));
                let up = up.filter(|n| first || now >= started[*n] + plan.every);
                // At random among those that died least, so that a short run kills every kind as well.
                let least = up.clone().map(|n| havoc.kills[n].1).min();
                let up: Vec<usize> = up.filter(|n| Some(havoc.kills[*n].1) == least).collect();
                if let Some(n) = pick(&up) {
                    platform.kill(&havoc.kills[n].0);
                    havoc.kills[n].1 += 1;
                    down.push((n, now));
                    next = now + plan.every;
                }
            }
            if plan.flush && havoc.flushes == 0 && load.done() * 2 >= load.tasks {
                havoc.flushes = platform.services().map_or(0, |services| {
                    services.flush_redis();
                    1
                });
            }
        }
        for (n, _) in down {
            platform.restart(&havoc.kills[n].0);
        }
        platform.healthy().await;
        havoc
    }

    /// Kills in all.
    pub fn count(&self) -> usize {
        self.kills.iter().map(|(_, kills)| kills).sum()
    }
}

fn pick(from: &[usize]) -> Option<usize> {
    let dice = Uuid::new_v4().as_u64_pair().1 as u32;
    (!from.is_empty()).then(|| from[dice as usize % from.len()])
}
