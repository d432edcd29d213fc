//! Configuration on another CD, for images that take no parameters.

use std::sync::Arc;

use anyhow::{Result, ensure};
use beskar7_boot::delivery::{Configuration, MetaData};
use beskar7_boot::volume::contents::Format;
use beskar7_e2e::isos::{Firmware, Isos, Layout};
use beskar7_e2e::ranges::Ranges;
use beskar7_e2e::vm::{Drive, HOST, Hardware, Start, Vm};
use bytes::Bytes;

use super::boot::LIMIT;
use super::desk::{Desk, sha256, user_data};

/// Firmware that is told to start from the first drive passes over what can't be started from.
#[tokio::test]
#[ignore = "long: make firmware"]
async fn a_machine_takes_its_configuration_from_another_cd() -> Result<()> {
    let test = "a_machine_takes_its_configuration_from_another_cd";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    let cases = [
        (Format::Cidata, Firmware::Bios, [Drive::First, Drive::Second]),
        (Format::Cidata, Firmware::Bios, [Drive::Second, Drive::First]),
        (Format::Config2, Firmware::Uefi, [Drive::Second, Drive::First]),
    ];
    for (format, firmware, [image_in, volume_in]) in cases {
        let (desk, ranges) = (Desk::start().await?, Ranges::start().await?);
        let image = Bytes::from(std::fs::read(isos.iso(Layout::Rhel, &[]).await?)?);
        let volume = format.volume(&configuration(&desk))?;
        let vm = Vm::new(isos.installed(), Hardware::with(firmware))?;
        vm.insert(image_in, &ranges.put(HOST, "image.iso", Arc::new(image))).await?;
        vm.insert(volume_in, &ranges.put(HOST, "volume.iso", Arc::new(volume))).await?;
        vm.power_on(Start::Drive(Drive::First)).await?;
        let console = vm.console().await;
        console.until("done", LIMIT).await?;
        let lines = console.lines()?;
        let found = console.said("volume")?;
        ensure!(found.is_some_and(|said| said.starts_with(format.label())), "{lines:?}");
        ensure!(console.said("user-data sha256")? == Some(sha256(&user_data())), "{lines:?}");
        desk.called(LIMIT).await?;
        vm.power_off().await?;
    }
    Ok(())
}

fn configuration(desk: &Desk) -> Configuration {
    let meta_data = MetaData {
        instance_id: "c1".to_owned(),
        hostname: "edge-1".to_owned(),
        provider_id: "b7://metal/r1".to_owned(),
        zone: Some("rack \"1\"".to_owned()),
        host: "r1".to_owned(),
        namespace: "metal".to_owned(),
        cluster: None,
        uuid: None,
        phone_home_url: desk.home(),
        more: Default::default(),
    };
    Configuration { user_data: user_data().into(), meta_data, network_config: None }
}
