//! What a machine boots from next, once.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::bmc::{Bmc, Deadline};
use crate::error::Error;
use crate::resource::Resource;
use crate::system::System;

/// What to boot from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootTarget {
    /// The virtual CD.
    VirtualCd,
    /// The network, by PXE.
    Pxe,
    /// The network, by UEFI HTTP boot from this URL.
    UefiHttp(String),
    /// A UEFI device path, with what follows it.
    UefiTarget(String),
}

/// How firmware starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootMode {
    /// UEFI.
    Uefi,
    /// BIOS.
    Legacy,
}

impl BootMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Uefi => "UEFI",
            Self::Legacy => "Legacy",
        }
    }
}

impl System {
    /// Whether an override waits to be used; one that was used by a boot is Disabled again.
    #[must_use]
    pub fn override_enabled(&self) -> Option<&str> {
        self.resource().text("Boot/BootSourceOverrideEnabled")
    }

    /// What the next boot is overridden to.
    #[must_use]
    pub fn override_target(&self) -> Option<&str> {
        self.resource().text("Boot/BootSourceOverrideTarget")
    }
}

impl Bmc {
    /// Makes a system boot from a target, once.
    ///
    /// # Errors
    /// The BMC has no override, not this target, or refused it.
    pub async fn boot_once(
        &self,
        system: &System,
        target: &BootTarget,
        mode: BootMode,
        limit: Duration,
    ) -> Result<System, Error> {
        let system = self.refresh(system).await?;
        if system.resource().at("Boot").is_none() {
            return Err(
                self.not_supported("choosing what to boot from: it can only boot as its firmware is set")
            );
        }
        let name = self.target_name(&system, target).await?;
        let mut boot = Map::new();
        boot.insert("BootSourceOverrideEnabled".into(), json!("Once"));
        boot.insert("BootSourceOverrideTarget".into(), json!(name));
        // Left out where the BMC does not report it: some have none, some would start a BIOS job.
        let reports_mode = system.resource().text("Boot/BootSourceOverrideMode").is_some();
        if reports_mode || self.quirks().await?.override_needs_mode() {
            boot.insert("BootSourceOverrideMode".into(), json!(mode.name()));
        }
        match target {
            BootTarget::UefiHttp(url) => {
                boot.insert("HttpBootUri".into(), json!(url));
            }
            BootTarget::UefiTarget(path) => {
                boot.insert("UefiTargetBootSourceOverride".into(), json!(path));
            }
            BootTarget::VirtualCd | BootTarget::Pxe => {}
        }
        self.patch_boot(&system, &boot, Deadline::after(limit)).await
    }

    /// Makes a system boot as its firmware is set.
    ///
    /// # Errors
    /// The BMC refused it.
    pub async fn clear_boot_override(&self, system: &System, limit: Duration) -> Result<System, Error> {
        let system = self.refresh(system).await?;
        if matches!(system.override_enabled(), None | Some("Disabled")) {
            return Ok(system);
        }
        let boot = Map::from_iter([("BootSourceOverrideEnabled".to_owned(), json!("Disabled"))]);
        self.patch_boot(&system, &boot, Deadline::after(limit)).await
    }

    /// Changes the boot settings: at the system, else at its settings object, where some keep what is pending.
    async fn patch_boot(
        &self,
        system: &System,
        boot: &Map<String, Value>,
        deadline: Deadline,
    ) -> Result<System, Error> {
        let body = json!({ "Boot": boot });
        let at_system = || self.patch(system.path(), system.resource().etag(), &body);
        let answer = match self.patiently(deadline, at_system).await {
            Err(refused @ Error::Said { status: 400 | 403 | 404 | 405 | 501, .. }) => {
                match settings_object(system.resource()) {
                    Some(path) => {
                        let settings = self.get(&path).await?;
                        self.patiently(deadline, || self.patch(&path, settings.etag(), &body)).await?
                    }
                    None => return Err(refused),
                }
            }
            answer => answer?,
        };
        self.finished("the boot override", &answer, deadline).await?;
        self.refresh(system).await
    }

    /// The name that this system has for a target.
    async fn target_name(&self, system: &System, target: &BootTarget) -> Result<String, Error> {
        let usb_first = self.quirks().await?.virtual_cd_is_usb();
        let names: &[&str] = match target {
            BootTarget::VirtualCd if usb_first => &["UsbCd", "Cd"],
            BootTarget::VirtualCd => &["Cd", "UsbCd"],
            BootTarget::Pxe => &["Pxe"],
            BootTarget::UefiHttp(_) => &["UefiHttp"],
            BootTarget::UefiTarget(_) => &["UefiTarget"],
        };
        let allowed = system.resource().texts("Boot/BootSourceOverrideTarget@Redfish.AllowableValues");
        let chosen = match allowed.is_empty() {
            // A system that does not say what it allows is asked.
            true => names.first(),
            false => names.iter().find(|name| allowed.contains(*name)),
        };
        chosen.map(|name| (*name).to_owned()).ok_or_else(|| {
            self.not_supported(&format!(
                "booting from {} (it allows {})",
                names.join(" or "),
                allowed.join(", ")
            ))
        })
    }
}

fn settings_object(system: &Resource) -> Option<String> {
    system.link("@Redfish.Settings/SettingsObject").map(ToOwned::to_owned)
}
