//! Finds the interface that leads to the server.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Addressing, DhcpError, Interface, KernelError, Lease, Mac, candidates, interfaces, lease};
use super::{kernel, names};
use crate::journal::Journal;

/// How often it is looked for a link.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// A link takes a moment to come up, and a driver to be loaded: until then nothing is said of them.
const USUAL_LINK: Duration = Duration::from_secs(5);
/// After all have been tried in vain.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(2);

/// What was said about the way to the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The interface; without it, each that has a link is tried.
    pub interface: Option<Mac>,
    /// The address; without it, DHCP is asked.
    pub address: Option<Addressing>,
}

/// Where and how a way to the server is looked for.
pub struct Network<'a> {
    /// The kernel's `/sys`.
    pub sys: PathBuf,
    /// Where the resolver's configuration is written: `/etc`.
    pub etc: PathBuf,
    /// What was said about it.
    pub wanted: Wanted,
    /// For how long it is looked for.
    pub limit: Duration,
    /// Who is told of it.
    pub journal: &'a Journal,
}

/// A way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// The interface that leads there.
    pub interface: Interface,
    /// Its address.
    pub addressing: Addressing,
    /// For how long it has that, where DHCP gave it.
    pub lease: Option<Lease>,
}

/// Why there is no way to the server.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// None was found in time.
    #[error("no way to the boot server was found within {} s: {last}", limit.as_secs())]
    Nowhere {
        /// For how long it was looked for.
        limit: Duration,
        /// What was last in the way.
        last: String,
    },
    /// The kernel does not name its interfaces.
    #[error("the network interfaces can't be read: {0}")]
    Interfaces(#[from] io::Error),
}

/// Why one interface does not lead there.
#[derive(Debug, thiserror::Error)]
enum Attempt {
    #[error(transparent)]
    Dhcp(#[from] DhcpError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("the name servers can't be written down: {0}")]
    Names(#[from] io::Error),
    #[error("the boot server can't be reached through {0}: {1}")]
    Unreached(String, String),
}

/// Turns on all interfaces that are hardware: only then have they a link, and hear what is at its other end.
///
/// # Errors
/// The kernel does not name its interfaces. What it does not turn on is in what is returned.
pub fn turn_all_on(sys: &Path) -> io::Result<Vec<KernelError>> {
    let all = candidates(interfaces(sys)?, None);
    Ok(all.iter().filter_map(|interface| kernel::up(interface).err()).collect())
}

impl Network<'_> {
    /// Looks for a way to the server, until one is found or the time is over. `reaches` says whether it is one.
    ///
    /// # Errors
    /// There is none.
    pub fn connect(&self, reaches: &dyn Fn() -> Result<(), String>) -> Result<Connected, NetworkError> {
        let begin = Instant::now();
        let mut last = self.nothing();
        let mut told = String::new();
        loop {
            let mut is_any_linked = false;
            for interface in self.turned_on(&mut last)? {
                is_any_linked = true;
                match self.attempt(&interface, reaches) {
                    Ok(connected) => return Ok(connected),
                    Err(error) => last = self.left_again(&interface, &error),
                }
            }
            if last != told && (is_any_linked || begin.elapsed() > USUAL_LINK) {
                self.journal.say(&format!("{last}. Trying on"));
                told.clone_from(&last);
            }
            if begin.elapsed() >= self.limit {
                return Err(NetworkError::Nowhere { limit: self.limit, last });
            }
            std::thread::sleep(if is_any_linked { BETWEEN_ROUNDS } else { BETWEEN_LOOKS });
        }
    }

    /// The candidates that have a link; all of them are turned on, or there would never be one.
    fn turned_on(&self, last: &mut String) -> io::Result<Vec<Interface>> {
        let found = candidates(interfaces(&self.sys)?, self.wanted.interface);
        if found.is_empty() {
            *last = self.nothing();
        }
        let mut linked = Vec::new();
        for interface in found {
            match kernel::up(&interface) {
                Ok(()) if interface.has_link => linked.push(interface),
                Ok(()) => *last = format!("{} ({}) has no link", interface.name, interface.mac),
                Err(error) => *last = error.to_string(),
            }
        }
        Ok(linked)
    }

    fn nothing(&self) -> String {
        match self.wanted.interface {
            Some(mac) => format!("the kernel has no interface with the MAC address {mac} (beskar7.mac)"),
            None => {
                "the kernel has no network interface: its driver may be missing in the ramdisk".to_owned()
            }
        }
    }

    fn attempt(
        &self,
        interface: &Interface,
        reaches: &dyn Fn() -> Result<(), String>,
    ) -> Result<Connected, Attempt> {
        let (addressing, lease) = match &self.wanted.address {
            Some(fixed) => (fixed.clone(), None),
            None => {
                self.journal.say(&format!("asking DHCP on {} ({})", interface.name, interface.mac));
                let lease = lease(interface)?;
                (lease.addressing.clone(), Some(lease))
            }
        };
        kernel::give(interface, &addressing)?;
        names::write(&self.etc, &addressing.name_servers)?;
        self.journal.say(&format!("{} has {}/{}", interface.name, addressing.address, addressing.prefix));
        reaches().map_err(|why| Attempt::Unreached(interface.name.clone(), why))?;
        Ok(Connected { interface: interface.clone(), addressing, lease })
    }

    /// What an interface was given must not be in the way of the next one's.
    fn left_again(&self, interface: &Interface, error: &Attempt) -> String {
        match kernel::take_all(interface) {
            Ok(()) => error.to_string(),
            Err(second) => format!("{error}; {second}"),
        }
    }
}
