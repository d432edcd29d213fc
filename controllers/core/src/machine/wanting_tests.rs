//! What a machine wants.

use serde_json::json;

use super::{
    super::{
        boot::order,
        samples::{around, cluster, infrastructure, machine, owner},
    },
    *,
};
use crate::claim::{Rejection, Verdict, judge, samples::host};

fn control_plane() -> serde_json::Value {
    json!({"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}})
}

#[test]
fn a_wish_is_made_of_the_machine_its_owner_and_the_pool() {
    let machine = machine(json!({"spec": {
        "hostSelector": {"matchLabels": {"rack": "r1"}},
        "hardwareRequirements": {"minMemoryGB": 32},
    }}));
    let owner = owner(json!({"spec": {"failureDomain": "a"}}));
    let (cluster, ours) = (
        cluster(json!({})),
        infrastructure(json!({"spec": {"hostPool": {"selector": {"matchLabels": {"pool": "x"}}}}})),
    );
    let wanting = wanting(
        &machine,
        &around(&owner, &cluster, &ours),
        order(&machine.spec, crate::delivery::Delivery::Off).ok().as_ref(),
        &BTreeSet::new(),
    );
    let wish = wanting.wish();
    let verdict = |patch| judge(&wish, &Candidate::new(&host("h", patch)));
    let good = json!({"metadata": {"labels": {"pool": "x"}}});
    assert_eq!(verdict(good), Verdict::Fits);
    assert_eq!(verdict(json!({})), Verdict::OutOfSight, "not in the pool");
    let other = |label: &str, value: &str| json!({"metadata": {"labels": {"pool": "x", label: value}}});
    assert_eq!(verdict(other("rack", "r2")), Verdict::Rejected(Rejection::Labels));
    assert_eq!(verdict(other("topology.kubernetes.io/zone", "b")), Verdict::Rejected(Rejection::Zone));
    assert_eq!(wanting.owner.as_deref(), Some("Cluster/metal/edge"));
}

#[test]
fn hosts_of_another_namespace_are_to_be_had_where_a_policy_opens_it() {
    let (owner, cluster) = (owner(json!({})), cluster(json!({})));
    for (spec, pool, out) in [
        (json!({}), json!({}), false),
        (json!({"hostSelector": {"inNamespace": "metal"}}), json!({"namespace": "metal"}), false),
        (json!({"hostSelector": {"inNamespace": "other"}}), json!({}), true),
        (json!({}), json!({"namespace": "other"}), true),
    ] {
        let (machine, ours) =
            (machine(json!({"spec": spec})), infrastructure(json!({"spec": {"hostPool": pool}})));
        let around = around(&owner, &cluster, &ours);
        let namespaces = |open: &[&str]| {
            let open = open.iter().map(ToString::to_string).collect();
            wanting(&machine, &around, None, &open).namespaces
        };
        assert_eq!(namespaces(&[]).is_empty(), out, "{pool}");
        let there = if out { "other" } else { "metal" };
        assert_eq!(namespaces(&["other", "third"]), BTreeSet::from([there.to_owned()]), "{pool}");
    }
}

#[test]
fn a_control_plane_machine_takes_the_reserved_host_and_no_other() {
    let kept = json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "metal", "name": "edge-infra"}}});
    let (cluster, ours) = (cluster(json!({})), infrastructure(json!({})));
    let (reserved, free) = (host("kept", kept.clone()), host("free", json!({})));
    let verdicts = |owned: serde_json::Value, hosts: &[&beskar7_api::PhysicalHost]| {
        let owner = owner(owned);
        let around = around(&owner, &cluster, &ours);
        let mut wanting = wanting(&machine(json!({})), &around, None, &BTreeSet::new());
        wanting.reservation =
            reserved_for(&around, |mine| Kept::among(mine, hosts.iter().map(|host| Candidate::new(host))));
        [&reserved, &free].map(|host| judge(&wanting.wish(), &Candidate::new(host)))
    };
    let rejected = Verdict::Rejected;
    assert_eq!(
        verdicts(control_plane(), &[&reserved, &free]),
        [Verdict::Fits, rejected(Rejection::NotTheReserved)]
    );
    assert_eq!(
        verdicts(json!({}), &[&reserved, &free]),
        [rejected(Rejection::Reserved), Verdict::Fits],
        "a worker leaves it alone"
    );
    // A second one, while the first has it: a rollout.
    let mut taken = kept;
    crate::claim::samples::merge(
        &mut taken,
        json!({"spec": {"consumerRef": {"kind": "Beskar7Machine", "name": "n"}}}),
    );
    let taken = host("kept", taken);
    assert_eq!(verdicts(control_plane(), &[&taken, &free]), [rejected(Rejection::Reserved), Verdict::Fits]);
    assert_eq!(verdicts(control_plane(), &[&free]), [rejected(Rejection::Reserved), Verdict::Fits]);
}

#[test]
fn a_control_plane_machine_waits_for_a_reserved_host_that_is_not_known_yet() {
    let told = json!({"type": "ControlPlaneEndpointReady", "status": "True", "reason": "HostReserved",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let ours = infrastructure(json!({"status": {"conditions": [told]}}));
    let (owner, cluster, free) = (owner(control_plane()), cluster(json!({})), host("free", json!({})));
    let around = around(&owner, &cluster, &ours);
    let mut wanting = wanting(&machine(json!({})), &around, None, &BTreeSet::new());
    wanting.reservation = reserved_for(&around, |mine| Kept::among(mine, [Candidate::new(&free)]));
    let verdict = judge(&wanting.wish(), &Candidate::new(&free));
    assert_eq!(verdict, Verdict::Rejected(Rejection::NotTheReserved));
}
