//! A machine with real firmware: QEMU, which emulates every instruction, with OVMF or SeaBIOS.
//!
//! It has a serial port whose output is kept, a network card, two CD drives whose media are read by HTTP range
//! requests from their URLs, as BMCs read theirs, and the disks that it is given. Power that is off is a QEMU that does
//! not run.
//!
//! The network is QEMU's own unless the card is connected to a tap: the guest is 10.0.2.15, and this machine's loopback
//! is [`HOST`] to it. URLs that name [`HOST`] mean the same to the guest and to the drives.

mod arguments;
mod bmc;
mod console;
mod disk;
mod hardware;
mod qmp;
mod running;
mod variables;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Mutex;

pub use self::bmc::BehindBmc;
pub use self::console::Console;
pub use self::disk::Disk;
pub use self::hardware::{Drive, Hardware, Line, Start};
use self::qmp::Qmp;
use self::running::Running;
use crate::isos::Firmware;
use crate::isos::installed::Installed;
use crate::process::Command;

/// The address of this machine's loopback as the guest sees it.
pub const HOST: &str = "10.0.2.2";

/// QEMU ends at once; it is asked politely only so that it closes its files.
const GRACE: Duration = Duration::from_secs(2);

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

impl Vm {
    /// A machine that is off, with empty drives.
    pub fn new(installed: &Installed, hardware: Hardware) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("beskar7-vm-").tempdir();
        let directory = directory.context("a directory for a machine")?;
        let vm = Self { installed: installed.clone(), hardware, state: Mutex::default(), directory };
        std::fs::copy(&installed.ovmf_vars, vm.variables()).context("the firmware's variables")?;
        Ok(vm)
    }

    /// What it is made of.
    #[must_use]
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
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

    /// Gives it power, and tells its firmware what to start this time. Unless that is a drive, nothing is in the
    /// drives until it runs, so that the firmware finds nothing there.
    pub async fn power_on(&self, start: Start) -> Result<()> {
        let mut state = self.state.lock().await;
        if state.running().is_some() {
            bail!("the machine is on already");
        }
        state.times += 1;
        let console = self.console_of(state.times);
        std::fs::write(&console, "").context("a file for the serial port")?;
        self.tell(&start)?;
        let mut running = self.start(state.times, &start).await?;
        let media: Vec<_> =
            Drive::ALL.into_iter().filter_map(|drive| Some((drive, state.medium(drive).clone()?))).collect();
        let drive = match start {
            Start::Drive(drive) => Some(drive),
            Start::Pxe | Start::Http | Start::Url(_) | Start::Disk | Start::Nothing => None,
        };
        match drive {
            Some(drive) if self.hardware.stick => running.plug_in(&media, drive).await?,
            Some(_) => running.insert_all(&media).await?,
            None => (),
        }
        running.qmp.execute("cont", json!({})).await?;
        if drive.is_none() {
            running.insert_all(&media).await?;
        }
        running.forget_order().await?;
        state.running = Some(running);
        Ok(())
    }

    /// Tells the firmware by its variables what no order of devices can.
    fn tell(&self, start: &Start) -> Result<()> {
        match (start, self.hardware.firmware) {
            (Start::Http | Start::Url(_), Firmware::Bios) => bail!("a BIOS does not boot by HTTP"),
            (Start::Url(url), Firmware::Uefi) => {
                let new = std::fs::read(&self.installed.ovmf_vars).context("the firmware's variables")?;
                let told = variables::next_boot_from(url, &new)?;
                std::fs::write(self.variables(), told).context("writing the firmware's variables")
            }
            (Start::Drive(_) | Start::Pxe | Start::Http | Start::Disk | Start::Nothing, _) => Ok(()),
        }
    }

    async fn start(&self, times: u32, start: &Start) -> Result<Running> {
        let socket = self.directory.path().join(format!("qmp-{times}"));
        let arguments = arguments::of(&arguments::Machine {
            hardware: &self.hardware,
            installed: &self.installed,
            variables: &self.variables(),
            console: &self.console_of(times),
            qmp: &socket,
            start,
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
