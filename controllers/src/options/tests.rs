//! Tables over the command line.

use std::path::Path;

use super::*;
use crate::boot_server::Discovering;

fn read(arguments: &[&str]) -> Result<Options, String> {
    let all = std::iter::once("manager").chain(arguments.iter().copied()).map(OsString::from);
    Options::read(all).map_err(|error| error.to_string())
}

fn ok(arguments: &[&str]) -> Options {
    read(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

#[test]
fn defaults_are_those_of_cluster_api() {
    let options = ok(&[]);
    assert_eq!(options.watch_namespace(), None);
    assert_eq!(options.watch_filter(), None);
    assert!(!options.leader.leader_elect);
    assert_eq!(options.leader.leader_elect_lease_duration, Duration::from_secs(15));
    assert_eq!(options.leader.leader_elect_renew_deadline, Duration::from_secs(10));
    assert_eq!(options.leader.leader_elect_retry_period, Duration::from_secs(2));
    assert_eq!(options.diagnostics.diagnostics_address, BindAddress::Any(8443));
    assert!(!options.diagnostics.insecure_diagnostics);
    assert_eq!(options.diagnostics.health_addr, BindAddress::Any(9440));
    assert_eq!(options.controllers.sync_period, Duration::from_secs(600));
    assert_eq!(options.logging.v, 2);
    assert_eq!(options.logging.logging_format, LogFormat::Text);
    assert_eq!(options.boot_url(), None);
    assert_eq!(options.boot.boot_bind_address, BindAddress::Any(8082));
}

#[test]
fn booleans_take_three_forms() {
    for (argument, expected) in [
        ("--leader-elect", true),
        ("--leader-elect=true", true),
        ("--leader-elect=1", true),
        ("--leader-elect=false", false),
        ("--leader-elect=False", false),
    ] {
        assert_eq!(ok(&[argument]).leader.leader_elect, expected, "{argument}");
    }
    assert!(!ok(&["--insecure-diagnostics=false"]).diagnostics.insecure_diagnostics);
    assert!(ok(&["--insecure-diagnostics", "--leader-elect"]).leader.leader_elect);
}

#[test]
fn verbosity_takes_the_forms_of_klog() {
    for arguments in [&["-v", "4"][..], &["-v=4"], &["-v4"], &["--v=4"], &["--v", "4"]] {
        assert_eq!(ok(arguments).logging.v, 4, "{arguments:?}");
    }
}

#[test]
fn of_a_repeated_flag_the_last_one_counts() {
    let options = ok(&["--v=4", "--leader-elect", "--v=6", "--leader-elect=false"]);
    assert_eq!(options.logging.v, 6);
    assert!(!options.leader.leader_elect);
}

#[test]
fn an_empty_value_is_none() {
    let options = ok(&["--namespace=", "--watch-filter=", "--boot-url=", "--leader-election-namespace="]);
    assert_eq!(options.watch_namespace(), None);
    assert_eq!(options.watch_filter(), None);
    assert_eq!(options.boot_url(), None);
    assert_eq!(options.election_namespace(), None);
}

#[test]
fn what_cannot_work_is_refused_with_what_to_write() {
    for (arguments, told) in [
        (&["--namespace=Prod"][..], "--namespace: \"Prod\" can't be the name of a namespace"),
        (&["--leader-election-namespace=a.b"], "--leader-election-namespace: \"a.b\""),
        (&["--watch-filter=a b"], "--watch-filter: \"a b\" can't be the value of a label"),
        (&["--leader-elect-renew-deadline=15s"], "must be shorter than --leader-elect-lease-duration (15s)"),
        (&["--leader-elect-retry-period=10s"], "shorter than --leader-elect-renew-deadline (10s)"),
        (&["--leader-elect-retry-period=0s"], "longer than 0s"),
        (&["--leader-elect-lease-duration=15.5s"], "whole seconds"),
        (&["--leader-elect-lease-duration=0s"], "whole seconds"),
        (&["--leader-elect-lease-duration=15"], "has no unit"),
        (&["--leader-elect=maybe"], "write true or false"),
        (&["--boot-url=boot.example.org"], "not an absolute http or https URL"),
        (&["--boot-url=ftp://boot.example.org"], "not an absolute http or https URL"),
        (&["--boot-url=http://"], "not an absolute http or https URL"),
        (&["--boot-url=http://b/?x=1"], "not an absolute http or https URL"),
        (&["--boot-url=http://b", "--boot-bind-address=0"], "--boot-bind-address is 0"),
        (&["--boot-only"], "--boot-only needs --boot-url"),
        (&["--dhcp=proxy", "--ipxe-dir=/i"], "--dhcp needs --boot-url"),
        (&["--dhcp=proxy", "--boot-url=http://b"], "--dhcp needs --ipxe-dir"),
        (&["--dhcp=proxy", "--boot-url=http://b", "--ipxe-dir=/i"], "--dhcp needs --dhcp-interfaces"),
        (
            &["--dhcp=reservations", "--boot-url=http://b", "--ipxe-dir=/i", "--dhcp-interfaces=,"],
            "--dhcp needs --dhcp-interfaces",
        ),
        (&["--dhcp=relay"], "possible values: off, proxy, reservations"),
        (&["--boot-url=http://b", "--dhcp-advertise-address=::1"], "is not an IPv4 address"),
        (
            &["--boot-url=http://b", "--dhcp-networks=10.0.0.0/8,10.9.0.1"],
            "\"10.9.0.1\" is not an IPv4 network",
        ),
        (&["--boot-url=http://b", "--dhcp-networks=fd00::/8"], "--dhcp-networks: \"fd00::/8\" is not"),
        (&["--tftp-bind-address=[::1]:69"], "TFTP is served by IPv4 only"),
        (&["--boot-only", "--boot-url=http://b", "--leader-elect"], "nothing to elect a leader for"),
        (&["--boot-url=https://b", "--boot-tls-cert-file=/c"], "belong together"),
        (&["--boot-url=http://b", "--boot-tls-cert-file=/c", "--boot-tls-key-file=/k"], "write https"),
        (&["--boot-url=http://b", "--artifact-hosts=a b"], "--artifact-hosts"),
        (&["--boot-url=http://b", "--agent-kernel=http://x/k"], "belong together"),
        (
            &["--boot-url=http://b", "--agent-iso=x.iso"],
            "--agent-iso: \"x.iso\" is not an absolute http or https URL",
        ),
        (&["--agent-iso=http://x/a.iso"], "--agent-iso needs --boot-url"),
        (&["--inspect=always"], "--inspect=always needs the agent: give --agent-iso"),
        (&["--inspect=always", "--boot-url=http://b"], "--inspect=always needs the agent"),
        (&["--inspect=sometimes"], "possible values: on-request, always"),
        (&["--agent-kernel-args=console=ttyS0 pci=\"nomsi"], "a double quote that is not closed"),
        (
            &["--discovery-namespace=Racks"],
            "--discovery-namespace: \"Racks\" can't be the name of a namespace",
        ),
        (&["--discovery-namespace=racks"], "--discovery-namespace needs --boot-url"),
        (&["--discovery-namespace=racks", "--boot-url=http://b"], "--discovery-namespace needs --dhcp"),
        (
            &[
                "--discovery-namespace=racks",
                "--boot-url=http://b",
                "--dhcp=proxy",
                "--ipxe-dir=/i",
                "--dhcp-interfaces=eth1",
            ],
            "--discovery-namespace needs --agent-kernel and --agent-initramfs",
        ),
        (&["--discovery-limit=0"], "0 is not in 1"),
        (&["--configuration-timeout=0s"], "--configuration-timeout must be longer than 0s"),
        (&["--artifact-cache-gib=0"], "0 is not in 1"),
        (&["--diagnostics-address=8443"], "write :PORT for every address"),
        (&["--physicalhost-concurrency=0"], "0 is not in 1"),
        (&["--beskar7cluster-concurrency=0"], "0 is not in 1"),
        (&["-v=11"], "11 is not in 0..=10"),
        (&["--sync-period=0"], "--sync-period must be longer than 0s"),
        (&["--kube-api-timeout=0s"], "--kube-api-timeout must be longer than 0s"),
        (&["--node-label-prefixes=topology.kubernetes.io"], "can't be the beginning of a label"),
        (&["--node-label-prefixes=rack/"], "can't be the beginning of a label"),
        (&["--node-label-prefixes=example.org/a b"], "can't be the beginning of a label"),
        (
            &["--node-label-prefixes=topology.kubernetes.io/,kubernetes.io/"],
            "labels of kubernetes.io on Nodes",
        ),
        (&["--node-label-prefixes=kubernetes.io/hostname"], "labels of kubernetes.io on Nodes"),
        (&["--node-label-prefixes=node-role.kubernetes.io/"], "labels of node-role.kubernetes.io on Nodes"),
        (&["--node-label-prefixes=node.cluster.x-k8s.io/"], "labels of node.cluster.x-k8s.io on Nodes"),
        (&["--logging-format=xml"], "possible values: text, json"),
        (&["--no-such-flag"], "--no-such-flag"),
    ] {
        let error = read(arguments).expect_err(&format!("{arguments:?} was accepted"));
        assert!(error.contains(told), "{arguments:?}: {error}");
    }
}

#[test]
fn label_prefixes_are_a_list_that_can_be_empty() {
    let default = ["topology.kubernetes.io/", "node.beskar7.io/"];
    assert_eq!(ok(&[]).node_label_prefixes(), default);
    assert!(ok(&["--node-label-prefixes="]).node_label_prefixes().is_empty());
    let chosen = ok(&["--node-label-prefixes=example.org/rack-, node-restriction.kubernetes.io/,"]);
    assert_eq!(chosen.node_label_prefixes(), ["example.org/rack-", "node-restriction.kubernetes.io/"]);
}

#[test]
fn machines_are_discovered_into_a_namespace_that_is_watched() {
    let found = [
        "--boot-url=http://b",
        "--dhcp=proxy",
        "--dhcp-interfaces=eth1",
        "--ipxe-dir=/i",
        "--agent-kernel=http://x/k",
        "--agent-initramfs=http://x/i",
        "--discovery-namespace=racks",
    ];
    let with = |more: &[&'static str]| [&found[..], more].concat();
    assert_eq!(ok(&[]).discovering(), None);
    let plain = Discovering { namespace: "racks".to_owned(), limit: 100, watch_filter: None };
    assert_eq!(ok(&found).discovering(), Some(plain.clone()));
    assert_eq!(ok(&with(&["--namespace=racks", "--boot-only"])).discovering(), Some(plain.clone()));
    let filtered = Discovering { limit: 7, watch_filter: Some("east".to_owned()), ..plain };
    let arguments = with(&["--discovery-limit=7", "--watch-filter=east"]);
    assert_eq!(ok(&arguments).discovering(), Some(filtered));
    let error = read(&with(&["--namespace=other"])).expect_err("nobody would look after them");
    assert!(error.contains("a namespace that is not watched"), "{error}");
}

#[test]
fn good_urls_and_addresses_are_accepted() {
    for url in ["http://boot.example.org", "https://10.0.0.1:8082/b7", "http://[fd00::1]:8082/"] {
        assert_eq!(ok(&["--boot-url", url]).boot_url(), Some(url));
    }
    let options = ok(&["--boot-url=https://b", "--boot-tls-cert-file=/c", "--boot-tls-key-file=/k"]);
    assert_eq!(options.boot_certificate(), Some((Path::new("/c"), Path::new("/k"))));
    let network =
        ["--boot-url=http://b", "--dhcp=reservations", "--ipxe-dir=/i", "--dhcp-interfaces=eth1, eth2"];
    let options = ok(&network);
    assert_eq!((options.boot.dhcp, options.dhcp_advertised()), (DhcpMode::Reservations, None));
    assert_eq!(options.dhcp_interfaces(), ["eth1", "eth2"]);
    let every = ok(&[&network[..], &["--dhcp-interfaces=*"]].concat());
    assert!(every.dhcp_interfaces().is_empty(), "all, as somebody says so");
    assert!(options.dhcp_networks().is_empty());
    let named = ok(&[&network[..], &["--dhcp-networks=192.0.2.0/24, 10.9.0.0/16,"]].concat()).dhcp_networks();
    assert_eq!(named.iter().map(ToString::to_string).collect::<Vec<_>>(), ["192.0.2.0/24", "10.9.0.0/16"]);
    assert_eq!(options.tftp_address(), "0.0.0.0:69".parse().ok());
    assert_eq!(ok(&[&network[..], &["--tftp-bind-address=0"]].concat()).tftp_address(), None);
    assert_eq!(ok(&["--boot-url=http://b"]).tftp_address(), None, "there is nothing to give out");
    let options = ok(&["--artifact-hosts=a.example.org,*.b.org", "--artifact-cache-dir=/d"]);
    assert_eq!(options.boot.artifact_hosts.iter().flatten().count(), 2);
    assert_eq!((options.artifact_cache_dir(), ok(&[]).artifact_cache_dir()), (Some(Path::new("/d")), None));
    assert_eq!(ok(&[]).boot.artifact_hosts.iter().flatten().count(), 0);
    let options = ok(&["--health-addr=[::1]:0", "--diagnostics-address=0"]);
    assert_eq!(options.health_address_text(), "[::1]:0");
    assert!(!options.diagnostics_guarded());
    assert!(ok(&[]).diagnostics_guarded());
    assert!(!ok(&["--insecure-diagnostics"]).diagnostics_guarded());
}

impl Options {
    fn health_address_text(&self) -> String {
        self.diagnostics.health_addr.to_string()
    }
}

#[test]
fn loaders_need_https_where_dhcp_leads_to_it() {
    for (url, dhcp, expected) in [
        ("http://b", "--dhcp=proxy", false),
        ("https://b", "--dhcp=off", false),
        ("https://b", "--dhcp=proxy", true),
        ("HTTPS://b", "--dhcp=reservations", true),
    ] {
        let options = ok(&["--boot-url", url, dhcp, "--ipxe-dir=/i", "--dhcp-interfaces=eth1"]);
        assert_eq!(options.needs_https_loaders(), expected, "{url} {dhcp}");
    }
}

#[test]
fn every_flag_is_an_environment_variable_too() {
    let command = Options::command();
    let mut flags = 0;
    for argument in command.get_arguments() {
        let Some(long) = argument.get_long() else { panic!("{} has no long form", argument.get_id()) };
        let expected = format!("BESKAR7_{}", long.to_uppercase().replace('-', "_"));
        assert_eq!(argument.get_env().and_then(|env| env.to_str()), Some(expected.as_str()), "--{long}");
        assert!(argument.is_hide_env_values_set(), "--{long}: --help would show what the environment holds");
        assert!(argument.get_help_heading().is_some(), "--{long} has no heading");
        assert!(argument.get_help().is_some(), "--{long} has no help");
        flags += 1;
    }
    assert!(flags > 15, "only {flags} flags were looked at");
}

#[test]
fn help_tells_exit_codes_and_variables() {
    let help = read(&["--help"]).expect_err("--help prints");
    for told in ["Exit codes", "BESKAR7_NAMESPACE", "Leader election:", "--health-addr", "[default: 15s]"] {
        assert!(help.contains(told), "{told} is not in\n{help}");
    }
    assert!(read(&["--version"]).expect_err("--version prints").contains(crate::VERSION));
}

#[test]
fn the_agent_is_where_the_flags_say() {
    let kernel =
        ["--boot-url=http://b", "--agent-kernel=http://x/k#sha256=0", "--agent-initramfs=https://x/i"];
    let agent = ok(&kernel).agent();
    assert_eq!(agent.kernel, Some(("http://x/k#sha256=0".to_owned(), "https://x/i".to_owned())));
    assert_eq!(agent.iso, None);
    let agent = ok(&["--boot-url=http://b", "--agent-iso=http://x/a.iso", "--agent-kernel="]).agent();
    assert_eq!((agent.kernel, agent.iso.as_deref()), (None, Some("http://x/a.iso")));
    assert_eq!(agent.arguments, ["console=tty0", "console=ttyS0,115200", "panic=60"]);
    let agent = ok(&["--agent-kernel-args=console=ttyS1  pci=nomsi"]).agent();
    assert_eq!(agent.arguments, ["console=ttyS1", "pci=nomsi"]);
    assert!(ok(&["--agent-kernel-args="]).agent().arguments.is_empty());
}

#[test]
fn every_host_may_be_inspected_where_there_is_an_agent() {
    assert_eq!(ok(&[]).boot.inspect, Inspect::OnRequest);
    for agent in
        [&["--agent-iso=http://x/a.iso"][..], &["--agent-kernel=http://x/k", "--agent-initramfs=http://x/i"]]
    {
        let arguments = [&["--inspect=always", "--boot-url=http://b"][..], agent].concat();
        assert_eq!(ok(&arguments).boot.inspect, Inspect::Always, "{agent:?}");
    }
}
