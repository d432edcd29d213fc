//! One boot of one image, from power to the call home.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_boot::source::Source;
use beskar7_e2e::isos::{Firmware, Isos};
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{Console, Drive, HOST, Hardware, Vm};

use super::desk::{Desk, sha256, user_data};

/// Five times what it takes on two cores that have more to do: 12 s under UEFI, 16 s under BIOS.
pub const LIMIT: Duration = Duration::from_secs(80);

/// Boots an image from a URL, lets it fetch its configuration and call home, and returns what it has said.
pub async fn boot(isos: &Isos, firmware: Firmware, image: Arc<dyn Source>, desk: &Desk) -> Result<Said> {
    let ranges = Ranges::start().await?;
    let hardware = Hardware::with(firmware);
    let uuid = hardware.uuid.clone();
    let vm = Vm::new(isos.installed(), hardware)?;
    vm.insert(Drive::First, &ranges.put(HOST, "image.iso", image)).await?;
    vm.power_on(Some(Drive::First)).await?;
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
