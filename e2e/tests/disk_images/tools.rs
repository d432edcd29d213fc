//! What these tests need beside what all tests on machines need: the agent, and what makes images of disks.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use beskar7_e2e::agent::{self, Ramdisk};
use beskar7_e2e::isos::Isos;
use beskar7_e2e::isos::installed::{Missing, program};

/// The tools.
pub struct Tools {
    pub isos: Arc<Isos>,
    pub ramdisk: Ramdisk,
    pub sgdisk: PathBuf,
    pub qemu_img: PathBuf,
    pub wipefs: PathBuf,
}

impl Tools {
    /// All of them. None where one is missing: then it has said that `test` is skipped, and why.
    pub async fn find(test: &str) -> Result<Option<Self>> {
        let Some(isos) = Isos::shared(test)? else { return Ok(None) };
        let Some(agent) = agent::program() else {
            beskar7_skipped::skipped(test, "BESKAR7_AGENT names no agent: make agent-vms builds it");
            return Ok(None);
        };
        let [sgdisk, qemu_img, wipefs] = match programs() {
            Ok(found) => found,
            Err(missing) => {
                beskar7_skipped::skipped(test, missing);
                return Ok(None);
            }
        };
        let ramdisk = Ramdisk::make(isos.installed(), &agent).await?;
        Ok(Some(Self { isos, ramdisk, sgdisk, qemu_img, wipefs }))
    }
}

fn programs() -> Result<[PathBuf; 3], Missing> {
    Ok([program("sgdisk", "gdisk")?, program("qemu-img", "qemu-utils")?, program("wipefs", "util-linux")?])
}
