//! Turns machines on and off, and believes it when it is seen.

use std::time::Duration;

use serde_json::json;

use crate::bmc::Bmc;
use crate::error::Error;
use crate::patience::{Deadline, pauses};
use crate::resource::Resource;
use crate::shown::shown;
use crate::system::{Power, System};

const RESET: &str = "Actions/#ComputerSystem.Reset";
/// What a system that does not say what it allows is asked for: what Redfish has had from its first day.
const USUAL: [&str; 4] = ["On", "ForceOff", "GracefulShutdown", "ForceRestart"];

/// How patient to be with a machine.
#[derive(Debug, Clone, Copy)]
pub struct PowerLimits {
    /// For an operating system to shut down by itself.
    pub graceful: Duration,
    /// For power to be seen as asked for.
    pub seen: Duration,
    /// Between two looks.
    pub look: Duration,
}

impl Default for PowerLimits {
    fn default() -> Self {
        Self {
            graceful: Duration::from_secs(120),
            seen: Duration::from_secs(120),
            look: Duration::from_secs(2),
        }
    }
}

impl Bmc {
    /// Turns a system on, and waits until it is seen on.
    ///
    /// # Errors
    /// The BMC does not allow it, or it was not seen in time.
    pub async fn power_on(&self, system: &System, limits: PowerLimits) -> Result<System, Error> {
        let now = self.refresh(system).await?;
        if now.power() == Power::On {
            return Ok(now);
        }
        let types = self.reset_types(&now).await?;
        self.reset(&now, &types, &["On", "ForceOn", "PushPowerButton"], Power::On, limits).await?;
        self.seen(&now, Power::On, limits.seen, limits.look).await
    }

    /// Turns a system off, politely if that is possible, then by force, and waits until it is seen off.
    ///
    /// # Errors
    /// The BMC does not allow it, or it was not seen in time.
    pub async fn power_off(&self, system: &System, limits: PowerLimits) -> Result<System, Error> {
        let now = self.refresh(system).await?;
        if now.power() == Power::Off {
            return Ok(now);
        }
        let types = self.reset_types(&now).await?;
        if types.iter().any(|allowed| allowed == "GracefulShutdown") && !limits.graceful.is_zero() {
            let asked = self.reset(&now, &types, &["GracefulShutdown"], Power::Off, limits).await;
            // Refused or ignored, force is next.
            if asked.is_ok()
                && let Ok(off) = self.seen(&now, Power::Off, limits.graceful, limits.look).await
            {
                return Ok(off);
            }
        }
        self.reset(&now, &types, &["ForceOff", "Off", "PushPowerButton"], Power::Off, limits).await?;
        self.seen(&now, Power::Off, limits.seen, limits.look).await
    }

    /// The kinds of reset that a system allows, from where it says so.
    async fn reset_types(&self, system: &System) -> Result<Vec<String>, Error> {
        let resource = system.resource();
        if resource.at(RESET).is_none() {
            return Err(self.not_supported("power control of this system"));
        }
        let inline = resource.texts(&format!("{RESET}/ResetType@Redfish.AllowableValues"));
        if !inline.is_empty() {
            return Ok(owned(inline));
        }
        if let Some(path) = resource.text(&format!("{RESET}/@Redfish.ActionInfo")) {
            let path = path.to_owned();
            let info = self.get(&path).await?;
            let named = allowed_by_action_info(&info);
            if !named.is_empty() {
                return Ok(named);
            }
        }
        Ok(owned(USUAL.to_vec()))
    }

    /// Asks for the first of `wanted` that is allowed. Being in that state already is no failure, and a machine that
    /// has just been turned off may need a moment before it can be turned on.
    async fn reset(
        &self,
        system: &System,
        allowed: &[String],
        wanted: &[&str],
        goal: Power,
        limits: PowerLimits,
    ) -> Result<(), Error> {
        let Some(kind) = wanted.iter().find(|kind| allowed.iter().any(|allowed| allowed == *kind)) else {
            let what = format!("any of {} (it allows {})", wanted.join(", "), allowed.join(", "));
            return Err(self.not_supported(&what));
        };
        let default = format!("{}/Actions/ComputerSystem.Reset", system.path().trim_end_matches('/'));
        let target = system.resource().text(&format!("{RESET}/target")).unwrap_or(&default).to_owned();
        let body = json!({ "ResetType": kind });
        let deadline = Deadline::after(limits.seen);
        let mut pauses = pauses();
        loop {
            let refused = match self.patiently(deadline, || self.post(&target, &body)).await {
                Ok(_) => return Ok(()),
                Err(error @ Error::Said { status: 400 | 409, .. }) => error,
                Err(error) => return Err(error),
            };
            if self.refresh(system).await?.power() == goal {
                return Ok(());
            }
            let pause = pauses.next().unwrap_or(limits.look);
            if pause >= deadline.left() {
                return Err(refused);
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn seen(
        &self,
        system: &System,
        goal: Power,
        limit: Duration,
        look: Duration,
    ) -> Result<System, Error> {
        let deadline = Deadline::after(limit);
        loop {
            let now = self.patiently(deadline, || self.refresh(system)).await?;
            if now.power() == goal {
                return Ok(now);
            }
            if look >= deadline.left() {
                let what = format!("the machine being {goal:?} (it is {:?})", now.power());
                return Err(self.not_seen(what, deadline));
            }
            tokio::time::sleep(look).await;
        }
    }

    pub(crate) fn not_supported(&self, what: &str) -> Error {
        Error::NotSupported { address: self.address().to_string(), what: shown(what) }
    }
}

pub(crate) fn allowed_by_action_info(info: &Resource) -> Vec<String> {
    let parameters = info.at("Parameters").and_then(|p| p.as_array()).into_iter().flatten();
    parameters
        .filter(|parameter| parameter.get("Name").and_then(|name| name.as_str()) == Some("ResetType"))
        .filter_map(|parameter| parameter.get("AllowableValues")?.as_array())
        .flatten()
        .filter_map(|value| value.as_str().map(ToOwned::to_owned))
        .collect()
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(ToOwned::to_owned).collect()
}
