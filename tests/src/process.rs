//! One process of the binary: started, killed, asked to stop, started again, its log in a file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::eventually;

/// What a process is started with.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: PathBuf,
}

/// A process, running or not.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: String,
    launch: Launch,
    log: PathBuf,
    child: Option<Child>,
}

/// The binary under test: `TASKYARD_TEST_BINARY`, else the one beside this test program.
///
/// # Panics
/// When there is none.
pub(crate) fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("TASKYARD_TEST_BINARY") {
        return path.into();
    }
    let own = std::env::current_exe().expect("the path of this program");
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join("taskyard")).find(|path| path.exists());
    found.unwrap_or_else(|| {
        panic!(
            "no binary `taskyard` near {}: build it (`cargo build -p platform`) or set TASKYARD_TEST_BINARY",
            own.display()
        )
    })
}

impl Process {
    /// A process that is not started yet. Its log is `NAME.log` in the folder it works in.
    pub(crate) fn new(name: impl Into<String>, launch: Launch) -> Process {
        let name = name.into();
        let log = launch.folder.join(format!("{name}.log"));
        Process { name, launch, log, child: None }
    }

    /// Starts it; its log goes on.
    ///
    /// # Panics
    /// When it runs already or cannot be started.
    pub(crate) fn start(&mut self) {
        assert!(self.child.is_none(), "{} runs already", self.name);
        let mut log = OpenOptions::new().create(true).append(true).open(&self.log).expect("opening a log");
        writeln!(log, "--- {} {}", self.name, self.launch.arguments.join(" ")).expect("writing to a log");
        let mut command = Command::new(&self.launch.program);
        command
            .args(&self.launch.arguments)
            .env_clear()
            .envs(self.launch.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.launch.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle of a log"))
            .stderr(log);
        for kept in ["PATH", "HOME", "TMPDIR"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        self.child =
            Some(command.spawn().unwrap_or_else(|error| panic!("starting {:?}: {error}", self.launch.program)));
    }

    /// Its process id while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// `kill -9`. Nothing happens when it does not run.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            child.kill().ok();
            child.wait().expect("waiting for a killed process");
        }
    }

    /// Sends it a signal, named without its `SIG`, without waiting.
    ///
    /// # Panics
    /// When it does not run.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id().unwrap_or_else(|| panic!("{} does not run", self.name)).to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status().expect("running kill");
        assert!(sent.success(), "no SIG{signal} reached {}", self.name);
    }

    /// Whether it has ended, and how. Afterwards it can be started again.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().expect("asking for a process's end")?;
        self.child = None;
        Some(status)
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it fails.
    pub(crate) async fn run(&mut self) {
        self.start();
        let status = eventually(&format!("the end of {}", self.name), async || self.ended()).await;
        assert!(status.success(), "{} ended with {status}:\n{}", self.name, self.log());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A folder that goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("taskyard-{name}-{}", uuid::Uuid::now_v7().simple()));
        std::fs::create_dir(&path).unwrap_or_else(|error| panic!("creating {}: {error}", path.display()));
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        File::create(&path).and_then(|mut file| file.write_all(text.as_bytes())).expect("writing a file of a test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
