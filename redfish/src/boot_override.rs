//! What a machine boots from next, once.

mod change;

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::bmc::Bmc;
use crate::error::Error;
use crate::patience::Deadline;
use crate::quirks::FirstBoot;
use crate::system::System;

const ENABLED: &str = "BootSourceOverrideEnabled";
const TARGET: &str = "BootSourceOverrideTarget";
const MODE: &str = "BootSourceOverrideMode";
const UEFI_TARGET: &str = "UefiTargetBootSourceOverride";

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
        self.boot(ENABLED)
    }

    /// What the next boot is overridden to.
    #[must_use]
    pub fn override_target(&self) -> Option<&str> {
        self.boot(TARGET)
    }

    /// How the overridden boot starts, where the BMC says.
    #[must_use]
    pub fn override_mode(&self) -> Option<&str> {
        self.boot(MODE)
    }

    fn boot(&self, name: &str) -> Option<&str> {
        self.resource().text(&format!("Boot/{name}"))
    }
}

impl Bmc {
    /// Makes a system boot from a target, once: Continuous is not known everywhere, and would reinstall a machine.
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
        let deadline = Deadline::after(limit);
        let system = self.patiently(deadline, || self.refresh(system)).await?;
        if *target == BootTarget::VirtualCd
            && self.set_first_boot(&system, FirstBoot::VirtualCd, deadline).await?
        {
            return self.refresh(&system).await;
        }
        if system.resource().at("Boot").is_none() {
            return Err(self.not_supported(
                "choosing what to boot from: it boots as its firmware is set, so set that to network boot",
            ));
        }
        let boot = self.wanted(&system, target, mode).await?;
        let armed = self.change_boot(&system, &boot, deadline).await?;
        let armed = self.in_mode(armed, &boot, mode, deadline).await?;
        self.with_whole_path(armed, target)
    }

    /// Makes a system boot as its firmware is set.
    ///
    /// # Errors
    /// The BMC refused it.
    pub async fn clear_boot_override(&self, system: &System, limit: Duration) -> Result<System, Error> {
        let deadline = Deadline::after(limit);
        let system = self.patiently(deadline, || self.refresh(system)).await?;
        self.set_first_boot(&system, FirstBoot::Normal, deadline).await?;
        if matches!(system.override_enabled(), None | Some("Disabled")) {
            return Ok(system);
        }
        let mut boot = Map::from_iter([(ENABLED.to_owned(), json!("Disabled"))]);
        if self.quirks().await?.override_needs_mode() {
            boot.insert(TARGET.into(), json!("None"));
            boot.insert(MODE.into(), json!(system.override_mode().unwrap_or(BootMode::Uefi.name())));
        }
        self.change_boot(&system, &boot, deadline).await
    }

    async fn wanted(
        &self,
        system: &System,
        target: &BootTarget,
        mode: BootMode,
    ) -> Result<Map<String, Value>, Error> {
        let mut boot = Map::new();
        boot.insert(ENABLED.into(), json!("Once"));
        boot.insert(TARGET.into(), json!(self.target_name(system, target).await?));
        // Left out where the BMC does not report it: HPE and the GB200 have none.
        if system.override_mode().is_some() || self.quirks().await?.override_needs_mode() {
            boot.insert(MODE.into(), json!(mode.name()));
        }
        match target {
            BootTarget::UefiHttp(url) => {
                boot.insert("HttpBootUri".into(), json!(url));
            }
            BootTarget::UefiTarget(path) => {
                boot.insert(UEFI_TARGET.into(), json!(path));
            }
            BootTarget::VirtualCd | BootTarget::Pxe => {}
        }
        Ok(boot)
    }

    /// Reads a UEFI path back: a part of it would start something else, or the same without its arguments.
    fn with_whole_path(&self, armed: System, target: &BootTarget) -> Result<System, Error> {
        let wanted = match target {
            BootTarget::UefiTarget(path) => path,
            BootTarget::VirtualCd | BootTarget::Pxe | BootTarget::UefiHttp(_) => return Ok(armed),
        };
        match armed.boot(UEFI_TARGET) {
            Some(kept) if armed.override_target() == Some("UefiTarget") && kept != wanted => {
                Err(self.not_supported(&format!("booting from this UEFI target (it keeps {kept} of it)")))
            }
            Some(_) | None => Ok(armed),
        }
    }

    /// The name that this system has for a target.
    async fn target_name(&self, system: &System, target: &BootTarget) -> Result<String, Error> {
        let usb_first = self.quirks().await?.virtual_cd_is_usb(system.model());
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
