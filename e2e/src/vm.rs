//! A machine with real firmware: QEMU, which emulates every instruction, with OVMF or SeaBIOS.
//!
//! It has a serial port whose output is kept, a network card, and two CD drives whose media are read by HTTP range
//! requests from their URLs, as BMCs read theirs. Power that is off is a QEMU that does not run.
//!
//! The network is QEMU's own: the guest is 10.0.2.15, and this machine's loopback is [`HOST`] to it. URLs that name
//! [`HOST`] mean the same to the guest and to the drives.

mod arguments;
mod bmc;
mod console;
mod qmp;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use beskar7_redfish_sim::bmc::identity::Identity;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Mutex;

pub use self::bmc::BehindBmc;
pub use self::console::Console;
use self::qmp::Qmp;
use crate::isos::Firmware;
use crate::isos::installed::Installed;
use crate::process::{Command, Process};

/// The address of this machine's loopback as the guest sees it.
pub const HOST: &str = "10.0.2.2";

/// QEMU ends at once; it is asked politely only so that it closes its files.
const GRACE: Duration = Duration::from_secs(2);

/// One of the two CD drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    /// What the machine may start from.
    First,
    /// What brings configuration.
    Second,
}

impl Drive {
    const ALL: [Self; 2] = [Self::First, Self::Second];

    /// Its name in QEMU.
    fn id(self) -> &'static str {
        match self {
            Self::First => "cd0",
            Self::Second => "cd1",
        }
    }
}

/// What a machine is made of.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// What starts the boot loader.
    pub firmware: Firmware,
    /// What its SMBIOS says.
    pub uuid: String,
    /// The address of its network card.
    pub mac: String,
    /// Whether it takes what it starts from for a USB stick instead of a CD: then the firmware and the boot loader
    /// find their way by the image's partitions.
    pub stick: bool,
}

impl Hardware {
    /// What a simulated BMC says of the machine behind it.
    #[must_use]
    pub fn behind(bmc: Ipv4Addr, firmware: Firmware) -> Self {
        let identity = Identity::of(bmc);
        Self { mac: identity.mac(0), uuid: identity.uuid, ..Self::with(firmware) }
    }

    /// With a UUID and an address that any machine may have.
    #[must_use]
    pub fn with(firmware: Firmware) -> Self {
        let uuid = "8c2f7a60-6a4e-4c3f-9d0b-2f1f4f0a7b07".to_owned();
        Self { firmware, uuid, mac: "52:54:00:b7:00:01".to_owned(), stick: false }
    }
}

/// A machine. Dropping it takes its power.
#[derive(Debug)]
pub struct Vm {
    installed: Installed,
    hardware: Hardware,
    state: Mutex<State>,
    // Dropped behind the state: QEMU has ended by then.
    directory: TempDir,
}

#[derive(Debug, Default)]
struct State {
    first: Option<String>,
    second: Option<String>,
    /// How often it was powered on.
    times: u32,
    running: Option<Running>,
}

impl State {
    fn medium(&mut self, drive: Drive) -> &mut Option<String> {
        match drive {
            Drive::First => &mut self.first,
            Drive::Second => &mut self.second,
        }
    }

    /// QEMU, while it runs.
    fn running(&mut self) -> Option<&mut Running> {
        self.running.as_mut().filter(|running| running.process.ended().is_none())
    }
}

#[derive(Debug)]
struct Running {
    process: Process,
    qmp: Qmp,
    /// How many media were in its drives.
    media: u32,
}

