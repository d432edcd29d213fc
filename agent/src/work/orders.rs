//! One order after the other.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use beskar7_agent_protocol::order::{Order, Task};
use beskar7_agent_protocol::report::{Failure, Outcome, Report, State};
use beskar7_machine_uuid::MachineUuid;

use super::Works;
use super::memory::most_used;
use super::notes::{Notes, shown};
use crate::fetching::FetchError;
use crate::journal::Journal;
use crate::server::{Asked, Server, Told, Trouble};
use crate::telling::{Problem, Telling as _};

/// What the kernel tells of this process.
const STATUS: &str = "/proc/self/status";

/// How long is waited in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// Until it is asked for an order again, where there was none.
    pub between_orders: Duration,
    /// Between two reports.
    pub between_reports: Duration,
    /// Until a server that refuses to talk is asked again.
    pub after_refusal: Duration,
    /// For so long the server may know nothing of an order that is carried out: then nobody wants it any more.
    pub until_unwanted: Duration,
    /// For how long a server may be away or refuse.
    pub longest: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self {
            between_orders: Duration::from_secs(5),
            between_reports: Duration::from_secs(5),
            after_refusal: Duration::from_secs(20),
            until_unwanted: Duration::from_secs(60),
            longest: Duration::from_secs(3600),
        }
    }
}

/// How the machine goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Down {
    /// It starts anew.
    Reboot,
    /// It is turned off.
    PowerOff,
}

/// Why there is nothing more to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// The server was away, or refused to talk, for too long.
    #[error("nothing could be said to the boot server for {} minutes: {last}", longest.as_secs() / 60)]
    Lost {
        /// For how long.
        longest: Duration,
        /// What was last in the way.
        last: FetchError,
        /// Whether an order that is about disks was taken before.
        disks_touched: bool,
    },
    /// An order is for another machine, and nothing was done to this one.
    #[error("{}", not_for(ordered, own))]
    AnotherMachine {
        /// The machine that it is for.
        ordered: MachineUuid,
        /// This one.
        own: MachineUuid,
    },
}

impl WorkError {
    /// How a machine goes down that nobody tells any more what to do.
    ///
    /// One that starts anew may be told to start something else. But what it was to be started with once is used up by now,
    /// and on its disks may be half of something, or what was to be wiped: then it stays off, and is begun anew from there.
    #[must_use]
    pub const fn down(&self) -> Down {
        match self {
            Self::Lost { disks_touched: true, .. } => Down::PowerOff,
            Self::Lost { disks_touched: false, .. } | Self::AnotherMachine { .. } => Down::Reboot,
        }
    }

    fn after(self, past: &Past) -> Self {
        match self {
            Self::Lost { longest, last, disks_touched } => {
                Self::Lost { longest, last, disks_touched: disks_touched || past.disks_touched }
            }
            another @ Self::AnotherMachine { .. } => another,
        }
    }
}

fn not_for(ordered: &MachineUuid, own: &MachineUuid) -> String {
    format!(
        "the order is for the machine with UUID {ordered}, and this one has {own}: nothing is done to it. It starts the \
         agent in the other's place: correct spec.bootMACAddress of the other's host"
    )
}

/// What is needed for the work.
pub struct Work<'a> {
    /// Who gives orders, and hears reports.
    pub server: &'a Server,
    /// What can be done.
    pub works: &'a dyn Works,
    /// What is said.
    pub journal: &'a Journal,
    /// How long is waited in between.
    pub pauses: Pauses,
}

/// An order that is done with, and what came of it.
struct Finished {
    id: String,
    state: State,
}

/// An order that something broke off which may pass.
struct BrokenOff {
    id: String,
    /// When that happened first.
    since: Instant,
}

/// What was before the next order.
#[derive(Default)]
struct Past {
    finished: Option<Finished>,
    broken_off: Option<BrokenOff>,
    /// Whether disks may not be any more what they were.
    disks_touched: bool,
}

impl Past {
    /// Whether an order that was broken off just now is begun anew: not for ever.
    fn begins_anew(&mut self, id: &str, longest: Duration) -> bool {
        let before = self.broken_off.take().filter(|before| before.id == id);
        let now = || BrokenOff { id: id.to_owned(), since: Instant::now() };
        self.broken_off.insert(before.unwrap_or_else(now)).since.elapsed() < longest
    }
}

/// What is on the screen.
#[derive(Default)]
struct Seen {
    progress: String,
    trouble: String,
}

