//! QEMU's command line.

use std::ffi::OsString;
use std::path::Path;

use super::{Drive, Hardware};
use crate::isos::Firmware;
use crate::isos::installed::Installed;

/// What a QEMU is started with.
pub(super) struct Machine<'a> {
    pub(super) hardware: &'a Hardware,
    pub(super) installed: &'a Installed,
    pub(super) variables: &'a Path,
    pub(super) console: &'a Path,
    pub(super) qmp: &'a Path,
    pub(super) boot: Option<Drive>,
}

/// The arguments. It starts paused: media are put in first.
pub(super) fn of(machine: &Machine<'_>) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    // A KVM that is there may still not work; emulation always does.
    arguments.add("-machine", "q35").add("-accel", "tcg").add("-m", "256").add("-smp", "1").add("-S", "");
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
    arguments.add("-netdev", "user,id=network");
    // Without a ROM: nothing starts from the network here.
    let mac = &machine.hardware.mac;
    arguments.add("-device", &format!("virtio-net-pci,netdev=network,mac={mac},romfile="));
    arguments.add("-device", "virtio-scsi-pci,id=scsi");
    for drive in Drive::ALL {
        // What can't be started from, firmware passes over for the other drive.
        let turn = match machine.boot {
            Some(boot) if boot == drive => ",bootindex=0",
            Some(_) => ",bootindex=1",
            None => "",
        };
        arguments.add("-device", &format!("scsi-cd,bus=scsi.0,id={}{turn}", drive.id()));
    }
    arguments.0
}

fn uefi<'a>(machine: &Machine<'_>, arguments: &'a mut Arguments) -> &'a mut Arguments {
    let code = machine.installed.ovmf_code.display();
    arguments.add("-drive", &format!("if=pflash,format=raw,readonly=on,file={code}"));
    arguments.add("-drive", &format!("if=pflash,format=raw,file={}", machine.variables.display()));
    // It would look for a network to start from for a minute and a half.
    for setting in ["IPv4PXESupport", "IPv6PXESupport", "IPv6Support"] {
        arguments.add("-fw_cfg", &format!("name=opt/org.tianocore/{setting},string=n"));
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
