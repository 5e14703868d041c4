//! The scenarios: each drives the platform in one way and tells what came of it.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::claims::{self, Claims};
use crate::events::{Events, RATE};
use crate::load::closed_loops;
use crate::meter::{Measurement, Meter};
use crate::options::{Name, Options};
use crate::platform::{Platform, Template};
use crate::receiver::Receiver;
use crate::updates::{self, Way};

/// What every scenario works with.
pub(crate) struct Bench {
    pub(crate) options: Options,
    pub(crate) platform: Rc<Platform>,
    pub(crate) meter: Meter,
    pub(crate) measurements: Vec<Measurement>,
}

impl Bench {
    /// Runs one scenario.
    ///
    /// # Errors
    /// It could not be begun. What goes wrong under load is counted instead.
    pub(crate) async fn run(&mut self, name: Name) -> Result<(), String> {
        match name {
            Name::All => Ok(()),
            Name::Ceiling => self.ceiling().await,
            Name::Send => self.send().await,
            Name::Get => self.get().await,
            Name::List => self.list().await,
            Name::Webhooks => self.webhooks().await,
            Name::Events => self.events().await,
            Name::Claims => self.claims().await,
            Name::Updates => self.updates().await,
        }
    }

    async fn ceiling(&mut self) -> Result<(), String> {
        for number in self.options.clients.clone() {
            let Some(database) = &mut self.meter.database else {
                return Err("`ceiling` needs --database-url".to_owned());
            };
            database.make_table().await?;
            let mut clients = Vec::new();
            for client in 0..number {
                clients.push(database.inserter(client).await?);
            }
            let (clients, ..) = closed_loops(clients, self.options.warm_up).await;
            let before = self.meter.begin_without_database();
            // Backends that end while the processes are read would be missed, so their connections stay open until then.
            let (_open, notes, elapsed) = closed_loops(clients, self.options.seconds).await;
            let measurement = Measurement::new("ceiling", number, notes.sum_up(elapsed));
            self.measurements.push(self.meter.end(before, measurement).await?);
        }
        if let Some(database) = &mut self.meter.database {
            database.drop_table().await?;
        }
        Ok(())
    }

    async fn send(&mut self) -> Result<(), String> {
        let template = Template::new(&self.options.text, None);
        for number in self.options.clients.clone() {
            let clients = (0..number).map(|_| self.sender(&template)).collect();
            let measurement = self.measure("send", clients).await?;
            self.measurements.push(measurement);
        }
        Ok(())
    }

    async fn get(&mut self) -> Result<(), String> {
        /// More than one, so that no row is hotter than in life.
        const TASKS: usize = 50;
        let template = Template::new(&self.options.text, None);
        let mut paths = Vec::new();
        for _ in 0..TASKS {
            paths.push(format!("/tasks/{}", self.platform.make_task(&template).await?));
        }
        let paths = Rc::new(paths);
        let client = |_| {
            let (platform, paths, mut next) = (self.platform.clone(), paths.clone(), 0);
            async move || {
                next = (next + 1) % paths.len();
                platform.get(&paths[next]).await.map(drop)
            }
        };
        let clients = (0..self.options.readers).map(client).collect();
        let measurement = self.measure("get", clients).await?;
        self.measurements.push(measurement);
        Ok(())
    }

    async fn list(&mut self) -> Result<(), String> {
        let first = format!("/tasks?pageSize={}", self.options.page_size);
        let page = self.platform.page(&first).await?;
        let (mut number, mut token, total) = (1, page.next_page_token, page.total_size);
        let mut deep = first.clone();
        while number < self.options.deep_page && !token.is_empty() {
            let path = format!("{first}&pageToken={token}");
            token = self.platform.page(&path).await?.next_page_token;
            // The last page may be short, and cheaper for it.
            if !token.is_empty() {
                (deep, number) = (path, number + 1);
            }
        }
        for (name, path, page) in [("list first", first, 1), ("list deep", deep, number)] {
            let path = Rc::<str>::from(path);
            let client = |_| {
                let (platform, path) = (self.platform.clone(), path.clone());
                async move || platform.get(&path).await.map(drop)
            };
            let clients = (0..self.options.readers).map(client).collect();
            let measurement = self.measure(name, clients).await?;
            let of = self.options.page_size;
            self.measurements.push(measurement.note(format!("page {page}, {of} of {total} tasks")));
        }
        Ok(())
    }

