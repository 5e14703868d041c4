//! A platform of real processes. All of it goes when it is dropped; when a test fails, its logs are printed first.

use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::balancer::Balancer;
use crate::process::{Folder, Launch, Process, binary};
use crate::setup::Shape;
use crate::{Client, Database, Proxy, Services, Setup, Worker, eventually, port};

/// How much of each log a failed test prints.
const LINES: usize = 60;

/// A running platform. Processes are called `dev`, or `api-0`, `worker-0`, `notifier-0` and so on.
#[derive(Debug)]
pub struct Platform {
    // Dropped in this order: processes before what they stand on.
    processes: Vec<Mutex<Process>>,
    bases: Vec<String>,
    ports: Vec<u16>,
    balancer: Option<Balancer>,
    proxy: Option<Proxy>,
    database: Option<Database>,
    folder: Folder,
    http: reqwest::Client,
    services: Option<Services>,
}

fn open(process: &Mutex<Process>) -> MutexGuard<'_, Process> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Platform {
    /// Starts what `setup` says and waits until it serves.
    ///
    /// # Panics
    /// When it does not.
    pub async fn start(setup: Setup) -> Platform {
        let folder = Folder::new("e2e");
        folder.write("taskyard.toml", &setup.file());
        let launch = |arguments: &[&str], environment: &[(&str, &str)]| Launch {
            program: binary(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            environment: environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
            folder: folder.path().to_owned(),
        };
        let base = |port: u16| format!("http://127.0.0.1:{port}");
        let mut processes = Vec::new();
        let mut ports = Vec::new();
        let (mut balancer, mut proxy, mut database, mut found) = (None, None, None, None);
        match &setup.shape {
            Shape::Embedded => {
                ports.push(port::free());
                let arguments = ["dev", "--port", &ports[0].to_string(), "--grpc-port", "0", "--data", "data"];
                processes.push(Process::new("dev", launch(&arguments, &[])));
            }
            Shape::Replicas { services, api, worker, notifier } => {
                let created = Database::create(&services.postgres).await;
                let mut environment = vec![("DATABASE_URL", created.url())];
                Process::new("migrate", launch(&["migrate"], &environment)).run().await;
                environment.extend(setup.redis.as_deref().map(|url| ("REDIS_URL", url)));
                for n in 0..*api {
                    ports.push(port::free());
                    let arguments = ["api", "--port", &ports[n].to_string(), "--grpc-port", "0"];
                    processes.push(Process::new(format!("api-{n}"), launch(&arguments, &environment)));
                }
                let front = Balancer::start(ports.clone()).await;
                if let Some(loss) = setup.loss {
                    proxy = Some(Proxy::start(ports.iter().copied().map(base).collect(), loss).await);
                }
                let way = proxy.as_ref().map_or(front.url.as_str(), Proxy::url);
                for n in 0..*worker {
                    let arguments = ["worker", "--port", &port::free().to_string()];
                    let launch = launch(&arguments, &[("TASKYARD_URL", way)]);
                    processes.push(Process::new(format!("worker-{n}"), launch));
                }
                for n in 0..*notifier {
                    let arguments = ["notifier", "--port", &port::free().to_string()];
                    processes.push(Process::new(format!("notifier-{n}"), launch(&arguments, &environment)));
                }
                (balancer, database, found) = (Some(front), Some(created), Some(services.clone()));
            }
        }
        for process in &mut processes {
            process.start();
        }
        let platform = Platform {
            processes: processes.into_iter().map(Mutex::new).collect(),
            bases: ports.iter().copied().map(base).collect(),
            ports,
            balancer,
            proxy,
            database,
            folder,
            http: reqwest::Client::builder()
                .no_proxy()
                .timeout(Duration::from_secs(5))
                .build()
                .expect("an HTTP client"),
            services: found,
        };
        platform.healthy().await;
        platform
    }

    /// Waits until every running api process serves.
    ///
    /// # Panics
    /// When one does not, or a process that should run has ended.
    pub async fn healthy(&self) {
        for (n, base) in self.bases.iter().enumerate() {
            if !self.runs(n) {
                continue;
            }
            eventually(&format!("{base}/healthz"), async || {
                if let Some(status) = open(&self.processes[n]).ended() {
                    panic!("{} ended with {status}", self.names()[n]);
                }
                let answer = self.http.get(format!("{base}/healthz")).send().await;
                answer.is_ok_and(|answer| answer.status() == 200).then_some(())
            })
            .await;
        }
    }

    /// A client of all replicas in turn.
    pub fn client(&self) -> Client {
        Client::new(self.bases.clone())
    }

    /// A worker of all replicas in turn.
    pub fn worker(&self) -> Worker {
        Worker::new(self.bases.clone())
    }

    /// One URL that leads to every replica in turn.
    pub fn url(&self) -> &str {
        self.balancer.as_ref().map_or(&self.bases[0], |balancer| &balancer.url)
    }

    /// What stands between its workers and the rest, where something does.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// The services it stands on, where it does.
    pub fn services(&self) -> Option<&Services> {
        self.services.as_ref()
    }

    /// Its database, to look into.
    pub async fn database(&self) -> Database {
        match &self.database {
            Some(database) => Database::again(database).await,
            None => Database::embedded(&self.folder.path().join("data")).await,
        }
    }

    /// Runs a command of the binary on the platform's data to its end: whether it went well, its stdout and its stderr.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn command(&self, arguments: &[&str]) -> (bool, String, String) {
        let mut command = std::process::Command::new(binary());
        command.args(arguments).current_dir(self.folder.path()).env("TASKYARD_DATA", "data").env_remove("DATABASE_URL");
        if let Some(database) = &self.database {
            command.env("DATABASE_URL", database.url());
        }
        let ended = command.output().expect("running a command of the binary");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (ended.status.success(), text(ended.stdout), text(ended.stderr))
    }

    /// The processes' names.
    pub fn names(&self) -> Vec<String> {
        self.processes.iter().map(|process| open(process).name.clone()).collect()
    }

    fn runs(&self, n: usize) -> bool {
        open(&self.processes[n]).id().is_some()
    }

    fn named(&self, name: &str) -> MutexGuard<'_, Process> {
        let found = self.processes.iter().map(open).find(|process| process.name == name);
        found.unwrap_or_else(|| panic!("no process is called {name}"))
    }

    /// The id of a running process.
    ///
    /// # Panics
    /// When no process has the name, or it does not run.
    pub fn process(&self, name: &str) -> u32 {
        self.named(name).id().unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// The port of an api process, the first of which is 0.
    pub fn port(&self, replica: usize) -> u16 {
        self.ports[replica]
    }

    /// `kill -9`. Nothing happens when it does not run.
    ///
    /// # Panics
    /// When no process has the name.
    pub fn kill(&self, name: &str) {
        self.named(name).kill();
    }

    /// Starts a process again, without waiting until it serves.
    ///
    /// # Panics
    /// When no process has the name, or it runs.
    pub fn restart(&self, name: &str) {
        self.named(name).start();
    }

    /// SIGTERM, without waiting.
    ///
    /// # Panics
    /// When no process has the name, or it does not run.
    pub fn terminate(&self, name: &str) {
        self.named(name).signal("TERM");
    }

    /// Stops a process where it stands (SIGSTOP), or lets it go on (SIGCONT).
    ///
    /// # Panics
    /// When no process has the name, or it does not run.
    pub fn freeze(&self, name: &str, frozen: bool) {
        self.named(name).signal(if frozen { "STOP" } else { "CONT" });
    }

    /// How a process that was asked to stop has ended.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn end_of(&self, name: &str) -> ExitStatus {
        eventually(&format!("the end of {name}"), async || self.named(name).ended()).await
    }

    /// What a process has logged.
    ///
    /// # Panics
    /// When no process has the name.
    pub fn log(&self, name: &str) -> String {
        self.named(name).log()
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        for process in &self.processes {
            let mut process = open(process);
            process.kill();
            if std::thread::panicking() {
                let log = process.log();
                let lines: Vec<&str> = log.lines().collect();
                let shown = lines.len().saturating_sub(LINES);
                eprintln!("==== log of {} ({shown} lines before)", process.name);
                lines[shown..].iter().for_each(|line| eprintln!("{line}"));
            }
        }
    }
}