impl Vm {
    /// A machine that is off, with empty drives.
    pub fn new(installed: &Installed, hardware: Hardware) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("beskar7-vm-").tempdir();
        let directory = directory.context("a directory for a machine")?;
        let vm = Self { installed: installed.clone(), hardware, state: Mutex::default(), directory };
        std::fs::copy(&installed.ovmf_vars, vm.variables()).context("the firmware's variables")?;
        Ok(vm)
    }

    /// Puts what is behind a URL into a drive, instead of what was in it.
    pub async fn insert(&self, drive: Drive, url: &str) -> Result<()> {
        let mut state = self.state.lock().await;
        *state.medium(drive) = Some(url.to_owned());
        match state.running() {
            Some(running) => running.insert(drive, url).await,
            None => Ok(()),
        }
    }

    /// Empties a drive.
    pub async fn eject(&self, drive: Drive) -> Result<()> {
        let mut state = self.state.lock().await;
        *state.medium(drive) = None;
        match state.running() {
            Some(running) => running.eject(drive).await,
            None => Ok(()),
        }
    }

    /// Gives it power. It starts from `boot` this time; without, nothing is in its drives until it runs, so that the
    /// firmware finds nothing to start.
    pub async fn power_on(&self, boot: Option<Drive>) -> Result<()> {
        let mut state = self.state.lock().await;
        if state.running().is_some() {
            bail!("the machine is on already");
        }
        state.times += 1;
        let console = self.console_of(state.times);
        std::fs::write(&console, "").context("a file for the serial port")?;
        let mut running = self.start(state.times, boot).await?;
        let media: Vec<_> =
            Drive::ALL.into_iter().filter_map(|drive| Some((drive, state.medium(drive).clone()?))).collect();
        match boot {
            Some(boot) if self.hardware.stick => running.plug_in(&media, boot).await?,
            Some(_) => running.insert_all(&media).await?,
            None => (),
        }
        running.qmp.execute("cont", json!({})).await?;
        if boot.is_none() {
            running.insert_all(&media).await?;
        }
        // This time only: what a later reset starts is not up to this order.
        for drive in Drive::ALL {
            let value = json!({"path": format!("/machine/peripheral/{}", drive.id()), "property": "bootindex", "value": -1});
            running.qmp.execute("qom-set", value).await?;
        }
        state.running = Some(running);
        Ok(())
    }

    async fn start(&self, times: u32, boot: Option<Drive>) -> Result<Running> {
        let socket = self.directory.path().join(format!("qmp-{times}"));
        let arguments = arguments::of(&arguments::Machine {
            hardware: &self.hardware,
            installed: &self.installed,
            variables: &self.variables(),
            console: &self.console_of(times),
            qmp: &socket,
            boot: boot.filter(|_| !self.hardware.stick),
        });
        let command = Command::new("QEMU", &self.installed.qemu).args(arguments).grace(GRACE);
        let process = command.spawn(self.directory.path().join("qemu.log"))?;
        let qmp = Qmp::connect(&socket, &process).await?;
        Ok(Running { process, qmp, media: 0 })
    }

    /// Takes its power away. What the guest had not written is lost.
    pub async fn power_off(&self) -> Result<()> {
        let running = self.state.lock().await.running.take();
        if let Some(mut running) = running {
            running.process.stop().await?;
        }
        Ok(())
    }

    /// Presses its reset button.
    pub async fn reset(&self) -> Result<()> {
        let mut state = self.state.lock().await;
        let running = state.running().context("the machine is off: it can't be reset")?;
        running.qmp.execute("system_reset", json!({})).await?;
        Ok(())
    }

    /// Whether it has power: a guest may have switched itself off.
    pub async fn is_on(&self) -> bool {
        self.state.lock().await.running().is_some()
    }

    /// What came from its serial port since it was last powered on.
    pub async fn console(&self) -> Console {
        let times = self.state.lock().await.times;
        Console::new(self.console_of(times))
    }

    fn console_of(&self, times: u32) -> PathBuf {
        self.directory.path().join(format!("console-{times}.log"))
    }

    fn variables(&self) -> PathBuf {
        self.directory.path().join("variables.fd")
    }
}

impl Running {
    async fn insert_all(&mut self, media: &[(Drive, String)]) -> Result<()> {
        for (drive, url) in media {
            self.insert(*drive, url).await?;
        }
        Ok(())
    }

    async fn insert(&mut self, drive: Drive, url: &str) -> Result<()> {
        self.eject(drive).await?;
        let node = self.open(url).await?;
        self.qmp.execute("blockdev-insert-medium", json!({"id": drive.id(), "node-name": node})).await?;
        self.qmp.execute("blockdev-close-tray", json!({"id": drive.id()})).await?;
        Ok(())
    }

    /// What is in a drive becomes a stick that is started from.
    async fn plug_in(&mut self, media: &[(Drive, String)], boot: Drive) -> Result<()> {
        let url = media.iter().find(|(drive, _)| *drive == boot).map(|(_, url)| url);
        let node = self.open(url.context("there is nothing to start from")?).await?;
        let stick = json!({"driver": "scsi-hd", "bus": "scsi.0", "id": "stick", "drive": node, "removable": true, "bootindex": 0});
        self.qmp.execute("device_add", stick).await?;
        // Firmware is told of the order in which to try devices by a reset only.
        self.qmp.execute("system_reset", json!({})).await?;
        Ok(())
    }

    /// Opens what is behind a URL, and returns its name in QEMU.
    async fn open(&mut self, url: &str) -> Result<String> {
        self.media += 1;
        let node = format!("medium-{}", self.media);
        let url = url.replacen(&format!("//{HOST}"), "//127.0.0.1", 1);
        let driver = if url.starts_with("https:") { "https" } else { "http" };
        let mut file = json!({"driver": driver, "url": url, "timeout": 60, "readahead": 512 * 1024});
        if let (Some(file), "https") = (file.as_object_mut(), driver) {
            file.insert("sslverify".to_owned(), json!(false));
        }
        let medium = json!({"driver": "raw", "node-name": node, "read-only": true, "file": file});
        self.qmp.execute("blockdev-add", medium).await?;
        Ok(node)
    }

    async fn eject(&mut self, drive: Drive) -> Result<()> {
        self.qmp.execute("blockdev-open-tray", json!({"id": drive.id(), "force": true})).await?;
        self.qmp.execute("blockdev-remove-medium", json!({"id": drive.id()})).await?;
        Ok(())
    }
}
