//! The DaemonSet of the boot server starts: with flags that the manager takes, with the one privilege that it needs, and with
//! the ports at which it listens.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")]

use std::{collections::BTreeMap, path::Path};

use beskar7_controllers::options::{BindAddress, Options};
use serde_json::{Value, json};

/// The port of DHCP servers, and the one at which firmware asks a server that only says what to boot.
const DHCP: [(&str, u16); 2] = [("dhcp", 67), ("proxydhcp", 4011)];

fn pod() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/boot/daemonset.yaml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut daemon_set: Value = serde_saphyr::from_str(&text).unwrap();
    daemon_set["spec"]["template"]["spec"].take()
}

fn container() -> Value {
    let containers = pod()["containers"].take();
    assert_eq!(containers.as_array().unwrap().len(), 1);
    containers[0].clone()
}

fn options() -> Options {
    let container = container();
    assert_eq!(container["command"], json!(["/manager"]));
    let arguments = container["args"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap().into());
    let read = Options::read(std::iter::once("manager".into()).chain(arguments));
    read.unwrap_or_else(|error| panic!("{error}"))
}

fn port(address: BindAddress) -> u16 {
    match address {
        BindAddress::Off => panic!("it is turned off"),
        BindAddress::Any(port) => port,
        BindAddress::At(address) => address.port(),
    }
}

#[test]
fn its_flags_are_taken_and_its_ports_are_those_at_which_they_listen() {
    let options = options();
    let mut expected: BTreeMap<String, u16> = [
        ("boot", port(options.boot.boot_bind_address)),
        ("tftp", options.tftp_address().unwrap().port()),
        ("healthz", port(options.diagnostics.health_addr)),
        ("metrics", port(options.diagnostics.diagnostics_address)),
    ]
    .map(|(name, port)| (name.to_owned(), port))
    .into();
    expected.extend(DHCP.map(|(name, port)| (name.to_owned(), port)));
    let container = container();
    let ports = container["ports"].as_array().unwrap();
    let open: BTreeMap<String, u16> = ports
        .iter()
        .map(|port| {
            let number = port["containerPort"].as_u64().unwrap().try_into().unwrap();
            (port["name"].as_str().unwrap().to_owned(), number)
        })
        .collect();
    assert_eq!(open, expected);
    for port in ports {
        let is_datagrams = ["dhcp", "proxydhcp", "tftp"].contains(&port["name"].as_str().unwrap());
        assert_eq!(port["protocol"] == "UDP", is_datagrams, "{port}");
    }
}

#[test]
fn no_pod_can_ask_it_in_a_machines_name() {
    assert_eq!(options().dhcp_interfaces(), ["eth1"], "it listens where pods are");
}

#[test]
fn its_folders_are_those_that_its_flags_name() {
    let (options, container) = (options(), container());
    let mounted: Vec<&str> = container["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| mount["mountPath"].as_str().unwrap())
        .collect();
    for place in [options.ipxe_dir().unwrap(), options.artifact_cache_dir().unwrap()] {
        assert!(mounted.iter().any(|mount| Path::new(mount) == place), "{}: {mounted:?}", place.display());
    }
}

#[test]
fn it_may_bind_low_ports_and_nothing_else_that_is_privileged() {
    let pod = pod();
    let context = container()["securityContext"].take();
    assert_eq!(context["capabilities"], json!({"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}));
    assert_eq!(context["allowPrivilegeEscalation"], json!(false));
    assert_eq!(context["privileged"], json!(false));
    assert_eq!(context["readOnlyRootFilesystem"], json!(true));
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    for name in ["hostPID", "hostIPC"] {
        assert!(pod.get(name).is_none(), "{name}");
    }
    for container in pod["initContainers"].as_array().unwrap() {
        let context = &container["securityContext"];
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}), "{container}");
        assert_eq!(context["allowPrivilegeEscalation"], json!(false), "{container}");
    }
}
