//! A machine in QEMU, emulated: what it says on its serial port is waited for, with a limit.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::installed::Installed;

/// Where a machine with [`Network::User`] reaches what listens on this host's loopback.
pub const HOST: &str = "10.0.2.2";
/// The MAC address of its network card.
pub const MAC: &str = "52:54:00:b7:00:01";
/// Its SMBIOS UUID.
pub const UUID: &str = "b7b7b7b7-0000-4000-8000-000000000001";

/// What it starts from.
#[derive(Debug, Clone)]
pub enum Start {
    /// A kernel, without firmware before it.
    Kernel {
        /// The kernel.
        kernel: PathBuf,
        /// The initramfs.
        initramfs: PathBuf,
        /// The kernel's parameters.
        options: String,
    },
    /// A CD, by UEFI.
    Cd(PathBuf),
    /// The first of its disks that can be started from, by UEFI.
    Disk,
}

/// What it is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    None,
    /// QEMU's own network: DHCP gives it an address, and this host's loopback is at [`HOST`].
    User,
}

/// A machine.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// What it starts from.
    pub start: Start,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// What it is connected to.
    pub network: Network,
    /// Its memory, in MiB.
    pub memory: u32,
    /// Whether it starts anew where it is told to, from what its firmware's own variables name. Else that turns it off,
    /// and what it starts from is decided here.
    pub restarts: bool,
}

impl Hardware {
    /// One without disks and network.
    pub fn new(start: Start) -> Self {
        Self { start, disks: Vec::new(), network: Network::None, memory: 1024, restarts: false }
    }
}

/// A machine that runs. It is ended when it is dropped.
#[derive(Debug)]
pub struct Machine {
    process: Child,
    said: Vec<u8>,
    coming: Receiver<Vec<u8>>,
}

impl Machine {
    /// Turns it on. Its variables and what it says (`serial.log`) are kept in a folder.
    pub fn start(installed: &Installed, hardware: &Hardware, folder: &Path) -> std::io::Result<Self> {
        let log = File::create(folder.join("serial.log"))?;
        let mut command = Command::new(&installed.qemu);
        command.args(common(hardware.memory));
        if !hardware.restarts {
            command.args(["-no-reboot", "-boot", "strict=on"]);
        }
        // A place in the order would count more than what the firmware remembers.
        let turn = |turn: usize| if hardware.restarts { String::new() } else { format!(",bootindex={turn}") };
        match &hardware.start {
            Start::Kernel { kernel, initramfs, options } => {
                command.arg("-kernel").arg(kernel).arg("-initrd").arg(initramfs).arg("-append").arg(options);
            }
            Start::Cd(iso) => {
                command.args(firmware(installed, folder)?);
                let cd = format!("if=none,id=cd,media=cdrom,format=raw,readonly=on,file={}", iso.display());
                let device = format!("ide-cd,drive=cd{}", turn(0));
                command.args(["-drive", &cd, "-device", &device]);
            }
            Start::Disk => {
                command.args(firmware(installed, folder)?);
            }
        }
        command.args(["-device", "virtio-scsi-pci,id=scsi"]);
        for (number, disk) in hardware.disks.iter().enumerate() {
            command.args(disk.arguments(number, &turn(number + 1)));
        }
        command.args(network(hardware.network));
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let (sender, coming) = channel();
        if let Some(output) = process.stdout.take() {
            std::thread::spawn(move || listen(output, log, &sender));
        }
        Ok(Self { process, said: Vec::new(), coming })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// All that it has said so far.
    pub fn said(&mut self) -> String {
        while let Ok(more) = self.coming.try_recv() {
            self.said.extend(more);
        }
        String::from_utf8_lossy(&self.said).into_owned()
    }

    /// Waits until it says something, and returns all that it said until then.
    ///
    /// # Errors
    /// It does not within the limit, or ends without it. The error has the end of what it said.
    pub fn until(&mut self, pattern: &str, limit: Duration) -> Result<String, String> {
        let end = Instant::now() + limit;
        loop {
            let said = self.said();
            if said.contains(pattern) {
                return Ok(said);
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.coming.recv_timeout(left) {
                Ok(more) => self.said.extend(more),
                Err(why) => {
                    return Err(format!("it did not say {pattern:?} ({why}); it said:\n{}", last(&said)));
                }
            }
        }
    }

    /// Waits until it has turned itself off.
    ///
    /// # Errors
    /// It does not within the limit.
    pub fn until_off(&mut self, limit: Duration) -> Result<String, String> {
        let end = Instant::now() + limit;
        loop {
            match self.coming.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(more) => self.said.extend(more),
                // Its output ends with it.
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    return Err(format!("it is still on; it said:\n{}", last(&self.said())));
                }
            }
        }
        match self.process.wait() {
            Ok(status) if status.success() => Ok(self.said()),
            Ok(status) => Err(format!("QEMU ended with {status}; it said:\n{}", last(&self.said()))),
            Err(error) => Err(format!("QEMU can't be waited for: {error}")),
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have turned itself off already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn listen(mut output: ChildStdout, mut log: File, to: &Sender<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = output.read(&mut buffer) {
        log.write_all(&buffer[..count]).ok();
        if to.send(buffer[..count].to_vec()).is_err() {
            return;
        }
    }
}

fn last(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

fn common(memory: u32) -> Vec<String> {
    let words = format!(
        "-machine q35 -accel tcg -smp 1 -m {memory} -uuid {UUID} -nodefaults -no-user-config -display none \
         -serial stdio"
    );
    words.split(' ').map(str::to_owned).collect()
}

fn firmware(installed: &Installed, folder: &Path) -> std::io::Result<Vec<String>> {
    let variables = folder.join("variables.fd");
    if !variables.exists() {
        std::fs::copy(&installed.variables, &variables)?;
    }
    let code = format!("if=pflash,format=raw,readonly=on,file={}", installed.firmware.display());
    let variables = format!("if=pflash,format=raw,file={}", variables.display());
    let mut arguments = vec!["-drive".to_owned(), code, "-drive".to_owned(), variables];
    // It would look for a network to start from for a minute and a half.
    for setting in ["IPv4PXESupport", "IPv6PXESupport", "IPv6Support"] {
        arguments.extend(["-fw_cfg".to_owned(), format!("name=opt/org.tianocore/{setting},string=n")]);
    }
    Ok(arguments)
}

fn network(network: Network) -> Vec<String> {
    match network {
        Network::None => vec!["-nic".to_owned(), "none".to_owned()],
        Network::User => {
            let card = format!("virtio-net-pci,netdev=network,mac={MAC},romfile=");
            ["-netdev", "user,id=network", "-device", &card].map(str::to_owned).to_vec()
        }
    }
}
