//! Whole reconciles against a stand-in for the API server. The same against a real one is in the end-to-end tests.

mod server;

use serde_json::{Value, json};

use self::server::{MockApiServer, merge};
use crate::controller::Failure as _;

use super::*;

const CLUSTER: &str = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/metal/beskar7clusters/c";
const HOSTS: &str = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/metal/physicalhosts";
const TEMPLATE: &str =
    "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/metal/beskar7machinetemplates/t";
const KUBEADM: &str = "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/metal/kubeadmcontrolplanes/kcp";
const EVENTS: &str = "POST /apis/events.k8s.io/v1/namespaces/metal/events";

fn cluster(patch: Value) -> Value {
    let owner =
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "prod", "uid": "u"});
    let mut cluster = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "Beskar7Cluster",
        "metadata": {
            "name": "c", "namespace": "metal", "uid": "u", "generation": 1, "resourceVersion": "41",
            "ownerReferences": [owner], "finalizers": ["beskar7cluster.infrastructure.cluster.x-k8s.io"],
        },
        "spec": {},
    });
    merge(&mut cluster, patch);
    cluster
}

fn host(patch: Value) -> Value {
    let mut host = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "resourceVersion": "7"},
        "spec": {
            "redfishConnection": {"address": "https://127.0.0.1:9", "credentialsSecretRef": "bmc"},
            "addresses": [{"type": "InternalIP", "address": "10.1.0.1"}],
        },
        "status": {"state": "Available"},
    });
    merge(&mut host, patch);
    host
}

fn kubeadm(replicas: i64) -> Value {
    json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
        "metadata": {"name": "kcp", "namespace": "metal", "resourceVersion": "3"}, "spec": {"replicas": replicas},
    })
}

fn with_kubeadm() -> Value {
    json!({"controlPlaneRef": {
        "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "kcp",
    }})
}

fn at_host() -> String {
    format!("{HOSTS}/h")
}

fn kept() -> Value {
    json!({"spec": {"reservedFor": {"kind": "Beskar7Cluster", "namespace": "metal", "name": "c"}}})
}

#[tokio::test]
async fn a_host_is_kept_then_the_endpoint_is_written_then_it_is_said_once() {
    let server = MockApiServer::with(&[
        (CLUSTER, cluster(json!({"metadata": {"finalizers": null}}))),
        (&at_host(), host(json!({}))),
        (KUBEADM, kubeadm(1)),
    ]);
    server.reconcile(with_kubeadm()).await.unwrap();
    let (get, patch) = (format!("GET {KUBEADM}"), |path: &str| format!("PATCH {path}"));
    let expected = [
        // The finalizer comes before anything else.
        patch(CLUSTER),
        get.clone(),
        patch(&at_host()),
        get,
        patch(CLUSTER),
        patch(&format!("{CLUSTER}/status")),
    ];
    assert_eq!(server.asked(), expected);
    let wish = json!({"kind": "Beskar7Cluster", "namespace": "metal", "name": "c"});
    let reserved = server.body(&patch(&at_host()));
    assert_eq!(reserved, json!({"metadata": {"resourceVersion": "7"}, "spec": {"reservedFor": wish}}));
    let now = server.at(CLUSTER);
    let endpoint = json!({"host": "10.1.0.1", "port": 6443});
    assert_eq!(now["spec"]["controlPlaneEndpoint"], endpoint);
    assert_eq!(now["status"]["controlPlaneEndpoint"], endpoint);
    assert_eq!(now["status"]["initialization"], json!({"provisioned": true}));
    assert_eq!((server.reason().as_str(), &now["status"]["ready"]), ("HostReserved", &json!(true)));

    // What is said is not said again, and nobody is asked for it.
    server.reconcile(with_kubeadm()).await.unwrap();
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_host_that_was_kept_before_a_crash_is_found_again() {
    let server = MockApiServer::with(&[
        (CLUSTER, cluster(json!({}))),
        (&at_host(), host(kept())),
        (&format!("{HOSTS}/a"), host(json!({"metadata": {"name": "a"}}))),
        (KUBEADM, kubeadm(1)),
    ]);
    server.reconcile(with_kubeadm()).await.unwrap();
    assert!(
        !server.asked().iter().any(|asked| asked.starts_with("PATCH") && asked.contains("physicalhosts"))
    );
    assert_eq!(server.reason(), "HostReserved");
}

#[tokio::test]
async fn a_lost_race_is_no_failure_and_nothing_follows_from_it() {
    // The cache shows a host that somebody changed since.
    let server = MockApiServer::with(&[
        (CLUSTER, cluster(json!({}))),
        (&at_host(), host(json!({"metadata": {"resourceVersion": "8"}}))),
        (KUBEADM, kubeadm(1)),
    ]);
    let stale = serde_json::from_value(host(json!({}))).unwrap();
    server.reconcile_seeing(with_kubeadm(), vec![stale]).await.unwrap();
    assert_eq!(server.asked(), [format!("GET {KUBEADM}"), format!("PATCH {}", at_host())]);
    assert_eq!(server.at(&at_host())["spec"].get("reservedFor"), None);
}

#[tokio::test]
async fn what_the_template_of_the_machines_wants_decides_on_the_host() {
    let named =
        json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Beskar7MachineTemplate", "name": "t"});
    let mut control_plane = kubeadm(1);
    merge(&mut control_plane, json!({"spec": {"machineTemplate": {"spec": {"infrastructureRef": named}}}}));
    let objects = [(CLUSTER, cluster(json!({}))), (&at_host(), host(json!({}))), (KUBEADM, control_plane)];
    let server = MockApiServer::with(&objects);
    server.reconcile(with_kubeadm()).await.unwrap();
    assert_eq!(server.reason(), "WaitingForControlPlane", "there is no such template yet");

    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7MachineTemplate",
        "metadata": {"name": "t", "namespace": "metal"},
        "spec": {"template": {"spec": {"hostSelector": {"matchLabels": {"rack": "r1"}}}}},
    });
    server.objects.lock().unwrap().insert(TEMPLATE.to_owned(), template);
    server.reconcile(with_kubeadm()).await.unwrap();
    assert_eq!(server.reason(), "WaitingForPhysicalHost");
    let labels = json!({"metadata": {"labels": {"rack": "r1"}}});
    merge(server.objects.lock().unwrap().get_mut(&at_host()).unwrap(), labels);
    server.reconcile(with_kubeadm()).await.unwrap();
    assert_eq!(server.reason(), "HostReserved");
}

