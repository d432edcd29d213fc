//! The client against simulated BMCs of every profile, well and unwell.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use beskar7_redfish::{
    Address, Bmc, BootMode, BootTarget, Credentials, Error, HttpClients, Limits, Power, PowerLimits, Rest,
    Trust,
};
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::profiles;

const LIMIT: Duration = Duration::from_secs(60);

/// One simulated BMC and the client of it.
struct Pair {
    fleet: Arc<Fleet>,
    address: Ipv4Addr,
    bmc: Bmc,
}

impl Pair {
    async fn new(profile: &str, last: u8) -> Self {
        Self::with(profile, last, false, Trust::Anything, "password", Limits::default()).await
    }

    async fn with(profile: &str, last: u8, tls: bool, trust: Trust, password: &str, limits: Limits) -> Self {
        let address = Ipv4Addr::new(127, 22, 0, last);
        let profile = profiles::by_name(profile).unwrap();
        let config = FleetConfig {
            profiles: vec![profile],
            first: address,
            pace: 0.05,
            tls,
            ..FleetConfig::default()
        };
        let fleet = Fleet::start(config).await.unwrap();
        let http = HttpClients::default().get(&trust).unwrap();
        let url = Address::parse(&fleet.url(address)).unwrap();
        let bmc = Bmc::new(http, url, Credentials::new("admin", password), limits);
        Self { fleet, address, bmc }
    }

    fn arm(&self, armed: Armed) {
        self.fleet.host(self.address).unwrap().with(|bmc, _| bmc.faults.arm(armed));
    }
}

fn power_limits() -> PowerLimits {
    PowerLimits { graceful: Duration::from_secs(5), seen: LIMIT, look: Duration::from_millis(100) }
}

fn impatient() -> Limits {
    let rest = Rest { after: 2, interval: LIMIT };
    Limits { request: Duration::from_millis(300), rest, ..Limits::default() }
}

/// The whole of a provisioning and a release, with the habits of each vendor.
async fn boots_an_iso_and_is_clean_again(profile: &str, last: u8) {
    let pair = Pair::new(profile, last).await;
    let bmc = &pair.bmc;
    let system = bmc.system(None).await.unwrap();
    assert!(system.uuid().is_some(), "{profile}");

    let off = bmc.power_off(&system, power_limits()).await.unwrap();
    assert_eq!(off.power(), Power::Off, "{profile}");
    let image = "http://127.0.0.1:9/node.iso";
    let slot = bmc.insert(&off, image, LIMIT).await.unwrap();
    assert!(slot.is_inserted(), "{profile}");
    let armed = bmc.boot_once(&off, &BootTarget::VirtualCd, BootMode::Uefi, LIMIT).await.unwrap();
    assert_eq!(armed.override_enabled(), Some("Once"), "{profile}");
    assert!(
        matches!(armed.override_target(), Some("Cd" | "UsbCd")),
        "{profile}: {:?}",
        armed.override_target()
    );
    let on = bmc.power_on(&armed, power_limits()).await.unwrap();
    assert_eq!(on.power(), Power::On, "{profile}");

    let off = bmc.power_off(&on, power_limits()).await.unwrap();
    bmc.eject_all(&off, LIMIT).await.unwrap();
    assert!(bmc.slots(&off).await.unwrap().iter().all(|slot| !slot.is_inserted()), "{profile}");
    let clean = bmc.clear_boot_override(&off, LIMIT).await.unwrap();
    assert!(matches!(clean.override_enabled(), None | Some("Disabled")), "{profile}");

    let inventory = bmc.inventory(&clean).await.unwrap();
    assert!(!inventory.processors.is_empty() && !inventory.nics.is_empty(), "{profile}: {inventory:?}");
    bmc.close().await.unwrap();
}

#[tokio::test]
async fn a_plain_bmc() {
    boots_an_iso_and_is_clean_again("plain", 1).await;
}

#[tokio::test]
async fn a_dell() {
    boots_an_iso_and_is_clean_again("dell-idrac", 2).await;
}

#[tokio::test]
async fn an_hpe() {
    boots_an_iso_and_is_clean_again("hpe-ilo", 3).await;
}

#[tokio::test]
async fn a_supermicro() {
    boots_an_iso_and_is_clean_again("supermicro", 4).await;
}

#[tokio::test]
async fn a_lenovo() {
    boots_an_iso_and_is_clean_again("lenovo-xcc", 5).await;
}

