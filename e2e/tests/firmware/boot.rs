//! One boot of one image, from power to the call home.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_boot::source::Source;
use beskar7_e2e::isos::{Firmware, Isos, Layout};
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{Console, Drive, HOST, Hardware, Start, Vm};

use super::desk::{Desk, sha256, user_data};

/// Five times what it takes on two cores that have five times as much to do: 30 s.
pub const LIMIT: Duration = Duration::from_secs(150);

/// What images are booted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// OVMF, from a CD.
    Uefi,
    /// OVMF, from a USB stick: the FAT is a partition.
    UefiStick,
    /// SeaBIOS, from a CD.
    Bios,
    /// SeaBIOS, from a USB stick: by the MBR.
    BiosStick,
}

impl Machine {
    pub const ALL: [Self; 4] = [Self::Uefi, Self::UefiStick, Self::Bios, Self::BiosStick];

    fn hardware(self) -> Hardware {
        let (firmware, stick) = match self {
            Self::Uefi => (Firmware::Uefi, false),
            Self::UefiStick => (Firmware::Uefi, true),
            Self::Bios => (Firmware::Bios, false),
            Self::BiosStick => (Firmware::Bios, true),
        };
        Hardware { stick, ..Hardware::with(firmware) }
    }

    /// Whether it takes its image for a USB stick.
    pub fn is_stick(self) -> bool {
        self.hardware().stick
    }

    /// Whether an image laid out like this starts in it.
    pub fn starts(self, layout: Layout) -> bool {
        let hardware = self.hardware();
        layout.starts_with(hardware.firmware) && (!hardware.stick || layout.is_hybrid())
    }
}

/// Boots an image from a URL, lets it fetch its configuration and call home, and returns what it has said.
pub async fn boot(isos: &Isos, machine: Machine, image: Arc<dyn Source>, desk: &Desk) -> Result<Said> {
    let ranges = Ranges::start().await?;
    let hardware = machine.hardware();
    let uuid = hardware.uuid.clone();
    let vm = Vm::new(isos.installed(), hardware)?;
    vm.insert(Drive::First, &ranges.put(HOST, "image.iso", image)).await?;
    vm.power_on(Start::Drive(Drive::First)).await?;
    let console = vm.console().await;
    console.until("done", LIMIT).await?;
    let said = Said::of(&console)?;
    ensure!(said.user_data == sha256(&user_data()), "the configuration is another: {said:?}");
    ensure!(said.meta_data == sha256(&desk.meta_data()), "the metadata are others: {said:?}");
    let call = desk.called(LIMIT).await?;
    ensure!(call.eq_ignore_ascii_case(&format!("uuid={uuid}")), "another machine called: {call}");
    let asked = ranges.asked("image.iso");
    ensure!(asked.ranges > 0 && asked.wholes == 0, "the image was not read by ranges: {asked:?}");
    vm.power_off().await?;
    Ok(said)
}

/// What an image said.
#[derive(Debug)]
pub struct Said {
    pub command_line: String,
    pub user_data: String,
    pub meta_data: String,
    pub media: Option<String>,
}

impl Said {
    fn of(console: &Console) -> Result<Self> {
        let lines = console.lines()?;
        let said = |word: &str| console.said(word)?.with_context(|| format!("no {word} in {lines:#?}"));
        Ok(Self {
            command_line: said("cmdline")?,
            user_data: said("user-data sha256")?,
            meta_data: said("meta-data sha256")?,
            media: console.said("media")?,
        })
    }
}

/// Tries every layout in every machine that starts it, and says all that failed.
pub async fn everywhere(
    isos: &Isos,
    boots: impl AsyncFn(&Isos, Layout, Machine) -> Result<()>,
) -> Result<()> {
    let mut failed = Vec::new();
    for layout in Layout::ALL {
        for machine in Machine::ALL.into_iter().filter(|machine| machine.starts(layout)) {
            if let Err(error) = boots(isos, layout, machine).await {
                failed.push(format!("{} in {machine:?}: {error:#}", layout.name()));
            }
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}
