//! The agent as an ordinary program, for who develops it: it leaves the machine as it is.

use std::path::{Path, PathBuf};

use beskar7_agent_protocol::command_line::URL;
use beskar7_agent_protocol::hardware::Inventory;
use beskar7_agent_protocol::order::{Install, Thoroughness};
use beskar7_agent_protocol::report::{Cleaned, Installed};
use url::Url;

use crate::command_line::CommandLine;
use crate::fetching::Fetch;
use crate::journal::Journal;
use crate::server::{Ca, Limits, Server};
use crate::telling::{Problem, Telling};
use crate::work::{Down, Pauses, Work, Works};

/// What is shown to who asks.
pub const HELP: &str = "\
The init of a small ramdisk: inspects a machine, wipes its disks, writes an image.

As /init (PID 1) it is told on the kernel's command line (beskar7.url, beskar7.mac, beskar7.ip) what to do.
By hand it is for development: it mounts nothing, loads nothing, leaves the network as it is, and does not restart
the machine.

Usage: beskar7-agent --url <URL> [--ca <FILE>] [--wipe-my-disks]

  --url <URL>        the machine's URL on the boot server
  --ca <FILE>        the certificate of the server's CA in PEM, for https
  --wipe-my-disks    carry out orders that wipe or write disks, too: those of the machine that this runs on
  --help             show this
  --version          show the version
";

/// What a person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// To read how it is used.
    Help,
    /// To know which one it is.
    Version,
    /// To have it work.
    Work {
        /// Where the server is.
        told: Box<CommandLine>,
        /// The file with its CA.
        ca: Option<PathBuf>,
        /// Whether disks may be written.
        may_wipe: bool,
    },
}

/// Reads a program's arguments.
///
/// # Errors
/// They can't be understood, and why.
pub fn understand(arguments: impl IntoIterator<Item = String>) -> Result<Request, String> {
    let mut arguments = arguments.into_iter();
    let (mut words, mut ca, mut may_wipe) = (Vec::new(), None, false);
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        match (name.as_str(), value) {
            ("--help" | "-h", None) => return Ok(Request::Help),
            ("--version" | "-V", None) => return Ok(Request::Version),
            ("--wipe-my-disks", None) => may_wipe = true,
            (known @ ("--url" | "--ca"), value) => {
                let value = value.or_else(|| arguments.next());
                let value = value.ok_or_else(|| format!("{known} needs a value"))?;
                match known {
                    "--ca" => ca = Some(PathBuf::from(value)),
                    _url => words.push(format!("\"{URL}={value}\"")),
                }
            }
            (unknown, _) => return Err(format!("{unknown} is not known; --help shows what is")),
        }
    }
    let told = CommandLine::parse(&words.join(" ")).map_err(|error| error.to_string())?;
    Ok(Request::Work { told: Box::new(told), ca, may_wipe })
}

/// Works, until the machine would go down.
///
/// # Errors
/// The server can't be talked to.
pub fn work(
    told: CommandLine,
    ca: Option<PathBuf>,
    may_wipe: bool,
    works: &dyn Works,
) -> Result<Down, String> {
    let journal = Journal::new(Box::new(std::io::stderr()), "");
    let CommandLine { url, .. } = told;
    journal.say(&format!("working for {}", origin(&url)));
    let ca = ca.map(|path| named(&path)).transpose()?;
    let server = Server::connect(url, ca.as_ref(), Limits::default()).map_err(|error| error.to_string())?;
    let careful = Careful { works, may_wipe };
    let work = Work { server: &server, works: &careful, journal: &journal, pauses: Pauses::default() };
    let down = work.carry_on().map_err(|error| error.to_string())?;
    journal.say("this machine would go down now; as it runs by hand, only the agent ends");
    Ok(down)
}

/// The CA that a person has named: here, one that is not there is a mistake.
fn named(path: &Path) -> Result<Ca, String> {
    let ca = Ca::read(path).map_err(|error| error.to_string())?;
    ca.ok_or_else(|| format!("--ca: there is no {}", path.display()))
}

/// Where a server is, without what is secret.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Keeps a developer's disks as they are.
struct Careful<'a> {
    works: &'a dyn Works,
    may_wipe: bool,
}

impl Careful<'_> {
    fn allowed(&self, step: &'static str) -> Result<&dyn Works, Problem> {
        let refused =
            || Problem::new(step, "the agent runs by hand: start it with --wipe-my-disks if that is meant");
        self.may_wipe.then_some(self.works).ok_or_else(refused)
    }
}

impl Works for Careful<'_> {
    fn uuid(&self) -> Option<String> {
        self.works.uuid()
    }

    fn inspect(&self, telling: &dyn Telling) -> Result<Inventory, Problem> {
        self.works.inspect(telling)
    }

    fn clean(&self, how: Thoroughness, telling: &dyn Telling) -> Result<Cleaned, Problem> {
        self.allowed("cleaning")?.clean(how, telling)
    }

    fn install(
        &self,
        order: &Install,
        fetch: &dyn Fetch,
        telling: &dyn Telling,
    ) -> Result<Installed, Problem> {
        self.allowed("installing")?.install(order, fetch, telling)
    }
}

#[cfg(test)]
#[path = "by_hand_tests.rs"]
mod tests;
