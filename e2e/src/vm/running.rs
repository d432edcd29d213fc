//! A QEMU that runs, and its monitor's orders for media.

use anyhow::{Context, Result};
use serde_json::json;

use super::arguments::CARD;
use super::qmp::Qmp;
use super::{Drive, HOST};
use crate::process::Process;

/// A QEMU that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) process: Process,
    pub(super) qmp: Qmp,
    /// How many media were in its drives.
    pub(super) media: u32,
}

impl Running {
    /// The order in which devices are tried was for one start: what a later reset starts is on a disk, or nothing.
    pub(super) async fn forget_order(&mut self) -> Result<()> {
        for device in Drive::ALL.map(Drive::id).into_iter().chain([CARD]) {
            let path = format!("/machine/peripheral/{device}");
            let value = json!({"path": path, "property": "bootindex", "value": -1});
            self.qmp.execute("qom-set", value).await?;
        }
        Ok(())
    }

    pub(super) async fn insert_all(&mut self, media: &[(Drive, String)]) -> Result<()> {
        for (drive, url) in media {
            self.insert(*drive, url).await?;
        }
        Ok(())
    }

    pub(super) async fn insert(&mut self, drive: Drive, url: &str) -> Result<()> {
        self.eject(drive).await?;
        let node = self.open(url).await?;
        self.qmp.execute("blockdev-insert-medium", json!({"id": drive.id(), "node-name": node})).await?;
        self.qmp.execute("blockdev-close-tray", json!({"id": drive.id()})).await?;
        Ok(())
    }

    /// What is in a drive becomes a stick that is started from.
    pub(super) async fn plug_in(&mut self, media: &[(Drive, String)], boot: Drive) -> Result<()> {
        let url = media.iter().find(|(drive, _)| *drive == boot).map(|(_, url)| url);
        let node = self.open(url.context("there is nothing to start from")?).await?;
        let stick = json!({"driver": "scsi-hd", "bus": "scsi.0", "id": "stick", "drive": node, "removable": true, "bootindex": 0});
        self.qmp.execute("device_add", stick).await?;
        // Firmware is told of the order in which to try devices by a reset only.
        self.qmp.execute("system_reset", json!({})).await?;
        Ok(())
    }

    /// Opens what is behind a URL, and returns its name in QEMU.
    async fn open(&mut self, url: &str) -> Result<String> {
        self.media += 1;
        let node = format!("medium-{}", self.media);
        let url = url.replacen(&format!("//{HOST}"), "//127.0.0.1", 1);
        let driver = if url.starts_with("https:") { "https" } else { "http" };
        let mut file = json!({"driver": driver, "url": url, "timeout": 60, "readahead": 512 * 1024});
        if let (Some(file), "https") = (file.as_object_mut(), driver) {
            file.insert("sslverify".to_owned(), json!(false));
        }
        let medium = json!({"driver": "raw", "node-name": node, "read-only": true, "file": file});
        self.qmp.execute("blockdev-add", medium).await?;
        Ok(node)
    }

    pub(super) async fn eject(&mut self, drive: Drive) -> Result<()> {
        self.qmp.execute("blockdev-open-tray", json!({"id": drive.id(), "force": true})).await?;
        self.qmp.execute("blockdev-remove-medium", json!({"id": drive.id()})).await?;
        Ok(())
    }
}
