//! The order of the contract.

use serde_json::{Value, json};

use super::{
    super::samples::{around, cluster, infrastructure, machine, owner},
    *,
};

#[test]
fn nothing_stands_in_the_way_of_a_machine_that_has_all_it_needs() {
    let (owner, cluster, ours) = (owner(json!({})), cluster(json!({})), infrastructure(json!({})));
    assert_eq!(obstacle(&machine(json!({})), &around(&owner, &cluster, &ours), Delivery::Off), None);
}

#[test]
fn what_is_missing_is_told_in_the_order_of_the_contract() {
    let ours = infrastructure(json!({}));
    let no_data = json!({"spec": {"bootstrap": {"dataSecretName": null}}});
    let not_ready = json!({"status": {"initialization": {"infrastructureProvisioned": false}}});
    let unusable = json!({"spec": {"imageURL": "file:///x.iso"}});
    for (spec, owned, of_cluster, reason) in [
        (&unusable, &no_data, &not_ready, reasons::WAITING_FOR_CLUSTER_INFRASTRUCTURE),
        (&unusable, &no_data, &json!({"status": null}), reasons::WAITING_FOR_CLUSTER_INFRASTRUCTURE),
        (&unusable, &no_data, &json!({}), reasons::WAITING_FOR_BOOTSTRAP_DATA),
        (&unusable, &json!({}), &json!({}), reasons::SPEC_NOT_USABLE),
    ] {
        let (owner, cluster) = (owner(owned.clone()), cluster(of_cluster.clone()));
        let found =
            obstacle(&machine(spec.clone()), &around(&owner, &cluster, &ours), Delivery::Off).unwrap();
        assert_eq!((found.reason, found.unwatched), (reason, false), "{found:?}");
    }

    let machine = machine(json!({}));
    let nobody = Surroundings { owner: Owner::Unset, cluster: None, infrastructure: None };
    let gone = Surroundings { owner: Owner::Gone("m"), ..nobody };
    let owner = owner(json!({}));
    let clusterless = Surroundings { owner: Owner::There(&owner), ..nobody };
    let reason = |around| obstacle(&machine, &around, Delivery::Off).unwrap().reason;
    assert_eq!(reason(nobody), reasons::WAITING_FOR_OWNER_MACHINE);
    assert_eq!(reason(gone), reasons::WAITING_FOR_OWNER_MACHINE);
    assert_eq!(reason(clusterless), reasons::WAITING_FOR_CLUSTER_INFRASTRUCTURE);
}

#[test]
fn an_empty_name_means_that_no_bootstrap_data_is_wanted() {
    let empty = owner(json!({"spec": {"bootstrap": {"dataSecretName": ""}}}));
    let (cluster, ours) = (cluster(json!({})), infrastructure(json!({})));
    assert_eq!(obstacle(&machine(json!({})), &around(&empty, &cluster, &ours), Delivery::Off), None);
}

#[test]
fn a_machine_is_on_hold_by_itself_or_with_its_cluster_or_while_it_is_moved() {
    let paused = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
    let moved = json!({"metadata": {"annotations": {annotations::DELETE_FOR_MOVE: ""}}});
    let with = |of_machine: &Value, of_cluster: Value| {
        on_hold(&machine(of_machine.clone()), Some(&cluster(of_cluster))).is_some()
    };
    assert!(!with(&json!({}), json!({})));
    assert!(!with(&json!({}), json!({"spec": {"paused": false}})));
    assert!(with(&json!({}), json!({"spec": {"paused": true}})));
    assert!(with(&paused, json!({})));
    assert!(matches!(on_hold(&machine(paused), None), Some(Mark::Paused(_))));
    let paused_cluster = cluster(json!({"spec": {"paused": true}}));
    assert_eq!(on_hold(&machine(moved), Some(&paused_cluster)), Some(Mark::Moved));
    assert_eq!(on_hold(&machine(json!({})), None), None);
}
