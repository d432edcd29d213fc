//! The client against simulated BMCs of every profile, well and unwell.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod scenario;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use beskar7_redfish::{
    Address, Bmc, Credentials, Error, HttpClients, Limits, Power, PowerLimits, Rest, Trust,
};
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::profiles;
use scenario::{Place, Scenario};

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

/// Every scenario on one machine after the other, with the habits of a vendor.
async fn plays_every_scenario(profile: &str, last: u8) {
    let pair = Pair::new(profile, last).await;
    let place = Place {
        address: pair.fleet.url(pair.address),
        username: "admin".to_owned(),
        password: "password".to_owned(),
        images: ["node", "other"].map(|name| format!("http://127.0.0.1:9/{name}.iso")),
        graceful: Duration::from_secs(1),
    };
    let mut wrong = Vec::new();
    for scenario in Scenario::ALL {
        if let Err(what) = scenario.play(&place).await {
            wrong.push(format!("{scenario:?}: {what}"));
        }
    }
    assert!(wrong.is_empty(), "{profile}:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_plain_bmc() {
    plays_every_scenario("plain", 1).await;
}

#[tokio::test]
async fn a_dell() {
    plays_every_scenario("dell-idrac", 2).await;
}

#[tokio::test]
async fn an_hpe() {
    plays_every_scenario("hpe-ilo", 3).await;
}

#[tokio::test]
async fn a_supermicro() {
    plays_every_scenario("supermicro", 4).await;
}

#[tokio::test]
async fn a_lenovo() {
    plays_every_scenario("lenovo-xcc", 5).await;
}

#[tokio::test]
async fn an_openbmc() {
    plays_every_scenario("openbmc", 6).await;
}

#[tokio::test]
async fn a_lost_session_is_opened_again_once() {
    let pair = Pair::new("plain", 7).await;
    let system = pair.bmc.system(None).await.unwrap();
    pair.arm(Armed::times(Fault::LostSession, 1));
    pair.bmc.refresh(&system).await.unwrap();
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
