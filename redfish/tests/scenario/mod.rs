//! What the client does with a BMC, whoever wrote the BMC: the same scenarios run against every profile of the
//! simulator here, and against other people's software in `e2e/tests/peers`.
//!
//! A scenario says what went wrong instead of panicking, because a BMC may be listed as unable to play it.
#![allow(dead_code, reason = "each test crate that includes this uses a part of it")]

use std::time::Duration;

use beskar7_redfish::{
    Address, Bmc, BootMode, BootTarget, Credentials, Error, HttpClients, Limits, Power, PowerLimits, System,
    Trust,
};

const LIMIT: Duration = Duration::from_secs(60);

/// What a scenario found wrong.
pub type Outcome = Result<(), String>;

/// Where a BMC is and who may log in.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its address, which may name a system.
    pub address: String,
    pub username: String,
    pub password: String,
    /// Two images; whether they are read depends on the BMC.
    pub images: [String; 2],
    /// For an operating system to shut down by itself, before force is used.
    pub graceful: Duration,
}

impl Place {
    /// A client of its own for each scenario.
    pub fn bmc(&self) -> Result<Bmc, String> {
        self.bmc_with(&self.password)
    }

    fn patience(&self) -> PowerLimits {
        PowerLimits { graceful: self.graceful, seen: LIMIT, look: Duration::from_millis(100) }
    }

    fn bmc_with(&self, password: &str) -> Result<Bmc, String> {
        let http = HttpClients::default().get(&Trust::Anything).map_err(|error| error.to_string())?;
        let address = Address::parse(&self.address).map_err(|error| error.to_string())?;
        Ok(Bmc::new(http, address, Credentials::new(&self.username, password), Limits::default()))
    }
}

/// One thing that a client of BMCs must be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// The system is found and says who it is.
    Identify,
    /// A system that is not there is named, with those that are.
    WrongSystem,
    /// A wrong password is refused and not repeated.
    WrongPassword,
    /// What was closed opens again by itself.
    CloseAndGoOn,
    /// A system that did not change is the same when read again.
    ReadAgain,
    /// On and off, each twice: what is so already is no error.
    Power,
    /// An image is inserted, twice, and ejected, twice.
    Media,
    /// An image takes the place of another.
    MediaReplaced,
    /// A second image goes in beside the first, and both are ejected.
    SecondImage,
    /// The next boot is from the virtual CD.
    BootFromCd,
    /// The next boot is from the network.
    BootFromNetwork,
    /// It is the next boot, and only that.
    BootOnce,
    /// The boot override is taken back.
    ClearBoot,
    /// Processors are told.
    Processors,
    /// Memory modules are told.
    Memory,
    /// Network interfaces are told, with their MAC addresses.
    Nics,
    /// Drives are told, with their sizes.
    Drives,
    /// The versions of firmware are told.
    Firmware,
    /// The whole of a provisioning and a release.
    BootIsoAndClean,
}

impl Scenario {
    pub const ALL: [Self; 19] = [
        Self::Identify,
        Self::WrongSystem,
        Self::WrongPassword,
        Self::CloseAndGoOn,
        Self::ReadAgain,
        Self::Power,
        Self::Media,
        Self::MediaReplaced,
        Self::SecondImage,
        Self::BootFromCd,
        Self::BootFromNetwork,
        Self::BootOnce,
        Self::ClearBoot,
        Self::Processors,
        Self::Memory,
        Self::Nics,
        Self::Drives,
        Self::Firmware,
        Self::BootIsoAndClean,
    ];

    /// Plays it; the machine may be in any state before, and is in any after.
    pub async fn play(self, place: &Place) -> Outcome {
        match self {
            Self::Identify => identify(place).await,
            Self::WrongSystem => wrong_system(place).await,
            Self::WrongPassword => wrong_password(place).await,
            Self::CloseAndGoOn => close_and_go_on(place).await,
            Self::ReadAgain => read_again(place).await,
            Self::Power => power(place).await,
            Self::Media => media(place).await,
            Self::MediaReplaced => media_replaced(place).await,
            Self::SecondImage => second_image(place).await,
            Self::BootFromCd => boot_from(place, &BootTarget::VirtualCd, &["Cd", "UsbCd"]).await,
            Self::BootFromNetwork => boot_from(place, &BootTarget::Pxe, &["Pxe"]).await,
            Self::BootOnce => boot_once(place).await,
            Self::ClearBoot => clear_boot(place).await,
            Self::Processors | Self::Memory | Self::Nics | Self::Drives | Self::Firmware => {
                self.inventory(place).await
            }
            Self::BootIsoAndClean => boot_iso_and_clean(place).await,
        }
    }

