//! QEMU's command line.

use std::ffi::OsString;
use std::path::Path;

use super::{Drive, Hardware, Line, Start};
use crate::isos::Firmware;
use crate::isos::installed::Installed;

/// The network card's name in QEMU.
pub(super) const CARD: &str = "card";

/// When firmware tries the first disk.
const BEHIND_DRIVES: usize = Drive::ALL.len();

/// What a QEMU is started with.
pub(super) struct Machine<'a> {
    pub(super) hardware: &'a Hardware,
    pub(super) installed: &'a Installed,
    pub(super) variables: &'a Path,
    pub(super) console: &'a Path,
    pub(super) qmp: &'a Path,
    pub(super) start: &'a Start,
}

/// The arguments. It starts paused: media are put in first.
pub(super) fn of(machine: &Machine<'_>) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    // The controller for SATA would have no disks, and no driver in a kernel for clouds: what is behind such a one keeps a host
    // back where clean disks are demanded.
    arguments.add("-machine", "q35,sata=off");
    // A KVM that is there may still not work; emulation always does.
    arguments.add("-accel", "tcg").add("-m", "256").add("-smp", "1").add("-S", "");
    arguments.add("-nodefaults", "").add("-no-user-config", "").add("-display", "none");
    arguments.add("-uuid", &machine.hardware.uuid).add("-boot", "strict=on");
    arguments.add("-chardev", &format!("file,id=console,path={}", machine.console.display()));
    arguments.add("-serial", "chardev:console");
    arguments.add("-qmp", &format!("unix:{},server=on,wait=off", machine.qmp.display()));
    match machine.hardware.firmware {
        Firmware::Uefi => uefi(machine, &mut arguments),
        // isolinux writes to a screen.
        Firmware::Bios => arguments.add("-device", "VGA"),
    };
    network(machine, &mut arguments);
    storage(machine, &mut arguments);
    arguments.0
}

fn network(machine: &Machine<'_>, arguments: &mut Arguments) {
    match &machine.hardware.line {
        Line::Own => arguments.add("-netdev", "user,id=network"),
        Line::Tap(name) => {
            arguments.add("-netdev", &format!("tap,id=network,ifname={name},script=no,downscript=no"))
        }
    };
    let is_first = match machine.start {
        Start::Pxe | Start::Http => true,
        // Its variables tell.
        Start::Url(_) => false,
        Start::Drive(_) | Start::Disk | Start::Nothing => false,
    };
    let turn = if is_first { ",bootindex=0" } else { "" };
    // The ROM is iPXE, and only a BIOS needs it: UEFI has drivers and a network stack of its own.
    let rom = match machine.hardware.firmware {
        Firmware::Bios if is_first => "",
        Firmware::Bios | Firmware::Uefi => ",romfile=",
    };
    let mac = &machine.hardware.mac;
    arguments.add("-device", &format!("virtio-net-pci,id={CARD},netdev=network,mac={mac}{rom}{turn}"));
}

fn storage(machine: &Machine<'_>, arguments: &mut Arguments) {
    arguments.add("-device", "virtio-scsi-pci,id=scsi");
    for drive in Drive::ALL {
        // What can't be started from, firmware passes over for the other drive.
        let turn = match machine.start {
            Start::Drive(_) if machine.hardware.stick => "",
            Start::Drive(first) if *first == drive => ",bootindex=0",
            Start::Drive(_) => ",bootindex=1",
            Start::Pxe | Start::Http | Start::Url(_) | Start::Disk | Start::Nothing => "",
        };
        arguments.add("-device", &format!("scsi-cd,bus=scsi.0,id={}{turn}", drive.id()));
    }
    let first = match machine.start {
        Start::Drive(_) | Start::Pxe | Start::Http | Start::Url(_) | Start::Disk => Some(BEHIND_DRIVES),
        Start::Nothing => None,
    };
    for (number, disk) in machine.hardware.disks.iter().enumerate() {
        for (option, value) in disk.arguments(number, first.map(|first| first + number)) {
            arguments.add(option, &value);
        }
    }
}

fn uefi<'a>(machine: &Machine<'_>, arguments: &'a mut Arguments) -> &'a mut Arguments {
    let code = machine.installed.ovmf_code.display();
    arguments.add("-drive", &format!("if=pflash,format=raw,readonly=on,file={code}"));
    arguments.add("-drive", &format!("if=pflash,format=raw,file={}", machine.variables.display()));
    // It would look for a network to start from for a minute and a half. What is left without PXE is HTTP.
    let pxe = if *machine.start == Start::Pxe { "y" } else { "n" };
    for (setting, value) in [("IPv4PXESupport", pxe), ("IPv6PXESupport", "n"), ("IPv6Support", "n")] {
        arguments.add("-fw_cfg", &format!("name=opt/org.tianocore/{setting},string={value}"));
    }
    arguments
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    /// An option, with its value unless that is empty.
    fn add(&mut self, option: &str, value: &str) -> &mut Self {
        self.0.push(option.into());
        if !value.is_empty() {
            self.0.push(value.into());
        }
        self
    }
}
