//! What to run, and the two ways to run it: as a [`Process`] that stays, or to
//! its end with its output collected.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempDir;

use super::protocol::Exit;
use super::running::Process;
use super::supervisor;

/// How long a program may take to end when nothing else was said.
const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// What a program gets that has used up its limit.
const FORCED_GRACE: Duration = Duration::from_millis(500);

/// A program with its arguments, environment and limits.
#[derive(Debug, Clone)]
pub struct Command {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
    grace: Duration,
}

/// What a program that ran to its end left behind.
#[derive(Debug, Clone)]
pub struct Output {
    /// The command as a person would have typed it.
    pub command: String,
    /// How it ended.
    pub exit: Exit,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Output {
    /// The standard output of a program that succeeded, or an error that
    /// repeats what it said.
    pub fn success(self) -> Result<String> {
        if self.exit.is_success() {
            return Ok(self.stdout);
        }
        let said = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        bail!("`{}` ended with {}:\n{}", self.command, self.exit, said.trim_end())
    }
}

impl Command {
    /// A program by its path; `name` is what errors and tables call it.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            grace: DEFAULT_GRACE,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment, which otherwise is ours.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Takes a variable out of its environment.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// The directory it runs in.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// How long it may take to end when asked politely.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Starts it; both its outputs go to the end of `log`.
    pub fn spawn(&self, log: impl AsRef<Path>) -> Result<Process> {
        let log = log.as_ref();
        self.spawn_with(None, log, log)
    }

    /// Runs it to its end, or stops it and fails when `limit` has passed.
    pub async fn run(&self, limit: Duration) -> Result<Output> {
        self.run_with_input(limit, "").await
    }

    /// Runs it to its end with `input` on its standard input.
    pub async fn run_with_input(&self, limit: Duration, input: &str) -> Result<Output> {
        let mut collected = Collected::spawn(self, input)?;
        let ended = tokio::time::timeout(limit, collected.process.wait()).await;
        match ended {
            Ok(exit) => collected.output(self, exit?),
            Err(_) => {
                collected.process.begin_stop(FORCED_GRACE);
                collected.process.wait().await?;
                Err(collected.too_slow(self, limit))
            }
        }
    }

    /// [`Command::run`] on a thread that may block.
    pub fn run_blocking(&self, limit: Duration) -> Result<Output> {
        self.run_blocking_with(limit, &mut |_| ())
    }

    /// [`Command::run_blocking`] that calls `look` with the file of its
    /// standard error now and then, for signs of life.
    pub fn run_blocking_with(&self, limit: Duration, look: &mut dyn FnMut(&Path)) -> Result<Output> {
        let mut collected = Collected::spawn(self, "")?;
        let begin = Instant::now();
        loop {
            if let Some(exit) = collected.process.wait_blocking(Duration::from_millis(500)) {
                return collected.output(self, exit);
            }
            if begin.elapsed() >= limit {
                collected.process.begin_stop(FORCED_GRACE);
                collected.process.wait_blocking(limit);
                return Err(collected.too_slow(self, limit));
            }
            look(collected.process.log());
        }
    }

    fn spawn_with(&self, stdin: Option<&Path>, stdout: &Path, stderr: &Path) -> Result<Process> {
        if self.program.components().count() > 1 && !self.program.is_file() {
            bail!("{} is not there: {}", self.name, self.program.display());
        }
        let mut command = std::process::Command::new(supervisor::program()?);
        command.arg("supervise");
        command.arg("--grace-ms").arg(self.grace.as_millis().to_string());
        command.arg("--stdout").arg(absolute(stdout)?).arg("--stderr").arg(absolute(stderr)?);
        if let Some(stdin) = stdin {
            command.arg("--stdin").arg(absolute(stdin)?);
        }
        command.arg("--").arg(&self.program).args(&self.arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        // The supervisor's own complaints belong to the same log.
        let own = File::options().create(true).append(true).open(stderr);
        let own = own.with_context(|| format!("opening {}", stderr.display()))?;
        // A group of its own: what is sent to ours, Ctrl-C and SIGKILL alike,
        // must not reach it before the pipe tells it to clean up.
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(own).process_group(0).spawn();
        let child = child.with_context(|| format!("starting the supervisor of {}", self.name))?;
        Process::adopt(&self.name, stderr, self.grace, child)
    }

    /// The command as a person would type it.
    #[must_use]
    pub fn line(&self) -> String {
        let program = self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy();
        let arguments = self.arguments.iter().map(|argument| argument.to_string_lossy());
        let mut line = program.into_owned();
        for argument in arguments {
            line.push(' ');
            line.push_str(&argument);
        }
        line
    }
}

/// A program whose outputs are collected in files of their own.
struct Collected {
    // Dropped in this order: the files go after the program.
    process: Process,
    directory: TempDir,
}

impl Collected {
    fn spawn(command: &Command, input: &str) -> Result<Self> {
        let directory = tempfile::tempdir().context("a directory for the output")?;
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("stdin"), input).context("writing the input")?;
        let process = command.spawn_with(Some(&at("stdin")), &at("stdout"), &at("stderr"))?;
        Ok(Self { process, directory })
    }

    fn output(&self, command: &Command, exit: Exit) -> Result<Output> {
        Ok(Output {
            command: command.line(),
            exit,
            stdout: self.read("stdout")?,
            stderr: self.read("stderr")?,
        })
    }

    fn too_slow(&self, command: &Command, limit: Duration) -> anyhow::Error {
        let said = self.read("stderr").unwrap_or_default();
        anyhow!("`{}` did not end within {limit:?}; it said:\n{}", command.line(), said.trim_end())
    }

    fn read(&self, name: &str) -> Result<String> {
        let path = self.directory.path().join(name);
        let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("the whole path of {}", path.display()))
}
