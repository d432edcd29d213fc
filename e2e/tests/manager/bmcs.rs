//! The simulated BMCs behind the hosts of a test, by the numbers of the hosts.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use beskar7_redfish_sim::bmc::{Bmc, Credentials};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::host::Host;
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::machine::power::{PowerState, ResetType};
use beskar7_redfish_sim::profiles::Profile;

use super::setup::PASSWORD;

/// BMCs at one address after the other.
#[derive(Clone)]
pub struct Bmcs {
    pub fleet: Arc<Fleet>,
    first: Ipv4Addr,
}

impl Bmcs {
    /// So many of this make at `first` and after it, at a fiftieth of their times. The password is [`PASSWORD`].
    pub async fn start(first: Ipv4Addr, count: usize, make: &'static Profile) -> Result<Self> {
        Self::start_at(0.02, first, count, make).await
    }

    /// The same, at this part of their times.
    pub async fn start_at(pace: f64, first: Ipv4Addr, count: usize, make: &'static Profile) -> Result<Self> {
        let credentials = Credentials { username: "root".to_owned(), password: PASSWORD.to_owned() };
        let config =
            FleetConfig { count, profiles: vec![make], first, pace, credentials, ..FleetConfig::default() };
        Ok(Self { fleet: Fleet::start(config).await?, first })
    }

    pub fn url(&self, number: usize) -> String {
        self.fleet.url(self.address(number))
    }

    fn address(&self, number: usize) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.first) + u32::try_from(number).unwrap_or_default())
    }

    fn host(&self, number: usize) -> Result<Arc<Host>> {
        self.fleet.host(self.address(number)).with_context(|| format!("no BMC {number}"))
    }

    /// Looks into a BMC, or changes it.
    pub fn with<T>(&self, number: usize, act: impl FnOnce(&mut Bmc) -> T) -> Result<T> {
        Ok(self.host(number)?.with(|bmc, _| act(bmc)))
    }

    /// Changes a machine's power as somebody would who stands before it.
    pub fn press(&self, number: usize, kind: ResetType) -> Result<()> {
        self.host(number)?.with(|bmc, now| bmc.machine.reset(now, "somebody", kind));
        Ok(())
    }

    pub fn is_off_and_empty(&self, number: usize) -> Result<bool> {
        self.with(number, |bmc| {
            bmc.machine.power() == PowerState::Off
                && bmc.machine.slots().iter().all(|slot| slot.image.is_none())
        })
    }

    /// What was done to a machine since its log was cleared, but for what it does by itself.
    pub fn done_to(&self, number: usize) -> Result<Vec<Action>> {
        let by_itself = |action: &Action| {
            matches!(
                action,
                Action::LoggedIn | Action::Booted { .. } | Action::Read { .. } | Action::OverrideConsumed
            )
        };
        self.with(number, |bmc| {
            let all = bmc.machine.log().entries().map(|entry| entry.action.clone());
            all.filter(|action| !by_itself(action)).collect()
        })
    }

    /// How often a machine was turned on since its log was cleared.
    pub fn times_on(&self, number: usize) -> Result<usize> {
        Ok(self.done_to(number)?.iter().filter(|action| matches!(action, Action::PoweredOn)).count())
    }
}
