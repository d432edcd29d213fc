//! The client against recorded answers of real BMCs.
//!
//! The trees are not part of this repository. They are looked for in `$BESKAR7_REDFISH_TREES`, else in a folder
//! `redfish-trees` near the workspace; where they are absent these tests say so and end.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "recorded/server.rs"]
mod server;

use beskar7_redfish::{Address, Bmc, BootTarget, Credentials, HttpClients, Limits, Power, Trust};
use server::{Recording, trees};

async fn bmc(recording: &Recording) -> Bmc {
    let http = HttpClients::default().get(&Trust::Anything).unwrap();
    let address = Address::parse(&recording.address()).unwrap();
    Bmc::new(http, address, Credentials::new("root", "secret"), Limits::default())
}

/// What is known of each machine.
struct Known {
    tree: &'static str,
    model: Option<&'static str>,
    serial: Option<&'static str>,
    uuid: Option<&'static str>,
    power: Power,
    slot: Option<&'static str>,
    cd: Option<&'static str>,
}

const KNOWN: [Known; 6] = [
    Known {
        tree: "dell-r750",
        model: Some("PowerEdge R750"),
        serial: Some("CNIVC0014M0388"),
        uuid: Some("4c4c4544-0035-3410-8050-c6c04f314733"),
        power: Power::On,
        slot: Some("/redfish/v1/Systems/System.Embedded.1/VirtualMedia/1"),
        cd: Some("Cd"),
    },
    Known {
        tree: "hpe-ilo5",
        model: Some("ProLiant DL385 Gen10 Plus v2"),
        serial: Some("MXQ302099S"),
        uuid: Some("34383350-3131-584d-5133-303230393953"),
        power: Power::On,
        slot: Some("/redfish/v1/Managers/1/VirtualMedia/2"),
        cd: Some("Cd"),
    },
    Known {
        tree: "lenovo-sr670",
        model: Some("ThinkSystem SR670 V2"),
        serial: Some("J105958B"),
        uuid: Some("6173ecec-6ef5-11ee-834a-0a8fc3a58a71"),
        power: Power::On,
        slot: Some("/redfish/v1/Systems/1/VirtualMedia/EXT1"),
        cd: Some("Cd"),
    },
    Known {
        tree: "supermicro",
        model: Some("SYS-821GE-TNHR"),
        serial: Some("S889914X3710910"),
        uuid: Some("00000000-0000-0000-0000-7cc25550a8ff"),
        power: Power::On,
        slot: Some("/redfish/v1/Managers/1/VirtualMedia/VirtualMedia1"),
        cd: Some("UsbCd"),
    },
    Known {
        tree: "nvidia-gb200",
        model: None,
        serial: None,
        uuid: Some("501f2928-84ea-8579-cf52-dc2dbd2e4656"),
        power: Power::On,
        slot: Some("/redfish/v1/Managers/BMC_0/VirtualMedia/USB2"),
        cd: Some("Cd"),
    },
    Known {
        tree: "dmtf-rackmount1",
        model: Some("3500"),
        serial: Some("437XR1138R2"),
        uuid: Some("38947555-7742-3448-3784-823347823834"),
        power: Power::On,
        slot: Some("/redfish/v1/Systems/437XR1138R2/VirtualMedia/CD1"),
        cd: Some("Cd"),
    },
];

#[tokio::test]
async fn every_machine_is_identified_in_few_requests() {
    let Some(trees) = trees("every_machine_is_identified_in_few_requests") else { return };
    for known in KNOWN {
        let recording = Recording::serve(&trees, known.tree).await;
        let bmc = bmc(&recording).await;
        let system = bmc.system(None).await.unwrap();
        assert_eq!(system.model(), known.model, "{}", known.tree);
        assert_eq!(system.serial_number(), known.serial, "{}", known.tree);
        assert_eq!(system.uuid().as_deref(), known.uuid, "{}", known.tree);
        assert_eq!(system.power(), known.power, "{}", known.tree);
        let requests = recording.requests();
        assert!(requests.len() <= 6, "{}: {requests:?}", known.tree);
        assert_eq!(
            requests.iter().filter(|line| line.starts_with("POST")).count(),
            1,
            "{}: one log-in",
            known.tree
        );
        bmc.close().await.unwrap();
        assert!(recording.requests().iter().any(|line| line.starts_with("DELETE")), "{}", known.tree);
    }
}

#[tokio::test]
async fn the_drive_for_an_iso_is_found() {
    let Some(trees) = trees("the_drive_for_an_iso_is_found") else { return };
    for known in KNOWN {
        let recording = Recording::serve(&trees, known.tree).await;
        let bmc = bmc(&recording).await;
        let system = bmc.system(None).await.unwrap();
        let slots = bmc.slots(&system).await.unwrap();
        assert_eq!(slots.first().map(|slot| slot.path()), known.slot, "{}", known.tree);
    }
}

#[tokio::test]
async fn the_boot_override_is_named_as_the_machine_names_it() {
    let Some(trees) = trees("the_boot_override_is_named_as_the_machine_names_it") else { return };
    for known in KNOWN {
        let recording = Recording::serve(&trees, known.tree).await;
        let bmc = bmc(&recording).await;
        let system = bmc.system(None).await.unwrap();
        let limit = std::time::Duration::from_secs(5);
        let mode = beskar7_redfish::BootMode::Uefi;
        bmc.boot_once(&system, &BootTarget::VirtualCd, mode, limit).await.unwrap();
        let patched = recording.bodies().pop().unwrap_or_default();
        let target = patched.pointer("/Boot/BootSourceOverrideTarget").and_then(|v| v.as_str());
        assert_eq!(target, known.cd, "{}: {patched}", known.tree);
    }
}