#[tokio::test]
async fn an_openbmc() {
    boots_an_iso_and_is_clean_again("openbmc", 6).await;
}

#[tokio::test]
async fn a_lost_session_is_opened_again_once() {
    let pair = Pair::new("plain", 7).await;
    let system = pair.bmc.system(None).await.unwrap();
    pair.arm(Armed::times(Fault::LostSession, 1));
    pair.bmc.refresh(&system).await.unwrap();
}

#[tokio::test]
async fn wrong_credentials_are_said_so_without_showing_them() {
    let pair = Pair::with("plain", 8, false, Trust::Anything, "wrong-secret", Limits::default()).await;
    let error = pair.bmc.system(None).await.unwrap_err();
    assert!(matches!(error, Error::BadCredentials { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("wrong-secret"));
}

#[tokio::test]
async fn a_refusal_that_stays_is_bad_credentials() {
    let pair = Pair::new("plain", 9).await;
    let system = pair.bmc.system(None).await.unwrap();
    pair.arm(Armed::always(Fault::Unauthorized).at("/Systems"));
    let error = pair.bmc.power_on(&system, power_limits()).await.unwrap_err();
    assert!(matches!(error, Error::BadCredentials { .. }), "{error:?}");
}

#[tokio::test]
async fn a_busy_bmc_is_asked_again_as_it_wishes() {
    let pair = Pair::new("plain", 10).await;
    let system = pair.bmc.system(None).await.unwrap();
    let off = pair.bmc.power_off(&system, power_limits()).await.unwrap();
    pair.arm(Armed::times(Fault::Unavailable { retry_after_seconds: 1 }, 2).at("ComputerSystem.Reset"));
    let on = pair.bmc.power_on(&off, power_limits()).await.unwrap();
    assert_eq!(on.power(), Power::On);
}

#[tokio::test]
async fn a_broken_connection_costs_a_second_try_not_an_error() {
    let pair = Pair::new("plain", 11).await;
    let system = pair.bmc.system(None).await.unwrap();
    pair.arm(Armed::times(Fault::Reset, 1));
    pair.bmc.refresh(&system).await.unwrap();
}

#[tokio::test]
async fn a_dead_bmc_is_left_alone() {
    let pair = Pair::with("plain", 12, false, Trust::Anything, "password", impatient()).await;
    pair.arm(Armed::always(Fault::Hang));
    for _ in 0..2 {
        let error = pair.bmc.system(None).await.unwrap_err();
        assert!(matches!(error, Error::NotAnswered { .. }), "{error:?}");
    }
    let error = pair.bmc.system(None).await.unwrap_err();
    assert!(matches!(error, Error::Resting { failures: 2, .. }), "{error:?}");
}

#[tokio::test]
async fn power_that_does_not_change_is_noticed() {
    let pair = Pair::new("plain", 13).await;
    let system = pair.bmc.system(None).await.unwrap();
    pair.arm(Armed::always(Fault::StuckPower));
    let limits = PowerLimits {
        graceful: Duration::from_millis(200),
        seen: Duration::from_millis(500),
        look: Duration::from_millis(50),
    };
    let (goal, changed) = if system.power() == Power::On {
        (Power::Off, pair.bmc.power_off(&system, limits).await)
    } else {
        (Power::On, pair.bmc.power_on(&system, limits).await)
    };
    let error = changed.unwrap_err();
    assert!(error.to_string().contains(&format!("being {goal:?}")), "{error}");
}

#[tokio::test]
async fn an_unknown_certificate_is_named_and_its_ca_makes_it_known() {
    let pair =
        Pair::with("plain", 14, true, Trust::Bundle(other_ca().into()), "password", Limits::default()).await;
    let error = pair.bmc.system(None).await.unwrap_err();
    let Error::Untrusted { certificate, .. } = &error else { panic!("{error:?}") };
    assert!(!certificate.subject.is_empty(), "{certificate:?}");
    assert!(error.to_string().contains("caBundleSecretRef"), "{error}");

    let trust = Trust::Bundle(pair.fleet.ca_pem().unwrap().as_bytes().into());
    let http = HttpClients::default().get(&trust).unwrap();
    let address = Address::parse(&pair.fleet.url(pair.address)).unwrap();
    let bmc = Bmc::new(http, address, Credentials::new("admin", "password"), Limits::default());
    bmc.system(None).await.unwrap();
}

fn other_ca() -> Vec<u8> {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters.self_signed(&key).unwrap().pem().into_bytes()
}
