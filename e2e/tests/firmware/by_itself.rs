//! Images as they are, with the parameters in their own configuration.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::isos::{Firmware, Isos, Layout};
use bytes::Bytes;

use super::boot::boot;
use super::desk::Desk;

#[tokio::test]
#[ignore = "long: make firmware"]
async fn every_layout_boots_by_itself_under_every_firmware() -> Result<()> {
    let test = "every_layout_boots_by_itself_under_every_firmware";
    let Some(isos) = Isos::shared(test)? else { return Ok(()) };
    for layout in Layout::ALL {
        for firmware in [Firmware::Uefi, Firmware::Bios] {
            if layout.starts_with(firmware) {
                boots(&isos, layout, firmware)
                    .await
                    .with_context(|| format!("{} under {firmware}", layout.name()))?;
            }
        }
    }
    Ok(())
}

async fn boots(isos: &Isos, layout: Layout, firmware: Firmware) -> Result<()> {
    let desk = Desk::start().await?;
    let parameter = format!("ds=nocloud;s={}", desk.configuration());
    let image = std::fs::read(isos.iso(layout, &["b7.some=thing", &parameter]).await?)?;
    let begin = std::time::Instant::now();
    let said = boot(isos, firmware, Arc::new(Bytes::from(image)), &desk).await?;
    eprintln!("{} under {firmware}: {:.1} s", layout.name(), begin.elapsed().as_secs_f64());
    let line: Vec<_> = said.command_line.split_whitespace().collect();
    for expected in layout.own_parameters().split_whitespace().chain(["b7.some=thing", parameter.as_str()]) {
        ensure!(line.contains(&expected), "{expected} is not among {line:?}");
    }
    Ok(())
}
