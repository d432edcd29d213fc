//! The agent as the first program of a machine. It never ends: the kernel would panic, and nobody would know why.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use beskar7_agent_protocol::ramdisk::CA;

use crate::command_line::CommandLine;
use crate::journal::Journal;
use crate::machine::modules::{Drivers, insert};
use crate::machine::{console, firmware_variables, go_down, mount, necessary};
use crate::network::{Connected, Network, Wanted, keep, reach, turn_all_on};
use crate::server::{Ca, Limits, Server};
use crate::tasks::Tasks;
use crate::work::{Down, Pauses, Work};

const ROOT: &str = "/";
/// What no device asks for: file systems, what they write names in, and what disks are read and neighbours heard with.
const ALWAYS: [&str; 11] = [
    "af_packet",
    "efivarfs",
    "loop",
    "nls_ascii",
    "nls_cp437",
    "nls_iso8859_1",
    "nls_utf8",
    "nvme",
    "sd_mod",
    "sg",
    "vfat",
];
/// For how long a way to the server is looked for.
const NETWORK_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Somebody may want to read why, before the machine goes down.
const BEFORE_GOING_DOWN: Duration = Duration::from_secs(5 * 60);
/// Devices may appear late: disks behind expanders, cards that need to be trained.
const BETWEEN_LOOKS_FOR_DEVICES: Duration = Duration::from_secs(10);

/// Runs the machine, until it goes down.
pub fn run() -> ! {
    let root = Path::new(ROOT);
    let mounted: Vec<_> = necessary(root).iter().map(mount).collect();
    // What is said is needed for as long as the machine runs.
    let journal: &'static Journal = Box::leak(Box::new(console(root)));
    journal.say(concat!("agent ", env!("CARGO_PKG_VERSION")));
    mounted.into_iter().filter_map(Result::err).for_each(|error| journal.say(&error.to_string()));
    std::panic::set_hook(Box::new(|panic| journal.say(&format!("the agent has failed: {panic}"))));
    let down = match catch_unwind(AssertUnwindSafe(|| live(root, journal))) {
        Ok(Ok(down)) => down,
        Ok(Err(end)) => give_up(journal, &end),
        Err(_told_by_the_hook) => give_up(journal, &"the agent has failed".to_owned().into()),
    };
    loop {
        journal.say(match down {
            Down::Reboot => "the machine starts anew",
            Down::PowerOff => "the machine is turned off",
        });
        journal.say(&go_down(down));
        std::thread::sleep(Duration::from_secs(10));
    }
}

/// Why the agent can't go on, and how the machine goes down then.
struct End {
    why: String,
    down: Down,
}

impl From<String> for End {
    fn from(why: String) -> Self {
        Self { why, down: Down::Reboot }
    }
}

fn give_up(journal: &Journal, end: &End) -> Down {
    let minutes = BEFORE_GOING_DOWN.as_secs() / 60;
    let what = match end.down {
        Down::Reboot => "starts anew",
        Down::PowerOff => "is turned off",
    };
    journal.say(&format!("{}. The machine {what} in {minutes} minutes", end.why));
    std::thread::sleep(BEFORE_GOING_DOWN);
    end.down
}

/// From the first driver to the last order.
fn live(root: &Path, journal: &'static Journal) -> Result<Down, End> {
    let sys = root.join("sys");
    load_drivers(root, journal);
    // Only now: the driver for it may have been a module.
    if let Some(Err(error)) = firmware_variables(&sys).map(|variables| mount(&variables)) {
        journal.say(&error.to_string());
    }
    match turn_all_on(&sys) {
        Ok(errors) => errors.iter().for_each(|error| journal.say(&error.to_string())),
        Err(error) => journal.say(&format!("the network interfaces can't be read: {error}")),
    }
    let path = root.join("proc/cmdline");
    let text =
        fs::read_to_string(&path).map_err(|error| format!("{} can't be read: {error}", path.display()))?;
    let told = CommandLine::parse(&text).map_err(|error| error.to_string())?;
    let wanted = Wanted { interface: told.interface, address: told.address };
    let network = Network { sys, etc: root.join("etc"), wanted, limit: NETWORK_LIMIT, journal };
    let connected = network.connect(&|| reach(&told.url)).map_err(|error| error.to_string())?;
    keep_address(network, connected);
    let ca = Ca::read(&root.join(CA)).map_err(|error| error.to_string())?;
    let server = Server::connect(told.url, ca.as_ref(), Limits::default());
    let server = server.map_err(|error| error.to_string())?;
    if server.clock_is_off() {
        journal.say("the machine's clock is off by more than a day: the server's is believed");
    }
    let works = Tasks { root: root.to_owned() };
    let work = Work { server: &server, works: &works, journal, pauses: Pauses::default() };
    work.carry_on().map_err(|error| End { why: error.to_string(), down: error.down() })
}

/// Loads the drivers of what is there, and goes on to look for what comes later. A kernel that has all that it needs does
/// without.
fn load_drivers(root: &Path, journal: &'static Journal) {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let directory = root.join("lib/modules").join(release);
    let mut drivers = match Drivers::open(directory.clone(), root.join("sys"), journal, &insert) {
        Ok(drivers) => drivers,
        Err(error) => {
            journal.say(&format!("no drivers are loaded from {}: {error}", directory.display()));
            return;
        }
    };
    drivers.load_named(&ALWAYS);
    match drivers.settle() {
        Ok(loaded) => journal.say(&format!("{loaded} modules were loaded for the machine's devices")),
        Err(error) => journal.say(&format!("no drivers are loaded: {error}")),
    }
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(BETWEEN_LOOKS_FOR_DEVICES);
            match drivers.load_for_new_devices() {
                Ok(0) => {}
                Ok(loaded) => journal.say(&format!("{loaded} more modules were loaded")),
                Err(error) => journal.say(&format!("drivers of new devices are not loaded: {error}")),
            }
        }
    });
}

fn keep_address(network: Network<'static>, connected: Connected) {
    std::thread::spawn(move || keep(&network, &connected));
}