#[tokio::test]
async fn a_control_plane_that_cannot_be_read_is_said_and_read_again() {
    for (code, failure) in [(403, None), (404, None), (500, Some("control_plane"))] {
        let server = MockApiServer::with(&[(CLUSTER, cluster(json!({}))), (KUBEADM, kubeadm(1))]);
        server.refusals.lock().unwrap().insert(KUBEADM.to_owned(), code);
        let result = server.reconcile(with_kubeadm()).await;
        assert_eq!(result.as_ref().err().map(ReconcileError::category), failure, "{code}");
        assert_eq!(server.reason(), "WaitingForControlPlane", "{code}");
        assert_eq!(server.asked().last().map(String::as_str), Some(EVENTS), "{code}");
        // Read again, and not said again.
        let _same = server.reconcile(with_kubeadm()).await;
        assert_eq!(server.asked(), [format!("GET {KUBEADM}")], "{code}");
    }
}

#[tokio::test]
async fn a_kind_that_nobody_serves_is_looked_for_by_its_group() {
    let other = json!({"controlPlaneRef": {"apiGroup": "other.example.org", "kind": "Other", "name": "o"}});
    let server = MockApiServer::with(&[
        (CLUSTER, cluster(json!({}))),
        ("/apis", json!({"kind": "APIGroupList", "groups": []})),
    ]);
    server.reconcile(other.clone()).await.unwrap();
    assert_eq!(server.asked().first().map(String::as_str), Some("GET /apis"));
    assert_eq!(server.reason(), "WaitingForControlPlane");

    let version = json!({"groupVersion": "other.example.org/v1", "version": "v1"});
    let group = json!({"name": "other.example.org", "versions": [version], "preferredVersion": version});
    let kind = json!({"name": "others", "singularName": "other", "namespaced": true, "kind": "Other", "verbs": ["get"]});
    let kinds =
        json!({"kind": "APIResourceList", "groupVersion": "other.example.org/v1", "resources": [kind]});
    let object = json!({"apiVersion": "other.example.org/v1", "kind": "Other", "metadata": {"name": "o"}, "spec": {"replicas": 3}});
    server.objects.lock().unwrap().extend([
        ("/apis".to_owned(), json!({"kind": "APIGroupList", "groups": [group]})),
        ("/apis/other.example.org/v1".to_owned(), kinds),
        ("/apis/other.example.org/v1/namespaces/metal/others/o".to_owned(), object),
    ]);
    server.reconcile(other).await.unwrap();
    assert_eq!(server.reason(), "EndpointNeeded");
}

#[tokio::test]
async fn the_map_of_the_go_beskar7_is_replaced_even_where_it_says_the_same() {
    let labels = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "a"}}});
    for (map, hosts, expected) in [
        (
            json!({"a": {"controlPlane": true}}),
            vec![(at_host(), host(labels))],
            json!([{"name": "a", "controlPlane": true}]),
        ),
        (json!({}), vec![], Value::Null),
    ] {
        let endpoint = json!({"host": "10.0.0.100", "port": 6443});
        let status = json!({"ready": true, "controlPlaneEndpoint": endpoint, "failureDomains": map});
        let server = MockApiServer::with(&[(
            CLUSTER,
            cluster(json!({"spec": {"controlPlaneEndpoint": endpoint}, "status": status})),
        )]);
        server.objects.lock().unwrap().extend(hosts);
        server.reconcile(json!({})).await.unwrap();
        let patch = server.body(&format!("PATCH {CLUSTER}/status"));
        assert_eq!(patch["status"].get("failureDomains"), Some(&expected));
    }
}

#[tokio::test]
async fn deleted_it_gives_hosts_back_that_no_cache_shows_and_goes() {
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let server = MockApiServer::with(&[(CLUSTER, cluster(deleted)), (&at_host(), host(kept()))]);
    let unkept = serde_json::from_value(host(json!({}))).unwrap();
    server.reconcile_seeing(json!({}), vec![unkept]).await.unwrap();
    let list = format!("GET {HOSTS}");
    let expected = [
        list.clone(),
        format!("PATCH {CLUSTER}/status"),
        format!("PATCH {}", at_host()),
        list,
        format!("PATCH {CLUSTER}"),
    ];
    assert_eq!(server.asked(), expected);
    assert_eq!(server.at(&at_host())["spec"].get("reservedFor"), None);
    assert_eq!(server.at(CLUSTER)["metadata"]["finalizers"], json!([]));
}

#[tokio::test]
async fn what_is_not_ours_is_not_asked_about() {
    for name in ["cluster.x-k8s.io/managed-by", "clusterctl.cluster.x-k8s.io/delete-for-move"] {
        let annotated = json!({"metadata": {"annotations": {name: ""}}});
        let server = MockApiServer::with(&[(CLUSTER, cluster(annotated)), (KUBEADM, kubeadm(1))]);
        server.reconcile(with_kubeadm()).await.unwrap();
        assert_eq!(server.asked(), Vec::<String>::new(), "{name}");
    }
}
