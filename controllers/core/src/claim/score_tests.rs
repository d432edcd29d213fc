//! Tables over the choice of a host, what is said when there is none, and who is woken.

use beskar7_api::{PhysicalHost, boot::BootParameterMechanism::UefiTarget, selector::HardwareRequirements};
use serde_json::json;

use super::{
    super::{
        samples::{host, wish},
        wake::woken,
    },
    *,
};

fn choice(wish: &Wish<'_>, hosts: &[PhysicalHost], zones: &[(&str, u32)]) -> String {
    let zones = zones.iter().map(|(zone, count)| ((*zone).to_owned(), *count)).collect();
    match choose(wish, hosts.iter().map(Candidate::new), &zones) {
        Choice::Host(host) => host.name.to_owned(),
        Choice::Nothing(tally) => tally.message(wish),
    }
}

fn in_zone(name: &str, zone: &str) -> PhysicalHost {
    host(name, json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}}))
}

fn sized(name: &str, gib: i64, cores: i64) -> PhysicalHost {
    let details = json!({"memory": {"totalMiB": gib * 1024}, "cpu": {"cores": cores}});
    host(name, json!({"status": {"hardwareDetails": details}}))
}

fn last_of(name: &str, owner: &str) -> PhysicalHost {
    host(
        name,
        json!({"metadata": {"annotations": {"beskar7.infrastructure.cluster.x-k8s.io/last-owner": owner}}}),
    )
}

#[test]
fn zones_then_size_then_the_last_owner() {
    let owned = Wish { owner: Some("Cluster/t/c"), ..wish() };
    for (name, wish, hosts, zones, expected) in [
        (
            "the zone with the fewest",
            wish(),
            vec![in_zone("ha", "a"), in_zone("hb", "b"), in_zone("hc", "c")],
            vec![("a", 1), ("b", 0), ("c", 1)],
            "hb",
        ),
        (
            "an even zone is worth more than a small host",
            wish(),
            vec![sized("small", 32, 8), in_zone("hb", "b")],
            vec![("a", 1)],
            "hb",
        ),
        (
            "the smallest memory",
            wish(),
            vec![sized("large", 512, 8), sized("small", 64, 32), sized("middle", 128, 4)],
            vec![],
            "small",
        ),
        ("then the fewest cores", wish(), vec![sized("x", 64, 32), sized("y", 64, 16)], vec![], "y"),
        (
            "unknown is large",
            wish(),
            vec![host("unknown", json!({"status": {"hardwareDetails": null}})), sized("large", 2048, 256)],
            vec![],
            "large",
        ),
        (
            "what the owner had last",
            owned,
            vec![host("a", json!({})), last_of("b", "Cluster/t/c"), last_of("c", "Cluster/t/other")],
            vec![],
            "b",
        ),
        (
            "a smaller one is worth more than the last one",
            owned,
            vec![last_of("b", "Cluster/t/c"), sized("small", 32, 8)],
            vec![],
            "small",
        ),
        (
            "only what fits",
            wish(),
            vec![host("a", json!({"spec": {"cordoned": "x"}})), sized("b", 999, 99)],
            vec![],
            "b",
        ),
    ] {
        let mut hosts = hosts;
        for _ in 0..hosts.len() {
            assert_eq!(choice(&wish, &hosts, &zones), expected, "{name}");
            hosts.rotate_left(1);
        }
    }
}

#[test]
fn equal_hosts_are_spread_over_the_consumers_and_never_by_chance() {
    let hosts: Vec<PhysicalHost> = (0..8).map(|n| host(&format!("h{n}"), json!({}))).collect();
    let mut chosen = BTreeMap::<String, u32>::new();
    for n in 0..800 {
        let consumer = format!("Beskar7Machine/tenant/m{n}");
        let wish = Wish { consumer: &consumer, ..wish() };
        let first = choice(&wish, &hosts, &[]);
        assert_eq!(choice(&wish, &hosts, &[]), first);
        *chosen.entry(first).or_default() += 1;
    }
    assert_eq!(chosen.len(), 8, "{chosen:?}");
    assert!(chosen.values().all(|count| (50..=150).contains(count)), "{chosen:?}");
    // The same in every version: consumers that choose again choose the same.
    assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
    assert_ne!(hash(&["a", "b"]), hash(&["ab", ""]));
    assert_eq!(hash(&["Beskar7Machine/tenant/m", "metal", "h"]), 0xbd21_6596_0d9c_0b16);
}

