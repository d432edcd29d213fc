//! Where a machine with the agent stands: its ramdisk, a boot server, disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use beskar7_agent_protocol::order::{Algorithm, Checksum, Image, ImageFormat, Install, Task};
use beskar7_agent_protocol::report::{Failure, Installed as InstalledImage, Outcome, State};
use beskar7_boot::source::{Source as _, read};
use bytes::Bytes;
use tempfile::TempDir;

use crate::boot_server::BootServer;
use crate::content::{self, MIB};
use crate::support::disk::{Bus, Disk};
use crate::support::installed::Installed;
use crate::support::machine::{Hardware, Machine, Network, Start};

/// Emulated, on a machine with other work to do.
pub const LIMIT: Duration = Duration::from_secs(600);
/// An emulated timer on a busy machine does not pass the kernel's check.
pub const OPTIONS: &str = "console=ttyS0 no_timer_check panic=-1";

/// The way to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The ISO, by UEFI, with the parameters that the boot server's overlay puts in.
    Iso,
    /// Kernel and initramfs, by BIOS.
    Kernel,
}

/// A place for one machine.
pub struct Site {
    pub installed: Installed,
    pub folder: TempDir,
    pub server: BootServer,
    ramdisk: PathBuf,
}

impl Site {
    /// None where something is missing: then it has said that `test` is skipped, and why.
    pub fn new(test: &str) -> Option<Self> {
        let installed = Installed::find(test)?;
        let Some(agent) = std::env::var_os("BESKAR7_AGENT") else {
            beskar7_skipped::skipped(test, "BESKAR7_AGENT names no agent: make agent-vms builds it");
            return None;
        };
        let ramdisk = ramdisk(&installed, Path::new(&agent));
        Some(Self { installed, folder: tempfile::tempdir().unwrap(), server: BootServer::start(), ramdisk })
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A disk that is named as its serial number.
    pub fn disk(&self, serial: &str, mebibytes: u64, bus: Bus) -> Disk {
        Disk::empty(&self.at(serial), mebibytes * MIB, bus, serial).unwrap()
    }

    /// A machine that finds the agent this way.
    pub fn hardware(&self, way: Way, disks: &[Disk]) -> Hardware {
        let parameter = format!("beskar7.url={}", self.server.url());
        let start = match way {
            Way::Iso => Start::Cd(self.iso(&parameter)),
            Way::Kernel => Start::Kernel {
                kernel: self.ramdisk.join("kernel"),
                initramfs: self.ramdisk.join("initramfs"),
                options: format!("{OPTIONS} {parameter}"),
            },
        };
        Hardware { disks: disks.to_vec(), network: Network::User, ..Hardware::new(start) }
    }

    pub fn start(&self, hardware: &Hardware) -> Machine {
        Machine::start(&self.installed, hardware, self.folder.path()).unwrap()
    }

    /// Starts a machine that finds the agent this way, with these disks.
    pub fn boot(&self, way: Way, disks: &[Disk]) -> Machine {
        self.start(&self.hardware(way, disks))
    }

    /// The ISO as the boot server presents it to a machine.
    fn iso(&self, parameter: &str) -> PathBuf {
        let original = Bytes::from(fs::read(self.ramdisk.join("agent.iso")).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let presented = runtime.block_on(async {
            let image = beskar7_boot::overlay::Image::inspect(&original).await.unwrap();
            let overlay = image.with_arguments(&[parameter.to_owned()]).unwrap();
            let overlaid = Arc::new(overlay).over(Arc::new(original));
            read(&overlaid, 0..overlaid.length()).await.unwrap()
        });
        let iso = self.at("agent.iso");
        fs::write(&iso, presented).unwrap();
        iso
    }

    /// An order to install a file, which is served from now on.
    pub fn installation(&self, file: &Path, format: ImageFormat) -> Install {
        self.server.serve("image", file);
        let checksum = Checksum { algorithm: Algorithm::Sha256, digest: content::sha256(file) };
        let image = Image { path: "image".to_owned(), format, checksum: Some(checksum) };
        Install { image, disk: Default::default(), configuration: None }
    }

    /// Waits until an order is done, or panics with why it is not.
    pub fn done(&self, machine: &mut Machine, id: &str) -> Outcome {
        match self.server.end(id, LIMIT) {
            Ok(State::Done(outcome)) => outcome,
            other => panic!("{other:?}; the machine said:\n{}", machine.said()),
        }
    }

    /// Installs, or panics with why it is not done.
    pub fn installed(&self, machine: &mut Machine, id: &str) -> InstalledImage {
        let Outcome::Installed(installed) = self.done(machine, id) else { panic!("something else was done") };
        installed
    }

    /// Why an order is not carried out.
    pub fn failure(&self, machine: &mut Machine, id: &str) -> Failure {
        match self.server.end(id, LIMIT) {
            Ok(State::Failed(failure)) => failure,
            other => panic!("{other:?}; the machine said:\n{}", machine.said()),
        }
    }

    /// The machine is turned off by an order.
    pub fn turn_off(&self, machine: &mut Machine) -> String {
        self.server.give(Task::PowerOff);
        machine.until_off(LIMIT).unwrap()
    }
}

/// What the real builder makes of the real agent, once for all tests.
fn ramdisk(installed: &Installed, agent: &Path) -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-vms");
        let mut command = Command::new(env!("CARGO_BIN_EXE_ramdisk"));
        command.arg("--agent").arg(agent).arg("--kernel").arg(&installed.kernel);
        command.arg("--modules").arg(&installed.modules).arg("--loader").arg(&installed.loader);
        let output = command.arg("--out").arg(&out).args(["--options", OPTIONS]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        out
    };
    MADE.get_or_init(make).clone()
}
