//! An installer and a volume with its configuration, on every profile of the simulator: the client finds a drive for
//! each, the machine boots from the installer, and its system finds the volume.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use beskar7_redfish::{
    Address, Bmc, BootMode, BootTarget, Credentials, HttpClients, Limits, PowerLimits, Trust,
};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::machine::boot::BootSource;
use beskar7_redfish_sim::os::{Booted, BootedOs, OsFuture};
use beskar7_redfish_sim::profiles::{self, Profile};
use tokio::sync::mpsc;

const LIMIT: Duration = Duration::from_secs(60);
const LIMITS: PowerLimits =
    PowerLimits { graceful: Duration::from_secs(1), seen: LIMIT, look: Duration::from_millis(50) };

/// An operating system that tells what it sees.
struct Witness(mpsc::UnboundedSender<Booted>);

impl BootedOs for Witness {
    fn booted(&self, what: Booted) -> OsFuture {
        self.0.send(what).unwrap();
        Box::pin(std::future::pending())
    }
}

/// The descriptors of an ISO, and its end.
fn iso(descriptors: &[&[u8]]) -> Bytes {
    let mut image = vec![0; 32 * 1024];
    for descriptor in descriptors {
        image.extend_from_slice(descriptor);
        image.resize(image.len().next_multiple_of(2048), 0);
    }
    image.resize(100 * 1024, 0);
    image.into()
}

/// Serves an installer with a boot record and a volume without one; says where.
async fn images() -> [String; 2] {
    let (primary, end) = (&b"\x01CD001\x01"[..], &b"\xffCD001\x01"[..]);
    let installer = iso(&[primary, b"\0CD001\x01EL TORITO SPECIFICATION", end]);
    let volume = iso(&[primary, end]);
    let router = axum::Router::new()
        .route("/installer.iso", axum::routing::get(async move || installer))
        .route("/cidata.iso", axum::routing::get(async move || volume));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    ["installer", "cidata"].map(|name| format!("{base}/{name}.iso"))
}

async fn boots_with_its_configuration(profile: &'static Profile, last: u8, images: [String; 2]) {
    let [installer, volume] = &images;
    let name = profile.name;
    let (witness, mut seen) = mpsc::unbounded_channel();
    let first = Ipv4Addr::new(127, 23, 0, last);
    let os: Arc<dyn BootedOs> = Arc::new(Witness(witness));
    let config =
        FleetConfig { profiles: vec![profile], first, pace: 0.02, os: Some(os), ..FleetConfig::default() };
    let fleet = Fleet::start(config).await.unwrap();
    let http = HttpClients::default().get(&Trust::Anything).unwrap();
    let address = Address::parse(&fleet.url(first)).unwrap();
    let bmc = Bmc::new(http, address, Credentials::new("admin", "password"), Limits::default());

    let system = bmc.system(None).await.unwrap();
    let boot = bmc.insert(&system, installer, LIMIT).await.unwrap();
    bmc.insert_beside(&system, volume, &boot, LIMIT).await.unwrap();
    let armed = bmc.boot_once(&system, &BootTarget::VirtualCd, BootMode::Uefi, LIMIT).await.unwrap();
    bmc.power_on(&armed, LIMITS).await.unwrap();

    let booted = seen.recv().await.unwrap();
    assert!(
        matches!(&booted.source, BootSource::Media { image, .. } if image == installer),
        "{name}: {:?}",
        booted.source
    );
    let mut media: Vec<String> = booted.media.into_iter().map(|medium| medium.image).collect();
    media.sort();
    assert_eq!(media, [volume.clone(), installer.clone()], "{name}");

    bmc.eject_all(&system, LIMIT).await.unwrap();
    let left = fleet
        .host(first)
        .unwrap()
        .with(|bmc, _| bmc.machine.slots().iter().filter_map(|slot| slot.image.clone()).collect::<Vec<_>>());
    assert!(left.is_empty(), "{name}: {left:?}");
}

#[tokio::test]
async fn every_profile_boots_an_installer_beside_its_configuration() {
    let images = images().await;
    for (last, profile) in (1..).zip(profiles::ALL) {
        // In a task of its own, as a manager does it: what the client does must be able to move between threads.
        tokio::spawn(boots_with_its_configuration(profile, last, images.clone())).await.unwrap();
    }
}