#[test]
fn who_waits_is_told_why() {
    let requirements: HardwareRequirements = serde_json::from_value(
        json!({"minMemoryGB": 64, "minCPUCores": 4, "minDiskGB": 100, "architecture": "arm64"}),
    )
    .unwrap();
    let picky = Wish { requirements: Some(&requirements), zone: Some("a"), ..wish() };
    let arm = json!({"cpu": {"architecture": "arm64"}});
    let mut hosts = Vec::new();
    for n in 0..7 {
        hosts.push(host(&format!("claimed{n}"), json!({"status": {"state": "Provisioned"}})));
    }
    for n in 0..3 {
        hosts.push(in_zone(&format!("zone{n}"), "b"));
    }
    for n in 0..2 {
        let details = json!({"memory": {"totalMiB": 1024}, "cpu": {"architecture": "arm64"}});
        hosts.push(host(&format!("memory{n}"), json!({"status": {"hardwareDetails": details}})));
    }
    let elsewhere = host("elsewhere", json!({"metadata": {"namespace": "secret"}}));
    let one = |patch: serde_json::Value| vec![host("h", patch)];
    let named = Wish { host: Some("h9"), ..wish() };
    for (wish, hosts, expected) in [
        (picky, hosts.clone(), "0 of 12 hosts match: 7 claimed, 3 zone ≠ a, 2 memory < 64Gi"),
        (
            picky,
            [hosts.as_slice(), std::slice::from_ref(&elsewhere)].concat(),
            "0 of 12 hosts match: 7 claimed, 3 zone ≠ a, 2 memory < 64Gi",
        ),
        (picky, one(json!({})), "0 of 1 host matches: 1 architecture ≠ arm64"),
        (
            Wish { parameters_by: Some(&[UefiTarget]), ..wish() },
            one(json!({})),
            "0 of 1 host matches: 1 bootParameterMechanism ≠ UefiTarget",
        ),
        (
            picky,
            one(json!({"status": {"hardwareDetails": {"cpu": {"cores": 2}}}})),
            "0 of 1 host matches: 1 cores < 4",
        ),
        (
            picky,
            one(json!({"status": {"hardwareDetails": {"storage": [{"sizeBytes": 5}], "cpu": arm["cpu"]}}})),
            "0 of 1 host matches: 1 disk < 100G",
        ),
        (
            wish(),
            vec![
                host("a", json!({"status": {"state": "Enrolling"}})),
                host("b", json!({"spec": {"cordoned": "x"}})),
                host("c", json!({"status": {"state": "Deprovisioning"}})),
                host("d", json!({"spec": {"cordoned": "y"}})),
            ],
            "0 of 4 hosts match: 2 cordoned, 1 being deprovisioned, 1 enrolling",
        ),
        (
            wish(),
            vec![],
            "There are no hosts that this may have: add PhysicalHosts to the pool, or change what is wanted of it",
        ),
        (
            wish(),
            vec![elsewhere.clone()],
            "There are no hosts that this may have: add PhysicalHosts to the pool, or change what is wanted of it",
        ),
        (named, vec![host("h1", json!({}))], "There is no host h9 that this may have"),
        (named, vec![elsewhere], "There is no host h9 that this may have"),
        (
            named,
            vec![host("h9", json!({"spec": {"claimID": "x"}})), host("h1", json!({}))],
            "0 of 1 host matches: 1 claimed",
        ),
    ] {
        assert_eq!(choice(&wish, &hosts, &[]), expected);
    }
}

#[test]
fn a_changed_host_wakes_those_whom_it_could_serve() {
    let big: HardwareRequirements = serde_json::from_value(json!({"minMemoryGB": 512})).unwrap();
    let waiting = [
        ("any", wish()),
        ("zone a", Wish { zone: Some("a"), ..wish() }),
        ("zone b", Wish { zone: Some("b"), ..wish() }),
        ("big", Wish { requirements: Some(&big), ..wish() }),
        ("named", Wish { host: Some("h"), ..wish() }),
        ("another", Wish { host: Some("g"), ..wish() }),
    ];
    let woken_by = |patch: serde_json::Value| {
        let host = host("h", patch);
        let waiting = waiting.iter().map(|(key, wish)| (*key, wish));
        woken(&Candidate::new(&host), waiting).collect::<Vec<_>>()
    };
    assert_eq!(woken_by(json!({})), ["any", "zone a", "named"]);
    assert_eq!(
        woken_by(json!({"status": {"hardwareDetails": {"memory": {"totalMiB": 1_048_576}}}})),
        ["any", "zone a", "big", "named"]
    );
    assert_eq!(woken_by(json!({"status": {"state": "Provisioned"}})), Vec::<&str>::new());
    assert_eq!(woken_by(json!({"metadata": {"namespace": "secret"}})), Vec::<&str>::new());
}
