//! What a PhysicalHost promises, a test for each promise. That every make of BMC keeps them is in `life.rs`, what holds
//! when things go wrong in `faults.rs`.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostState, PhysicalHost, physical_host::PowerState};
use beskar7_e2e::wait;
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::machine::boot::{BootSource, OverrideEnabled, Target};
use beskar7_redfish_sim::machine::log::Action;
use beskar7_redfish_sim::machine::power::{PowerState as Power, ResetType};
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::life::released;
use super::place::Place;
use super::setup::{LIMIT, condition};
use super::site::name;

const CLAIM: &str = "3d0f6c1b2a4e5d7c8b9a0f1e2d3c4b5a";
const CONNECTION: &str = "RedfishConnectionReady";

const fn at(third: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 49, third, 1)
}

/// With what its BMC says no to.
fn wrong_password() -> Value {
    json!({"spec": {"redfishConnection": {"credentialsSecretRef": "wrong"}}})
}

fn is_ready(host: &PhysicalHost) -> bool {
    host.status.as_ref().is_some_and(|status| status.ready)
}

/// Waits until a host is gone.
async fn until_gone(place: &Place, number: usize) -> Result<()> {
    let gone = wait::until_true(format!("{} to be gone", name(number)), LIMIT, || async {
        let left = place.hosts().get_opt(&name(number)).await?;
        Ok(left.map_or(Ok(()), |host| Err(format!("{:?}", host.status))))
    });
    Ok(gone.await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn represents_a_single_server() -> Result<()> {
    let place = Place::take("single", at(0), 2, |_| json!({})).await?;
    for number in 0..2 {
        let host = place.until_state(number, HostState::Available).await?;
        let details = host.status.context("just seen")?.hardware_details.context("no hardware")?;
        let uuid = place.bmcs.with(number, |bmc| bmc.identity.uuid.clone())?;
        ensure!(details.hardware.uuid.as_deref() == Some(uuid.as_str()), "{number}: {details:?}");
    }
    // What is done to one server is done to no other.
    place.claim(0, CLAIM, &json!({"bootIsoSource": place.image})).await?;
    place.until_state(0, HostState::Provisioned).await?;
    ensure!(place.bmcs.times_on(0)? == 1);
    ensure!(place.bmcs.done_to(1)?.is_empty(), "{:?}", place.bmcs.done_to(1)?);
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn establishes_and_maintains_a_connection_with_the_credentials_of_its_secret() -> Result<()> {
    let which = |number| if number == 1 { wrong_password() } else { json!({}) };
    let place = Place::take("connection", at(1), 2, which).await?;
    place.make_secret("wrong", "guessed").await?;
    place.until_told(0, CONNECTION, "True", "Connected").await?;
    let refused = place.until_told(1, CONNECTION, "False", "RedfishConnectionFailed").await?;
    let told = condition(&refused, CONNECTION).context("just seen")?;
    ensure!(told.message.contains("correct the credentials Secret"), "{told:?}");

    // It is one session, however often the BMC is asked.
    let requests = || place.bmcs.with(0, |bmc| bmc.requests());
    let opened = || place.bmcs.with(0, |bmc| bmc.sessions().1);
    let (asked, before) = (requests()?, opened()?);
    wait::until_true("the BMC to be asked some more", LIMIT, || async {
        let now = requests()?;
        Ok(if now >= asked + 5 { Ok(()) } else { Err(format!("{now} requests after {asked}")) })
    })
    .await?;
    ensure!(opened()? == before, "{} sessions instead of {before}", opened()?);
    // One that the BMC has lost is opened again.
    place.bmcs.with(0, |bmc| bmc.forget_sessions())?;
    wait::until_true("another session", LIMIT, || async {
        Ok(if opened()? == before + 1 { Ok(()) } else { Err(format!("{} sessions", opened()?)) })
    })
    .await?;
    // A BMC that does not answer is told of, and taken up again when it does.
    place.bmcs.with(0, |bmc| bmc.faults.arm(Armed::always(Fault::Reset)))?;
    place.until_told(0, CONNECTION, "False", "RedfishConnectionFailed").await?;
    place.bmcs.fleet.clear_faults();
    place.until_told(0, CONNECTION, "True", "Connected").await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn discovers_manufacturer_model_serial_number_and_power_state() -> Result<()> {
    let place = Place::take("discovery", at(2), 1, |_| json!({})).await?;
    let host = place.until_state(0, HostState::Available).await?;
    let status = host.status.context("just seen")?;
    let hardware = status.hardware_details.context("no hardware")?.hardware;
    let (names, serial) = place.bmcs.with(0, |bmc| (&bmc.profile.names, bmc.identity.serial.clone()))?;
    ensure!(hardware.manufacturer.as_deref() == Some(names.manufacturer), "{hardware:?}");
    ensure!(hardware.model.as_deref() == Some(names.model), "{hardware:?}");
    ensure!(hardware.serial_number == Some(serial), "{hardware:?}");
    ensure!(status.observed_power_state == Some(PowerState::Off), "{:?}", status.observed_power_state);

    // Who turns it on or off is none of the manager's business; how it is, is.
    for (press, power) in [(ResetType::On, PowerState::On), (ResetType::ForceOff, PowerState::Off)] {
        place.bmcs.press(0, press)?;
        let seen = |host: &PhysicalHost| {
            host.status.as_ref().is_some_and(|status| status.observed_power_state == Some(power))
        };
        place.until_host(0, &format!("seen {power:?}"), seen).await?;
    }
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_readiness_and_state_by_connectivity_and_use() -> Result<()> {
    let nobody = json!({"spec": {"redfishConnection": {"address": "https://127.0.0.1:9"}}});
    let which = |number| if number == 1 { wrong_password() } else { nobody.clone() };
    let place = Place::take("states", at(3), 2, which).await?;
    place.make_secret("wrong", "guessed").await?;
    let host = place.until_state(0, HostState::Enrolling).await?;
    ensure!(!is_ready(&host), "{:?}", host.status);
    // What a person has to put right is an error.
    let host = place.until_state(1, HostState::Error).await?;
    ensure!(!is_ready(&host), "{:?}", host.status);

    let address = json!({"spec": {"redfishConnection": {"address": place.bmcs.url(0)}}});
    place.patch_host(0, &address).await?;
    let host = place.until_told(0, "HostAvailable", "True", "Free").await?;
    ensure!(is_ready(&host), "{:?}", host.status);
    place.until_state(0, HostState::Available).await?;
    // Without its BMC it can't be had, and is called so.
    let refuse = || place.bmcs.with(0, |bmc| bmc.faults.arm(Armed::always(Fault::Unauthorized)));
    refuse()?;
    let host = place.until_told(0, "HostAvailable", "False", "NotConnected").await?;
    ensure!(!is_ready(&host), "{:?}", host.status);
    place.bmcs.fleet.clear_faults();
    place.until_told(0, "HostAvailable", "True", "Free").await?;

    place.claim(0, CLAIM, &json!({})).await?;
    place.until_state(0, HostState::Claimed).await?;
    place.until_told(0, "HostAvailable", "False", "Claimed").await?;
    // The mark of a boot is written before the machine is turned on.
    place.cannot_be_turned_on(0)?;
    place.patch_host(0, &json!({"spec": {"bootIsoSource": place.image}})).await?;
    place.until_state(0, HostState::Provisioning).await?;
    place.bmcs.fleet.clear_faults();
    let host = place.until_state(0, HostState::Provisioned).await?;
    ensure!(is_ready(&host), "{:?}", host.status);
    // Who holds it keeps it, whatever becomes of the connection.
    refuse()?;
    let host = place.until_told(0, CONNECTION, "False", "RedfishConnectionFailed").await?;
    ensure!(!is_ready(&host) && host.status.context("just seen")?.state == Some(HostState::Provisioned));
    place.patch_host(0, &released(CLAIM)).await?;
    place.until_state(0, HostState::Deprovisioning).await?;
    place.bmcs.fleet.clear_faults();
    place.until_state(0, HostState::Available).await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn ejects_media_and_powers_off_when_it_is_deleted_after_its_consumer_released_it() -> Result<()> {
    let which = |number| if number == 1 { json!({"spec": {"cordoned": "to be sold"}}) } else { json!({}) };
    let place = Place::take("deleted", at(4), 2, which).await?;
    place.make_machine("m", &json!({})).await?;
    place.until_phase("m", "Provisioned").await?;
    place.bmcs.with(0, |bmc| bmc.machine.clear_log())?;
    place.hosts().delete(&name(0), &DeleteParams::default()).await?;
    place.until_told(0, "HostAvailable", "False", "WaitingForConsumerRelease").await?;
    ensure!(place.bmcs.done_to(0)?.is_empty(), "{:?}", place.bmcs.done_to(0)?);
    place.delete_machine("m").await?;
    until_gone(&place, 0).await?;
    ensure!(place.bmcs.is_off_and_empty(0)?, "{:?}", place.bmcs.done_to(0)?);
    ensure!(place.bmcs.times_on(0)? == 0, "{:?}", place.bmcs.done_to(0)?);

    // One that nobody holds waits for nobody, and is not left running either.
    place.until_state(1, HostState::Available).await?;
    place.bmcs.press(1, ResetType::On)?;
    // What does not run yet hears no polite request, and is given minutes to follow it.
    wait::until_true("the machine to run", LIMIT, || async {
        let running = place.bmcs.with(1, |bmc| bmc.machine.running().is_some())?;
        Ok(if running { Ok(()) } else { Err("it does not".to_owned()) })
    })
    .await?;
    place.hosts().delete(&name(1), &DeleteParams::default()).await?;
    until_gone(&place, 1).await?;
    ensure!(place.bmcs.is_off_and_empty(1)?, "{:?}", place.bmcs.done_to(1)?);
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_the_power_on_and_off_as_its_spec_says() -> Result<()> {
    let place = Place::take("power", at(5), 1, |_| json!({})).await?;
    place.claim(0, CLAIM, &json!({"bootIsoSource": place.image})).await?;
    place.until_state(0, HostState::Provisioned).await?;
    for (online, power, done) in
        [(false, Power::Off, Action::PoweredOff), (true, Power::On, Action::PoweredOn)]
    {
        place.bmcs.with(0, |bmc| bmc.machine.clear_log())?;
        place.patch_host(0, &json!({"spec": {"online": online}})).await?;
        wait::until_true(format!("the machine to be {power:?}"), LIMIT, || async {
            let now = place.bmcs.with(0, |bmc| bmc.machine.power())?;
            Ok(if now == power { Ok(()) } else { Err(format!("{now:?}")) })
        })
        .await?;
        let all = place.bmcs.done_to(0)?;
        ensure!(all.iter().filter(|action| **action == done).count() == 1, "{all:?}");
    }
    // It is the same claim all the while.
    place.until_state(0, HostState::Provisioned).await?;
    place.leave().await
}

#[tokio::test(flavor = "multi_thread")]
async fn inserts_the_iso_boots_it_once_from_the_virtual_cd_and_ejects_it() -> Result<()> {
    let place = Place::take("media", at(6), 1, |_| json!({})).await?;
    place.until_state(0, HostState::Available).await?;
    place.claim(0, CLAIM, &json!({"bootIsoSource": place.image})).await?;
    place.until_state(0, HostState::Provisioned).await?;
    let done = place.bmcs.done_to(0)?;
    let position = |what: &dyn Fn(&Action) -> bool| done.iter().position(what);
    let inserted =
        position(&|action| matches!(action, Action::Insert { image, .. } if *image == place.image));
    let told = position(
        &|action| matches!(action, Action::SetOverride { to } if to.enabled == OverrideEnabled::Once && to.target == Target::Cd),
    );
    let on = position(&|action| *action == Action::PoweredOn);
    ensure!(inserted.is_some() && inserted < on && told.is_some() && told < on, "{done:?}");
    let running = place.bmcs.with(0, |bmc| bmc.machine.running().cloned())?;
    ensure!(
        matches!(&running, Some(BootSource::Media { image, .. }) if *image == place.image),
        "{running:?}"
    );
    let left = place.bmcs.with(0, |bmc| bmc.machine.boot().enabled)?;
    ensure!(left == OverrideEnabled::Disabled, "{left:?}");

    place.bmcs.with(0, |bmc| bmc.machine.clear_log())?;
    place.patch_host(0, &released(CLAIM)).await?;
    place.until_state(0, HostState::Available).await?;
    let done = place.bmcs.done_to(0)?;
    let ejected =
        |action: &Action| matches!(action, Action::Eject { image: Some(image), .. } if *image == place.image);
    ensure!(done.iter().any(ejected) && place.bmcs.is_off_and_empty(0)?, "{done:?}");
    place.leave().await
}