    async fn inventory(self, place: &Place) -> Outcome {
        let (bmc, system) = found(place).await?;
        let told = ok("inventory", bmc.inventory(&system).await)?;
        let all = format!("{told:?}");
        match self {
            Self::Processors => check(!told.processors.is_empty(), all),
            Self::Memory => check(told.memory.iter().any(|module| module.mib > Some(0)), all),
            Self::Nics => check(told.nics.iter().any(|nic| nic.mac_address.is_some()), all),
            Self::Drives => check(told.drives.iter().any(|drive| drive.bytes > Some(0)), all),
            Self::Firmware => check(told.firmware.iter().any(|part| part.version.is_some()), all),
            Self::Identify
            | Self::WrongSystem
            | Self::WrongPassword
            | Self::CloseAndGoOn
            | Self::ReadAgain
            | Self::Power
            | Self::Media
            | Self::MediaReplaced
            | Self::SecondImage
            | Self::BootFromCd
            | Self::BootFromNetwork
            | Self::BootOnce
            | Self::ClearBoot
            | Self::BootIsoAndClean => Err(format!("{self:?} is not about the inventory")),
        }
    }
}

fn check(holds: bool, otherwise: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

fn ok<T>(step: &str, result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| {
        let mut text = format!("{step}: {error}");
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        text
    })
}

async fn found(place: &Place) -> Result<(Bmc, System), String> {
    let bmc = place.bmc()?;
    let system = ok("finding the system", bmc.system(None).await)?;
    Ok((bmc, system))
}

async fn identify(place: &Place) -> Outcome {
    let (bmc, system) = found(place).await?;
    check(system.uuid().is_some_and(|uuid| uuid.len() == 36), format!("UUID {:?}", system.uuid()))?;
    let id = system.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let same = ok("finding it by its id", bmc.system(Some(id)).await)?;
    check(same.uuid() == system.uuid(), format!("by its id it is {:?}", same.uuid()))?;
    check(matches!(system.power(), Power::On | Power::Off), format!("power is {:?}", system.power()))
}

async fn wrong_system(place: &Place) -> Outcome {
    match place.bmc()?.system(Some("not-there")).await {
        Err(Error::NoSuchSystem { wanted, present, .. }) => {
            check(wanted == "not-there" && !present.is_empty(), format!("{wanted} is not among {present:?}"))
        }
        other => Err(format!("{other:?}")),
    }
}

async fn wrong_password(place: &Place) -> Outcome {
    match place.bmc_with("wrong-secret")?.system(None).await {
        Err(error @ Error::BadCredentials { .. }) => {
            check(!format!("{error} {error:?}").contains("wrong-secret"), "the password is shown")
        }
        other => Err(format!("{other:?}")),
    }
}

async fn close_and_go_on(place: &Place) -> Outcome {
    let (bmc, system) = found(place).await?;
    ok("closing", bmc.close().await)?;
    ok("closing again", bmc.close().await)?;
    ok("reading after that", bmc.refresh(&system).await)?;
    ok("closing at last", bmc.close().await)
}

async fn read_again(place: &Place) -> Outcome {
    let (bmc, system) = found(place).await?;
    let again = ok("reading again", bmc.refresh(&system).await)?;
    check(
        (again.uuid(), again.model(), again.path()) == (system.uuid(), system.model(), system.path()),
        format!("{system:?} became {again:?}"),
    )
}

async fn power(place: &Place) -> Outcome {
    let (bmc, system) = found(place).await?;
    let off = ok("off", bmc.power_off(&system, place.patience()).await)?;
    check(off.power() == Power::Off, format!("{:?} after off", off.power()))?;
    let off = ok("off again", bmc.power_off(&off, place.patience()).await)?;
    let on = ok("on", bmc.power_on(&off, place.patience()).await)?;
    check(on.power() == Power::On, format!("{:?} after on", on.power()))?;
    let on = ok("on again", bmc.power_on(&on, place.patience()).await)?;
    let off = ok("off at last", bmc.power_off(&on, place.patience()).await)?;
    check(off.power() == Power::Off, format!("{:?} after the last off", off.power()))
}

/// The images that the BMC shows in its slots, each once: a drive may have two names.
async fn images(bmc: &Bmc, system: &System) -> Result<Vec<String>, String> {
    let slots = ok("reading the slots", bmc.slots(system).await)?;
    let inserted = slots.iter().filter(|slot| slot.is_inserted());
    let mut images: Vec<String> = inserted.map(|slot| slot.image().unwrap_or("unnamed").to_owned()).collect();
    images.dedup();
    Ok(images)
}

