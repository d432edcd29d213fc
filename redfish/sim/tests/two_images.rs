//! Two images in a machine: it boots from the one that can be booted, and its system sees both.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod rig;

use std::sync::Arc;

use axum::body::Bytes;
use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::machine::boot::{BootSource, Override, OverrideEnabled, Target};
use beskar7_redfish_sim::machine::power::ResetType;
use beskar7_redfish_sim::os::{Booted, BootedOs, Medium, OsFuture};
use beskar7_redfish_sim::profiles;
use rig::{Rig, config};
use serde_json::json;
use tokio::sync::mpsc;

/// An ISO's descriptors and nothing else.
fn iso(descriptors: &[&[u8]]) -> Bytes {
    let mut image = vec![0; 32 * 1024];
    for descriptor in descriptors {
        image.extend_from_slice(descriptor);
        image.resize(image.len().next_multiple_of(2048), 0);
    }
    image.resize(100 * 1024, 0);
    image.into()
}

/// Serves an installer, which boots, and a volume, which does not; says where.
async fn images() -> [String; 2] {
    let (primary, end) = (&b"\x01CD001\x01"[..], &b"\xffCD001\x01"[..]);
    let installer = iso(&[primary, b"\0CD001\x01EL TORITO SPECIFICATION", end]);
    let volume = iso(&[primary, b"\x02CD001\x01", end]);
    let router = axum::Router::new()
        .route("/installer.iso", axum::routing::get(async move || installer))
        .route("/cidata.iso", axum::routing::get(async move || volume));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    ["installer", "cidata"].map(|name| format!("{base}/{name}.iso"))
}

/// An operating system that tells what it sees.
struct Witness(mpsc::UnboundedSender<Booted>);

impl BootedOs for Witness {
    fn booted(&self, what: Booted) -> OsFuture {
        self.0.send(what).unwrap();
        Box::pin(std::future::pending())
    }
}

/// Boots a machine with these images in these drives, by their places in the profile, and gives what its system saw.
async fn booted(profile: &str, drives: &[(usize, &str)]) -> Booted {
    let (witness, mut seen) = mpsc::unbounded_channel();
    let os: Arc<dyn BootedOs> = Arc::new(Witness(witness));
    let profiles = vec![profiles::by_name(profile).unwrap()];
    let rig = Rig::with(FleetConfig { profiles, os: Some(os), pace: 0.01, ..config() }).await;
    rig.host().with(|bmc, now| {
        for (drive, image) in drives {
            assert!(bmc.machine.insert(now, "test", *drive, image, now));
        }
        let once = Override { enabled: OverrideEnabled::Once, target: Target::Cd, ..Override::default() };
        bmc.machine.set_override(now, "test", once);
        bmc.machine.reset(now, "test", ResetType::On);
    });
    seen.recv().await.unwrap()
}

#[tokio::test]
async fn a_machine_of_any_profile_boots_from_the_image_that_boots_and_sees_both() {
    let [installer, volume] = &images().await;
    for profile in profiles::ALL {
        let drives: Vec<usize> = (0..)
            .zip(profile.media.slots)
            .filter(|(_, slot)| slot.usable && slot.boots)
            .map(|(i, _)| i)
            .collect();
        let (first, last) = (drives[0], *drives.last().unwrap());
        assert_ne!(first, last, "{} has two drives", profile.name);
        let id = |drive: usize| profile.media.slots[drive].id.to_owned();
        for (of_installer, of_volume) in [(first, last), (last, first)] {
            let booted = booted(profile.name, &[(of_installer, installer), (of_volume, volume)]).await;
            let expected = BootSource::Media { slot: id(of_installer), image: installer.clone() };
            assert_eq!(booted.source, expected, "{}", profile.name);
            let mut media = booted.media;
            media.sort_by(|a, b| a.image.cmp(&b.image));
            let seen = [(of_volume, volume), (of_installer, installer)]
                .map(|(drive, image)| Medium { slot: id(drive), image: image.clone() });
            assert_eq!(media, seen, "{}", profile.name);
        }
    }
}

#[tokio::test]
async fn a_volume_alone_boots_nothing() {
    let [_, volume] = &images().await;
    let booted = booted("plain", &[(0, volume)]).await;
    assert_eq!((booted.source, booted.media.len()), (BootSource::Network, 1));
}

#[tokio::test]
async fn dell_boots_from_slot_one_alone_and_shows_it_under_two_names() {
    let [installer, volume] = &images().await;
    assert_eq!(booted("dell-idrac", &[(1, installer)]).await.source, BootSource::Network);
    let booted = booted("dell-idrac", &[(0, installer), (1, volume)]).await;
    assert_eq!(booted.source, BootSource::Media { slot: "1".into(), image: installer.clone() });

    let rig = Rig::start("dell-idrac").await;
    let cd = "/redfish/v1/Managers/iDRAC.Embedded.1/VirtualMedia/CD";
    let first = "/redfish/v1/Systems/System.Embedded.1/VirtualMedia/1";
    let insert = format!("{cd}/Actions/VirtualMedia.InsertMedia");
    assert_eq!(rig.post(&insert, json!({ "Image": installer })).await.status(), 204);
    for path in [cd, first] {
        assert_eq!(rig.get(path).await["Image"], json!(installer), "{path}");
    }
    let insert = format!("{first}/Actions/VirtualMedia.InsertMedia");
    assert_eq!(rig.post(&insert, json!({ "Image": volume })).await.status(), 409, "it is taken");
}
