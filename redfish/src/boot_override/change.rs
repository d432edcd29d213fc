//! How boot settings are changed: where they are kept, and what a BMC refuses to be told.

use serde_json::{Map, Value, json};

use super::{BootMode, ENABLED, MODE};
use crate::bmc::Bmc;
use crate::error::Error;
use crate::patience::Deadline;
use crate::quirks::FirstBoot;
use crate::system::System;
use crate::transport::Answer;

impl Bmc {
    /// Changes the boot settings: at the system, else at its settings object, where some keep what is pending
    /// (iDRAC10; Lenovo's `/Pending`).
    pub(super) async fn change_boot(
        &self,
        system: &System,
        boot: &Map<String, Value>,
        deadline: Deadline,
    ) -> Result<System, Error> {
        let answer = match self.change_system(system, boot, deadline).await {
            Err(refused @ Error::Said { status: 400 | 404 | 405 | 501, .. }) => {
                self.change_settings(system, boot, deadline).await?.ok_or(refused)?
            }
            answer => answer?,
        };
        self.finished("boot override", &answer, deadline).await?;
        self.patiently(deadline, || self.refresh(system)).await
    }

    /// Asks with all that is wanted, then without what is so already and the BMC stumbles over: some refuse a property
    /// that does not change, others refuse a change without it (sushy sends less or more by vendor).
    async fn change_system(
        &self,
        system: &System,
        boot: &Map<String, Value>,
        deadline: Deadline,
    ) -> Result<Answer, Error> {
        let ask = async |boot: &Map<String, Value>| {
            let body = json!({ "Boot": boot });
            self.patiently(deadline, || self.patch(system.path(), system.resource().etag(), &body)).await
        };
        let refused = match ask(boot).await {
            Err(error @ Error::Said { status: 400, .. }) => error,
            answer => return answer,
        };
        let mut less = boot.clone();
        less.retain(|name, value| {
            let same = system.resource().at(&format!("Boot/{name}")) == Some(value);
            let named = matches!(&refused, Error::Said { messages, .. } if messages.mention(name));
            !(same && named && [ENABLED, MODE].contains(&name.as_str()))
        });
        if less.len() == boot.len() { Err(refused) } else { ask(&less).await }
    }

    async fn change_settings(
        &self,
        system: &System,
        boot: &Map<String, Value>,
        deadline: Deadline,
    ) -> Result<Option<Answer>, Error> {
        if self.quirks().await?.settings_are_for_firmware_only() {
            return Ok(None);
        }
        let Some(path) = system.resource().link("@Redfish.Settings/SettingsObject") else { return Ok(None) };
        let settings = self.patiently(deadline, || self.get(path)).await?;
        let body = json!({ "Boot": boot });
        self.patiently(deadline, || self.patch(path, settings.etag(), &body)).await.map(Some)
    }

    /// Reads the mode back: Supermicro falls back to BIOS when a target is set, and takes the mode in a second change.
    pub(super) async fn in_mode(
        &self,
        armed: System,
        boot: &Map<String, Value>,
        mode: BootMode,
        deadline: Deadline,
    ) -> Result<System, Error> {
        let is_other = |system: &System| system.override_mode().is_some_and(|is| is != mode.name());
        if !is_other(&armed) {
            return Ok(armed);
        }
        let mut boot = boot.clone();
        boot.insert(MODE.into(), json!(mode.name()));
        let armed = self.change_boot(&armed, &boot, deadline).await?;
        if is_other(&armed) {
            let what = format!(
                "a boot by {} (it stays at {}): set the boot mode in the machine's firmware",
                mode.name(),
                armed.override_mode().unwrap_or_default()
            );
            return Err(self.not_supported(&what));
        }
        Ok(armed)
    }

    /// Chooses the first boot device by the manager's attributes, where that is how it is done. Whether it is.
    pub(super) async fn set_first_boot(
        &self,
        system: &System,
        first: FirstBoot,
        deadline: Deadline,
    ) -> Result<bool, Error> {
        let quirks = self.quirks().await?;
        if !quirks.may_choose_by_attribute() {
            return Ok(false);
        }
        for path in self.managers(system).await? {
            let manager = self.patiently(deadline, || self.told(&path)).await?;
            let Some(change) = manager.and_then(|manager| quirks.first_boot(&manager, first)) else {
                continue;
            };
            let answer = self.patiently(deadline, || self.patch(&change.path, None, &change.body)).await?;
            self.finished("choice of the first boot device", &answer, deadline).await?;
            return Ok(true);
        }
        Ok(false)
    }
}
