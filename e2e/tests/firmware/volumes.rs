//! Configuration on another CD, for images that take no parameters.

use std::sync::Arc;

use anyhow::{Result, ensure};
use beskar7_e2e::isos::{Firmware, Isos, Layout, Seed};
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{Drive, HOST, Hardware, Vm};
use bytes::Bytes;

use super::boot::LIMIT;
use super::desk::{Desk, sha256, user_data};

#[tokio::test]
#[ignore = "long: make firmware"]
async fn a_machine_takes_its_configuration_from_another_cd() -> Result<()> {
    let test = "a_machine_takes_its_configuration_from_another_cd";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    // Firmware that is told to start from the first drive passes over what can't be started from.
    let cases = [
        ("cidata", Firmware::Bios, [Drive::First, Drive::Second]),
        ("cidata", Firmware::Bios, [Drive::Second, Drive::First]),
        ("config-2", Firmware::Uefi, [Drive::Second, Drive::First]),
    ];
    for (label, firmware, [image_in, seed_in]) in cases {
        let (desk, ranges) = (Desk::start().await?, Ranges::start().await?);
        let (meta_data, user_data) = (desk.meta_data(), user_data());
        let expected = sha256(&user_data);
        let seed = if label == "cidata" {
            Seed::NoCloud { meta_data, user_data }
        } else {
            Seed::ConfigDrive { meta_data, user_data }
        };
        let put = |name: &str, path| -> Result<String> {
            Ok(ranges.put(HOST, name, Arc::new(Bytes::from(std::fs::read(path)?))))
        };
        let vm = Vm::new(isos.installed(), Hardware::with(firmware))?;
        vm.insert(image_in, &put("image.iso", isos.iso(Layout::Rhel, &[]).await?)?).await?;
        vm.insert(seed_in, &put("seed.iso", isos.seed(&seed).await?)?).await?;
        vm.power_on(Some(Drive::First)).await?;
        let console = vm.console().await;
        console.until("done", LIMIT).await?;
        ensure!(
            console.said("volume")?.is_some_and(|said| said.starts_with(label)),
            "{:?}",
            console.lines()?
        );
        ensure!(console.said("user-data sha256")? == Some(expected), "{:?}", console.lines()?);
        desk.called(LIMIT).await?;
        vm.power_off().await?;
    }
    Ok(())
}
