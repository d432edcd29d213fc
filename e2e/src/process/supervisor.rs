//! The supervisor's side: `e2e supervise …` runs one program, stops it when
//! told to or when nobody is left to tell, and leaves nothing behind.
//!
//! It is deliberately dull: no runtime, no configuration, one program.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::protocol::{Exit, News, grace_of};

/// What `e2e supervise` is asked to run. The caller's side is
/// [`super::Command`].
#[derive(Debug, clap::Args)]
pub struct Supervise {
    /// How long the program may take to end when nobody is left to ask.
    #[arg(long)]
    grace_ms: u64,
    /// Where its standard output goes.
    #[arg(long)]
    stdout: PathBuf,
    /// Where its standard error goes.
    #[arg(long)]
    stderr: PathBuf,
    /// Where its standard input comes from; nowhere if not given.
    #[arg(long)]
    stdin: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// What `e2e supervised` is asked to become: the step between the supervisor
/// and the program, which asks the kernel to end it with its supervisor.
#[derive(Debug, clap::Args)]
pub struct Supervised {
    /// The supervisor's process id.
    #[arg(long)]
    parent: u32,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Names the binary that supervises, for programs that are neither it nor
/// built beside it. The first choice stays.
pub fn use_program(path: impl Into<PathBuf>) {
    CHOSEN.get_or_init(|| path.into());
}

/// The binary that supervises: the one chosen by [`use_program`], this very
/// program if it is `e2e`, or the `e2e` that cargo built beside this test.
pub(super) fn program() -> Result<PathBuf> {
    if let Some(chosen) = CHOSEN.get() {
        return Ok(chosen.clone());
    }
    let own = std::env::current_exe().context("this program's own path")?;
    // A binary that cargo has replaced since it was started still runs; Linux
    // then calls it deleted, and only this name still leads to it.
    let name = own.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name == "e2e" || name == "e2e (deleted)" {
        let image = Path::new("/proc/self/exe");
        return Ok(if image.exists() { image.to_owned() } else { own });
    }
    let beside =
        own.ancestors().skip(1).take(2).map(|directory| directory.join("e2e")).find(|path| path.is_file());
    beside.with_context(|| {
        format!(
            "no e2e binary beside {}: `cargo build -p beskar7-e2e` makes it, \
             or name one with process::supervisor::use_program",
            own.display()
        )
    })
}

enum Event {
    Stop(Option<Duration>),
    Ended,
}

impl Supervise {
    /// Runs the program to its end and reports on standard output.
    pub fn run(&self) -> Result<()> {
        let mut child = match self.start() {
            Ok(child) => child,
            Err(error) => {
                report(&News::NotStarted(format!("{error:#}")));
                return Ok(());
            }
        };
        let pid = Pid::from_child(&child);
        report(&News::Started(pid.as_raw_nonzero().get()));

        let (events, inbox) = channel();
        let orders = events.clone();
        std::thread::spawn(move || listen(&orders));
        // The end is noticed without collecting the process: until it is
        // collected its group id cannot mean anybody else.
        std::thread::spawn(move || {
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            events.send(Event::Ended).ok();
        });
        watch(&inbox, pid, Duration::from_millis(self.grace_ms));

        // What the program itself started may still be there.
        kill_process_group(pid, Signal::KILL).ok();
        let status = child.wait().context("collecting the program")?;
        let exit = match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::SupervisorLost,
        };
        report(&News::Ended(exit));
        Ok(())
    }

    fn start(&self) -> Result<Child> {
        let append = |path: &Path| {
            let file = File::options().create(true).append(true).open(path);
            file.with_context(|| format!("opening {}", path.display()))
        };
        let stdin = match &self.stdin {
            Some(path) => {
                Stdio::from(File::open(path).with_context(|| format!("opening {}", path.display()))?)
            }
            None => Stdio::null(),
        };
        Command::new(program()?)
            .arg("supervised")
            .args(["--parent", &std::process::id().to_string(), "--"])
            .args(&self.command)
            .stdin(stdin)
            .stdout(append(&self.stdout)?)
            .stderr(append(&self.stderr)?)
            .process_group(0)
            .spawn()
            .context("starting the program")
    }
}

impl Supervised {
    /// Becomes the program; returns only if that fails.
    pub fn run(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .context("the parent-death signal")?;
        // The supervisor may have died before the line above took effect.
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
        if parent != Some(self.parent) {
            bail!("the supervisor is gone");
        }
        let (program, arguments) = self.command.split_first().context("no program given")?;
        let error = Command::new(program).args(arguments).exec();
        Err(error).with_context(|| format!("running {}", program.display()))
    }
}

/// Waits until the program has ended, and sees to it once told to stop.
fn watch(inbox: &Receiver<Event>, group: Pid, default_grace: Duration) {
    let mut deadline: Option<Instant> = None;
    loop {
        let event = match deadline {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match event {
            Ok(Event::Ended) => return,
            Ok(Event::Stop(grace)) => {
                let at = Instant::now() + grace.unwrap_or(default_grace);
                if deadline.is_none() {
                    kill_process_group(group, Signal::TERM).ok();
                    // A stopped process would see the request only when woken.
                    kill_process_group(group, Signal::CONT).ok();
                }
                deadline = Some(deadline.map_or(at, |earlier| earlier.min(at)));
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                kill_process_group(group, Signal::KILL).ok();
                return;
            }
        }
    }
}

/// Hands on the orders from standard input; its end is the order to stop.
fn listen(events: &Sender<Event>) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if events.send(Event::Stop(grace_of(&line))).is_err() {
            return;
        }
    }
    events.send(Event::Stop(None)).ok();
}

/// Tells whoever started us; nobody may be left to hear it.
fn report(news: &News) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", news.to_line()).and_then(|()| out.flush()).ok();
}