async fn media(place: &Place) -> Outcome {
    let [image, _] = &place.images;
    let (bmc, system) = found(place).await?;
    ok("ejecting what there is", bmc.eject_all(&system, LIMIT).await)?;
    for step in ["inserting", "inserting the same again"] {
        let slot = ok(step, bmc.insert(&system, image.as_str(), LIMIT).await)?;
        check(slot.is_inserted(), format!("{step}: {slot:?}"))?;
        let there = images(&bmc, &system).await?;
        check(there == [image.as_str()], format!("{step}: {there:?}"))?;
    }
    for step in ["ejecting", "ejecting again"] {
        ok(step, bmc.eject_all(&system, LIMIT).await)?;
        let there = images(&bmc, &system).await?;
        check(there.is_empty(), format!("{step}: {there:?}"))?;
    }
    Ok(())
}

async fn media_replaced(place: &Place) -> Outcome {
    let [image, other] = &place.images;
    let (bmc, system) = found(place).await?;
    ok("ejecting what there is", bmc.eject_all(&system, LIMIT).await)?;
    ok("inserting", bmc.insert(&system, image.as_str(), LIMIT).await)?;
    ok("inserting another", bmc.insert(&system, other.as_str(), LIMIT).await)?;
    let there = images(&bmc, &system).await?;
    check(there == [other.as_str()], format!("{there:?}"))?;
    ok("ejecting", bmc.eject_all(&system, LIMIT).await)
}

async fn second_image(place: &Place) -> Outcome {
    let [image, second] = &place.images;
    let (bmc, system) = found(place).await?;
    ok("ejecting what there is", bmc.eject_all(&system, LIMIT).await)?;
    let boot = ok("inserting", bmc.insert(&system, image.as_str(), LIMIT).await)?;
    for step in ["inserting a second", "inserting the same second again"] {
        let slot = ok(step, bmc.insert_beside(&system, second.as_str(), &boot, LIMIT).await)?;
        check(slot.path() != boot.path() && slot.is_inserted(), format!("{step}: {slot:?}"))?;
        let still = ok("reading the first", bmc.slot(boot.path()).await)?;
        check(still.image() == boot.image(), format!("{step}: the first is {still:?}"))?;
    }
    let again = ok("inserting the first again", bmc.insert(&system, image.as_str(), LIMIT).await)?;
    check(again.path() == boot.path(), format!("the first went to {again:?}"))?;
    ok("ejecting both", bmc.eject_all(&system, LIMIT).await)?;
    let there = images(&bmc, &system).await?;
    check(there.is_empty(), format!("after ejecting: {there:?}"))
}

async fn boot_from(place: &Place, target: &BootTarget, names: &[&str]) -> Outcome {
    let (bmc, system) = found(place).await?;
    let armed = ok("arming", bmc.boot_once(&system, target, BootMode::Uefi, LIMIT).await)?;
    let shown = (armed.override_enabled(), armed.override_target());
    check(
        shown.0.is_some_and(|enabled| enabled != "Disabled")
            && shown.1.is_some_and(|target| names.contains(&target)),
        format!("armed: {shown:?}"),
    )
}

async fn boot_once(place: &Place) -> Outcome {
    let (bmc, system) = found(place).await?;
    let armed = ok("arming", bmc.boot_once(&system, &BootTarget::VirtualCd, BootMode::Uefi, LIMIT).await)?;
    check(armed.override_enabled() == Some("Once"), format!("armed: {:?}", armed.override_enabled()))
}

async fn clear_boot(place: &Place) -> Outcome {
    let (bmc, system) = found(place).await?;
    let armed = ok("arming", bmc.boot_once(&system, &BootTarget::Pxe, BootMode::Uefi, LIMIT).await)?;
    let clean = ok("clearing", bmc.clear_boot_override(&armed, LIMIT).await)?;
    check(
        matches!(clean.override_enabled(), None | Some("Disabled")),
        format!("cleared: {:?}", clean.override_enabled()),
    )
}

async fn boot_iso_and_clean(place: &Place) -> Outcome {
    let [image, _] = &place.images;
    let (bmc, system) = found(place).await?;
    let off = ok("off", bmc.power_off(&system, place.patience()).await)?;
    let slot = ok("inserting", bmc.insert(&off, image.as_str(), LIMIT).await)?;
    check(slot.is_inserted(), format!("{slot:?}"))?;
    let armed = ok("arming", bmc.boot_once(&off, &BootTarget::VirtualCd, BootMode::Uefi, LIMIT).await)?;
    let on = ok("on", bmc.power_on(&armed, place.patience()).await)?;
    check(on.power() == Power::On, format!("{:?} after on", on.power()))?;

    let off = ok("off again", bmc.power_off(&on, place.patience()).await)?;
    ok("ejecting", bmc.eject_all(&off, LIMIT).await)?;
    let there = images(&bmc, &off).await?;
    check(there.is_empty(), format!("after ejecting: {there:?}"))?;
    let clean = ok("clearing", bmc.clear_boot_override(&off, LIMIT).await)?;
    check(
        matches!(clean.override_enabled(), None | Some("Disabled")),
        format!("cleared: {:?}", clean.override_enabled()),
    )?;
    ok("closing", bmc.close().await)
}
