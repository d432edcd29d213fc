use std::convert::Infallible;

use beskar7_api::annotations::{BOOTING, HEARD, PROVISIONED};
use beskar7_boot::{capability::Key as BootKey, dhcp::Client as Asking};
use beskar7_core::host::heard::Word;
use kube::{Client, client::Body};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::tell::Recorder;

const MAC: &str = "52:54:00:00:00:01";

fn read<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// One that answers nothing: nothing here may wait for it.
fn nobody() -> Client {
    let service = tower::service_fn(|_: http::Request<Body>| async {
        std::future::pending::<()>().await;
        Ok::<_, Infallible>(http::Response::new(Body::empty()))
    });
    Client::new(service, "default")
}

fn host(name: &str, claim: &str, boot: Value, marks: Value) -> PhysicalHost {
    read(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {"name": name, "namespace": "metal", "uid": name, "annotations": marks},
        "spec": {
            "redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"}, "claimID": claim,
            "consumerRef": {"kind": "HostClaim", "namespace": "a", "name": "c"}, "boot": boot,
        },
    }))
}

fn reservation(name: &str, claim: &str, created: &str, spec: Value) -> DHCPReservation {
    let mut whole = json!({
        "hostRef": {"name": name}, "hostMAC": MAC, "pxeBootParameters": "http://b/c/{{capability}}/boot.ipxe",
    });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    read(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DHCPReservation",
        "metadata": {
            "name": name, "namespace": "metal", "creationTimestamp": created, "labels": {labels::CLAIM_ID: claim},
            "ownerReferences": [{"apiVersion": "v1", "kind": "PhysicalHost", "name": name, "uid": name}],
        },
        "spec": whole,
    }))
}

fn machines(hosts: Vec<PhysicalHost>, reservations: Vec<DHCPReservation>) -> Machines {
    let (client, keys) = (nobody(), reservations.iter().map(key).collect::<Vec<_>>());
    let machines = Machines {
        links: Links::new("http://b", BootKey::new(&[1; 32]).unwrap()),
        hosts: Cache::of(hosts),
        reservations: Cache::of(reservations),
        hearing: Hearing::new(client.clone()),
        witness: Witness::new(Recorder::new(client.clone(), "test", "test-0")),
        sightings: Sightings::new(client),
        metrics: Metrics::new(),
        discovery: None,
        known: Arc::default(),
    };
    keys.into_iter().for_each(|key| machines.saw(key));
    machines
}

fn mac() -> Mac {
    Mac::parse(MAC).unwrap()
}

const DAY: &str = "2026-01-01T00:00:00Z";

#[tokio::test]
async fn a_machine_is_told_what_its_host_boots_under_the_claim_that_holds_it() {
    let kernel = json!({"method": "PXE", "kernel": "http://x/k"});
    let program = json!({"method": "HTTPBoot", "image": "http://x/os.efi"});
    let begun = json!({BOOTING: "c 100"});
    for (boot, marks, holds, spec, told, program_told) in [
        (&kernel, &begun, "c", json!({}), true, false),
        (&program, &begun, "c", json!({}), true, true),
        // Told to start from its disk, by its script.
        (&program, &json!({BOOTING: "c 100", HEARD: "c home=101"}), "c", json!({}), true, false),
        (&kernel, &json!({PROVISIONED: "c"}), "c", json!({}), true, false),
        // Made for another claim, or for nobody.
        (&kernel, &begun, "another", json!({}), false, false),
        (&kernel, &begun, "c", json!({"pxeBootParameters": null}), false, false),
    ] {
        let all = machines(
            vec![host("h", holds, boot.clone(), marks.clone())],
            vec![reservation("h", "c", DAY, spec.clone())],
        );
        let found = all.reservation(mac()).unwrap();
        let case = format!("{boot} {marks} {holds} {spec}");
        match found.boot {
            Boot::Script { script, program } => {
                assert!(told && script == all.links.script("c"), "{case}");
                assert_eq!(program.is_some(), program_told, "{case}");
            }
            Boot::Disk => assert!(!told, "{case}"),
        }
    }
    let theirs = json!({"pxeBootParameters": "http://example.com/pxeboot/pxeconfig"});
    let all = machines(vec![], vec![reservation("h", "c", DAY, theirs)]);
    let literal = Boot::Script { script: "http://example.com/pxeboot/pxeconfig".to_owned(), program: None };
    assert_eq!(all.reservation(mac()).unwrap().boot, literal, "what people write is told as it is");
}