    async fn webhooks(&mut self) -> Result<(), String> {
        let receiver = Receiver::start(self.options.receiver).await?;
        let template = Template::new(&self.options.text, Some(&receiver.url));
        let number = self.options.readers;

        let clients = (0..number).map(|_| self.sender(&template)).collect();
        let (clients, warmed_up, _) = closed_loops(clients, self.options.warm_up).await;
        drain(&receiver, warmed_up.succeeded(), self.options.timeout).await;
        receiver.take();

        let before = self.meter.begin().await?;
        let begin = Instant::now();
        let (_, notes, elapsed) = closed_loops(clients, self.options.seconds).await;
        let tasks = notes.succeeded();
        drain(&receiver, tasks, self.options.timeout).await;
        let sends = Measurement::new("webhooks", number, notes.sum_up(elapsed));
        let sends = sends.note("the sends, until their tasks are complete".to_owned());
        let sends = self.meter.end(before, sends).await?;
        self.measurements.push(sends);

        let mut received = receiver.take();
        for _ in received.completed..tasks {
            received.latency.failed("a task whose end was not told in time".to_owned());
        }
        let took = received.last.map_or(elapsed, |last| last - begin);
        let mut figures = received.latency.sum_up(took);
        figures.count = received.deliveries;
        figures.per_second = received.deliveries as f64 / took.as_secs_f64();
        let each = received.deliveries as f64 / tasks.max(1) as f64;
        let note = format!(
            "{each:.1} a task; latency from the status' timestamp, taken before its commit, to the receipt; \
             the last one came {:.1} s after the last send",
            took.saturating_sub(elapsed).as_secs_f64()
        );
        self.measurements.push(Measurement::new("deliveries", number, figures).note(note));
        Ok(())
    }

    async fn events(&mut self) -> Result<(), String> {
        let (number, patience) = (self.options.readers, self.options.timeout);
        let events = Events::begin(self.platform.clone(), &self.options.agent, number).await?;
        events.run(self.options.warm_up, patience).await;
        let before = self.meter.begin().await?;
        let followed = events.run(self.options.seconds, patience).await;
        let measurement = Measurement::new("events", number, followed.notes.sum_up(followed.elapsed));
        let measurement = self.meter.end(before, measurement).await?;
        events.end().await?;
        let place = if self.platform.has_far() { "another replica" } else { "the same replica" };
        self.measurements.push(measurement.note(format!(
            "{RATE} a second over {number} tasks; from when the worker was to write, its commit included, to a subscriber at {place}"
        )));
        Ok(())
    }

    async fn claims(&mut self) -> Result<(), String> {
        let (number, patience) = (self.options.pollers, self.options.timeout);
        let claims = Claims::begin(self.platform.clone(), &self.options.agent, number).await?;
        claims.run(self.options.warm_up, patience).await;
        let before = self.meter.begin().await?;
        let (notes, elapsed) = claims.run(self.options.seconds, patience).await;
        let measurement = Measurement::new("claims", number, notes.sum_up(elapsed));
        let measurement = self.meter.end_without_database(&before, measurement);
        let rate = claims::RATE;
        self.measurements.push(measurement.note(format!(
            "{rate} sends a second; from when one was due, its commit included, to the answer of the poll that got it"
        )));
        let idle = self.meter.idle(self.options.seconds.max(IDLE)).await?;
        self.measurements.extend(idle.map(|(figures, share)| {
            let (replicas, cores) = (self.platform.replicas(), share * 100.0);
            let each = figures.per_second / replicas as f64;
            Measurement::new("idle", number, figures).note(format!(
                "transactions while nothing is sent, {each:.1} a second for each of {replicas} replicas, \
                 everything that runs included; all processes take {cores:.1} % of a core"
            ))
        }));
        Ok(())
    }

    async fn updates(&mut self) -> Result<(), String> {
        for (artifacts, batch, steps) in updates::SIZES {
            for (name, way) in [(batch, Way::Batch), (steps, Way::Steps)] {
                let mut clients = Vec::new();
                for number in 0..self.options.readers {
                    let (platform, agent) = (self.platform.clone(), &self.options.agent);
                    clients.push(updates::client(platform, number, agent, artifacts, way).await?);
                }
                let measurement = self.measure(name, clients).await?;
                self.measurements.push(measurement.note(way.note(artifacts)));
            }
        }
        Ok(())
    }

    fn sender(&self, template: &Template) -> impl AsyncFnMut() -> Result<(), String> + 'static {
        let (platform, template) = (self.platform.clone(), template.clone());
        async move || platform.send(&template).await.map(drop)
    }

    /// Warms up, then measures the load of all these clients.
    async fn measure<C>(&mut self, name: &'static str, clients: Vec<C>) -> Result<Measurement, String>
    where
        C: AsyncFnMut() -> Result<(), String> + 'static,
    {
        let number = clients.len();
        let (clients, ..) = closed_loops(clients, self.options.warm_up).await;
        let before = self.meter.begin().await?;
        let (_, notes, elapsed) = closed_loops(clients, self.options.seconds).await;
        self.meter.end(before, Measurement::new(name, number, notes.sum_up(elapsed))).await
    }
}

/// The shortest look at the database while nothing happens: its counters lag by some seconds.
const IDLE: Duration = Duration::from_secs(20);

/// Waits until the ends of so many tasks were told, or it takes too long.
async fn drain(receiver: &Receiver, tasks: usize, at_most: Duration) {
    let begin = Instant::now();
    while !receiver.completed(tasks) && begin.elapsed() < at_most {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
