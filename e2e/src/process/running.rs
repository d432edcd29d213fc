//! A running program as seen from the process that started it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;

use super::log::excerpt;
use super::protocol::{Exit, News, stop_order};

/// A supervisor only forks and opens files before it reports.
const START_LIMIT: Duration = Duration::from_secs(20);

/// What a supervisor may need beyond the grace: the forced end, and a busy
/// machine.
const MARGIN: Duration = Duration::from_secs(10);

/// A program that runs under a supervisor. Dropping it stops it.
#[derive(Debug)]
pub struct Process {
    name: String,
    pid: Pid,
    log: PathBuf,
    grace: Duration,
    orders: Option<ChildStdin>,
    exit: watch::Receiver<Option<Exit>>,
}

impl Process {
    /// Takes over a supervisor that was just spawned and waits until it has
    /// reported the program's process id.
    pub(super) fn adopt(name: &str, log: &Path, grace: Duration, mut supervisor: Child) -> Result<Self> {
        let orders = supervisor.stdin.take().context("the supervisor has no pipe for orders")?;
        let news = supervisor.stdout.take().context("the supervisor has no pipe for news")?;
        let (first, started) = channel();
        let (ended, exit) = watch::channel(None);
        std::thread::spawn(move || {
            let mut last = Exit::SupervisorLost;
            for line in BufReader::new(news).lines().map_while(Result::ok) {
                match News::from_line(&line) {
                    Ok(News::Ended(exit)) => last = exit,
                    other => first.send(other).unwrap_or_default(),
                }
            }
            // Collected here, so that no zombie stays; its own exit says nothing.
            supervisor.wait().ok();
            ended.send_replace(Some(last));
        });
        match started.recv_timeout(START_LIMIT) {
            Ok(Ok(News::Started(pid))) => {
                let pid = Pid::from_raw(pid).context("the supervisor reported no process id")?;
                Ok(Self {
                    name: name.to_owned(),
                    pid,
                    log: log.to_owned(),
                    grace,
                    orders: Some(orders),
                    exit,
                })
            }
            Ok(Ok(News::NotStarted(why))) => bail!("{name} could not be started: {why}"),
            Ok(Ok(News::Ended(_))) => bail!("{name} ended before it started"),
            Ok(Err(error)) => Err(error.context(format!("starting {name}"))),
            Err(_) => bail!("the supervisor of {name} said nothing within {START_LIMIT:?}; {}", excerpt(log)),
        }
    }

    /// The name it was started under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id of the program itself, not of its supervisor.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Where its output goes.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// An error if it has ended: who, how, and the end of its log.
    pub fn check(&self) -> Result<()> {
        match self.ended() {
            None => Ok(()),
            Some(exit) => Err(self.failure(&format!("{} ended with {exit}", self.name))),
        }
    }

    /// An error about this process that quotes the end of its log.
    #[must_use]
    pub fn failure(&self, what: &str) -> Error {
        anyhow!("{what}; {}", excerpt(&self.log))
    }

    /// Sends a signal to the program itself.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        // Its process id may mean somebody else once it was collected.
        if let Some(exit) = self.ended() {
            bail!("{} has already ended with {exit}", self.name);
        }
        kill_process(self.pid, signal).with_context(|| format!("sending {signal:?} to {}", self.name))
    }

    /// Kills the program as a crash would, and waits until it is gone.
    pub async fn kill(&self) -> Result<Exit> {
        self.signal(Signal::KILL)?;
        self.wait().await
    }

    /// Freezes the program: it keeps its connections and answers nothing.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets a frozen program go on.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Waits for the program's end, without limit.
    pub async fn wait(&self) -> Result<Exit> {
        let mut exit = self.exit.clone();
        let seen = exit.wait_for(Option::is_some).await.context("the supervisor's reader ended")?;
        Ok(seen.clone().unwrap_or(Exit::SupervisorLost))
    }

    /// Waits for the program's end on a thread that may block.
    pub fn wait_blocking(&self, limit: Duration) -> Option<Exit> {
        let until = Instant::now() + limit;
        loop {
            if let Some(exit) = self.ended() {
                return Some(exit);
            }
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks for an end, politely and after the grace by force, and does not
    /// wait for it. Nothing happens if it was asked before.
    pub fn begin_stop(&mut self, grace: Duration) {
        if let Some(mut orders) = self.orders.take() {
            // A supervisor that is gone has taken the program with it.
            orders.write_all(stop_order(grace).as_bytes()).ok();
            self.grace = grace;
        }
    }

    /// Stops the program, politely and after its grace by force, and waits
    /// until it is gone.
    pub async fn stop(&mut self) -> Result<Exit> {
        self.begin_stop(self.grace);
        match tokio::time::timeout(self.grace + MARGIN, self.wait()).await {
            Ok(exit) => exit,
            Err(_) => Err(self.failure(&format!("{} does not end", self.name))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.begin_stop(self.grace);
        self.wait_blocking(self.grace + MARGIN);
    }
}