#[tokio::test]
async fn of_several_the_oldest_is_answered_and_who_is_unknown_is_not() {
    let newer = reservation("a", "c", "2026-02-01T00:00:00Z", json!({"ipAddress": "10.0.0.7", "prefix": 24}));
    let older =
        reservation("z", "c", DAY, json!({"ipAddress": "10.0.0.8", "prefix": 24, "gateway": "10.0.0.1"}));
    let all = machines(vec![], vec![newer, older]);
    let given = all.reservation(mac()).unwrap().addressing.unwrap();
    assert_eq!((given.address, given.gateway), ([10, 0, 0, 8].into(), Some([10, 0, 0, 1].into())));
    assert_eq!(given.lease, LEASE);
    assert!(all.reservation(Mac::parse("52:54:00:00:00:02").unwrap()).is_none());
}

#[tokio::test]
async fn an_address_that_two_are_to_have_is_given_to_the_older_reservation_alone() {
    let other = "52:54:00:00:00:02";
    let older = |address: &str| {
        reservation("z", "d", DAY, json!({"ipAddress": address, "prefix": 24, "hostMAC": other}))
    };
    let newer = reservation("a", "c", "2026-02-01T00:00:00Z", json!({"ipAddress": "10.0.0.7", "prefix": 24}));
    let mut all = machines(vec![], vec![newer.clone(), older("10.0.0.7")]);
    let given = |all: &Machines, mac: &str| {
        let found = all.reservation(Mac::parse(mac).unwrap()).unwrap();
        found.addressing.map(|given| given.address)
    };
    assert_eq!((given(&all, MAC), given(&all, other)), (None, Some([10, 0, 0, 7].into())));
    // Corrected.
    all.reservations = Cache::of(vec![newer, older("10.0.0.8")]);
    all.saw(("metal".to_owned(), "z".to_owned()));
    let both = (Some([10, 0, 0, 7].into()), Some([10, 0, 0, 8].into()));
    assert_eq!((given(&all, MAC), given(&all, other)), both);
}

#[test]
fn what_a_machine_asked_is_told_in_its_own_words() {
    let asked = |kind, boot, given| Asked {
        mac: mac(),
        client: Asking { loader: Loader::Pxe, architecture: None },
        kind,
        given,
        boot,
    };
    let address = Some(Ipv4Addr::new(10, 0, 0, 7));
    for (asked, reason, says) in [
        (asked(Kind::Discover, true, None), "AskedForAddress", "was told what to boot"),
        (asked(Kind::Request, false, address), "AskedForAddress", "got one"),
        (asked(Kind::Decline, false, None), "DeclinedAddress", "something else on its network has it"),
    ] {
        let (told, note) = said(&asked);
        assert!(told == reason && note.ends_with(says), "{told}: {note}");
    }
}

#[tokio::test]
async fn an_address_that_changes_or_goes_is_not_answered_any_more() {
    let mut all = machines(vec![], vec![reservation("h", "c", DAY, json!({}))]);
    let other = "52:54:00:00:00:02";
    all.reservations = Cache::of(vec![reservation("h", "c", DAY, json!({"hostMAC": other}))]);
    all.saw(("metal".to_owned(), "h".to_owned()));
    assert!(all.reservation(mac()).is_none() && all.reservation(Mac::parse(other).unwrap()).is_some());
    all.reservations = Cache::empty();
    all.saw(("metal".to_owned(), "h".to_owned()));
    assert!(all.reservation(Mac::parse(other).unwrap()).is_none());
    let known = all.known.read().unwrap();
    assert!(known.macs.all.is_empty() && known.macs.last.is_empty());
}

#[tokio::test]
async fn what_this_server_heard_counts_before_it_is_written() {
    let boot = json!({"method": "HTTPBoot", "image": "http://x/os.efi"});
    let held = host("h", "c", boot, json!({BOOTING: "c 100"}));
    let all = machines(vec![held.clone()], vec![reservation("h", "c", DAY, json!({}))]);
    let told_of_program =
        || matches!(all.reservation(mac()).unwrap().boot, Boot::Script { program: Some(_), .. });
    assert!(told_of_program());
    drop(all.hearing.heard(&key(&held), &held, "c", Word::Home));
    assert!(!told_of_program(), "the API server has not answered");
}