impl Work<'_> {
    /// Carries out one order after the other, until the machine is to go down.
    ///
    /// # Errors
    /// The server was away for too long, or takes this machine for another one.
    pub fn carry_on(&self) -> Result<Down, WorkError> {
        let mut past = Past::default();
        self.carry_on_after(&mut past).map_err(|error| error.after(&past))
    }

    fn carry_on_after(&self, past: &mut Past) -> Result<Down, WorkError> {
        loop {
            let order = match self.persistently(|| self.server.order())? {
                Asked::Nothing => {
                    std::thread::sleep(self.pauses.between_orders);
                    continue;
                }
                Asked::Order(order) => order,
                Asked::Unknown { id, why } => {
                    past.finished = Some(self.not_understood(id, &why)?);
                    continue;
                }
            };
            match &past.finished {
                // The server has forgotten that it was told, or another one answers that was not. Nothing is done twice.
                Some(done) if done.id == order.id => {
                    self.tell_end(&done.id, &done.state)?;
                    std::thread::sleep(self.pauses.between_orders);
                }
                Some(_) | None => {
                    self.is_for_this_machine(&order)?;
                    if let Some(down) = self.take(&order, past)? {
                        return Ok(down);
                    }
                }
            }
        }
    }

    /// Looks whether an order is for this machine, before anything is touched. Who goes on to ask would take the orders of the
    /// one that is meant. What tells no UUID of its own can't be compared.
    fn is_for_this_machine(&self, order: &Order) -> Result<(), WorkError> {
        let ordered = order.machine.as_deref().and_then(MachineUuid::real);
        let own = self.works.uuid().as_deref().and_then(MachineUuid::real);
        let (Some(ordered), Some(own)) = (ordered, own) else { return Ok(()) };
        if ordered.is_same_machine(own) {
            return Ok(());
        }
        let another = WorkError::AnotherMachine { ordered, own };
        let message = another.to_string();
        self.journal.say(&format!("order {}: {message}", order.id));
        let failure = Failure { step: "comparing UUIDs".to_owned(), disk: None, message };
        self.tell_end(&order.id, &State::Failed(failure))?;
        Err(another)
    }

    /// Carries an order out. What comes of it is how the machine goes down, if it is told to.
    ///
    /// An order that failed is over, and a person has to see to it: what only a server's absence has broken off is not
    /// told as failed, but asked for again. A disk that was written to in part looks as if nothing was on it until all is.
    fn take(&self, order: &Order, past: &mut Past) -> Result<Option<Down>, WorkError> {
        past.disks_touched |= is_about_disks(&order.task);
        let (result, down) = match &order.task {
            Task::Reboot => (Ok(Outcome::GoingDown), Some(Down::Reboot)),
            Task::PowerOff => (Ok(Outcome::GoingDown), Some(Down::PowerOff)),
            Task::Inspect => (self.reported(order, "inspecting"), None),
            Task::Clean(_) => (self.reported(order, "cleaning"), None),
            Task::Install(_) => (self.reported(order, "installing"), None),
        };
        let state = match result {
            Ok(outcome) => State::Done(outcome),
            Err(problem) if problem.passes && past.begins_anew(&order.id, self.pauses.longest) => {
                self.journal.say(&format!("order {}: broken off, to be begun anew: {problem}", order.id));
                std::thread::sleep(self.pauses.after_refusal);
                return Ok(None);
            }
            Err(problem) => {
                self.journal.say(&format!("order {}: failed: {problem}", order.id));
                State::Failed(problem.into())
            }
        };
        // Also what nobody wants any more: the server knows by it that the disks are left alone now.
        let told = self.tell_end(&order.id, &state)?;
        past.finished = Some(Finished { id: order.id.clone(), state });
        match told {
            Told::Taken => Ok(down),
            Told::Unwanted => {
                self.journal.say(&format!("order {} is not wanted any more", order.id));
                Ok(None)
            }
        }
    }

    fn not_understood(&self, id: String, why: &str) -> Result<Finished, WorkError> {
        let message =
            format!("this agent does not understand its order: {why}. It may be older than the server");
        self.journal.say(&format!("order {id}: {message}"));
        let failure = Failure { step: "reading the order".to_owned(), disk: None, message };
        let finished = Finished { id, state: State::Failed(failure) };
        self.tell_end(&finished.id, &finished.state)?;
        std::thread::sleep(self.pauses.between_orders);
        Ok(finished)
    }

    /// Does it, while the server is told how far it is.
    fn reported(&self, order: &Order, step: &str) -> Result<Outcome, Problem> {
        self.journal.say(&format!("order {}: {step}", order.id));
        let notes = Notes::new(self.journal, step);
        let result = std::thread::scope(|scope| {
            let (ends, ended) = channel::<()>();
            let notes = &notes;
            let worker = scope.spawn(move || {
                let _held_until_the_end = ends;
                self.perform(&order.task, notes)
            });
            self.tell_until(&ended, order, notes);
            worker.join().unwrap_or_else(|_panic| {
                Err(Problem::new("working", "the agent itself has failed (a panic): its log says where"))
            })
        });
        if let Some(most) = most_used(Path::new(STATUS)) {
            self.journal.say(&format!("the agent has used at most {most} MB of memory"));
        }
        if result.is_ok() {
            self.journal.say(&format!("order {}: done", order.id));
        }
        // What nobody wants is over, and the server hears that it is.
        result.map_err(|problem| if notes.is_unwanted() { problem.that_passes(false) } else { problem })
    }

    fn perform(&self, task: &Task, notes: &Notes<'_>) -> Result<Outcome, Problem> {
        match task {
            Task::Inspect => {
                let inventory = self.works.inspect(notes)?;
                Ok(Outcome::Inspected(Box::new(inventory)))
            }
            Task::Clean(clean) => self.works.clean(clean.how, notes).map(Outcome::Cleaned),
            Task::Install(install) => self.works.install(install, self.server, notes).map(Outcome::Installed),
            Task::Reboot | Task::PowerOff => Ok(Outcome::GoingDown),
        }
    }

    /// Tells how far it is, now and then, until it ends. A report that does not arrive is no reason to stop: the next one
    /// says more.
    fn tell_until(&self, ended: &Receiver<()>, order: &Order, notes: &Notes<'_>) {
        let mut seen = Seen::default();
        // Since when the server knows nothing of this machine: its claim or its errand is over, or is put right soon.
        let mut unknown_since: Option<Instant> = None;
        loop {
            let progress = notes.latest();
            self.show_new(&mut seen.progress, shown(&progress));
            if !notes.is_unwanted() {
                let sent =
                    self.tell(&order.id, State::Running(progress), |report| self.server.report_once(report));
                let before = unknown_since;
                unknown_since = match &sent {
                    Err(Trouble::Lasting(FetchError::NotThere(_))) => before.or_else(|| Some(Instant::now())),
                    // Who is not there has not said that it knows of it.
                    Err(Trouble::Passing(_)) => before,
                    Ok(_) | Err(Trouble::Lasting(_)) => None,
                };
                let is_unknown = matches!(&sent, Err(Trouble::Lasting(FetchError::NotThere(_))));
                let for_long = before.is_some_and(|since| since.elapsed() >= self.pauses.until_unwanted);
                match sent {
                    Ok(Told::Taken) => seen.trouble.clear(),
                    Ok(Told::Unwanted) => notes.forget(),
                    Err(Trouble::Passing(why)) => self.show_new(&mut seen.trouble, why),
                    Err(Trouble::Lasting(why)) => self.show_new(&mut seen.trouble, why.to_string()),
                }
                if is_unknown && for_long {
                    self.journal.say(&format!("order {}: the server does not know of it any more", order.id));
                    notes.forget();
                }
            }
            match ended.recv_timeout(self.pauses.between_reports) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// What stays the same is not shown again every few seconds.
    fn show_new(&self, last: &mut String, text: String) {
        if *last != text {
            self.journal.show(&text);
            *last = text;
        }
    }

    /// Says what came of an order, until the server has taken it.
    fn tell_end(&self, id: &str, state: &State) -> Result<Told, WorkError> {
        self.persistently(|| self.tell(id, state.clone(), |report| self.server.report(report)))
    }

    /// Sends a report, with what was said since the last one that arrived.
    fn tell<E>(
        &self,
        id: &str,
        state: State,
        send: impl FnOnce(&Report) -> Result<Told, E>,
    ) -> Result<Told, E> {
        let mut lines = self.journal.waiting();
        let log = std::mem::take(&mut lines.lines);
        let report = Report { order: id.to_owned(), machine: self.works.uuid(), state, log };
        let told = send(&report)?;
        self.journal.told(&lines);
        Ok(told)
    }

    /// Asks the server again and again, also where it refuses: whoever decided that may think better of it. Not for ever:
    /// a machine that starts anew may be told to boot something else.
    fn persistently<T>(&self, ask: impl Fn() -> Result<T, FetchError>) -> Result<T, WorkError> {
        let since = Instant::now();
        let mut said = String::new();
        loop {
            let last = match ask() {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if since.elapsed() >= self.pauses.longest {
                return Err(WorkError::Lost { longest: self.pauses.longest, last, disks_touched: false });
            }
            let text = last.to_string();
            if text != said {
                self.journal.say(&format!("{text}. Trying on"));
                said = text;
            }
            std::thread::sleep(self.pauses.after_refusal);
        }
    }
}

const fn is_about_disks(task: &Task) -> bool {
    match task {
        Task::Clean(_) | Task::Install(_) => true,
        Task::Inspect | Task::Reboot | Task::PowerOff => false,
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
